"""An output file that several tasks share, and the owner of each byte. Standard library only.

The first task writes to the file itself, and holds a lock on one byte far behind any content. A task that
finds that byte locked writes to a file of its own: docs/design/launch.md. The range of each line that its
keeper appends stands in a table below WHESL_HOME, which exists only while a file is shared.

A keeper holds the table's lock while it appends and records. So a process that reads the table after the
common file knows the owners of all bytes that it has read. An isolator checks only now and then for a table;
a keeper whose table may be new waits longer than that before it appends. Tasks within a task have separate
tables, since their output also belongs to the outer task.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import time
import zlib

from whesl.files import file_retry
from whesl.model import home

TYPE_CHECKING = False  # the imports of typing and collections.abc take milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RECORD = struct.Struct("<QQ")  # offsets of a piece's beginning and end
_BEHIND = 1 << 62  # offset of the locked bytes
_WITHIN = "WHESL_ATTEMPT_TOKEN"  # in every attempt's environment, so a process with it runs in a task
_PATIENCE = 0.5  # seconds
_ASKED = 0.1  # seconds between two checks for a table
_SETTLED = 0.2  # seconds after which all isolators know a table
_NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS})


def take(path: str, environment: Mapping[str, str], numbers: Sequence[str] = ()) -> bool:
    """Whether a task becomes the writer of a file; it stays so until its processes have ended.

    The lock's descriptor stays open across exec.

    Args:
        path: a regular file.
        environment: the environment of the task's caller.
        numbers: numbers that identify an element of a job array; a file with none of them in its name belongs
            to all elements, so no element becomes its writer.

    On a file system without locks, each task becomes the writer.
    """
    if numbers and _of_an_array(path, numbers):
        return False  # tasks on other hosts may not see this host's table
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        _hold(descriptor, _group(environment))
    except OSError as error:
        os.close(descriptor)
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    os.set_inheritable(descriptor, True)
    with contextlib.suppress(OSError):
        os.unlink(_table(os.fstat(descriptor), _group(environment)))  # noqa: PTH108 - of earlier tasks
    return True


def forget(path: str) -> None:
    """Remove the table of a file whose writing task has ended."""
    with contextlib.suppress(OSError):
        os.unlink(_table(os.stat(path), _group(os.environ)))  # noqa: PTH108, PTH116


def _of_an_array(path: str, numbers: Sequence[str]) -> bool:
    """Whether a file seems to belong to a whole array: its name has no number of this element alone."""
    named = "".join(letter if letter.isdecimal() else " " for letter in path).split()
    return set(numbers).isdisjoint(number.lstrip("0") or "0" for number in named)


class Appended:
    """A common file, for a task that is not its writer and appends to it.

    Args:
        descriptor: the file, open for writing; all bytes are appended at its end.
    """

    def __init__(self, descriptor: int) -> None:
        # A new descriptor, since siblings with the inherited descriptor move its position.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(f"/proc/self/fd/{descriptor}", flags)
        self._place = _table(os.fstat(self._file), _group(os.environ))
        self._inode, self._seen = -1, 0.0
        with contextlib.suppress(OSError):  # otherwise the first append makes the file
            os.close(self._locked())

    def append(self, content: memoryview) -> int:
        """Append bytes, and return their number. Raises OSError when no byte could be appended."""
        table = self._locked()
        try:
            time.sleep(max(0.0, self._seen + _SETTLED - time.monotonic()))
            written = os.write(self._file, content)
            end = os.lseek(self._file, 0, os.SEEK_CUR)
            _note(table, end - written, end)
        finally:
            os.close(table)
        return written

    def close(self) -> None:
        """Close the file, and remove the table where no task needs it any more."""
        with contextlib.suppress(OSError):
            _hold(self._file, _group(os.environ))
            os.unlink(self._place)  # noqa: PTH108
        os.close(self._file)

    def _locked(self) -> int:
        """Return the open, locked table; a table that was removed meanwhile is made again."""
        file_retry.make_directory(os.path.dirname(self._place))  # noqa: PTH120
        while True:
            table = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                _lock(table, fcntl.LOCK_EX)
                status = os.fstat(table)
                if status.st_nlink:
                    if status.st_ino != self._inode:
                        self._inode, self._seen = status.st_ino, time.monotonic()
                    return table
            except BaseException:
                os.close(table)
                raise
            os.close(table)


def _note(table: int, begin: int, end: int) -> None:
    """Record a piece; a piece that directly follows the last one extends it."""
    length = os.fstat(table).st_size // _RECORD.size * _RECORD.size
    if length:
        last = _RECORD.unpack(os.pread(table, _RECORD.size, length - _RECORD.size))
        if last[1] > begin:  # the file was truncated
            length = 0
            os.ftruncate(table, 0)
        elif last[1] == begin:
            begin, length = last[0], length - _RECORD.size
    os.pwrite(table, _RECORD.pack(begin, end), length)


class Foreign:
    """The pieces of a common file that belong to other tasks.

    Args:
        status: the status of the file.
    """

    def __init__(self, status: os.stat_result) -> None:
        groups = dict.fromkeys((0, _group(os.environ)))
        self._tables = {_table(status, group): _Table() for group in groups}
        self._asked = -_ASKED

    def present(self) -> bool:
        """Whether the bytes read so far may contain pieces of other tasks."""
        if any(table.pieces for table in self._tables.values()):
            return True
        now = time.monotonic()
        if now < self._asked + _ASKED:
            return False
        self._asked = now
        if any(map(os.path.exists, self._tables)):
            self._asked = -_ASKED
            return True
        return False

    def pieces(self) -> list[tuple[int, int]]:
        """Return the ranges of other tasks' pieces in order, complete for all bytes read so far.

        Raises OSError when the table cannot be read.
        """
        found = [piece for place, table in self._tables.items() for piece in table.read(place)]
        return sorted(found)


class _Table:
    def __init__(self) -> None:
        self.pieces: list[tuple[int, int]] = []
        self._before: list[tuple[int, int]] = []
        self._latest: list[tuple[int, int]] = []
        self._inode = 0

    def read(self, place: str) -> list[tuple[int, int]]:
        try:
            table = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return self.pieces
        try:
            _lock_for_reading(table)
            if (inode := os.fstat(table).st_ino) != self._inode:  # the table was made again
                self._inode, self._before, self._latest = inode, self.pieces, []
            # The last known piece may have become longer.
            known = max(len(self._latest) - 1, 0)
            content = os.pread(table, os.fstat(table).st_size, known * _RECORD.size)
        finally:
            os.close(table)
        whole = len(content) // _RECORD.size * _RECORD.size
        self._latest[known:] = [(begin, end) for begin, end in _RECORD.iter_unpack(content[:whole])]
        self.pieces = [*self._before, *self._latest]
        return self.pieces


def _hold(descriptor: int, group: int) -> None:
    """Lock the byte of a file's writer. Raises OSError when another task is the writer."""
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _BEHIND + group, 1, 0)  # struct flock
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)


def _lock(table: int, how: int) -> None:
    try:
        fcntl.flock(table, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _lock_for_reading(table: int) -> None:
    """Lock a table that writers hold briefly. Raises BlockingIOError when a writer holds it for long."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return _lock(table, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.001)


def _group(environment: Mapping[str, str]) -> int:
    """Return a number for the outer task of a nested task, 0 for none."""
    return zlib.crc32(environment.get(_WITHIN, "").encode(errors="replace"))


def _table(status: os.stat_result, group: int) -> str:
    place = os.path.abspath(os.path.expanduser(home.chosen()))  # noqa: PTH100, PTH111
    return f"{place}/outputs/{status.st_dev:x}-{status.st_ino:x}-{group:x}"
