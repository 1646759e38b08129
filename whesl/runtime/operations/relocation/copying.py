"""Atomic copies of files, and links that replace the copied files.

As in ``safe_tree``, which opens the directories, no link is followed and no other user's file is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator

from whesl.model.digest import blake2b
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation.mirror_plan import Entry, Kind, part_name
from whesl.runtime.operations.relocation.safe_tree import entry_at
from whesl.runtime.operations.relocation.syscalls import rename_noreplace

# Seconds of the pauses before further copies of a file that a program wrote to during the copy.
COPY_AGAIN = (0.05, 0.1, 0.2, 0.4, 0.8)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


class UnreadableError(Exception):
    """A file cannot be read, so it cannot be copied. Used inside this package only."""


def copy_file(
    entry: Entry,
    source: int,
    target: int,
    token: str,
    *,
    over: bytes | None = None,
    verify: bool = False,
) -> None:
    """Copy a regular file with its holes, permissions, times and attributes, atomically.

    A file that changes during the copy is copied again: a task's output may arrive after the task's end,
    since Flux writes output in batches.

    Args:
        entry: the file in ``source``.
        source: descriptor of the file's directory.
        target: descriptor of the directory that gets the copy, under the same name.
        token: the recovery step's token, for the unfinished file's name.
        over: the text of a symbolic link that the copy may replace; None: none.
        verify: read the copy again and compare.

    Raises:
        FileExistsError: another file has the name.
        UnreadableError: the user may not read the original.
        RecoveryError: the file changed during each copy, or the copy differs.
        OSError: no space, or a failed read; no unfinished file is left.
    """
    for pause in COPY_AGAIN:
        try:
            _copy_once(entry, source, target, token, over=over, verify=verify)
        except _ChangedError:
            time.sleep(pause)
        else:
            return
    _copy_once(entry, source, target, token, over=over, verify=verify)


class _ChangedError(RecoveryError):
    """A file was written to while it was copied."""


def _copy_once(
    entry: Entry,
    source: int,
    target: int,
    token: str,
    *,
    over: bytes | None,
    verify: bool,
) -> None:
    part = part_name(token, entry.name)
    try:
        reader = os.open(entry.name, _READ, dir_fd=source)
    except PermissionError:
        raise UnreadableError from None
    try:
        before = os.fstat(reader)
        if not stat.S_ISREG(before.st_mode) or before.st_ino != entry.inode:
            raise RecoveryError(f"{_shown(entry.name)} was replaced while it was copied")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=target)
        try:
            _fill_part(reader, before, part, target, verify=verify)
            if _version(os.fstat(reader)) != _version(before):
                raise _ChangedError(f"{_shown(entry.name)} was written to while it was copied")
            _publish(part, entry.name, target, over)
        except BaseException:
            # A half-written copy is removed after any error, since it would fill a full disk.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=target)
            raise
    finally:
        os.close(reader)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part, dir_fd=target)
    os.fsync(target)


def _fill_part(reader: int, status: os.stat_result, part: bytes, target: int, *, verify: bool) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    writer = os.open(part, flags, 0o600, dir_fd=target)
    try:
        for start, end in _data(reader, status.st_size):
            _copy_range(reader, writer, start, end)
        os.ftruncate(writer, status.st_size)
        _copy_attributes(reader, writer)
        mode = stat.S_IMODE(status.st_mode)
        # A copy of another user's program must not keep its set-uid bits.
        os.fchmod(writer, mode if status.st_uid == os.geteuid() else mode & 0o777)
        os.utime(writer, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.fsync(writer)
        if verify and _digest(reader, status.st_size) != _digest(writer, status.st_size):
            raise RecoveryError(f"the copy {_shown(part)} differs from its original")
    finally:
        os.close(writer)


def _data(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges with data; the whole file where the file system does not report holes."""
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # the rest of the file is a hole
                return
            if error.errno != errno.EINVAL:
                raise
            start, end = position, size
        yield start, min(end, size)
        position = end


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    while start < end:
        block = os.pread(reader, min(_CHUNK, end - start), start)
        if not block:
            return  # the file has become shorter, which the comparison of versions notices
        written = 0
        while written < len(block):
            written += os.pwrite(writer, memoryview(block)[written:], start + written)
        start += len(block)


