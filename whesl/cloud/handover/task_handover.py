"""Hands a task over to another cluster, waits for its end, and brings its output files back.

Each call is a separate run on the other cluster. A record of the run is written before anything is sent. A
run that an earlier call for the same task may have left is ended first, so two copies never run at once.
Calls to a silent cluster are repeated, and a new run starts only after the earlier one is surely over.
"""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import hashlib
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Protocol, TypeVar

import msgspec

from whesl.files import whole_file
from whesl.managers.resource.port import JobRecord
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError
from whesl.report import handover_record

_TICK = 0.2  # seconds between two checks for signals
Result = TypeVar("Result")


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is handed over.

    Attributes:
        key: unique name of the task, the same for all its attempts.
        directory: the task's directory on this cluster.
        command: the command, which runs in a new directory on the other cluster.
        inputs: globs of files below ``directory`` that are copied to the other cluster.
        outputs: patterns of files that are brought back; ``*`` also matches slashes.
        environment: variables that are exported to the command.
        nodes: number of nodes that the task needs.
        time_limit: minutes; None for the partition's default.
        attempt: the attempt's number, 1 for the first one.
        told: the directory of the task's records, for its report; None without one.
    """

    key: str
    directory: Path
    command: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ("*",)
    environment: dict[str, str] = {}
    nodes: int = 1
    time_limit: float | None = None
    attempt: int = 1
    told: Path | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a run that may still be going on: its token and its cluster's name."""

    token: str
    cluster: str


class Cluster(Protocol):
    """The calls to the other cluster."""

    def claim(self, run: str) -> bool: ...

    def put(self, run: str, directory: Path, names: Sequence[str]) -> None:
        """Copy input files of ``directory`` into a run's directory on the other cluster.

        Args:
            run: the run's token, which is the name of its directory.
            directory: the task's directory on this cluster.
            names: paths of the files relative to ``directory``, which they keep on the other cluster.
        """

    def submit(
        self,
        run: str,
        command: Sequence[str],
        environment: dict[str, str],
        nodes: int,
        time_limit: float | None,
    ) -> str:
        """Submit a run's job once, even when called again for the same run; return the job's id.

        Args:
            run: the run's token, which is the name of its directory.
            command: the task's command.
            environment: variables that are exported to the command.
            nodes: number of nodes.
            time_limit: minutes; None for the partition's default.
        """

    def job(self, run: str) -> JobRecord | None: ...
    def cancel(self, job_id: str) -> None: ...
    def status(self, run: str) -> int | None: ...

    def output(self, run: str, stream: str, since: int) -> bytes:
        """Return at most a MiB of a run's output; nothing while the task has written no more.

        Args:
            run: the run's token.
            stream: ``stdout`` or ``stderr``.
            since: offset in bytes at which the result begins; 0 is the stream's begin.
        """

    def written(self, run: str) -> list[str]: ...

    def get(self, run: str, name: str, target: Path) -> object:
        """Copy a file of a run to this cluster, whole or not at all; return the copy's digest.

        Args:
            run: the run's token.
            name: path relative to the task's directory, as ``written`` returns it.
            target: path on this cluster.
        """

    def remove(self, run: str) -> None: ...
    def close(self) -> None: ...


