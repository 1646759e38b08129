"""A followed file: the position in it, and the marks by which its content is recognised later.

A program may rewrite its log to a new file, with all old lines or only the last ones, and rename it. The new
file begins with old lines, which must not be read twice. A file with all old lines is recognised by the first
and the last bytes that were read of the old file; a file without the oldest lines by the end of the old file.

In a file that other tasks append to, readers see the task's own bytes only (``shared_output``): offsets and
sizes count these alone.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from whesl.files import file_retry
from whesl.runtime.detect.old_files import HEAD
from whesl.runtime.detect.shared_output import Foreign

MARK = 64  # bytes of a mark
_END = 1 << 20  # bytes at the end of an old file that are searched for a new file's beginning
_TRIED = 64  # the most candidate places in these bytes


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
