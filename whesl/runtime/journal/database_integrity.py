"""A journal's file as bytes: created in one piece, checked before SQLite opens it, mended for a rescue.

SQLite takes an empty file for a new database, and WHESL would make a missing table. Either would let a state
machine start from nothing without a message. So a journal gets its name only once it is complete, and an
incomplete file with that name counts as damaged.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple

from whesl.files import file_retry
from whesl.runtime.locking import lock_scope, takeover_lock

# https://sqlite.org/fileformat2.html, sections 1.3 and 4.1.
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_WAL_HEADER, _FRAME_HEADER = 32, 24
PAGE = 4096
_ON_DISK = not hasattr(sqlite3.Connection, "serialize")  # before Python 3.11
SIDES = ("-wal", "-shm", "-journal")


def create(path: Path, schema: str, *, wal: bool, spare: int = 0) -> None:
    """Create a complete, empty journal under a temporary name, then rename it.

    Args:
        path: the file; an existing file stays as it is.
        schema: SQL statements that create the tables.
        wal: use a write-ahead log.
        spare: bytes of free pages in the new file.

    Raises OSError or sqlite3.Error.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    content = _empty(schema, path.parent, spare=spare)
    content[18:20] = b"\2\2" if wal else b"\1\1"
    descriptor = os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.fsync(descriptor)
        try:
            os.link(beside, path)
        except FileExistsError:
            return
        except OSError:
            # Rename on a file system without hard links.
            if not file_retry.exists(path):
                beside.rename(path)
    finally:
        file_retry.close(descriptor)
        file_retry.remove(beside)


def _empty(schema: str, directory: Path, *, spare: int) -> bytearray:
    """Return the bytes of an empty journal, to be written in one piece."""
    with (
        tempfile.TemporaryDirectory(dir=directory, prefix=".journal.")
        if _ON_DISK
        else contextlib.nullcontext() as place
    ):
        with contextlib.closing(sqlite3.connect(f"{place}/new" if place else ":memory:")) as db:
            db.isolation_level = None
            # No process uses the file yet: the whole file is forced to the disk once.
            db.execute("PRAGMA journal_mode=OFF")
            db.execute("PRAGMA synchronous=OFF")
            db.execute(f"PRAGMA page_size={PAGE}")
            db.execute(schema)
            grow(db, spare)
            if place is None:
                return bytearray(db.serialize())  # type: ignore[attr-defined]  # from 3.11 on
        return bytearray(Path(place, "new").read_bytes())


def grow(db: sqlite3.Connection, size: int) -> None:
    """Extend a database to ``size`` bytes of free pages, and its log's file by as many bytes.

    Raises sqlite3.Error; then nothing has changed.

    Args:
        db: the connection.
        size: bytes.
    """
    if size <= 0:
        return
    for statement, values in (
        ("INSERT INTO journal VALUES (-1, 0.0, '', zeroblob(?), 0)", (size,)),
        ("DELETE FROM journal WHERE seq = -1", ()),
    ):
        db.execute(statement, values)


def flaw(path: Path) -> str:
    """Return a description of damage in a journal's first bytes, '' when SQLite can judge the rest.

    Raises OSError when it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER)
    if not head:
        return "the file is empty"
    if head[:16] != _MAGIC or len(head) < _HEADER:
        return "the file does not begin as a journal does"
    if head[18] not in (1, 2) or head[19] not in (1, 2):
        # SQLite would take the file for one of a newer SQLite, and open it for reading only.
        return "its header names a format that there is not"
    return ""


def sync_directory(directory: Path) -> None:
    """Force a directory's entries to the disk, where the file system supports that. Raises OSError."""
    try:
        file_retry.sync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


class _Frame(NamedTuple):
    """One page in a write-ahead log. ``commit``: the database's size in pages after a commit, else 0."""

    page: int
    commit: int
    place: int


