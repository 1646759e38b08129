"""The scope of a file system's locks, one host or all hosts, from its type and mount options.

Sources: nfs(5) (``nolock``, ``local_lock``), mount.lustre(8) (``flock``, ``localflock``, ``noflock``),
mount.cifs(8) (``nobrl``), proc_pid_mountinfo(5). Standard library only.
"""

from __future__ import annotations

import os
from enum import Enum

MOUNTINFO = "/proc/self/mountinfo"
# File systems of one machine: one kernel manages all locks on them.
LOCAL = frozenset(
    ("btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "vfat", "xfs", "zfs")
)
# File systems of several machines, whose locks hold between machines unless a mount option says otherwise.
SHARED = frozenset(("nfs", "nfs4", "lustre", "gpfs", "ceph", "panfs", "ocfs2", "gfs2", "cifs", "smb3"))
_OF_ONE_HOST = frozenset(
    ("nolock", "local_lock=all", "local_lock=flock", "localflock", "localflocks", "nobrl")
)


class Scope(str, Enum):
    """The scope of a lock.

    ``everywhere``: one lock for all hosts. ``host``: each host has its own lock. ``unknown``: the type of the
    file system is not known.
    """

    EVERYWHERE = "everywhere"
    HOST = "host"
    UNKNOWN = "unknown"


class Mount:
    """A mount: the file system's type, the options of mount and file system, and the mount point."""

    def __init__(self, point: str, kind: str, options: frozenset[str]) -> None:
        self.point = point
        self.kind = kind
        self.options = options

    @property
    def scope(self) -> Scope:
        """The scope of locks on this mount."""
        if self.local_options:
            return Scope.HOST
        return Scope.EVERYWHERE if self.kind in LOCAL | SHARED else Scope.UNKNOWN

    @property
    def local_options(self) -> tuple[str, ...]:
        """The mount's options that restrict locks to each host."""
        return tuple(sorted(self.options & _OF_ONE_HOST))


def mount_of(path: str, mountinfo: str | None = None) -> Mount:
    """Return the mount that contains a path; a mount of type "?" when it cannot be found out.

    Args:
        path: an absolute path.
        mountinfo: the text of proc_pid_mountinfo(5); None: read it, and follow links in the path.
    """
    if mountinfo is None:
        try:
            path = os.path.realpath(path)
            with open(MOUNTINFO, errors="surrogateescape") as file:  # noqa: PTH123  # pathlib costs milliseconds
                mountinfo = file.read()
        except OSError:
            mountinfo = ""
    best = Mount("", "?", frozenset())
    for line in mountinfo.splitlines():
        fields, mark, rest = line.partition(" - ")
        words, about = fields.split(), rest.split()
        if not mark or len(words) < 6 or not about:
            continue
        point = _plain(words[4])
        # A later mount at the same place hides an earlier one.
        if _below(path, point) and len(point) >= len(best.point):
            options = frozenset((*words[5].split(","), *(about[2].split(",") if len(about) > 2 else ())))
            best = Mount(point, about[0], options)
    return best


def _below(path: str, point: str) -> bool:
    return path == point or path.startswith(point if point.endswith("/") else f"{point}/")


def _plain(text: str) -> str:
    for escaped, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(escaped, character)
    return text
