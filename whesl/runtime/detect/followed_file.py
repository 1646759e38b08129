"""A followed file: the position in it, and the marks by which its content is recognised later.

A program may rewrite its log to a new file, with all old lines or only the last ones, and rename it: lines
that must not be read twice. A file without the oldest lines is recognised by the end of the old file.

In a file that other tasks append to, readers see the task's own bytes only (``shared_output``): offsets and
sizes count these alone.

A pattern of file names (``run.log*``) also names the copies that log rotation makes. ``Group`` recognises
such a copy, and says how much of it was read under another name.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whesl.files import file_retry
from whesl.runtime.detect.old_files import HEAD
from whesl.runtime.detect.shared_output import Foreign

FASTEST = 0.005  # seconds between two polls
MARK = 64  # bytes of a mark
_END = 1 << 20  # bytes at the end of an old file that are searched for a new file's beginning
_TRIED = 64  # the most candidate places in these bytes
LEFT = 16  # the most contents that a group remembers
_ADDED = re.compile(r"[-._](\d|old|bak|backup|prev)")  # what rotation puts before the last suffix
_LINE = 4096  # bytes before a position that are searched for the beginning of its line


class UnfitError(Exception):
    """A path exists and cannot be followed."""


@dataclass(frozen=True)
class Known:
    """Marks of a file that was read up to ``offset``: its first bytes, and the last bytes before that."""

    offset: int = 0
    head: bytes = b""
    mark: bytes = b""


@dataclass
class FollowedFile:
    """An open file with the position of reading. Only ``size`` and ``read`` raise OSError."""

    handle: int
    identity: tuple[int, int]  # device, inode
    foreign: Foreign
    watch: int | None = None
    offset: int = 0
    elsewhere: int = 0  # bytes that were read from another file, of which this one is a copy
    _head: bytes = b""
    _mark: bytes = b""

    def begin(self, offset: int) -> None:
        """Set the position to ``offset``."""
        known = self.known(offset)
        self.offset, self._head, self._mark = offset, known.head, known.mark

    def own(self, offset: int) -> int:
        """Return how many of the file's first ``offset`` bytes are the task's own. Raises OSError."""
        return offset - sum(max(0, min(end, offset) - begin) for begin, end in self._pieces())

    def _pieces(self) -> list[tuple[int, int]]:
        """Return the ranges of other tasks' bytes; none for a truncated file, where they are unknown."""
        pieces = self.foreign.pieces()
        return pieces if not pieces or pieces[-1][1] <= os.fstat(self.handle).st_size else []

    def _bytes(self, size: int, offset: int) -> bytes:
        """Return the task's own bytes from an offset on, at most ``size``."""
        place = offset
        for begin, end in self._pieces() if self.foreign.present() else ():
            if begin > place:
                break
            place += end - begin
        data = os.pread(self.handle, size, place)
        # Queried after reading: the owners of all bytes read are known by now.
        if not self.foreign.present():
            return data
        own = bytearray()
        while data:
            last = place + len(data)
            for begin, end in self._pieces():
                if begin < last and end > place:
                    own += data[: max(begin - place, 0)]
                    data = data[max(end - place, 0) :]
                    place = min(end, last)
            own += data
            place = last
            data = os.pread(self.handle, size - len(own), place)
        return bytes(own)

    def known(self, offset: int) -> Known:
        """Return the marks by which the file is recognised later: bytes before ``offset``."""
        head, start = min(HEAD, offset), max(0, offset - MARK)
        try:
            return Known(offset, self._bytes(head, 0), self._bytes(offset - start, start))
        except OSError:
            return Known(offset)  # an unreadable file is recognised by its inode alone

    def as_read(self, offset: int) -> Known:
        """Return the marks from the time of reading, up to ``offset`` at most."""
        mark = self._mark[: max(0, len(self._mark) - (self.offset - offset))]
        return Known(offset, self._head[:offset], mark or self.known(offset).mark)

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``."""
        data = self._bytes(size, self.offset)
        self.skip(len(data), data[-MARK:])
        return data

    def peek(self, room: memoryview) -> int:
        """Read the next bytes without moving the position.

        Return their number, -1 when ``read`` is needed.
        """
        mark = bytearray(len(self._mark))
        try:
            count = os.preadv(self.handle, (mark, room), self.offset - len(mark)) - len(mark)
        except OSError:
            return -1
        # Queried after reading, as in ``_bytes``.
        same = count >= 0 and mark == self._mark and not self.foreign.present()
        return count if same else -1

    def skip(self, count: int, last: bytes) -> None:
        """Move the position over bytes that were read by ``peek``.

        Args:
            count: the number of bytes.
            last: the last of these bytes, 64 at most.
        """
        self.offset += count
        self._mark = (self._mark + last)[-MARK:] if len(last) < MARK else last[-MARK:]
        if len(self._head) < HEAD:
            self._head = self.known(self.offset).head

    def size(self) -> int:
        """Return the file's length in bytes."""
        size = os.fstat(self.handle).st_size
        return self.own(size) if self.foreign.present() else size

    def line_start(self, offset: int) -> int:
        """Return the beginning of the line that an offset is in; the offset itself in a very long line."""
        start = max(0, offset - _LINE)
        found = self._bytes(offset - start, start).rfind(b"\n")
        return start + found + 1 if found >= 0 or not start else offset

    def written_anew(self) -> bool:
        """Whether the file's beginning is no longer the content that was read, as after a truncation.

        A last line that was changed in place, as some programs do, does not count.
        """
        if not self.offset:
            return False
        try:
            return self.size() < self.offset or self._bytes(len(self._head), 0) != self._head
        except OSError:
            return False

    def holds(self, known: Known) -> bool:
        """Whether the file begins as a known file does. A file that cannot be read counts as such a file."""
        try:
            start = known.offset - len(known.mark)
            same = self._bytes(len(known.head), 0) == known.head
            same = same and self._bytes(len(known.mark), start) == known.mark
            return self.size() >= known.offset and (same or not known.head)
        except OSError:
            return True

    def kept_in(self, newer: FollowedFile) -> int:
        """Return how many of a newer file's first bytes are the last bytes that were read of this file.

        Common bytes count from two lines on, since a single line may occur in any file. The result is 0 for
        unreadable files, and for a renamed file, whose successor begins with new lines.
        """
        try:
            if os.fstat(self.handle).st_nlink:
                return 0
            start = max(0, self.offset - _END)
            return newer.kept(self._bytes(self.offset - start, start), whole=not start)
        except OSError:
            return 0

    def kept(self, end: bytes, *, whole: bool) -> int:
        """Return how many of this file's first bytes are the last bytes of another file. Raises OSError.

        Args:
            end: the last bytes of the other file.
            whole: ``end`` is the whole other file; else the common lines may begin before ``end``.
        """
        new = self._bytes(_END, 0)
        lines = new[: new.find(b"\n", new.find(b"\n") + 1) + 1]
        place = end.find(lines) if lines.count(b"\n") > 1 else -1
        for _ in range(_TRIED):
            if place < 0:
                break
            begins = end[place - 1 : place] in (b"\n", b"")
            if begins and new.startswith(memoryview(end)[place:].tobytes()):
                return len(end) - place
            place = end.find(lines, place + 1)
        place = -1 if whole or end.count(b"\n") < 2 else new.find(end)
        return place + len(end) if place >= 0 else 0


