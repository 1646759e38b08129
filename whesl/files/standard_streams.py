"""Standard streams and other descriptors as they are given to ``whesl exec``. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import os

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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


def further() -> tuple[tuple[int, int, int], ...]:
    """Return the descriptors that the caller hands to its commands besides the standard streams.

    A shell's ``<(...)`` and ``9> lock`` are such ones. Each is its number with the device and the inode of
    its file, so that a process that has not inherited it does not take another file for it.
    """
    found = ((descriptor, status.st_dev, status.st_ino) for descriptor, status in _open())
    return tuple(each for each in found if each[0] > 2)


def still_open(descriptors: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return the numbers of those descriptors that this process has, too.

    Args:
        descriptors: as ``further`` returns them.
    """
    return [number for number, status in _open() if (number, status.st_dev, status.st_ino) in descriptors]


def _open() -> Iterator[tuple[int, os.stat_result]]:
    """Return the descriptors that programs inherit from this process, with their files."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  # pathlib costs milliseconds
        with contextlib.suppress(OSError):  # the descriptor of the list itself is closed again
            if os.get_inheritable(int(name)):
                yield int(name), os.fstat(int(name))
