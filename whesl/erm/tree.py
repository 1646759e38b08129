"""Careful file work below a root: nothing is followed that another user could have planted, nothing replaced.

Every directory is reached by walking down from the root with O_NOFOLLOW, one component at a time, and has
to belong to this user or root and not be writable by others. Every file appears under its name complete or
not at all. ``checkpoint`` is called before and after each change, so that tests can kill in between.
"""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from whesl.erm.mirror import Entry, Kind, Rel, kind_of, part_name
from whesl.erm.plan import RecoveryError
from whesl.erm.syscalls import rename_noreplace
from whesl.model.digest import blake2b
from whesl.model.planted import planted

Checkpoint = Callable[[str], None]

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


class ForeignDirectoryError(RecoveryError):
    """A directory on the way belongs to somebody else; ``rel`` says which. It is not entered."""

    def __init__(self, message: str, rel: Rel) -> None:
        super().__init__(message, hint="use a directory of your own")
        self.rel = rel


class UnreadableError(Exception):
    """A file cannot be read, and so not be copied. Never leaves this room."""


def no_checkpoint(_what: str) -> None:
    """Do nothing between two changes."""


class Tree:
    """A root directory, opened; everything is named by components below it.

    The root itself is trusted as named and may be reached through links (sites link their file systems);
    what lies below is not. A root that files are carried into is opened by ``make_root``, which looks at
    these links too. A context manager; raises OSError when the root cannot be opened.
    """

    def __init__(self, root: str) -> None:
        self.root = os.fsencode(root)
        self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        status = os.fstat(self._fd)
        self.identity = (status.st_dev, status.st_ino)

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def place(self, rel: Rel) -> str:
        """Return a path for people, with undecodable bytes shown."""
        return b"/".join((self.root.rstrip(b"/"), *rel)).decode(errors="backslashreplace")

    @contextlib.contextmanager
    def directory(self, rel: Rel, *, like: Tree | None = None) -> Iterator[int]:
        """Yield a descriptor of a directory below the root.

        Args:
            rel: its path below the root.
            like: make missing directories, with the modes that they have in this tree.

        Raises:
            RecoveryError: for a link or an unsafe directory on the way.
            OSError: when it does not exist or cannot be read.
        """
        current = os.dup(self._fd)
        try:
            for depth, name in enumerate(rel, start=1):
                here = rel[:depth]
                last = depth == len(rel)
                if like is not None:
                    self._make(current, here, like)
                following = self._open(current, name, here, readable=last)
                os.close(current)
                current = following
                self._refuse_unsafe(os.fstat(current), here)
            yield current
        finally:
            os.close(current)

    def _open(self, parent: int, name: bytes, here: Rel, *, readable: bool) -> int:
        access = os.O_RDONLY if readable else os.O_PATH
        try:
            return os.open(name, access | _DIRECTORY, dir_fd=parent)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise RecoveryError(
                    f"{self.place(here)} is not a directory (a link is not followed)",
                    hint="name the directory that it leads to",
                ) from None
            raise

    def _make(self, parent: int, here: Rel, like: Tree) -> None:
        name = here[-1]
        try:
            os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            mode = like.mode(here) | 0o700
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, mode & 0o777, dir_fd=parent)
            made = self._open(parent, name, here, readable=True)
            try:
                # The umask may have taken bits away that the original has.
                if os.fstat(made).st_uid == os.geteuid():
                    os.fchmod(made, mode)
            finally:
                os.close(made)

    def mode(self, rel: Rel) -> int:
        """Return a directory's permission bits. Raises as ``directory``."""
        with self.directory(rel) as descriptor:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)

    def _refuse_unsafe(self, status: os.stat_result, here: Rel) -> None:
        if status.st_uid not in (0, os.geteuid()):
            raise ForeignDirectoryError(
                f"{self.place(here)} belongs to user {status.st_uid}, who could have planted it", here
            )
        others = status.st_mode & stat.S_IWOTH
        group = status.st_mode & stat.S_IWGRP and not _private_group(status.st_gid)
        if (others or group) and not status.st_mode & stat.S_ISVTX:
            raise RecoveryError(
                f"{self.place(here)} can be written by {'everybody' if others else 'its group'}, "
                "who could plant links in it",
                hint=f"chmod {'o-w' if others else 'g-w'} it, or set its sticky bit",
            )

    def look(self, rel: Rel) -> Entry | None:
        """Return what lies at a path, None when nothing does. Raises as ``directory`` for its parents."""
        if not rel:
            return Entry(name=b"", kind=Kind.DIRECTORY)
        try:
            with self.directory(rel[:-1]) as parent:
                return entry_at(parent, rel[-1])
        except (FileNotFoundError, NotADirectoryError):
            return None


