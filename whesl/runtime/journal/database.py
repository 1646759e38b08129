"""A journal's table in SQLite: its rows with their checksums, and the connection.

While the file system fails for the moment, the connection is opened anew.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.files.file_retry import LIMIT, TRANSIENT, exists, told
from whesl.runtime.journal import database_integrity
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.sqlite_errors import (
    DAMAGED,
    FULL,
    UNREADABLE,
    JournalError,
    input_output,
    no_room,
    page_unread,
    translated,
)
from whesl.runtime.journal.table import SCHEMA, checksum

T = TypeVar("T")
# Numbers that are asked for one by one when a damaged table cannot be read through.
_MOST_SINGLE = 200_000
# Decodes a JSON object without keeping anything of it, to check it.
_ANY_OBJECT = msgspec.json.Decoder(msgspec.defstruct("_AnyObject", ()))
_NO_RECORD = (TypeError, ValueError, *UNDECODABLE)
_BUSY_TIMEOUT = 10.0
_WRITERS_BUSY_TIMEOUT = 1.0  # seconds that a daemon waits at a record that another process's lock holds up
# Seconds for which a failed call is repeated. A daemon waits for its writes, and keeps records that failed.
WRITING, READING = 2.0, LIMIT
_PAUSE, _LONGEST_PAUSE = 0.002, 0.25
# More frames than any log has.
_UNCOUNTED = 1 << 40


class Database:
    """One connection to a journal's file.

    Args:
        path: the file.
        read_only: it has to exist, and is not written.
        reserve: bytes of free pages in one that is made.

    ``wal``: whether it has a write-ahead log.
    """

    def __init__(self, path: Path, *, read_only: bool, reserve: int) -> None:
        self.path = path
        self.read_only = read_only
        self.wal = False
        self._reserve = reserve
        self._db: sqlite3.Connection | None = None
        self._closed = True

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection. Raises JournalError when it was closed, sqlite3.Error, OSError."""
        if self._closed:
            raise JournalError(f"the journal {self.path} is closed", reason="closed")
        if self._db is None:
            self._db = self._connect()
        return self._db

    def open(self) -> None:
        """Connect to the file that has the name now. Raises JournalError."""
        self.close()
        self._closed = False
        self.repeated(lambda _: None, "open")

    def close(self) -> None:
        """Close the connection; closing twice is no error."""
        self._closed = True
        self._let_go()

    def repeated(self, call: Callable[[sqlite3.Connection], T], doing: str, limit: float = READING) -> T:
        """Return what a call returns; after an error of the file system it is made on a file opened anew.

        Args:
            call: uses the connection; it is also repeated when it was performed and failed all the same.
            doing: the call in words, as in "write to".
            limit: seconds from the first failure on.

        Raises JournalError.
        """
        deadline, pause, again = 0.0, _PAUSE, False
        while True:
            try:
                return call(self.connection)
            except (*UNREADABLE, OSError) as error:
                now = time.monotonic()
                deadline = deadline or now + limit
                lasting = not self._passing(error) or now >= deadline
                if lasting or (not self.read_only and no_room(self.path.parent)):
                    raise self.explained(error, doing) from error
            if again:
                self._let_go()  # a stale file handle stays useless
            again = not again
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _passing(self, error: Exception) -> bool:
        """Whether a failure says nothing about the file."""
        if isinstance(error, OSError):
            return error.errno in TRANSIENT
        # SQLite opens for reading what it could not open for writing.
        return input_output(error) or ("readonly" in str(error) and os.access(self.path, os.W_OK))

    def row(self, query: str, values: Sequence[int] = (), doing: str = "read") -> Any:
        """Return the first row of an answer, None when there is none. Raises JournalError."""
        return self.repeated(lambda db: db.execute(query, values).fetchone(), doing)

    def explained(self, error: Exception, doing: str) -> JournalError:
        """Return the JournalError for an error of SQLite or of the system."""
        if not isinstance(error, OSError):
            return translated(error, self.path, doing)
        otherwise = "full" if error.errno in FULL else "read-only"
        return JournalError(
            f"could not {doing} the journal {self.path}: {told(error)}",
            reason="input-output" if error.errno in TRANSIENT else otherwise,
            hint="check that its directory exists, is yours and has room",
        )

    def flaw(self, log: bytes) -> str:
        """Return what is wrong with the file, or an empty string. Raises JournalError when it cannot be read.

        Args:
            log: its write-ahead log, as it was before SQLite opened it.
        """
        return self.repeated(lambda db: self._flaw(db, log), "read")

    def _flaw(self, db: sqlite3.Connection, log: bytes) -> str:
        verdict = db.execute("PRAGMA quick_check(1)").fetchone()
        said = "no answer" if verdict is None else verdict[0]
        if page_unread(said):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(self.path))
        if said != "ok":
            return f"SQLite says: {said}"
        if log and database_integrity.unread(log, _frames(db)):
            return "the end of its log is damaged"
        previous: int | str = "the start"
        for row in db.execute("SELECT * FROM journal ORDER BY seq"):
            if not sound(row):
                return self.damaged_after(previous)
            previous = row[0]
        return ""

    def damaged_after(self, previous: int | str) -> str:
        """Return the error for a record whose checksum is wrong."""
        return f"the record after {previous} of the journal {self.path} is damaged"

    def _let_go(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _connect(self) -> sqlite3.Connection:
        """Connect, choose the journal mode for the file system, make the table.

        Raises JournalError for a damaged file, sqlite3.Error, OSError.
        """
        local = database_integrity.local(self.path.parent)
        unlocked = (
            "&vfs=unix-none" if not local and database_integrity.locks_refused(self.path.parent) else ""
        )
        if not self.read_only:
            self.wal = local
            if not exists(self.path, 0.0):
                database_integrity.create(self.path, SCHEMA, wal=self.wal, spare=self._reserve)
        wrong = database_integrity.flaw(self.path)
        if wrong:
            raise JournalError(
                f"could not open the journal {self.path}: {wrong}", reason="damaged", hint=DAMAGED
            )
        mode = "ro" if self.read_only else "rw"
        db = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}{unlocked}",
            uri=True,
            timeout=_BUSY_TIMEOUT if self.read_only else _WRITERS_BUSY_TIMEOUT,
            isolation_level=None,
        )
        try:
            # Content that is no text was not written by WHESL: its checksum is wrong.
            db.text_factory = text
            if not self.read_only:
                # PERSIST: the rollback journal keeps its room on a disk that fills up.
                db.execute(f"PRAGMA journal_mode={'WAL' if self.wal else 'PERSIST'}")
                db.execute("PRAGMA synchronous=FULL")
        except UNREADABLE:
            db.close()
            raise
        return db


