"""Two system calls that Python's ``os`` lacks, and that file systems may lack too."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any

_RENAME_NOREPLACE = 1
_NOT_OFFERED = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


def _function(name: str) -> Any:
    """Return a function of the C library, or None where it has none of that name."""
    return getattr(ctypes.CDLL(None, use_errno=True), name, None)


def rename_noreplace(source: bytes, target: bytes, dir_fd: int) -> bool:
    """Rename inside a directory unless the new name exists (renameat2, Linux 3.15).

    Returns False when the kernel or the file system lacks the call.

    Raises OSError otherwise, FileExistsError when the name is taken.

    Args:
        source: the present name.
        target: the new name.
        dir_fd: descriptor of the directory.
    """
    function = _function("renameat2")
    if function is None:
        return False
    result = function(dir_fd, source, dir_fd, target, ctypes.c_uint(_RENAME_NOREPLACE))
    return _done(result, target)


def reserve(descriptor: int, size: int) -> bool:
    """Reserve ``size`` bytes for a file (fallocate), which fails at quotas that statvfs does not show.

    Returns False when the file system lacks the call. glibc's posix_fallocate would then write all blocks, so
    it is not used.

    Raises OSError when there is no room (ENOSPC, EDQUOT).

    Args:
        descriptor: the open file.
        size: bytes.
    """
    function = _function("fallocate")
    if function is None or size <= 0:
        return function is not None
    result = function(descriptor, 0, ctypes.c_int64(0), ctypes.c_int64(size))
    return _done(result, b"")


def _done(result: int, name: bytes) -> bool:
    if result == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number), os.fsdecode(name) or None)
