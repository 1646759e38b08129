"""Exactly one job for each submission that a workflow manager means.

A submission carries a token, ``<task>#<n>``. The number n is written down before the scheduler is asked,
and the same number is used until it is known what became of it:

* nothing known of n (the reply was lost, we were killed): the scheduler is asked for the token first. A
  job that carries it *is* the submission, whatever its state; only when there surely is none, it is
  submitted, with the same token.
* n is known as job J, and the manager submits the task again: while J has not ended, or has ended well,
  the manager missed the reply or was restarted, and is told J again. Only when J failed, was cancelled,
  timed out, or is not known any more, the manager means a new job: n + 1.

"Could not observe" is never taken for "there is none".
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource.port import JobRecord
from whesl.model import job_ids
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, WheslError
from whesl.model.states import JobState
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError

# Seconds between looks for a job whose submission got no clear answer: a busy scheduler may accept a
# request after its client has given up.
# Seconds for which a submission waits for another one of the same task, and between two looks at it.
PATIENCE = 300.0
_LOOK = 0.05
LOOKS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)


class Lookup(Protocol):
    """The part of the scheduler's port that is used here (``whesl.managers.resource.port.Scheduler``)."""

    def find(self, token: str) -> JobRecord | None:
        """Return the job submitted with a token; None only when the scheduler surely has none."""
        ...


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What is written down for a task: the last number, and the job it became ('' when not known).

    ``submitted`` keeps when each job was asked for (seconds since the epoch), for the report's queue waits;
    ``refused`` is what the scheduler said when it surely took none.
    """

    number: int
    job: str = ""
    asked: float = 0.0
    submitted: dict[str, float] = {}
    refused: str = ""

    def became(self, job: str) -> Submission:
        """Return the submission with the id of its job."""
        submitted = {job: self.asked, **self.submitted}
        return msgspec.structs.replace(self, job=job, submitted=submitted, refused="")


class Ledger:
    """The submissions of one task, on disk; to be used by one process at a time (``locked``).

    Args:
        directory: of the workflow's submissions; made when missing.
        task: the task's id.
    """

    def __init__(self, directory: Path, task: str) -> None:
        self._directory = directory
        self._path = directory / f"{quote(task, safe='')}.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the task: a second submission of it waits. Raises CouldNotObserveError in the end."""
        file_retry.retried(lambda: self._directory.mkdir(mode=0o700, parents=True, exist_ok=True))
        path = str(self._path.with_suffix(".lock"))
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                lock = takeover_lock.take(path, takeover_lock.owned())
                break
            except HeldError as error:
                if time.monotonic() >= deadline:
                    raise CouldNotObserveError(
                        f"another submission of this task does not end: {error}",
                        hint=f"if its host is dead, remove {path} and what begins with that name",
                    ) from error
            time.sleep(_LOOK)
        try:
            yield
        finally:
            takeover_lock.release(lock)

    def read(self) -> Submission | None:
        """Return what was written last, None when nothing was.

        Raises CouldNotObserveError for a damaged file.
        """
        try:
            return msgspec.json.decode(file_retry.retried(self._path.read_bytes), type=Submission)
        except FileNotFoundError:
            return None
        except UNDECODABLE as error:
            # Nothing written would mean: submit.
            raise CouldNotObserveError(
                f"the record of submissions {self._path} is damaged: {error}",
                hint="look whether the job runs already; if it does not, remove that file",
            ) from None

    def write(self, submission: Submission) -> None:
        """Replace what was written, atomically and on the disk when this returns. Raises OSError."""
        file_retry.retried(lambda: self._write(submission))

    def _write(self, submission: Submission) -> None:
        descriptor, name = tempfile.mkstemp(dir=self._directory)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(submission))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(self._path)


def token(task: str, number: int) -> str:
    """Return a submission's token: one word without commas, which separate PBS's variables."""
    return f"{quote(task, safe='/.+-_=@')}#{number}"


def submit_once(
    ledger: Ledger,
    task: str,
    scheduler: Lookup,
    submit: Callable[[str], str],
    sleep: Callable[[float], None],
    now: Callable[[], float],
) -> str:
    """Submit a task once and return its job's id; the ledger has to be locked.

    Args:
        ledger: what is known of the task's submissions.
        task: its id.
        scheduler: where to look for tokens.
        submit: submits with a token and returns the job's id; raises RefusedError when the scheduler
            said no, TransientError or CouldNotObserveError when it is not clear what happened.
        sleep: waits for some seconds.
        now: seconds since the epoch.

    Raises what ``submit`` raised when there surely is no job, CouldNotObserveError when that is not known.
    """
    last = ledger.read() or Submission(number=0)
    number = last.number or 1
    if last.number:
        found = _look(scheduler, token(task, number), sleep)
        if found is not None and (not last.job or not _over(found)):
            job = job_ids.submitted(found.id)
            ledger.write(last.became(job))
            return job
        if last.job:
            number += 1
    asked = Submission(number=number, asked=now(), submitted=last.submitted)
    ledger.write(asked)
    try:
        job = submit(token(task, number))
    except (TransientError, CouldNotObserveError) as error:
        job = _accepted(scheduler, token(task, number), sleep, error)
    except RefusedError as error:
        ledger.write(msgspec.structs.replace(asked, refused=error.message))
        raise
    ledger.write(asked.became(job))
    return job


def _over(record: JobRecord) -> bool:
    """Whether a job has ended in a way after which the manager may want another one."""
    return record.state.ended and record.state is not JobState.COMPLETED


def _look(scheduler: Lookup, name: str, sleep: Callable[[float], None]) -> JobRecord | None:
    error: WheslError | None = None
    for wait in LOOKS:
        sleep(wait)
        try:
            return scheduler.find(name)
        except (CouldNotObserveError, TransientError) as caught:
            error = caught
    assert error is not None
    raise CouldNotObserveError(
        f"whether {name} was submitted before cannot be seen: {error.message}",
        hint="nothing was submitted; submit again when the scheduler answers",
    )


def _accepted(scheduler: Lookup, name: str, sleep: Callable[[float], None], error: WheslError) -> str:
    """Return the job that an unclear submission became; raise the error when there is none."""
    for wait in LOOKS:
        sleep(wait)
        with contextlib.suppress(CouldNotObserveError, TransientError):
            found = scheduler.find(name)
            if found is not None:
                return job_ids.submitted(found.id)
    raise error


def job_id(output: str) -> str:
    """Return the job id in sbatch's reply, in its usual or its parsable form; '' when there is none."""
    found = re.search(
        r"^(?:Submitted batch job )?(\d+)(?:;\S+)?(?: on cluster \S+)?\s*$", output, re.MULTILINE
    )
    return found.group(1) if found else ""
