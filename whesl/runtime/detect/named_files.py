"""The files that a path of the rules names: one file, or all files that match a pattern of names.

``file "logs/*.log"`` means each regular file of the user whose path matches the pattern, at any time. A
pattern that is itself the name of an existing file means that file.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable

from whesl.files import file_retry

MOST = 256  # files that are followed for one pattern


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern of file names."""
    return glob.has_magic(path) and not os.path.lexists(path)


def found(pattern: str) -> tuple[str, ...]:
    """Return the user's own files that match a pattern now, sorted, at most ``MOST``."""
    names = sorted(name for name in glob.iglob(pattern) if _own(name))  # noqa: PTH207 - texts are wanted
    return tuple(names[:MOST])


def sizes(paths: Iterable[str]) -> dict[str, int]:
    """Return the present lengths of files in bytes, by path; a pattern stands for all files that match it."""
    named: dict[str, None] = {}
    for path in paths:
        named.update(dict.fromkeys(found(path) if is_pattern(path) else (path,)))
    return {path: file_retry.size(path) for path in named}


def _own(path: str) -> bool:
    try:
        status = os.stat(path)  # noqa: PTH116 - a text is wanted
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
