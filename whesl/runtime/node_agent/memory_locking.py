"""Locking of this process's pages in memory, so that it runs while its program's file system does not answer.

Pages of programs and libraries are read at their first use, and may be dropped when memory is short. A
process on which leases depend reads all its pages at the start, and locks them where that is permitted
(mlockall(2), RLIMIT_MEMLOCK).
"""

from __future__ import annotations

import contextlib
import ctypes

_AT_ONCE = 1 << 20
_MCL_CURRENT, _MCL_ONFAULT = 1, 4  # flags of mlockall(2), from sys/mman.h


def stay_resident() -> bool:
    """Read all mapped files into memory; return whether their pages were locked there, too."""
    with contextlib.suppress(OSError):
        _read_mappings()
    try:
        return bool(ctypes.CDLL(None).mlockall(_MCL_CURRENT | _MCL_ONFAULT) == 0)
    except (OSError, AttributeError):
        return False


def _read_mappings() -> None:
    """Read this process's mapped files, which brings their pages into memory (proc(5), ``/proc/PID/mem``)."""
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:  # noqa: PTH123
        for line in maps.read().splitlines():
            words = line.split(None, 5)
            if len(words) < 6 or not words[5].startswith("/") or not words[1].startswith("r"):
                continue
            begin, end = (int(word, 16) for word in words[0].split("-"))
            # Pages beyond a file's end, devices.
            with contextlib.suppress(OSError, OverflowError, ValueError):
                memory.seek(begin)
                while (left := end - memory.tell()) > 0 and memory.read(min(left, _AT_ONCE)):
                    pass
