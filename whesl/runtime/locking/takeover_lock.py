"""One lock for one daemon, on any file system that hosts share (docs/design/locks.md). Standard library only.

A lock is a file with a record of its owner and the owner's epoch, which is won by link(2). Without evidence
the owner counts as alive, until a caller with better knowledge calls ``break_lock``. An owner that lives sees
the newer epoch (``lost``) before it records its next action: the epoch is a fencing token (M. Kleppmann, "How
to do distributed locking", 2016). The names ``lock.EPOCH`` stay, so that a process that slept since an old
epoch cannot win it again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os

from whesl.files import file_retry
from whesl.model.errors import WheslError
from whesl.runtime.locking import lock_scope, procfs

TYPE_CHECKING = False  # the import of typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

# Errors of flock(2) and fcntl(2) where a file system has no locks, or its lock service does not answer.
UNSUPPORTED = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL})
HELD = frozenset({errno.EAGAIN, errno.EACCES})
# Bytes of a record: it is overwritten in place by one call, so that no reader sees a part of it.
_LENGTH = 1024
_EPOCHS = 1 << 53  # a larger epoch in the file was not written by this module


class LockError(WheslError):
    """A lock cannot be taken: its file system failed, or lacks a needed operation."""

    exit_code = 70


class HeldError(WheslError):
    """Another process (``owner``) holds the lock, or may hold it."""

    exit_code = 75

    def __init__(self, message: str, owner: Owner, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.owner = owner


class Owner:
    """The owner of a lock.

    Args:
        epoch: the owner's number in the lock's sequence of owners, from 1.
        host, boot: the owner's host and its boot (``procfs.boot``).
        pid, started: the owner's process and its start in clock ticks since boot; 0 when not known.
        claim: the claim of the task that the lock protects, "" for none.
        job: the job that the owner runs in, as "slurm:38"; "" for none.
        restarts: the count of restarts of that job.
        released: the owner has released the lock.
    """

    def __init__(
        self,
        *,
        epoch: int = 0,
        host: str = "",
        boot: str = "",
        pid: int = 0,
        started: int = 0,
        claim: str = "",
        job: str = "",
        restarts: int = 0,
        released: bool = False,
    ) -> None:
        self.epoch = epoch
        self.host = host
        self.boot = boot
        self.pid = pid
        self.started = started
        self.claim = claim
        self.job = job
        self.restarts = restarts
        self.released = released

    @property
    def here(self) -> bool:
        """Whether the owner ran on this host since the host's last boot."""
        return self.host == os.uname().nodename and (not self.boot or self.boot == procfs.boot())

    @property
    def before_boot(self) -> bool:
        """Whether the owner ran on this host before the host's last boot."""
        now = procfs.boot()
        known = bool(self.boot and now) and self.host == os.uname().nodename
        return known and self.boot.partition("/")[0] != now.partition("/")[0]

    @property
    def alive(self) -> bool:
        """Whether the owner's process lives or cannot be seen; valid on the owner's host only."""
        try:
            return bool(self.pid) and procfs.started(self.pid) == self.started != 0
        except OSError:
            return True

    def __str__(self) -> str:
        """Return the owner as text for messages."""
        claim = f", claim {self.claim}" if self.claim else ""
        return f"process {self.pid} on {self.host or 'an unknown host'}{claim}"


def owned(claim: str = "", job: str = "", restarts: int = 0, pid: int | None = None) -> Owner:
    """Return a future owner of a lock: a process of this host.

    Args:
        claim: the claim of the task that the lock protects, "" for none.
        job: the job that the process runs in, as "slurm:38"; "" for none.
        restarts: the count of restarts of that job.
        pid: the process's number; None: this process.
    """
    pid = os.getpid() if pid is None else pid
    host = os.uname().nodename
    started = procfs.started(pid)
    return Owner(
        host=host, boot=procfs.boot(), pid=pid, started=started, claim=claim, job=job, restarts=restarts
    )


