"""Probes of a file system that files are moved to: its free space, and the clock by which it dates files.

Free space is read and then tried, since statvfs does not show quotas. The time of the last write shows which
files a failed attempt left half-written. Local and parallel file systems date files by the client's clock,
NFS by the server's clock, and these may differ by minutes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation.mirror_plan import Kind, Rel
from whesl.runtime.operations.relocation.safe_tree import Tree
from whesl.runtime.operations.relocation.syscalls import reserve

_WRITTEN = 1 << 20
# Seconds of a difference that is noise: the kernel dates files by its last tick, and servers answer late.
TOLERATED = 0.1


class UnsuitableError(Exception):
    """A candidate is unusable; the text says why. Used inside this package only."""


def check_room(target: Tree, near: Rel, size: int, inodes: int, token: str) -> None:
    """Check that a directory has space for ``size`` bytes in ``inodes`` new files.

    Free space and inodes are read (statvfs). Then a file is written and synced, and the space is reserved in
    it, which shows quotas, read-only mounts and missing permissions.

    Args:
        target: the new root.
        near: the place of the task's directory; the nearest existing parent is tried, since quotas may
            belong to a directory.
        size: bytes.
        inodes: number of files, links and directories.
        token: the recovery step's token.

    Raises:
        UnsuitableError: the directory is unusable; the text says why.
    """
    existing = near
    while (found := target.look(existing)) is None or found.kind is not Kind.DIRECTORY:
        existing = existing[:-1]
    with target.directory(existing) as directory:
        state = os.fstatvfs(directory)
        free = state.f_bavail * state.f_frsize
        if state.f_flag & os.ST_RDONLY:
            raise UnsuitableError("it is mounted read-only")
        if free < size:
            raise UnsuitableError(f"{free} bytes are free, {size} are needed")
        # File systems that make inodes as needed (btrfs) report none at all.
        if state.f_files and state.f_favail < inodes:
            raise UnsuitableError(f"{state.f_favail} inodes are free, {inodes} are needed")
        try:
            _try_writing(directory, size, token)
        except OSError as error:
            raise UnsuitableError(f"writing {size} bytes was refused: {error.strerror}") from None


def ahead(tree: Tree, rel: Rel, token: str, now: Callable[[], float] = time.time) -> float:
    """Return by how many seconds the clock that dates files in a directory is ahead of this host's clock.

    The result is the date of an empty temporary file, which is nameless where the file system allows that. It
    is 0 where the difference is small, or where no file can be made.

    Args:
        tree: the tree of the directory.
        rel: the directory's path in the tree.
        token: makes the temporary file's name unique.
        now: this host's clock, seconds since the epoch.
    """
    try:
        with tree.directory(rel) as directory:
            before = now()
            dated = _dated(directory, token)
            difference = dated - (before + now()) / 2
    except (OSError, RecoveryError):
        return 0.0
    return difference if abs(difference) > TOLERATED else 0.0


def _try_writing(directory: int, size: int, token: str) -> None:
    descriptor = _nameless(directory, token)
    try:
        block = bytes(min(size, _WRITTEN)) or b"\0"
        written = 0
        while written < len(block):
            written += os.write(descriptor, memoryview(block)[written:])
        os.fsync(descriptor)
        reserve(descriptor, size)
    finally:
        os.close(descriptor)


def _nameless(directory: int, token: str) -> int:
    """Return a file that vanishes when it is closed, or when this process is killed."""
    with contextlib.suppress(OSError):
        return os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=directory)
    name = f".whesl-part-{token}-{'0' * 16}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=directory)
    os.unlink(name, dir_fd=directory)
    return descriptor


def _dated(directory: int, token: str) -> float:
    """Return the present time by the file system's clock. Raises OSError."""
    descriptor = _nameless(directory, token)
    try:
        return os.fstat(descriptor).st_mtime
    finally:
        os.close(descriptor)