def make_root(root: str) -> Tree:
    """Open a root that files are to be carried into, made when it does not exist.

    Raises:
        RecoveryError: another user could have planted it, or a link on the way to it.
        OSError: it cannot be made or opened.
    """
    _refuse_planted(root)
    _make_directories(Path(root))
    tree = Tree(root)
    try:
        # Looked at again, since a link may have come meanwhile: what is open has to be what was judged.
        _refuse_planted(root)
        status = Path(root).stat()
        if (status.st_dev, status.st_ino) != tree.identity:
            raise RecoveryError(
                f"{root} was replaced while it was opened", hint="use a directory of your own"
            )
    except BaseException:
        tree.__exit__()
        raise
    return tree


def _refuse_planted(root: str) -> None:
    stranger = planted(str(Path(root).absolute()), os.geteuid(), os.lstat, os.readlink)
    if stranger is not None:
        raise RecoveryError(
            f"{stranger} belongs to another user, who could have planted it in a directory open to all",
            hint="use a directory of your own",
        )


def _make_directories(path: Path) -> None:
    """Make what is missing, none of it to be written by others whatever the umask."""
    if not path.is_dir():
        _make_directories(path.parent)
        path.mkdir(mode=0o755, exist_ok=True)


@lru_cache(maxsize=64)
def _private_group(gid: int) -> bool:
    """Whether a group is the user's private one (same name, nobody else): its write bit is harmless."""
    try:
        user = pwd.getpwuid(os.geteuid())
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def listing(descriptor: int) -> dict[bytes, Entry]:
    """Return a directory's entries by name, sorted. What vanishes meanwhile is left out."""
    found = {}
    for name in sorted(os.fsencode(name) for name in os.listdir(descriptor)):
        entry = entry_at(descriptor, name)
        if entry is not None:
            found[name] = entry
    return found