def flock(descriptor: int, operation: int) -> bool | None:
    """Lock an open file without waiting: True on success, False when another process has the lock.

    Args:
        descriptor: the open file's descriptor.
        operation: fcntl.LOCK_EX or LOCK_SH.

    Returns None where the file system has no such locks. Raises OSError for any other failure.
    """
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            return False
        if error.errno in UNSUPPORTED:
            return None
        raise
    return True


def take(path: str, owner: Owner) -> int:
    """Take a lock and return its descriptor.

    ``release`` ends it, or the closing of all copies of the descriptor.

    Args:
        path: the lock's file, in a directory that belongs to the user.
        owner: the new owner, whose epoch is set.

    Raises HeldError when another process holds the lock, LockError when the file system lacks a needed
    operation, OSError when the file system fails.
    """
    return file_retry.retried(lambda: _take(path, owner))


def _take(path: str, owner: Owner) -> int:
    place = path
    owner.epoch = 0
    while True:
        found, held = _look(place, path)
        if held:
            raise HeldError(f"{path} is held by {found}", found)
        owner.epoch = max(owner.epoch, found.epoch) + 1
        descriptor = _win(path, owner)
        if descriptor is not None:
            return descriptor
        # Another taker was faster, or died before its file replaced the lock's file.
        place = f"{path}.{owner.epoch}"


def holder(path: str) -> Owner | None:
    """Return the owner that holds a lock or may hold it, None when the lock is free. Raises OSError."""
    found, held = file_retry.retried(lambda: _look(path, path))
    return found if held else None


def break_lock(path: str, owner: Owner, by: Owner) -> int | None:
    """Take a lock from an owner that is known to be dead; return None when another taker was faster.

    Args:
        path: the lock's file.
        owner: the dead owner, from ``holder``.
        by: the new owner, whose epoch is set.

    Returns the lock's descriptor, as ``take`` does. Raises LockError and OSError as ``take`` does.
    """
    by.epoch = owner.epoch + 1
    return file_retry.retried(lambda: _win(path, by))


def sign(descriptor: int, owner: Owner) -> None:
    """Hand a held lock over to another process, by writing that process into it. Raises OSError.

    Args:
        descriptor: the lock's descriptor.
        owner: the new owner, whose epoch is set.
    """
    owner.epoch = file_retry.retried(lambda: _read(descriptor)).epoch
    file_retry.retried(lambda: os.pwrite(descriptor, _record(owner), 0))


def spare(path: str, epoch: int) -> None:
    """Prepare a file for the next owner, which may have to take the lock on a full disk.

    Args:
        path: the lock's file.
        epoch: the epoch of the present owner, which is the caller.

    Raises OSError.
    """
    ready = f"{path}.spare"
    if os.path.lexists(ready):
        return
    try:
        if not _owner_of(f"{path}.{epoch - 1}").here:
            raise FileNotFoundError  # the lock's present owner, which may live, would write into the file
        # The spare is the previous owner's file, which needs no more space; the old name stays in use.
        os.link(f"{path}.{epoch - 1}", ready)
        os.link(f"{path}.{epoch}", f"{ready}-{epoch}")
        os.replace(f"{ready}-{epoch}", f"{path}.{epoch - 1}")  # noqa: PTH105  # pathlib costs milliseconds
    except FileNotFoundError:
        descriptor = os.open(ready, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, _record(Owner()))
        finally:
            os.close(descriptor)


def epoch_of(descriptor: int) -> int:
    """Return the epoch of a held lock. Raises OSError."""
    return file_retry.retried(lambda: _read(descriptor)).epoch