class StoppedError(BaseException):
    """A signal has asked this process to end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class Handing:
    """Hands one task over to one cluster.

    Args:
        task: the task.
        cluster: the cluster's name.
        opened: connects to the cluster with a given name.
        records: directory of the runs' records.
        poll: seconds between two looks at the run.
        patience: seconds for which calls to a silent cluster are repeated.
        streams: files for the task's standard output and standard error.
    """

    def __init__(
        self,
        task: Task,
        cluster: str,
        opened: Callable[[str], Cluster],
        records: Path,
        *,
        poll: float,
        patience: float,
        streams: tuple[BinaryIO, BinaryIO],
    ) -> None:
        self._task, self._name, self._opened = task, cluster, opened
        self._poll, self._patience, self._streams = poll, patience, streams
        records.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._record = records / f"{hashlib.sha256(task.key.encode()).hexdigest()[:24]}.json"
        self._stop = 0

    def run(self) -> int:
        """Run the task and return its exit status; 128 + n where this process received signal n.

        Raises:
            UsageError: no file has an input's name, or the task is being handed over already.
            CouldNotObserveError: the other cluster did not answer for ``patience`` seconds. Its job ends
                itself when its lease is over; the next call for this task ends the job first.
            RefusedError: the other cluster refused the job, a copy or a command.
        """
        names = _inputs(self._task)
        with self._alone(), self._signals():
            self._end_earlier()
            run = Run(token=f"whesl-{secrets.token_hex(8)}", cluster=self._name)
            whole_file.write_bytes(self._record, msgspec.json.encode(run))
            with contextlib.closing(self._opened(self._name)) as cluster:
                try:
                    status = self._carried_out(cluster, run.token, names)
                except StoppedError as stopped:
                    self._give_up(cluster, run)
                    return 128 + stopped.signum
                except RefusedError:
                    self._give_up(cluster, run)
                    raise
                self._forget(cluster, run)
                return status

    def _carried_out(self, cluster: Cluster, token: str, names: Sequence[str]) -> int:
        task = self._task
        self._answered(lambda: cluster.put(token, task.directory, names))
        job_id = self._answered(
            lambda: cluster.submit(token, task.command, task.environment, task.nodes, task.time_limit)
        )
        submitted = time.time()
        self._say(
            f"job {job_id} on {self._name}, {len(names)} files copied; this job keeps its nodes meanwhile"
        )
        status, kept = None, 0
        try:
            status = self._waited(cluster, token)
            for name in self._answered(lambda: cluster.written(token)):
                if any(fnmatch.fnmatchcase(name, pattern) for pattern in task.outputs):
                    self._answered(partial(cluster.get, token, name, _inside(task.directory, name)))
                    kept += 1
        finally:
            took = time.time() - submitted
            self._tell(job_id, submitted, took, status, kept)
        self._say(
            f"job {job_id} on {self._name} ended with status {status} {took:.0f} s after its submission, "
            f"{kept} files brought back"
        )
        return status

    def _tell(self, job: str, submitted: float, seconds: float, status: int | None, files: int) -> None:
        """Write the record for the task's report; a full disk does not fail the attempt."""
        if self._task.told is None:
            return
        record = handover_record.HandedOver(
            attempt=self._task.attempt,
            cluster=self._name,
            job=job,
            submitted=submitted,
            seconds=seconds,
            status=status,
            files=files,
        )
        with contextlib.suppress(OSError), (self._task.told / handover_record.FILE).open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")

    def _waited(self, cluster: Cluster, token: str) -> int:
        """Wait until the task has ended, and return its exit status."""
        seen = [0, 0]
        over = False
        while True:
            status = self._answered(lambda: cluster.status(token))
            for number, stream in enumerate(("stdout", "stderr")):
                while part := self._answered(partial(cluster.output, token, stream, seen[number])):
                    self._streams[number].write(part)
                    self._streams[number].flush()
                    seen[number] += len(part)
            if status is not None:
                return status
            job = self._answered(lambda: cluster.job(token))
            if over:  # the job had ended before the last look at its status and output
                said = f"{job.raw_state} {job.reason}".strip() if job else "nothing any more"
                self._say(f"its job ended without a status; the scheduler of {self._name} says: {said}")
                return max(job.status, 1) if job else 1
            over = job is None or job.state.ended
            if not over:
                self._sleep(self._poll)

    def _end_earlier(self) -> None:
        """End the run that an earlier call for this task may have left. Raises CouldNotObserveError."""
        try:
            run = msgspec.json.decode(self._record.read_bytes(), type=Run)
        except FileNotFoundError:
            return
        self._say(f"an earlier run on {run.cluster} is ended first")
        with contextlib.closing(self._opened(run.cluster)) as cluster:
            self._give_up(cluster, run)

    def _give_up(self, cluster: Cluster, run: Run) -> None:
        """End a run; the files of a run that had already finished remain on the other cluster."""
        self._end(cluster, run.token)
        if self._answered(lambda: cluster.status(run.token), stops=False) is None:
            self._forget(cluster, run)
        else:
            self._say(f"the files of the run {run.token} remain on {run.cluster}")
            self._record.unlink()

    def _forget(self, cluster: Cluster, run: Run) -> None:
        with contextlib.suppress(CouldNotObserveError, RefusedError):
            cluster.remove(run.token)
        self._record.unlink()

    def _end(self, cluster: Cluster, token: str) -> None:
        """Return when no process of a run runs or can start. Raises CouldNotObserveError."""
        began = self._answered(lambda: not cluster.claim(token), stops=False)
        while (job := self._answered(lambda: cluster.job(token), stops=False)) and not job.state.ended:
            self._answered(lambda: cluster.cancel(job.id), stops=False)
            if not began:
                return  # the waiting job cannot claim the run, so it would run nothing
            time.sleep(min(self._poll, 1.0))

    def _answered(self, call: Callable[[], Result], *, stops: bool = True) -> Result:
        """Return a call's result; the call is repeated while the other cluster does not answer."""
        end = time.monotonic() + self._patience
        while True:
            if stops:
                self._stopped()
            try:
                return call()
            except (CouldNotObserveError, TransientError) as error:
                if time.monotonic() >= end:
                    message = f"{self._name} did not answer for {self._patience:g} s: {error.message}"
                    raise CouldNotObserveError(
                        message, hint="a later call ends what runs there first"
                    ) from None
                self._sleep(self._poll, stops=stops)

    def _sleep(self, seconds: float, *, stops: bool = True) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if stops:
                self._stopped()
            time.sleep(min(left, _TICK))

    def _stopped(self) -> None:
        if self._stop:
            raise StoppedError(self._stop)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Remember SIGTERM, SIGINT and SIGHUP until the next check for signals."""

        def remember(signum: int, _: FrameType | None) -> None:
            self._stop = signum

        before = {
            number: signal.signal(number, remember)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with self._record.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(
                    f"{self._task.key} is being handed over by another process", hint="wait for it, or end it"
                ) from None
            yield

    def _say(self, text: str) -> None:
        sys.stderr.write(f"whesl: handover: {text}\n")
        sys.stderr.flush()


def _inputs(task: Task) -> list[str]:
    """Return the names of a task's input files. Raises UsageError for a glob that matches no file."""
    found: dict[str, None] = {}
    for pattern in task.inputs:
        try:
            paths = sorted(task.directory.glob(pattern))
        except (ValueError, NotImplementedError):
            raise UsageError(f"not a path below {task.directory}: {pattern!r}") from None
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
        if not any(file.is_file() for file in files):
            raise UsageError(f"no file below {task.directory} is an input {pattern!r}")
        found |= {str(file.relative_to(task.directory)): None for file in files if file.is_file()}
    return list(found)


def _inside(directory: Path, name: str) -> Path:
    """Return a file's path below a directory. Raises RefusedError for a name that leads out of it."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise RefusedError(f"not a file below {directory}: {name!r}")
    return directory / path
