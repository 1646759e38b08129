"""By which clock the files of a directory are dated.

Which files a failed attempt left half-written is seen by when they were last written. Local and parallel file
systems date files by the client's clock, NFS by the server's, and those may differ by minutes.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

from whesl.operations.plan import RecoveryError
from whesl.operations.relocation.mirror_plan import Rel
from whesl.operations.relocation.safe_tree import Tree

# Seconds that mean nothing: the kernel dates files by its last tick, a server answers after a while.
TOLERATED = 0.1
_UNNAMED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


def ahead(tree: Tree, rel: Rel, token: str, now: Callable[[], float] = time.time) -> float:
    """Return how far the clock that dates files in a directory is ahead of this host's, seconds.

    An empty file without a name is made and looked at; where files always have one, it has one for a moment.
    0 where the difference is too small to matter, or where nothing can be made.

    Args:
        tree: where the directory lies.
        rel: its path in the tree.
        token: for a name that nobody else uses.
        now: this host's clock, seconds since the epoch.
    """
    try:
        with tree.directory(rel) as directory:
            before = now()
            dated = _dated(directory, f".whesl-part-{token}-{'f' * 16}".encode())
            difference = dated - (before + now()) / 2
    except (OSError, RecoveryError):
        return 0.0
    return difference if abs(difference) > TOLERATED else 0.0


def _dated(directory: int, name: bytes) -> float:
    """Return when the file system says that it is. Raises OSError."""
    try:
        descriptor = os.open(b".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=directory)
    except OSError as error:
        if error.errno not in _UNNAMED:
            raise
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=directory)
        os.unlink(name, dir_fd=directory)
    try:
        return os.fstat(descriptor).st_mtime
    finally:
        os.close(descriptor)
