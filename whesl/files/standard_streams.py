"""Standard input, output and error as they are given to ``whesl exec``. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import os


def open_standard_streams() -> None:
    """Put the null device where standard input, output or error is closed, as some launchers leave them."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null == descriptor:
                os.set_inheritable(null, True)
            else:
                os.dup2(null, descriptor)
                os.close(null)


def append_only(descriptor: int) -> None:
    """Make an open file append: the script that calls ``whesl exec`` writes to the same file."""
    with contextlib.suppress(OSError):
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_APPEND)
