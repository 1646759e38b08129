"""Shared memory that killed processes leave in ``/dev/shm``: removed when no living process can use it.

MPI libraries and their transports remove their segments when a process ends; for a killed process they
cannot, and the memory stays taken until the node reboots. A file is removed when all of this holds: its name
is one of such a library's segment, a killed process had it mapped (proc(5), ``/proc/PID/maps``), it is a
regular file of this user that no other user may open, and no living process has it mapped. All other files in
that directory (staged data, checkpoints) are the user's.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

PLACE = Path("/dev/shm")  # noqa: S108  # where shm_open(3) makes files
# Prefixes of segments' names: Open MPI's vader and sm, its one-sided windows; PSM2, PSM3; UCX; MPICH; Intel
# MPI; NCCL.
_NAMES = (
    "vader_segment.",
    "sm_segment.",
    "osc_rdma.",
    "psm2_shm.",
    "psm3_shm.",
    "ucx_shm_posix_",
    "mpich_shar_tmp",
    "Intel_MPI_",
    "nccl-",
)
_MAPPED = re.compile(rb" ([0-9a-f]+):([0-9a-f]+) ([0-9]+) +/dev/shm/")

Identity = tuple[int, int, int]  # a file's device (major and minor number) and inode


class Segments:
    """The shared memory of processes that are being killed.

    Args:
        place: the directory of shared memory.
    """

    def __init__(self, place: Path = PLACE) -> None:
        self._candidates: dict[Identity, Path] = {}
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith(_NAMES) and (identity := _own(Path(entry.path))) is not None:
                    self._candidates[identity] = Path(entry.path)
        self._held: set[Identity] = set()

    def note(self, pids: Iterable[int]) -> None:
        """Note the shared memory of processes that are about to be killed."""
        if len(self._held) < len(self._candidates):
            for pid in pids:
                self._held |= _mapped(pid) & self._candidates.keys()

    def remove(self, living: Callable[[], Iterable[int]]) -> int:
        """Remove noted files that no living process has mapped, and return their number.

        Args:
            living: returns the numbers of all processes; called only when there are noted files.
        """
        left = set(self._held)
        for pid in living() if left else ():
            left -= _mapped(pid)
        removed = 0
        for identity in left:
            path = self._candidates[identity]
            if _own(path) == identity:
                with contextlib.suppress(OSError):
                    path.unlink()
                    removed += 1
        return removed


def _own(path: Path) -> Identity | None:
    """Return the identity of a regular file that only this user may open, None for any other file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        return None
    return os.major(found.st_dev), os.minor(found.st_dev), found.st_ino


def _mapped(pid: int) -> set[Identity]:
    try:
        content = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return set()  # the process has ended, or is another user's
    return {(int(a, 16), int(b, 16), int(inode)) for a, b, inode in _MAPPED.findall(content)}