class Group:
    """The contents that were read of the files of one pattern of names, and are no longer read there.

    Each content was renamed, truncated or replaced. A renamed file is recognised by its inode and marks, a
    copy by its name, which contains the original's name, and by the marks.
    """

    def __init__(self) -> None:
        self._left: deque[tuple[str, tuple[int, int], Known]] = deque(maxlen=LEFT)

    def leave(self, path: str, identity: tuple[int, int], known: Known) -> None:
        """Remember a content of a path by its inode and marks; ``LEFT`` contents at most are kept.

        Args:
            path: the path under which the content was read.
            identity: device and inode of the file.
            known: the content's marks, with the offset in bytes up to which it was read; 0: nothing is
                remembered.
        """
        if known.offset:
            self._left.append((path, identity, known))

    def state(self) -> list[dict[str, Any]]:
        """Return the contents as JSON builtins, each as a position (``saved``)."""
        return [written(*content) for content in self._left]

    def beginning(
        self, path: str, file: FollowedFile, others: Iterable[tuple[str, FollowedFile]]
    ) -> int | None:
        """Return the offset from which a file is read, of which nothing was read under its path.

        Args:
            path: the file's path.
            file: the file.
            others: the path and an open file of every other path that the group follows.

        Returns None while another file holds all bytes of this one: they are read there. Raises OSError.
        """
        size = file.size()
        read = [file.elsewhere]
        for original, identity, known in self._left:
            if (identity == file.identity or _is_named_after(path, original)) and file.holds(known):
                read.append(known.offset)
        for original, other in others:
            if not _is_named_after(path, original):
                continue
            known = other.as_read(other.offset)
            if file.holds(known):
                read.append(known.offset)
            if other.holds(file.known(size)):
                file.elsewhere = min(size, known.offset)
                return None
        begin, file.elsewhere = max(read), 0
        return begin if size == begin else file.line_start(begin)


def _is_named_after(path: str, original: str) -> bool:
    """Whether a name is made from another one, as ``run.log.1``, ``old-run.log`` and ``run-1.log`` are."""
    name, old = Path(path).name, Path(original)
    if name.startswith(old.stem) and name.endswith(old.suffix):
        added = name[len(old.stem) : len(name) - len(old.suffix)]
        if _ADDED.match(added):
            return True
    return old.name in name and name != old.name


