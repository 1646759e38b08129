"""Safe file operations below a root: no link that another user could plant is followed, no file replaced.

Every directory is reached by walking down from the root with O_NOFOLLOW, one component at a time, and has
to belong to this user or root and not be writable by others. Every file appears under its name complete or
not at all.
"""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from whesl.files.untrusted_path import make_directories, planted
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation.mirror_plan import Entry, Kind, Rel, kind_of

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ForeignDirectoryError(RecoveryError):
    """A directory on the way belongs to another user, so it is not entered; ``rel`` is its path."""

    def __init__(self, message: str, rel: Rel) -> None:
        super().__init__(message, hint="use a directory of your own")
        self.rel = rel


class Tree:
    """An open root directory; paths are components below it.

    The root itself is trusted and may be reached through links, since sites link their file systems; the
    paths below it are not trusted. ``make_root`` opens a root that gets files, and checks these links too.
    This is a context manager; it raises OSError when the root cannot be opened.
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
                # The umask may have removed bits that the original has.
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
    make_directories(Path(root))
    tree = Tree(root)
    try:
        # Checked again, since a link may have appeared meanwhile: the open directory has to be the checked
        # one.
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


@lru_cache(maxsize=64)
def _private_group(gid: int) -> bool:
    """Whether a group is the user's private one (same name, no other member): its write bit is harmless."""
    try:
        user = pwd.getpwuid(os.geteuid())
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def listing(descriptor: int) -> dict[bytes, Entry]:
    """Return a directory's entries by name, sorted. Entries that vanish meanwhile are left out."""
    found = {}
    for name in sorted(os.fsencode(name) for name in os.listdir(descriptor)):
        entry = entry_at(descriptor, name)
        if entry is not None:
            found[name] = entry
    return found


def entry_at(parent: int, name: bytes) -> Entry | None:
    """Return one entry of an open directory, None when it is not there.

    Args:
        parent: descriptor of the directory.
        name: the entry's name.
    """
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
        ctime_ns=status.st_ctime_ns,
        device=status.st_dev,
        inode=status.st_ino,
        links=status.st_nlink,
        text=text,
    )


def make_link(text: bytes, directory: int, name: bytes) -> None:
    """Make a symbolic link; an equal existing link is no error.

    Raises FileExistsError when another entry has the name.

    Args:
        text: the link's text.
        directory: descriptor of the directory.
        name: the link's name.
    """
    try:
        os.symlink(text, name, dir_fd=directory)
    except FileExistsError:
        present = entry_at(directory, name)
        if present is None or present.kind is not Kind.LINK or present.text != text:
            raise


def make_fifo(entry: Entry, directory: int) -> None:
    """Make a named pipe with the permissions of the original, unless an entry has the name.

    Args:
        entry: the original named pipe.
        directory: descriptor of the directory.
    """
    with contextlib.suppress(FileExistsError):
        os.mkfifo(entry.name, entry.mode & 0o777, dir_fd=directory)
