"""The type of a file's file system, from statfs(2) and the mount table."""

from __future__ import annotations

import ctypes
import os
from functools import cache

import psutil

LUSTRE = 0x0BD00BD0
# Magic numbers (statfs(2), linux/magic.h, and the vendors' clients) of file systems on which inotify does not
# report writes of other machines.
REMOTE = frozenset(
    {
        0x6969,  # NFS
        LUSTRE,
        0x47504653,  # GPFS (Spectrum Scale)
        0x65735546,  # FUSE
        0x19830326,  # BeeGFS
        0x00C36400,  # Ceph
        0x01021997,  # 9P
        0xAAD7AAEA,  # PanFS
        0x20030528,  # OrangeFS, PVFS2
        0xFE534D42,  # SMB2
        0xFF534D42,  # CIFS
        0x517B,  # SMB
        0x5346414F,  # AFS
        0x6B414653,  # kAFS
        0x73757245,  # Coda
        0x01161970,  # GFS2
        0x7461636F,  # OCFS2
        0x786F4256,  # VirtualBox shared folder
    }
)
# Those remote file systems that cache names and attributes for some time.
CACHED_BY_TIME = frozenset({0x6969, 0x65735546, 0x01021997, 0xFE534D42, 0xFF534D42, 0x517B, 0x786F4256})


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def magic_of(place: str | int) -> int:
    """Return the magic number of the file system that holds a path or an open file. Raises OSError.

    The number is the first machine word of ``struct statfs`` (Linux, 64 bit); Python's statvfs lacks it.
    """
    buffer = (ctypes.c_ulong * 64)()
    if isinstance(place, int):
        failed = _libc().fstatfs(place, buffer)
    else:
        failed = _libc().statfs(os.fsencode(place), buffer)
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), place)
    return int(buffer[0]) & 0xFFFFFFFF


def mount_source(path: str) -> str | None:
    """Return the device or ``server:path`` of the mount that contains a path; None when it is not listed."""
    real = os.path.realpath(path)
    best: tuple[int, str] | None = None
    for part in psutil.disk_partitions(all=True):
        inside = part.mountpoint == "/" or real == part.mountpoint or real.startswith(part.mountpoint + "/")
        if inside and (best is None or len(part.mountpoint) >= best[0]):
            best = (len(part.mountpoint), part.device)
    return best[1] if best else None