def _frames(db: sqlite3.Connection) -> int:
    """Return how many frames of the write-ahead log SQLite has found sound."""
    try:
        return max(int(db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]), 0)
    except sqlite3.OperationalError as error:
        if input_output(error):
            raise
        # The disk has no room to checkpoint the log: its frames are counted when it has.
        return _UNCOUNTED


class Anchor(msgspec.Struct, frozen=True):
    """What tells a record from all others: its number, its time, its checksum."""

    seq: int
    time: float
    crc: int


@lru_cache(maxsize=1024)
def text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def insert(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, all or none. Raises sqlite3.Error."""
    db.execute("BEGIN IMMEDIATE")
    try:
        db.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
        db.execute("COMMIT")
    except BaseException:
        # A full disk may have ended the transaction already.
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def holds(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether exactly these rows are there. Raises sqlite3.Error."""
    found = db.execute(
        "SELECT * FROM journal WHERE seq BETWEEN ? AND ? ORDER BY seq", (rows[0][0], rows[-1][0])
    ).fetchall()
    return [tuple(row) for row in found] == [tuple(row) for row in rows]


def records_in(path: Path) -> dict[int, Record]:
    """Return the sound records of a damaged file: from both ends, then one by one in between."""
    found: dict[int, Record] = {}
    try:
        db = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error:
        return found
    with contextlib.closing(db):
        db.text_factory = text
        for order in ("", " DESC"):
            # The damage is reached; records behind it are read from the other end.
            with contextlib.suppress(*UNREADABLE):
                _take(found, db.execute(f"SELECT * FROM journal ORDER BY seq{order}"))  # noqa: S608 - a constant
        for number in itertools.islice(
            (number for number in range(1, max(found, default=0)) if number not in found), _MOST_SINGLE
        ):
            with contextlib.suppress(*UNREADABLE):
                _take(found, db.execute("SELECT * FROM journal WHERE seq = ?", (number,)))
    return found


def _take(found: dict[int, Record], rows: Iterable[tuple[Any, ...]]) -> None:
    for row in rows:
        record = record_of(row)
        if record is not None and record.seq > 0:
            found[record.seq] = record


def row_of(record: Record) -> tuple[int, float, str, bytes, int]:
    content = bytes(record.content)
    crc = checksum(record.seq, record.time, record.kind, content)
    return (record.seq, record.time, record.kind, content, crc)


def record_of(row: tuple[Any, ...]) -> Record | None:
    """Return a row as a record, None when its content is not what was written."""
    try:
        seq, time, kind, content, crc = row
        if checksum(seq, time, kind, content) != crc:
            return None
        _ANY_OBJECT.decode(content)
        return Record(seq=seq, time=time, kind=kind, content=msgspec.Raw(content))
    except _NO_RECORD:
        return None


def sound(row: tuple[Any, ...]) -> bool:
    """Whether ``record_of`` would return a record, without making it."""
    try:
        seq, time, kind, content, crc = row
        _ANY_OBJECT.decode(content)
        return crc == checksum(seq, time, kind, content) and seq.__class__ is int and kind.__class__ is str
    except _NO_RECORD:
        return False
