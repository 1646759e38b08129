"""The user's WHESL home: a private directory; any other directory is refused.

Uses few modules of the standard library only, since ``whesl exec`` loads this before a task starts.
"""

from __future__ import annotations

import errno
import os
import stat

from whesl.files import file_retry, hanging_file_system
from whesl.files.untrusted_path import planted
from whesl.model import home as places
from whesl.model.errors import WheslError

ROOM = 128 * 1024  # bytes for the files of a task that runs for a few attempts
_PRIVATE = 0o700


class HomeError(WheslError):
    """``WHESL_HOME`` cannot be used: it is not private, another user's, or cannot be made."""


def explained(error: OSError) -> str:
    """Return an error of the system as text for people, with advice where there is any."""
    if error.errno == errno.ENOENT and error.filename is None and not _has_directory():
        return "the current directory was removed\n  hint: change to one that is there (cd), and try again"
    if error.errno == errno.EFBIG:
        import resource  # imported here, since only this message needs it

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        return f"{file_retry.told(error)}: no file may grow beyond {limit} bytes\n  hint: ulimit -f unlimited"
    said, need = _reason(error)
    return f"{said}\n  hint: {need}, or set {places.VARIABLE} to another place" if need else said


def _has_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return False
    return True


def _reason(error: OSError) -> tuple[str, str]:
    """Return the meaning of an error and advice on it; '' where they are not known."""
    said = file_retry.told(error)
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return said, ""
    place = places.chosen()
    named = isinstance(error.filename, str) and os.path.dirname(error.filename)  # noqa: PTH120
    try:
        found = os.statvfs(named or place)
    except OSError:
        found = None
    if found is not None and found.f_files and not found.f_favail:
        return (
            f"{said}: its file system can hold no more files (inodes), whatever its room",
            "remove files there",
        )
    return said, f"make room where {places.VARIABLE} lies ({place}) and where the output goes"


def make_private(path: str) -> None:
    """Make a directory (mode 0700), or check that it is the user's and private.

    Missing directories above it are made private too: in a directory that others may write to, they could
    replace this one by theirs.

    Args:
        path: absolute.

    Raises HomeError.
    """
    try:
        file_retry.retried(lambda: _make_private(path))
    except OSError as error:
        raise _unusable(path, error) from error


def make_home(path: str) -> None:
    """Make a home as ``make_private`` does, where its file system answers in bounded time. Raises HomeError.

    Args:
        path: absolute.
    """
    try:
        hanging_file_system.require(path)
    except hanging_file_system.SilentError as error:
        raise _unusable(path, error) from error
    make_private(path)


def _unusable(path: str, error: OSError) -> HomeError:
    said, need = _reason(error)
    other = f"set {places.VARIABLE} to a directory of your own that login and compute nodes share"
    return HomeError(
        f"{path} cannot be used as a directory: {said}", hint=f"{need}, or {other}" if need else other
    )


def need_room(path: str) -> None:
    """Check that a new task's directory has room for its files. Raises OSError: ENOSPC without room.

    A task that has begun cannot tell its end in a full directory, so that its job would not end.
    """
    try:
        found = file_retry.retried(lambda: os.statvfs(path))
    except OSError:
        return  # how much room there is, is not known
    if found.f_blocks and found.f_bavail * found.f_frsize < ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"{path}/job.json")


def _make_private(path: str) -> None:
    stranger = planted(path, os.geteuid(), os.lstat, os.readlink)
    if stranger is not None:
        raise HomeError(
            f"{path} leads through {stranger}, which another user has put there",
            hint=f"set {places.VARIABLE} to a directory of your own",
        )
    make_directories(path)
    found = os.stat(path)  # noqa: PTH116  # pathlib costs milliseconds
    if found.st_uid != os.geteuid():
        raise HomeError(
            f"{path} belongs to uid {found.st_uid}, not to you (uid {os.geteuid()})",
            hint=f"set {places.VARIABLE} to a directory of your own",
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise HomeError(
            f"{path} is open to others (mode {mode:04o}); keys are kept below it",
            hint=f"chmod 700 {path}",
        )


def make_directories(path: str) -> None:
    """Make a directory and its missing parents, all of mode 0700 whatever the umask. Raises OSError.

    Args:
        path: absolute.
    """
    if _is_directory(path):
        return
    above = os.path.dirname(path)  # noqa: PTH120
    if above != path:
        make_directories(above)
    try:
        os.mkdir(path, _PRIVATE)  # noqa: PTH102
    except FileExistsError:
        if not _is_directory(path):
            raise


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116  # as above
    except OSError as error:
        if error.errno in file_retry.TRANSIENT:
            raise
        return False
