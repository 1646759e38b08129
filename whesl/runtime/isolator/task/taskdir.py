"""The task's directory: its layout, and the few small files that keeper, isolator and runner share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import file_retry
from whesl.model.errors import WheslError
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.launch import program_runner
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import Owner
from whesl.runtime.wire.keys import private_directory


class TaskDirError(WheslError):
    """The task's directory cannot be used."""


class Stream(msgspec.Struct, frozen=True):
    """Where an output stream goes. ``path`` is the caller's own file; empty: a file of each attempt.

    What goes to an attempt's file is copied through to the caller by the keeper. ``common``: the caller's
    file where that is one that other tasks write to as well (``runtime/detect/shared_output.py``).
    """

    path: str = ""
    common: str = ""


class First(msgspec.Struct, frozen=True, kw_only=True):
    """A first attempt that ``whesl exec`` starts itself.

    ``sizes``: of its files before, bytes. ``before``: what those show of themselves that rules name
    (``old_files.positions``). ``began``: just before its start, seconds since the epoch.
    """

    sizes: dict[str, int]
    before: tuple[dict[str, Any], ...] = ()
    began: float = 0.0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run, as the caller wrote it, and how the isolator looks after it.

    ``script`` says which word of the command is a script, by its number; 0 for none; ``checksum``
    is that of its content where ``--script`` named it. ``batch``: the
    process of the job's own script, whose death is the job's end; 0 for none. ``joined``: both streams go to
    one file. ``stdin`` is a file to be read anew by each attempt from ``stdin_offset``. ``inner``: whether
    tasks run by a Flux instance in the job (``whesl.managers.resource.manager_table.INNER``).
    ``first``: the first attempt is started before the isolator. ``checkpoints``: where the program's are
    kept, empty when they are not coordinated. Times in seconds.
    """

    setup: Setup
    command: tuple[str, ...] = ()
    script: int = 0
    checksum: int = 0
    batch: int = 0
    workdir: str = "/"
    stdin: str = ""
    stdin_offset: int = 0
    stdout: Stream = Stream()
    stderr: Stream = Stream()
    joined: bool = False
    checkpoints: str = ""
    heartbeat: float = 0.5
    heartbeat_limit: float = 3.0
    json_summary: str = ""
    inner: str = "auto"
    first: First | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How the task ended, for the keeper. ``notice`` is a line for the job's own output, '' for none."""

    code: int
    state: TaskState
    reason: str
    claim: str
    notice: str = ""


class TaskDir:
    """Paths and files of one task.

    Args:
        path: the directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = path / "journal.db"
        self.lock_file = path / "lock"
        self.link = path / "link.json"
        self.reconfigure = path / "reconfigure.json"
        self.hosts = path / "hosts"
        self.control = path / "control.json"
        self.raised = path / "raised"
        self.log = path / "log"
        self.job_file = path / "job.json"
        self.result_file = path / "result.json"
        self.summary = path / "summary"
        self.paused = path / "paused"
        self.shims = path / "bin"

    def make(self) -> None:
        """Make the directory, private to the user. Raises TaskDirError, HomeError for one open to others."""
        try:
            if file_retry.exists(self.path) and not file_retry.names(self.path):
                file_retry.retried(lambda: self.path.chmod(0o700))
            private_directory(self.path)
        except OSError as error:
            raise TaskDirError(
                f"the task's directory {self.path} cannot be made: {file_retry.told(error)}",
                hint="WHESL_HOME has to be on a file system with room that login and compute nodes share",
            ) from error

    def attempt(self, number: int) -> Path:
        """Return an attempt's directory."""
        return self.path / f"attempt-{number}"

    def newest_attempt(self) -> int:
        """Return the number of the newest attempt that has a directory, 0 for none. Raises OSError."""
        names = (name.partition("attempt-")[2] for name in file_retry.names(self.path))
        return max((int(name) for name in names if name.isascii() and name.isdigit()), default=0)

    def claim_of(self, number: int) -> str:
        """Return the claim that an attempt was started for, empty when there is none. Raises OSError."""
        return (file_retry.content(self.attempt(number) / "claim") or b"").decode(errors="replace")

    def active_nodes(self) -> tuple[str, ...]:
        """Return the nodes that the newest attempt was started on, as far as there are. Raises OSError."""
        return tuple((file_retry.content(self.hosts) or b"").decode(errors="replace").split())

    def status(self, number: int) -> Path:
        """Return the file that an attempt's runner leaves its exit status in."""
        return self.attempt(number) / "status"

    def output(self, number: int, stream: Stream, name: str) -> Path:
        """Return the file that a stream of an attempt goes to."""
        return Path(stream.path) if stream.path else self.attempt(number) / name

    def lock(self, setup: Setup | None = None) -> int:
        """Hold the task's lock, and return its descriptor (``takeover_lock.take``).

        Args:
            setup: whose claim and job it is held for.

        Raises HeldError when another process holds it, TaskDirError when that cannot be told.
        """
        with self._locking("taken"):
            return takeover_lock.take(str(self.lock_file), holder_of(setup))

    def owner(self) -> Owner | None:
        """Return who holds the lock now, None when nobody does. Raises TaskDirError."""
        with self._locking("looked at"):
            return takeover_lock.holder(str(self.lock_file))

    def break_lock(self, owner: Owner, setup: Setup) -> bool:
        """Take the lock from an owner that is known to be dead, and give it back; False when another one did.

        Locks that the dead owner's host held on the journal stay with the old file.

        Args:
            owner: the dead one.
            setup: of who breaks it.

        Raises TaskDirError.
        """
        with self._locking("taken over"):
            descriptor = takeover_lock.break_lock(str(self.lock_file), owner, holder_of(setup))
            if descriptor is None:
                return False
            try:
                from whesl.runtime.journal.database_integrity import (
                    renew,  # SQLite is loaded by the few who need it
                )

                renew(self.journal)
            finally:
                takeover_lock.release(descriptor)
        return True

    @contextlib.contextmanager
    def _locking(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TaskDirError(
                f"the lock {self.lock_file} cannot be {what}: {error.strerror}",
                hint="`whesl doctor` tells what its file system can do",
            ) from error


def holder_of(setup: Setup | None, pid: int | None = None) -> Owner:
    """Return a process of this host as the owner of a task's lock; this process by default."""
    if setup is None:
        return takeover_lock.owned(pid=pid)
    job = f"{setup.rjms}:{setup.job_id}" if setup.job_id else ""
    return takeover_lock.owned(setup.claim, job, setup.restarts, pid)


def script_of(job: Job) -> bytes:
    """Return the content of a task's script, b"" where it has none or none any more.

    Raises OSError when it could not be read.
    """
    return (file_retry.content(job.command[job.script]) or b"") if job.script else b""


def read_status(path: Path) -> int | None:
    """Return the exit status in a runner's file, None while there is none. Raises OSError."""
    return program_runner.read(file_retry.content(path) or b"")[0]