def _copy_attributes(reader: int, writer: int) -> None:
    """Copy those extended attributes that the new file system accepts."""
    try:
        names = os.listxattr(reader)
    except OSError:
        return
    for name in names:
        if name.startswith("security."):
            continue  # the system sets security labels; capabilities may not pass to this user's copy
        with contextlib.suppress(OSError):  # the new file system may not take them
            os.setxattr(writer, name, os.getxattr(reader, name))


def _publish(part: bytes, name: bytes, directory: int, over: bytes | None) -> None:
    """Rename a complete file to its final name, which only the link ``over`` may have before."""
    if over is not None:
        present = entry_at(directory, name)
        if present is not None:
            if present.kind is not Kind.LINK or present.text != over:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), _shown(name))
            os.rename(part, name, src_dir_fd=directory, dst_dir_fd=directory)
            return
    try:
        os.link(part, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if not rename_noreplace(part, name, directory):
            raise RecoveryError(
                "the file system offers neither hard links nor RENAME_NOREPLACE: "
                f"{_shown(name)} cannot be put there without the danger of replacing a file",
                hint="use another file system for FILESYSTEM.REPLACE",
            ) from None


def link_copy(
    first: bytes, first_directory: int, entry: Entry, target: int, token: str, over: bytes | None
) -> bool:
    """Give a copied file its second name by a hard link, as the original has.

    Returns False when the file system refuses; raises FileExistsError when another file has the name.

    Args:
        first: the name of the copy.
        first_directory: descriptor of the copy's directory.
        entry: the file under its second name.
        target: descriptor of the directory that gets the second name.
        token: the recovery step's token, 16 hexadecimal digits.
        over: the text of a symbolic link that the name may replace; None: none.
    """
    part = part_name(token, entry.name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part, dir_fd=target)
    try:
        os.link(first, part, src_dir_fd=first_directory, dst_dir_fd=target, follow_symlinks=False)
    except OSError:
        return False
    try:
        _publish(part, entry.name, target, over)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=target)
    return True


def same_content(entry: Entry, source: int, target: int) -> bool:
    """Whether two directories hold regular files of one name, size and content.

    Args:
        entry: the file.
        source: descriptor of the file's directory.
        target: descriptor of the other directory.
    """
    readers: list[int] = []
    try:
        for directory in (source, target):
            readers.append(os.open(entry.name, _READ, dir_fd=directory))
        states = [os.fstat(reader) for reader in readers]
        if not all(stat.S_ISREG(state.st_mode) and state.st_size == entry.size for state in states):
            return False
        return _digest(readers[0], entry.size) == _digest(readers[1], entry.size)
    finally:
        for reader in readers:
            os.close(reader)


def replace_by_link(entry: Entry, source: int, text: bytes, token: str) -> str:
    """Replace a copied file by a link to its copy; where the disk has no space for a link, remove the file.

    Returns the outcome for the old name: linked, removed, or kept (the file changed, or may not be removed).

    Args:
        entry: the file.
        source: descriptor of the file's directory.
        text: the link's text.
        token: the recovery step's token, 16 hexadecimal digits.
    """
    present = entry_at(source, entry.name)
    if present is None or present.kind is not Kind.FILE or _changed(present, entry):
        return "kept"
    part = part_name(token, entry.name)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=source)
        os.symlink(text, part, dir_fd=source)
        os.rename(part, entry.name, src_dir_fd=source, dst_dir_fd=source)
        return "linked"
    except OSError:
        # A full file system may refuse even a link; removing the original frees the space.
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=source)
    try:
        os.unlink(entry.name, dir_fd=source)
    except OSError:
        return "kept"
    try:
        os.symlink(text, entry.name, dir_fd=source)
    except OSError:
        return "removed"
    return "linked"


def _changed(present: Entry, entry: Entry) -> bool:
    return (present.inode, present.size, present.mtime_ns) != (entry.inode, entry.size, entry.mtime_ns)


def _digest(descriptor: int, size: int) -> bytes:
    digest = blake2b()
    position = 0
    while position < size:
        block = os.pread(descriptor, min(_CHUNK, size - position), position)
        if not block:
            break
        digest.update(block)
        position += len(block)
    return digest.digest()


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def _shown(name: bytes) -> str:
    return name.decode(errors="backslashreplace")
