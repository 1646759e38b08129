"""One lock for one daemon, on any file system that hosts share; it never rests on flock(2) alone.

A lock is a file with a record of its owner. Each owner has an *epoch*, one above the owner's before it, and
has won it by link(2): ``lock.EPOCH`` can be made once, by one of all hosts (open(2), O_EXCL, on NFS). The
winner's file then replaces ``lock`` in one piece. Whether the present owner lives is told by, in this order:
the record (it was given back), flock(2) (where it is granted, and holds between the hosts concerned), and the
process (on its own host). Else it counts as alive, until somebody with better knowledge (the resource
manager's) calls ``break_lock``.

An owner that was broken, and lives after all, finds a newer epoch in ``lock`` (``lost``) before it writes
down what it is about to do: a fencing token (M. Kleppmann, "How to do distributed locking", 2016). So two
takers, a server that keeps a dead client's locks, mounts with local locks, and file systems without locks
come to one owner.

Names ``lock.EPOCH`` stay: who has slept since an old epoch must not win it again. Standard library only.
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

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any

# What flock(2) and fcntl(2) say where a file system has no locks, or its lock service does not answer.
UNSUPPORTED = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL})
HELD = frozenset({errno.EAGAIN, errno.EACCES})
# A record is written over in place in one call, so that no reader finds a part of it.
_LENGTH = 1024
_EPOCHS = 1 << 53  # a larger epoch in the file was not written by this module


class LockError(WheslError):
    """A lock could not be taken: its file system failed, or cannot do what is needed."""

    exit_code = 70


class HeldError(WheslError):
    """Another process holds the lock, as far as can be told: ``owner``."""

    exit_code = 75

    def __init__(self, message: str, owner: Owner, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.owner = owner


class Owner:
    """Who holds a lock.

    Args:
        epoch: the how-manieth owner of this lock.
        host, boot: where it runs (``procfs.boot``).
        pid, started: its process; 0 when not known.
        claim: what it holds the lock for.
        job: the resource manager's job that it runs in, as "slurm:38"; "" for none.
        restarts: how often that job ran again.
        released: it has given the lock back.
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
        """Whether the owner's process lives or cannot be seen; to be asked on the owner's host."""
        try:
            return bool(self.pid) and procfs.started(self.pid) == self.started != 0
        except OSError:
            return True

    def __str__(self) -> str:
        """Say who it is."""
        claim = f", claim {self.claim}" if self.claim else ""
        return f"process {self.pid} on {self.host or 'an unknown host'}{claim}"


def owned(claim: str = "", job: str = "", restarts: int = 0, pid: int | None = None) -> Owner:
    """Return a process of this host as an owner-to-be; this process by default."""
    pid = os.getpid() if pid is None else pid
    host = os.uname().nodename
    started = procfs.started(pid)
    return Owner(
        host=host, boot=procfs.boot(), pid=pid, started=started, claim=claim, job=job, restarts=restarts
    )


def flock(descriptor: int, operation: int) -> bool | None:
    """Lock an open file without waiting: True when it is locked now, False when another has it.

    Args:
        descriptor: the file's.
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
    """Take a lock and return its descriptor: held until ``release``, or until it is closed everywhere.

    Args:
        path: the lock's file, in a directory of the user's own.
        owner: who takes it; its epoch is set.

    Raises HeldError when another one holds it, LockError when its file system cannot do what is needed,
    OSError when that fails.
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
        # Another one was faster, or has died before its file became the lock's.
        place = f"{path}.{owner.epoch}"


def holder(path: str) -> Owner | None:
    """Return a lock's owner as far as can be told, None when it is free. Raises OSError."""
    found, held = file_retry.retried(lambda: _look(path, path))
    return found if held else None


def break_lock(path: str, owner: Owner, by: Owner) -> int | None:
    """Take a lock from an owner that is known to be dead; None when another one was faster.

    Args:
        path: the lock's file.
        owner: the dead one, as ``holder`` told.
        by: who takes it; its epoch is set.

    Returns the descriptor, as ``take`` does. Raises as ``take`` does.
    """
    by.epoch = owner.epoch + 1
    return file_retry.retried(lambda: _win(path, by))


def sign(descriptor: int, owner: Owner) -> None:
    """Write another process into a lock that is held: the lock is handed over to it. Raises OSError.

    Args:
        descriptor: the lock's.
        owner: who holds it from now on; its epoch is set.
    """
    owner.epoch = file_retry.retried(lambda: _read(descriptor)).epoch
    file_retry.retried(lambda: os.pwrite(descriptor, _record(owner), 0))


def spare(path: str, epoch: int) -> None:
    """Have a file ready for the next owner, which may have to take the lock on a full disk.

    Args:
        path: the lock's file.
        epoch: the present owner's, the caller's.

    Raises OSError.
    """
    ready = f"{path}.spare"
    if os.path.lexists(ready):
        return
    try:
        if not _owner_of(f"{path}.{epoch - 1}").here:
            raise FileNotFoundError  # the lock's present owner, which may live, would write into the file
        # The file of the owner before, which needs no room; its name stays taken.
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
    """Return the epoch of a lock that is held. Raises OSError."""
    return file_retry.retried(lambda: _read(descriptor)).epoch


def lost(path: str, epoch: int) -> bool:
    """Whether another one has taken a lock over. What cannot be read is not lost.

    Args:
        path: the lock's file; opened anew, so that NFS asks the server.
        epoch: the caller's.
    """
    try:
        found = _owner_of(path).epoch
        if 0 < found < epoch:
            # One that was overtaken between winning its epoch and putting its file here.
            os.link(f"{path}.{epoch}", f"{path}.again-{epoch}")
            os.replace(f"{path}.again-{epoch}", path)  # noqa: PTH105  # pathlib costs milliseconds
    except OSError:
        return False
    return found > epoch


def release(descriptor: int) -> None:
    """Give a lock back. What cannot be written down is told by the process's end."""
    with contextlib.suppress(OSError):
        owner = _read(descriptor)
        if owner.pid == os.getpid() and owner.here:
            owner.released = True
            os.pwrite(descriptor, _record(owner), 0)
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _look(place: str, path: str) -> tuple[Owner, bool]:
    """Return the owner that a file names and whether it holds the lock. Raises OSError.

    Args:
        place: the file: the lock's, or that of an epoch.
        path: the lock's file.
    """
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # An epoch that was won, and whose name this host does not see yet: its winner is at work.
        return Owner(), place != path
    try:
        owner = _read(descriptor)
        # Shared: two that look do not take each other for an owner.
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
    """Win an epoch and have the lock; None when another one has won it. Raises LockError, OSError."""
    beside = f"{path}.{os.urandom(8).hex()}"
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"{path}.spare", beside)  # noqa: PTH104
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if flock(descriptor, fcntl.LOCK_EX) is False:
            # A spare that a dead host's lock is kept on.
            os.unlink(beside)  # noqa: PTH108
            os.close(descriptor)
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            flock(descriptor, fcntl.LOCK_EX)
        os.pwrite(descriptor, _record(owner), 0)
        try:
            os.link(beside, f"{path}.{owner.epoch}")
        except OSError as error:
            # A server's answer that was lost makes the client ask again (open(2), O_EXCL).
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
    """Whether an open file is the one of a name."""
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
    """Return a file's record; one that says nothing where there is none. Raises OSError."""
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
