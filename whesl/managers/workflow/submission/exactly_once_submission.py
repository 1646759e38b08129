"""Exactly one job for each submission that a workflow manager intends.

A submission carries a token, ``<task>#<n>``, and is recorded before it happens. docs/workflows.md says what a
manager gets that submits a task again. "Could not observe" never counts as "there is no job".
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource.port import JobRecord
from whesl.model import job_ids
from whesl.model.digest import file_name
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, WheslError
from whesl.model.states import JobState
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError

# Seconds for which a submission waits for another submission of the same task.
PATIENCE = 300.0
# Seconds between two looks at the other submission's lock.
_LOOK = 0.05
# Seconds before each look for a job whose submission got no clear answer: a busy scheduler may accept a
# request after its client has given up.
LOOKS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)


class Lookup(Protocol):
    """The look-ups, a part of ``whesl.managers.resource.port.Scheduler``."""

    def find(self, token: str) -> JobRecord | None:
        """Return the job submitted with a token; None only when the scheduler surely has no such job."""

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the jobs' records by id; for a job array's id those of its elements."""
        ...


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a task's last submission: its number, and its job's id ('' where the outcome is unknown).

    ``submitted`` keeps the time of each job's submission (seconds since the epoch), for the report's queue
    waits. ``refused`` is the scheduler's message when it surely refused the submission. ``sizes``: the fewest
    and the most nodes that the job may have, (0, 0) for as many as it asked for.
    """

    number: int
    job: str = ""
    asked: float = 0.0
    submitted: dict[str, float] = {}
    refused: str = ""
    sizes: tuple[int, int] = (0, 0)

    def became(self, job: str) -> Submission:
        """Return the submission with the id of its job."""
        submitted = {job: self.asked, **self.submitted}
        return msgspec.structs.replace(self, job=job, submitted=submitted, refused="")


class Ledger:
    """The record of one task's submissions on disk, for one process at a time (``locked``).

    Args:
        directory: the directory of the workflow's submissions; created when missing.
        task: the task's id.
    """

    def __init__(self, directory: Path, task: str) -> None:
        self._directory = directory
        self._path = directory / f"{file_name(quote(task, safe=''))}.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the task, after any other submission of it has ended. Raises CouldNotObserveError."""
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
        """Return the last record, None without a record.

        Raises CouldNotObserveError for a damaged record.
        """
        try:
            return msgspec.json.decode(file_retry.retried(self._path.read_bytes), type=Submission)
        except FileNotFoundError:
            return None
        except UNDECODABLE as error:
            # A damaged record must not count as no record, which would allow a submission.
            raise CouldNotObserveError(
                f"the record of submissions {self._path} is damaged: {error}",
                hint="look whether the job runs already; if it does not, remove that file",
            ) from None

    def write(self, submission: Submission) -> None:
        """Replace the record atomically; it is on the disk when this method returns. Raises OSError."""
        file_retry.replace(self._path, msgspec.json.encode(submission), durable=True)


def token(task: str, number: int) -> str:
    """Return a submission's token: one word, without commas, which separate PBS's variables.

    Args:
        task: the task's id.
        number: the submission's number.
    """
    return f"{quote(task, safe='/.+-_=@')}#{number}"


def submit_once(
    ledger: Ledger,
    task: str,
    scheduler: Lookup,
    submit: Callable[[str], str],
    sleep: Callable[[float], None],
    now: Callable[[], float],
) -> str:
    """Submit a task once and return its job's id; the caller holds the ledger's lock.

    Args:
        ledger: the record of the task's submissions.
        task: the task's id.
        scheduler: finds jobs by their tokens.
        submit: submits with a token and returns the job's id; raises RefusedError when the scheduler
            refuses, TransientError or CouldNotObserveError when the outcome is unclear.
        sleep: waits for the given seconds.
        now: seconds since the epoch.

    Raises the error of ``submit`` when there surely is no job, CouldNotObserveError when that is unknown.
    """
    last = ledger.read() or Submission(number=0)
    number = last.number or 1
    if last.number:
        found = _look(scheduler, token(task, number), last, sleep)
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
    """Whether a job has ended without success, so that the manager may want another job."""
    return record.state.ended and record.state is not JobState.COMPLETED


def _look(scheduler: Lookup, name: str, last: Submission, sleep: Callable[[float], None]) -> JobRecord | None:
    error: WheslError | None = None
    for wait in LOOKS:
        sleep(wait)
        try:
            if (found := scheduler.find(name)) is not None or not last.job:
                return found
            # A comment that its owner has changed has no token.
            known = [
                record
                for record in scheduler.jobs((last.job,)).values()
                if record.submitted >= last.asked - PATIENCE
            ]
            return min(known, key=lambda record: record.state.ended, default=None)
        except (CouldNotObserveError, TransientError) as caught:
            error = caught
    assert error is not None
    raise CouldNotObserveError(
        f"whether {name} was submitted before cannot be seen: {error.message}",
        hint="nothing was submitted; submit again when the scheduler answers",
    )


def _accepted(scheduler: Lookup, name: str, sleep: Callable[[float], None], error: WheslError) -> str:
    """Return the id of an unclear submission's job; raise the submission's error when no job is found."""
    for wait in LOOKS:
        sleep(wait)
        with contextlib.suppress(CouldNotObserveError, TransientError):
            found = scheduler.find(name)
            if found is not None:
                return job_ids.submitted(found.id)
    raise error


def job_id(output: str) -> str:
    """Return the job id in sbatch's reply (usual or ``--parsable``); '' for a reply without one."""
    found = re.search(
        r"^(?:Submitted batch job )?(\d+)(?:;\S+)?(?: on cluster \S+)?\s*$", output, re.MULTILINE
    )
    return found.group(1) if found else ""
