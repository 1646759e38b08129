"""What a regular file begins with; a pipe or a device in its place is never waited for."""

from __future__ import annotations

import os
import stat


def beginning(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the first bytes of a file.

    Args:
        path: the file; links are followed.
        most: how many bytes are read.

    Raises OSError, and ValueError for what is not a regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        return file.read(most)
