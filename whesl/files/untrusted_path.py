"""Whether a path leads through a link or a directory that another user could have made.

In a directory that everybody may write into (``/tmp``, many scratch file systems) anyone can make a link or a
directory of any name first. What lies there is trusted when it belongs to this user or to root: the rule
of Linux's ``protected_symlinks`` (proc_sys_fs(5)), for directories too, and whether or not it is switched on.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from os import stat_result
from posixpath import dirname, join

from whesl.files.file_retry import TRANSIENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

# symbolic links that are followed in a path; the kernel's limit is the same (path_resolution(7))
MAX_LINKS = 40


def planted(
    path: str, user: int, lstat: Callable[[str], stat_result], readlink: Callable[[str], str]
) -> str | None:
    """Return the first part of a path that another user could have planted, None when there is none.

    Args:
        path: absolute; its end need not exist.
        user: effective id of the user who will open the path.
        lstat: reads a path's status without following a link (``os.lstat``). Its OSError ends the search: a
            part without a status cannot be opened either, which the caller finds when it opens the path. Only
            the errors in ``file_retry.TRANSIENT`` are raised, since the parts behind were not examined.
        readlink: reads a link's target (``os.readlink``).
    """
    ahead = path.split("/")[::-1]
    current, links = "/", 0
    while ahead:
        name = ahead.pop()
        if name in ("", "."):
            continue
        if name == "..":
            current = dirname(current)
            continue
        following = join(current, name)
        try:
            directory, found = lstat(current), lstat(following)
            target = readlink(following) if stat.S_ISLNK(found.st_mode) else None
        except OSError as error:
            if error.errno in TRANSIENT:
                raise
            return None
        if directory.st_mode & stat.S_IWOTH and found.st_uid not in (0, user):
            return following
        if target is None:
            current = following
            continue
        links += 1
        if links > MAX_LINKS:
            return None
        current = "/" if target.startswith("/") else current
        ahead += target.split("/")[::-1]
    return None


def make_directories(path: Path) -> None:
    """Make a directory and its missing parents, not writable by others for any umask. Raises OSError."""
    if not path.is_dir():
        make_directories(path.parent)
        path.mkdir(mode=0o755, exist_ok=True)