def entry_at(parent: int, name: bytes) -> Entry | None:
    """Return one entry of an open directory, None when it is not there."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        kind = kind_of(status.st_mode)
        text = os.readlink(name, dir_fd=parent) if kind is Kind.LINK else b""
    except FileNotFoundError:
        return None
    return Entry(
        name=name,
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        device=status.st_dev,
        inode=status.st_ino,
        links=status.st_nlink,
        text=text,
    )


def make_link(text: bytes, directory: int, name: bytes, checkpoint: Checkpoint) -> None:
    """Make a symbolic link unless the name is taken; the same link being there already is fine.

    Raises FileExistsError when something else is there.
    """
    checkpoint("before link")
    try:
        os.symlink(text, name, dir_fd=directory)
    except FileExistsError:
        present = entry_at(directory, name)
        if present is None or present.kind is not Kind.LINK or present.text != text:
            raise
    checkpoint("after link")


def make_fifo(entry: Entry, directory: int, checkpoint: Checkpoint) -> None:
    """Make a named pipe with the same permissions unless the name is taken."""
    checkpoint("before fifo")
    with contextlib.suppress(FileExistsError):
        os.mkfifo(entry.name, entry.mode & 0o777, dir_fd=directory)
    checkpoint("after fifo")


def copy_file(
    entry: Entry,
    source: int,
    target: int,
    token: str,
    checkpoint: Checkpoint,
    *,
    over: bytes | None = None,
    verify: bool = False,
) -> None:
    """Copy a regular file with its holes, permissions, times and attributes, whole or not at all.

    Args:
        entry: the file in ``source``.
        source: descriptor of its directory.
        target: descriptor of the directory it is copied into, under the same name.
        token: the recovery step's, for the unfinished file's name.
        checkpoint: called between changes.
        over: replace the name if it is a symbolic link with just this text.
        verify: read the copy again and compare.

    Raises:
        FileExistsError: the name is taken by something else.
        UnreadableError: the original may not be read.
        RecoveryError: the file changed while it was copied, or the copy differs.
        OSError: no room, not readable; nothing is left behind.
    """
    part = part_name(token, entry.name)
    try:
        reader = os.open(entry.name, _READ, dir_fd=source)
    except PermissionError:
        raise UnreadableError from None
    try:
        before = os.fstat(reader)
        if not stat.S_ISREG(before.st_mode) or before.st_ino != entry.inode:
            raise RecoveryError(f"{_shown(entry.name)} was replaced while it was copied")
        checkpoint("before part")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=target)
        try:
            _fill_part(reader, before, part, target, checkpoint, verify=verify)
            if _version(os.fstat(reader)) != _version(before):
                raise RecoveryError(f"{_shown(entry.name)} was written to while it was copied")
            checkpoint("part complete")
            _publish(part, entry.name, target, over)
        except BaseException:
            # Whatever stops it, the half-written file must not stay and fill a disk that is full already.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=target)
            raise
    finally:
        os.close(reader)
    checkpoint("published")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part, dir_fd=target)
    os.fsync(target)
    checkpoint("copied")


def _fill_part(
    reader: int, status: os.stat_result, part: bytes, target: int, checkpoint: Checkpoint, *, verify: bool
) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    writer = os.open(part, flags, 0o600, dir_fd=target)
    try:
        checkpoint("part made")
        for start, end in _data(reader, status.st_size):
            _copy_range(reader, writer, start, end)
            checkpoint("part grows")
        os.ftruncate(writer, status.st_size)
        _copy_attributes(reader, writer)
        mode = stat.S_IMODE(status.st_mode)
        # Another user's program must not become ours with its special bits.
        os.fchmod(writer, mode if status.st_uid == os.geteuid() else mode & 0o777)
        os.utime(writer, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.fsync(writer)
        if verify and _digest(reader, status.st_size) != _digest(writer, status.st_size):
            raise RecoveryError(f"the copy {_shown(part)} differs from its original")
    finally:
        os.close(writer)


def _data(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges that hold data; all of it where the file system does not tell holes."""
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
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
            return  # it shrank; the comparison of versions tells
        written = 0
        while written < len(block):
            written += os.pwrite(writer, memoryview(block)[written:], start + written)
        start += len(block)


def _copy_attributes(reader: int, writer: int) -> None:
    """Copy extended attributes as far as the new file system takes them."""
    try:
        names = os.listxattr(reader)
    except OSError:
        return
    for name in names:
        if name.startswith("security."):
            continue  # labels are the system's business, and a file's capabilities may not become ours
        with contextlib.suppress(OSError):  # the new file system may not take them
            os.setxattr(writer, name, os.getxattr(reader, name))


def _publish(part: bytes, name: bytes, directory: int, over: bytes | None) -> None:
    """Give a complete file its name; never takes the name from anything but the link ``over``."""
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
    """Give a file that has been copied its second name, as the original has (a hard link).

    Returns False when the file system does not want to; raises FileExistsError when the name is taken.
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
    """Whether two directories hold regular files of one name, size and content."""
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


def replace_by_link(entry: Entry, source: int, text: bytes, token: str, checkpoint: Checkpoint) -> str:
    """Replace a file that has been copied by a link to its copy; where that has no room, remove it.

    Returns what became of the old name: linked, removed, or kept (it changed, or may not be removed).
    """
    present = entry_at(source, entry.name)
    if present is None or present.kind is not Kind.FILE or _changed(present, entry):
        return "kept"
    part = part_name(token, entry.name)
    checkpoint("before replacing the original")
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=source)
        os.symlink(text, part, dir_fd=source)
        checkpoint("link beside the original")
        os.rename(part, entry.name, src_dir_fd=source, dst_dir_fd=source)
        checkpoint("original replaced")
        return "linked"
    except OSError:
        # A full file system may refuse even a link; removing the original makes the room.
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=source)
    try:
        os.unlink(entry.name, dir_fd=source)
    except OSError:
        return "kept"
    checkpoint("original removed")
    try:
        os.symlink(text, entry.name, dir_fd=source)
    except OSError:
        return "removed"
    checkpoint("link made after removal")
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
