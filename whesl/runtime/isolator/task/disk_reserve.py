"""Disk space that a task's directory reserves for the time when its disk is full.

The next attempt and the task's result need some small files, and it is often the task itself that has filled
the disk, or spent the quota, that its directory is on too. A file of a few blocks is held, and given up when
nothing else can be written.
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
# The files of several attempts, of one block each.
SIZE = 128 * 1024
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_LOOK_EVERY = 0.2


def hold(directory: Path) -> None:
    """Reserve disk space in a directory, if there is any."""
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
    """Give the reserved space back: the task has ended. 20,000 tasks would keep 2.5 GB."""
    with contextlib.suppress(OSError):
        (directory / "reserve").unlink()


def written(directory: Path, write: Callable[[], T], patience: float = 0.0) -> T:
    """Return what ``write`` returns; when the disk is full, give the reserved space up for it.

    Args:
        directory: the task's.
        write: writes files; is called again when it has failed for want of room.
        patience: seconds for which the write is repeated.

    Raises what ``write`` raises.
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
                if time.monotonic() >= deadline:
                    raise error from None
                time.sleep(_LOOK_EVERY)
