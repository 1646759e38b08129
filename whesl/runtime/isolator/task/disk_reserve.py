"""Disk space reserved in a task's directory for the time when its disk is full.

The next attempt and the task's result need some small files, and often the task itself has filled the disk,
or used up the quota, of its own directory. A reserve file of a few blocks is held, and removed when no other
file can be written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
# Bytes for the files of several attempts, of one block each.
SIZE = 128 * 1024
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_LOOK_EVERY = 0.2


def hold(directory: Path) -> None:
    """Reserve disk space in a directory, if space is left."""
    reserve = directory / "reserve"
    with contextlib.suppress(OSError):
        descriptor = os.open(reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, SIZE)
        except OSError:
            reserve.unlink()
        finally:
            os.close(descriptor)


def release(directory: Path) -> None:
    """Free the reserved space after the task's end; 20,000 ended tasks would otherwise keep 2.5 GB."""
    with contextlib.suppress(OSError):
        (directory / "reserve").unlink()


def written(
    directory: Path,
    write: Callable[[], T],
    patience: float = 0.0,
    interrupted: Callable[[float], object] = time.sleep,
) -> T:
    """Return the result of ``write``; when the disk is full, free the reserved space and retry.

    Args:
        directory: the task's directory.
        write: writes files; called again when the disk was full.
        patience: seconds for which the write is repeated.
        interrupted: waits for some seconds, and returns something true where no more is to be waited.

    Raises the errors of ``write``.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return write()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            try:
                (directory / "reserve").unlink()
            except OSError:
                if time.monotonic() >= deadline or interrupted(_LOOK_EVERY):
                    raise error from None
