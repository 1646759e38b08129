"""File calls that failed for the moment are made again, for a bounded time. Standard library only.

A network file system that fails over, loses a reply or has forgotten a client answers with an error that says
nothing about the file. Whoever takes that for an answer loses a task: its status would be unknown, its
directory empty, its claim not made. So these errors are waited out; only what lasts is raised.

A call may have been done although it failed. What is repeated here gives the same result when it is done
twice: a file is written anew and renamed again, one that is removed may be gone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar

    T = TypeVar("T")

# What errno(3) means on NFS, Lustre, GPFS and FUSE when a server, or the way to it, is away. ESTALE: the
# handle is one that the server has forgotten; the path leads to a new one. EBUSY: a file that is open
# somewhere could not be given its hidden name.
TRANSIENT = frozenset(
    {
        errno.EIO,
        errno.ESTALE,
        errno.EINTR,
        errno.EAGAIN,
        errno.EBUSY,
        errno.ETIMEDOUT,
        errno.EREMOTEIO,
        errno.ENOTCONN,
        errno.ECONNRESET,
        errno.ECONNREFUSED,
        errno.ESHUTDOWN,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENOLINK,
    }
)
# Seconds for which a call is repeated, and for one whose failure costs little.
LIMIT = 30.0
BRIEF = 1.0
_SHORTEST, _LONGEST = 0.002, 0.5


def retried(call: Callable[[], T], limit: float = LIMIT) -> T:
    """Return the result of a call; a call that fails for the moment is repeated with growing pauses.

    Args:
        call: what opens its files by path, so that a stale handle is not used again.
        limit: seconds from the first failure on.

    Raises the call's error: at once where it is permanent, else after ``limit``.
    """
    deadline = 0.0
    pause = _SHORTEST
    while True:
        try:
            return call()
        except OSError as error:
            now = time.monotonic()
            deadline = deadline or now + limit
            if error.errno not in TRANSIENT or now >= deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)


def content(path: str | os.PathLike[str], limit: float = LIMIT) -> bytes | None:
    """Return a file's bytes, None when there is none that can be read.

    Args:
        path: the file.
        limit: as ``retried``.

    Raises OSError when it could not be seen whether there is one.
    """

    def read() -> bytes:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib costs milliseconds
            return file.read()

    try:
        return retried(read, limit)
    except OSError as error:
        if error.errno in TRANSIENT:
            raise
        return None


def entries(directory: Path, pattern: str, limit: float = LIMIT) -> list[Path]:
    """Return what a pattern finds below a directory, in order; nothing where there is no such directory.

    Args:
        directory: where.
        pattern: as of ``Path.glob``.
        limit: as ``retried``.

    Raises OSError when it could not be seen.
    """
    return retried(lambda: sorted(directory.glob(pattern)), limit)


def exists(path: str | os.PathLike[str], limit: float = LIMIT) -> bool:
    """Whether a path leads to anything; a link counts. Raises OSError when it could not be seen.

    Args:
        path: the file or directory.
        limit: as ``retried``.
    """
    try:
        retried(lambda: os.lstat(path), limit)
    except OSError as error:
        if error.errno in TRANSIENT:
            raise
        return False
    return True


def gone(path: str | os.PathLike[str]) -> bool:
    """Whether a path surely leads nowhere, by one look; False where the file system does not answer."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def size(path: str | os.PathLike[str]) -> int:
    """Return a file's size in bytes, 0 when there is none. Raises OSError when it could not be seen."""
    try:
        return retried(lambda: os.stat(path)).st_size  # noqa: PTH116
    except OSError as error:
        if error.errno in TRANSIENT:
            raise
        return 0


def names(path: str | os.PathLike[str]) -> list[str]:
    """Return what is in a directory, nothing when there is none. Raises OSError when it could not be seen."""
    try:
        return retried(lambda: os.listdir(path))  # noqa: PTH208
    except OSError as error:
        if error.errno in TRANSIENT:
            raise
        return []


def remove(path: str | os.PathLike[str], limit: float = LIMIT) -> None:
    """Remove a file; one that is gone is no error. Raises OSError.

    Args:
        path: the file.
        limit: as ``retried``.
    """
    with contextlib.suppress(FileNotFoundError):
        retried(lambda: os.unlink(path), limit)  # noqa: PTH108


def write(path: str | os.PathLike[str], content: bytes = b"", mode: int = 0o600) -> None:
    """Write a file that its user alone can read, whatever the umask. Raises OSError.

    Args:
        path: the file; one that is there is written over.
        content: all of it.
        mode: who may do what with it.
    """

    def written() -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(descriptor, mode)

    retried(written)


def replace(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    mode: int = 0o600,
    owner: tuple[int, int] | None = None,
    durable: bool = False,
    limit: float = LIMIT,
) -> None:
    """Replace a file's content in one piece: readers see the old or the new content. Raises OSError.

    Args:
        path: the file.
        content: all of it.
        mode: who may do what with it, whatever the umask; the user alone.
        owner: the file's user and group; None for those of this process.
        durable: whether the content is on the disk before it takes the file's name.
        limit: seconds for which a call that fails for the moment is repeated.
    """
    retried(lambda: _replace(path, content, mode, owner, durable), limit)


def _replace(
    path: str | os.PathLike[str], content: bytes, mode: int, owner: tuple[int, int] | None, durable: bool
) -> None:
    directory, slash, name = os.fspath(path).rpartition("/")
    beside = f"{directory}{slash}.{name[:60]}.{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if owner is not None:  # before the mode, since a change of the owner may clear bits of the mode
                os.fchown(descriptor, *owner)
            if mode != 0o600:
                os.fchmod(descriptor, mode)
            file.write(content)
            if durable:
                file.flush()
                os.fsync(descriptor)
        os.replace(beside, path)  # noqa: PTH105  # pathlib costs milliseconds
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
        raise


def make_directory(path: str) -> None:
    """Make a directory that is private to the user; one that is there is no error. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        retried(lambda: os.mkdir(path, 0o700))  # noqa: PTH102


def sync(path: str | os.PathLike[str]) -> None:
    """Make a file, or the names in a directory, durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        close(descriptor)


def close(descriptor: int) -> None:
    """Close a file. It is closed whatever the answer (close(2)); what was written is made sure of before."""
    with contextlib.suppress(OSError):
        os.close(descriptor)


def told(error: OSError) -> str:
    """Return an error for people: the system's message, its name to look it up by, and the file."""
    name = errno.errorcode.get(error.errno or 0, "")
    where = f": {os.fsdecode(error.filename)}" if isinstance(error.filename, (str, bytes)) else ""
    return f"{error.strerror or error}{f' ({name})' if name else ''}{where}"
