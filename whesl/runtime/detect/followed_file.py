"""A file that is followed: how far it was read, and by what it is known again.

A program may write its log anew and move it into place, with all of its old lines in it, or with the last of
them. Such a file is another one, and yet nothing of its beginning is new. It is recognised by the first bytes
that were read of the old one, and by the last; one whose oldest lines are cut off by the end of the old one.

Of a file that other tasks append to as well, only the task's own bytes are there for whoever reads it here
(``shared_output``): offsets and sizes count those alone.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from whesl.files import file_retry
from whesl.runtime.detect.old_files import HEAD
from whesl.runtime.detect.shared_output import Foreign

MARK = 64  # bytes
_END = 1 << 20  # bytes of an old file in which the beginning of a new one is looked for
_TRIED = 64  # places there that begin like it


class UnfitError(Exception):
    """The path is there, and cannot be followed."""


@dataclass(frozen=True)
class Known:
    """What is known of a file up to ``offset``: its first bytes, and the last ones before that."""

    offset: int = 0
    head: bytes = b""
    mark: bytes = b""


@dataclass
class FollowedFile:
    """An open file and how far it was read. Only ``size`` and ``read`` raise OSError."""

    handle: int
    identity: tuple[int, int]  # device, inode
    foreign: Foreign
    watch: int | None = None
    offset: int = 0
    _head: bytes = b""
    _mark: bytes = b""

    def begin(self, offset: int) -> None:
        """Go on at ``offset``."""
        known = self.known(offset)
        self.offset, self._head, self._mark = offset, known.head, known.mark

    def own(self, offset: int) -> int:
        """Return how many of the file's first ``offset`` bytes are the task's own. Raises OSError."""
        return offset - sum(max(0, min(end, offset) - begin) for begin, end in self._pieces())

    def _pieces(self) -> list[tuple[int, int]]:
        """Return where other tasks' bytes are; of a file that was truncated, nothing is known."""
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
        # Asked after reading: by now it is known whose all of that is.
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
            return Known(offset)  # the file cannot be read now, and is recognised by its inode alone

    def as_read(self, offset: int) -> Known:
        """Return what was known of the file when it was read, up to ``offset`` at most."""
        mark = self._mark[: max(0, len(self._mark) - (self.offset - offset))]
        return Known(offset, self._head[:offset], mark or self.known(offset).mark)

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``."""
        data = self._bytes(size, self.offset)
        self.skip(len(data), data[-MARK:])
        return data

    def peek(self, room: memoryview) -> int:
        """Read what is next and return how many bytes it is, -1 when ``read`` has to look; take nothing."""
        mark = bytearray(len(self._mark))
        try:
            count = os.preadv(self.handle, (mark, room), self.offset - len(mark)) - len(mark)
        except OSError:
            return -1
        # Asked after reading, as in ``_bytes``.
        same = count >= 0 and mark == self._mark and not self.foreign.present()
        return count if same else -1

    def skip(self, count: int, last: bytes) -> None:
        """Take the next ``count`` bytes, of which these are the last 64, or all."""
        self.offset += count
        self._mark = (self._mark + last)[-MARK:] if len(last) < MARK else last[-MARK:]
        if len(self._head) < HEAD:
            self._head = self.known(self.offset).head

    def size(self) -> int:
        """Return the file's length in bytes."""
        size = os.fstat(self.handle).st_size
        return self.own(size) if self.foreign.present() else size

    def written_anew(self) -> bool:
        """Whether what was read of it is not its beginning any more, as after a truncation.

        A last line that was changed in its place, as some programs do, makes no other beginning.
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
        """Return how many of a newer file's first bytes are the last that were read of this one.

        Two lines at least: one line alone may be in any file. 0: none, or they cannot be read; so it is for
        a file that was renamed, since the next one begins then with lines of its own.
        """
        try:
            if os.fstat(self.handle).st_nlink:
                return 0
            start = max(0, self.offset - _END)
            return newer.kept(self._bytes(self.offset - start, start), whole=not start)
        except OSError:
            return 0

    def kept(self, end: bytes, *, whole: bool) -> int:
        """Return how many of its first bytes are the last of another file. Raises OSError.

        Args:
            end: the last bytes of that file.
            whole: whether they are all of it; else its last lines may reach further back.
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
    """Open a regular file for reading. Raises OSError, UnfitError for anything else."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        seen = os.fstat(place)
        if not stat.S_ISREG(seen.st_mode):
            raise UnfitError("not a regular file: it is not read")
        handle = os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    finally:
        file_retry.close(place)
    return FollowedFile(handle=handle, identity=(seen.st_dev, seen.st_ino), foreign=Foreign(seen))