def _frames(log: bytes) -> list[_Frame]:
    """Return the frames of a log's present round, sound or not. Frames behind them are of earlier rounds.

    The frames of a round have two salts, which the log's header has too. When the header is damaged, the
    salts are those of the first frame that agrees with further frames.
    """
    step = _FRAME_HEADER + PAGE
    places = range(_WAL_HEADER, len(log) - step + 1, step)
    marks = [log[place + 8 : place + 16] for place in places]
    counts = Counter(marks)
    mark = next((found for found in (log[16:24], *marks) if counts[found] > (found != log[16:24])), b"")
    last = max((index for index, found in enumerate(marks) if found == mark), default=-1)
    return [
        _Frame(
            int.from_bytes(log[place : place + 4], "big"),
            int.from_bytes(log[place + 4 : place + 8], "big"),
            place + _FRAME_HEADER,
        )
        for place in places[: last + 1]
    ]


def log_of(path: Path) -> bytes:
    """Return the bytes of a journal's write-ahead log, since SQLite removes even a damaged log on closing.

    Raises OSError when the log cannot be read.
    """
    return file_retry.content(path.with_name(path.name + "-wal")) or b""


def unread(log: bytes, taken: int) -> bool:
    """Whether a write-ahead log has transactions of its present round behind the frames that SQLite took.

    SQLite stops at the first frame with a wrong checksum, and ignores all following frames without an error.

    Args:
        log: the log's bytes.
        taken: the number of frames that SQLite accepts as sound.
    """
    return any(frame.commit for frame in _frames(log)[taken:])


def mended(path: Path, whole: Path, into: Path) -> None:
    """Copy a damaged journal so that as many records as possible are readable; their checksums verify them.

    The copy gets the first page of a new journal, since that page is the same in all journals. The pages of
    the log are put in their places, even with wrong checksums.

    Args:
        path: the damaged file, with its log beside it.
        whole: a new, empty journal.
        into: the path of the copy.

    Raises OSError.
    """
    content = bytearray(path.read_bytes())
    log = log_of(path)
    for frame in _frames(log):
        # The bound keeps a damaged page number from making a huge file.
        if 1 <= frame.page <= (len(content) + len(log)) // PAGE + 1:
            start = (frame.page - 1) * PAGE
            content.extend(bytes(max(start + PAGE - len(content), 0)))
            content[start : start + PAGE] = log[frame.place : frame.place + PAGE]
    page = bytearray(whole.read_bytes()[:PAGE])
    page[18:20] = b"\1\1"  # without a log
    page[28:32] = max(len(content) // PAGE, 1).to_bytes(4, "big")
    page[32:40] = bytes(8)  # no free pages: nothing is written to the copy
    content[:PAGE] = page
    into.write_bytes(content)


def renew(path: Path) -> None:
    """Copy a journal to new files, since a file server may keep a dead host's locks on the old files.

    Args:
        path: the journal's file; nothing happens without it, or on a local file system.

    Raises OSError; the journal is complete whenever this is interrupted.
    """
    if local(path.parent):
        return
    for suffix in ("", "-journal"):
        old = path.with_name(path.name + suffix)
        file_retry.retried(partial(_renew, old))


def _renew(old: Path) -> None:
    beside = old.with_name(f".{old.name}.{os.getpid()}.renewed")
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(old, beside)
        file_retry.sync(beside)
        beside.replace(old)


def local(directory: Path) -> bool:
    """Whether a directory is on a file system of this machine alone.

    SQLite's write-ahead log needs memory that all processes with the open file share, which only a local file
    system provides (https://sqlite.org/wal.html, section 1). An unknown file system counts as remote.
    """
    return lock_scope.mount_of(os.fspath(directory.absolute())).kind in lock_scope.LOCAL


def locks_refused(directory: Path) -> bool:
    """Whether a file system lacks the locks of fcntl(2) that SQLite relies on, by a try on a temporary file.

    Without such locks, a journal relies on its daemon's lock (``whesl.runtime.locking``), which ensures a
    single writer.
    """
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in takeover_lock.UNSUPPORTED
    return False