def lost(path: str, epoch: int) -> bool:
    """Whether another owner has taken a lock over; an unreadable lock counts as not lost.

    Args:
        path: the lock's file, which is opened anew so that NFS asks its server.
        epoch: the caller's epoch.
    """
    try:
        found = _owner_of(path).epoch
        if 0 < found < epoch:
            # An earlier owner won its epoch first and replaced the lock's file last: restore the caller's
            # file.
            os.link(f"{path}.{epoch}", f"{path}.again-{epoch}")
            os.replace(f"{path}.again-{epoch}", path)  # noqa: PTH105  # pathlib costs milliseconds
    except OSError:
        return False
    return found > epoch


def release(descriptor: int) -> None:
    """Release a lock. Where the record cannot be written, the end of the process shows the release."""
    with contextlib.suppress(OSError):
        owner = _read(descriptor)
        if owner.pid == os.getpid() and owner.here:
            owner.released = True
            os.pwrite(descriptor, _record(owner), 0)
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _look(place: str, path: str) -> tuple[Owner, bool]:
    """Return the owner that a file names, and whether that owner holds the lock. Raises OSError.

    Args:
        place: the lock's file or the file of an epoch.
        path: the lock's file.
    """
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # An epoch was won whose name this host does not see yet: its winner is still at work.
        return Owner(), place != path
    try:
        owner = _read(descriptor)
        # A shared lock: two processes that look at once do not take each other for an owner.
        granted = flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)
    if owner.before_boot:
        return owner, False
    if granted is False:
        return owner, True
    if owner.released or (not owner.pid and granted):
        return owner, False
    if owner.here:
        return owner, not granted and owner.alive
    return owner, granted is None or lock_scope.mount_of(path).scope is not lock_scope.Scope.EVERYWHERE


def _win(path: str, owner: Owner) -> int | None:
    """Win an epoch and the lock with it; None when another taker has won. Raises LockError, OSError."""
    beside = f"{path}.{os.urandom(8).hex()}"
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"{path}.spare", beside)  # noqa: PTH104
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if flock(descriptor, fcntl.LOCK_EX) is False:
            # The file server still keeps a dead host's lock on the spare.
            os.unlink(beside)  # noqa: PTH108
            os.close(descriptor)
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            flock(descriptor, fcntl.LOCK_EX)
        os.pwrite(descriptor, _record(owner), 0)
        try:
            os.link(beside, f"{path}.{owner.epoch}")
        except OSError as error:
            # After a lost answer, an NFS client repeats the request: the link may exist although it was made
            # here.
            ours = error.errno == errno.EEXIST and _same(descriptor, f"{path}.{owner.epoch}")
            if error.errno == errno.EEXIST and not ours:
                os.close(descriptor)
                return None
            if error.errno in (errno.EPERM, errno.EMLINK, *UNSUPPORTED):
                raise LockError(
                    f"{path} cannot be taken: its file system has no hard links ({error.strerror})",
                    hint="set WHESL_HOME to a directory of your own on another file system that nodes share",
                ) from error
            if error.errno != errno.EEXIST:
                raise
        os.replace(beside, path)  # noqa: PTH105
    except BaseException:
        release(descriptor)
        raise
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
    return descriptor


def _same(descriptor: int, path: str) -> bool:
    """Whether an open file is the file that a path names."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))  # noqa: PTH116
    except FileNotFoundError:
        return False


def _owner_of(path: str) -> Owner:
    """Return the owner that a file names. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _record(owner: Owner) -> bytes:
    return json.dumps(vars(owner)).encode().ljust(_LENGTH - 1) + b"\n"


def _read(descriptor: int) -> Owner:
    """Return the owner in a file's record, an empty owner for an invalid record. Raises OSError."""
    try:
        said: dict[str, Any] = json.loads(os.pread(descriptor, _LENGTH, 0))
        owner = Owner()
        for name, plain in list(vars(owner).items()):
            if type(said.get(name)) is type(plain):
                setattr(owner, name, said[name])
        owner.epoch = owner.epoch if 0 <= owner.epoch < _EPOCHS else 0
    except (ValueError, AttributeError, RecursionError):
        return Owner()
    return owner
