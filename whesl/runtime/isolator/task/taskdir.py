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
    """The destination of an output stream. ``path``: the caller's own file; empty: a file of each attempt.

    The keeper copies an attempt's file through to the caller's stream. ``common``: the caller's file, if
    other tasks write to that file as well (``runtime/detect/shared_output.py``).
    """

    path: str = ""
    common: str = ""


class First(msgspec.Struct, frozen=True, kw_only=True):
    """A first attempt that ``whesl exec`` starts itself.

    ``sizes``: bytes of its output files before the start. ``before``: the state of the files that rules name
    (``old_files.positions``). ``began``: time just before the start, seconds since the epoch.
    """

    sizes: dict[str, int]
    before: tuple[dict[str, Any], ...] = ()
    began: float = 0.0


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that the job has got for a recovery's step; ``variables`` of the job have changed by that."""

    step: str
    variables: dict[str, str]
    note: str


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The command as the caller wrote it, and the settings of its supervision.

    ``script``: index of the command's word that is a script; 0 for none. ``checksum``: of the script's
    content where ``--script`` named it. ``raised``: exit status by which the program says that its own
    exception, which it has printed, ended it; 0 for none. ``batch``: process number of the job's own
    script, whose death is the job's end; 0 for none. ``joined``: both streams go to one file. ``stdin``: a
    file that each attempt reads anew from ``stdin_offset``. ``descriptors``: those that the command
    inherits besides its streams (``standard_streams.further``). ``inner``: whether tasks run by a Flux
    instance in the job (``whesl.managers.resource.manager_table.INNER``). ``first``: the first attempt,
    where it is started before the isolator. ``checkpoints``: the directory of the program's checkpoints,
    empty when these are not coordinated. ``moved_from``: the lost node from which ``setup.own_node`` has
    taken the task over. ``grown``: what the job has got since its start. Times in seconds.
    """

    setup: Setup
    command: tuple[str, ...] = ()
    script: int = 0
    checksum: int = 0
    raised: int = 0
    batch: int = 0
    workdir: str = "/"
    stdin: str = ""
    stdin_offset: int = 0
    stdout: Stream = Stream()
    stderr: Stream = Stream()
    joined: bool = False
    descriptors: tuple[tuple[int, int, int], ...] = ()
    checkpoints: str = ""
    heartbeat: float = 0.5
    heartbeat_limit: float = 3.0
    json_summary: str = ""
    inner: str = "auto"
    first: First | None = None
    moved_from: str = ""
    grown: tuple[Grown, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The task's end, for the keeper. ``notice`` is a line for the job's own output, '' for none."""

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
        self.variables = path / "variables.json"

    def make(self) -> None:
        """Make the directory, private to the user. Raises TaskDirError; HomeError if others may open it."""
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
        """Return the claim that an attempt was started for, empty when none is known. Raises OSError."""
        return (file_retry.content(self.attempt(number) / "claim") or b"").decode(errors="replace")

    def active_nodes(self) -> tuple[str, ...]:
        """Return the nodes that the newest attempt was started on, () when not known. Raises OSError."""
        return tuple((file_retry.content(self.hosts) or b"").decode(errors="replace").split())

    def status(self, number: int) -> Path:
        """Return the file in which an attempt's runner leaves the exit status."""
        return self.attempt(number) / "status"

    def output(self, number: int, stream: Stream, name: str) -> Path:
        """Return the file to which an output stream of an attempt goes.

        Args:
            number: the attempt's number.
            stream: the stream's destination.
            name: ``stdout`` or ``stderr``.
        """
        return Path(stream.path) if stream.path else self.attempt(number) / name

    def lock(self, setup: Setup | None = None) -> int:
        """Hold the task's lock, and return its descriptor (``takeover_lock.take``).

        Args:
            setup: the setup with the claim and job that the lock names; None for neither.

        Raises HeldError when another process holds the lock, TaskDirError when the lock cannot be taken.
        """
        with self._locking("taken"):
            return takeover_lock.take(str(self.lock_file), holder_of(setup))

    def owner(self) -> Owner | None:
        """Return the lock's present owner, None when nobody holds the lock. Raises TaskDirError."""
        with self._locking("looked at"):
            return takeover_lock.holder(str(self.lock_file))

    def break_lock(self, owner: Owner, setup: Setup) -> bool:
        """Break the lock of a dead owner; return False when another process was faster.

        Locks that the dead owner's host held on the journal stay with the journal's old file.

        Args:
            owner: the dead owner.
            setup: the setup of the caller.

        Raises TaskDirError.
        """
        with self._locking("taken over"):
            descriptor = takeover_lock.break_lock(str(self.lock_file), owner, holder_of(setup))
            if descriptor is None:
                return False
            try:
                from whesl.runtime.journal.database_integrity import (
                    renew,  # imported here since few callers need SQLite
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
    """Return a process of this host as the owner of a task's lock.

    Args:
        setup: the setup with the claim and job that the lock names; None for neither.
        pid: the process number; by default this process's own.
    """
    if setup is None:
        return takeover_lock.owned(pid=pid)
    job = f"{setup.rjms}:{setup.job_id}" if setup.job_id else ""
    return takeover_lock.owned(setup.claim, job, setup.restarts, pid)


def script_of(job: Job) -> bytes:
    """Return the content of a task's script, b"" where the task has no script or the file is gone.

    Raises OSError when the script cannot be read.
    """
    return (file_retry.content(job.command[job.script]) or b"") if job.script else b""


def read_status(path: Path) -> int | None:
    """Return the exit status in a runner's status file, None while there is none. Raises OSError."""
    return program_runner.read(file_retry.content(path) or b"")[0]