@dataclass(frozen=True)
class Chunk:
    """Bytes of a file from ``offset``. ``rotated``: they begin another file, or the same file again."""

    path: str
    offset: int
    data: bytes
    rotated: bool = False


@dataclass(eq=False)
class FollowedPath:
    """A path with its open files (the one being read, then its successors) and the time of the next check."""

    path: str
    group: Group | None = None  # of the files that one pattern of names matches
    files: list[FollowedFile] = field(default_factory=list)
    fresh: bool = False  # the next chunk begins another file
    suspect: bool = True  # the path may lead to another file now
    more: bool = False  # the last read was full
    interval: float = FASTEST
    due: float = 0.0
    problem: str = ""  # why the path cannot be read now
    missed: str = ""  # a sentence on missed bytes
    known: Known | None = None  # marks of the previous file, which was gone when the present one was found

    @property
    def file(self) -> FollowedFile | None:
        return self.files[0] if self.files else None

    @property
    def polled(self) -> bool:
        return any(file.watch is None for file in self.files) or not self.files

    def state(self, restart: int | None) -> dict[str, Any]:
        """Return the position as JSON builtins; ``restart``: a smaller offset from which to read again."""
        file = self.file if self.known is None else None
        known = self.known or Known()
        if file is not None:
            known = file.as_read(file.offset if restart is None else min(file.offset, restart))
        position = written(self.path, file.identity if file is not None else (0, 0), known)
        return {**position, "fresh": self.fresh, "elsewhere": file.elsewhere if file is not None else 0}

    def leave(self) -> None:
        """Remember the content that was read of the first file, before the file is left or read anew."""
        file = self.file
        if self.group is not None and file is not None:
            self.group.leave(self.path, file.identity, file.as_read(file.offset))

    def read_on(self, size: int, others: Iterable[FollowedPath]) -> list[Chunk]:
        """Return the first file's next bytes; none while they are read in another file of the group.

        Args:
            size: the most bytes.
            others: the group's other paths.

        Raises OSError.
        """
        file = self.file
        if file is None:
            return []
        if file.written_anew():
            known = file.as_read(file.offset)
            self.leave()
            file.begin(0)
            if not file.size():  # a program may write old lines into the emptied file again
                self.known = known
                return []
            self.fresh = True
        if self.group is not None and not file.offset and file.size():
            files = ((other.path, each) for other in others for each in other.files)
            begin = self.group.beginning(self.path, file, files)
            if begin is None:
                return []
            if begin:
                file.begin(begin)
                self.fresh = True
        offset, rotated = file.offset, self.fresh
        data = file.read(size)
        if not data and not rotated:
            return []
        self.fresh = False
        self.more = len(data) == size
        return [Chunk(self.path, offset, data, rotated)]

    def succeed(self, known: Known, kept: int) -> bool:
        """Begin to read the file that replaces a file with known marks.

        Args:
            known: the old file's marks.
            kept: how many of the new file's first bytes are the old file's last bytes.

        Returns whether the new file begins with old bytes.
        """
        file = self.files[0]
        self.known = None
        if file.holds(known):
            file.begin(known.offset)
            return True
        file.begin(kept)
        self.fresh = True
        return bool(kept)

    def unsettled(self) -> bool:
        """Whether more than the growth of one known file has to be looked at."""
        copy = self.group is not None and not (self.file and self.file.offset)
        return self.suspect or self.fresh or self.more or len(self.files) != 1 or copy


def copies_last(followed: FollowedPath) -> tuple[bool, int]:
    """Order paths for reading: a copy's name is longer than its original's, and none of it was read."""
    file = followed.file
    return (file is not None and not file.offset, len(followed.path))


def written(path: str, identity: tuple[int, int], known: Known) -> dict[str, Any]:
    """Return a position as JSON builtins.

    Args:
        path: the file.
        identity: its device and inode.
        known: its marks.
    """
    return {
        "path": path,
        "device": identity[0],
        "inode": identity[1],
        "offset": known.offset,
        "head": known.head.hex(),
        "mark": known.mark.hex(),
    }


def saved(position: Mapping[str, Any]) -> tuple[tuple[int, int], Known]:
    """Return a saved position's inode and marks."""
    head, mark = (bytes.fromhex(position[name]) for name in ("head", "mark"))
    return (int(position["device"]), int(position["inode"])), Known(int(position["offset"]), head, mark)


def open_file(path: str) -> FollowedFile:
    """Open a regular file for reading. Raises OSError, UnfitError for other kinds of files."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        seen = os.fstat(place)
        if not stat.S_ISREG(seen.st_mode):
            raise UnfitError("not a regular file: it is not read")
        handle = os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    finally:
        file_retry.close(place)
    return FollowedFile(handle=handle, identity=(seen.st_dev, seen.st_ino), foreign=Foreign(seen))
