"""A journal's table in SQLite: its rows with their checksums, and the connection.

After a passing error of the file system, the connection is opened anew.
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
# The most numbers to query one by one when a damaged table cannot be read in sequence.
_MOST_SINGLE = 200_000
# Checks that a text is a JSON object; the decoded content is dropped.
_ANY_OBJECT = msgspec.json.Decoder(msgspec.defstruct("_AnyObject", ()))
_NO_RECORD = (TypeError, ValueError, *UNDECODABLE)
_BUSY_TIMEOUT = 10.0
_WRITERS_BUSY_TIMEOUT = 1.0  # seconds that a daemon's write waits for another process's lock
# Seconds for which failed writes and reads are repeated. Writes are shorter: a daemon waits for its writes
# and keeps records that could not be written.
WRITING, READING = 2.0, LIMIT
_PAUSE, _LONGEST_PAUSE = 0.002, 0.25
# Stands for an unknown number of frames: more than any write-ahead log has.
_UNCOUNTED = 1 << 40


class Database:
    """One connection to a journal's file.

    Args:
        path: the file.
        read_only: open for reading only; the file has to exist.
        reserve: bytes of free pages in a new file.

    ``wal``: whether the journal has a write-ahead log.
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
        """The open connection. Raises JournalError after ``close``, sqlite3.Error, OSError."""
        if self._closed:
            raise JournalError(f"the journal {self.path} is closed", reason="closed")
        if self._db is None:
            self._db = self._connect()
        return self._db

    def open(self) -> None:
        """Connect to the file that now has the journal's name. Raises JournalError."""
        self.close()
        self._closed = False
        self.repeated(lambda _: None, "open")

    def close(self) -> None:
        """Close the connection; closing twice is no error."""
        self._closed = True
        self._let_go()

    def repeated(self, call: Callable[[sqlite3.Connection], T], doing: str, limit: float = READING) -> T:
        """Make a call and return its result; after a passing error, reopen the file and repeat the call.

        Args:
            call: uses the connection; may be repeated although it took effect before it failed.
            doing: the call in words, for errors, as in "write to".
            limit: seconds after the first failure for which the call is repeated.

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
                self._let_go()  # a stale file handle never recovers
            again = not again
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _passing(self, error: Exception) -> bool:
        """Whether an error may pass, so that it is no evidence of a damaged file."""
        if isinstance(error, OSError):
            return error.errno in TRANSIENT
        # SQLite opens a file for reading only where it cannot open it for writing.
        return input_output(error) or ("readonly" in str(error) and os.access(self.path, os.W_OK))

    def row(self, query: str, values: Sequence[int] = (), doing: str = "read") -> Any:
        """Return the first row of a query's result, None when there is none. Raises JournalError.

        Args:
            query: the SQL query.
            values: values of the query's parameters.
            doing: the call in words, for errors.
        """
        return self.repeated(lambda db: db.execute(query, values).fetchone(), doing)

    def explained(self, error: Exception, doing: str) -> JournalError:
        """Translate an error of SQLite or of the system to a JournalError.

        Args:
            error: the error.
            doing: the failed call in words, as in "write to".
        """
        if not isinstance(error, OSError):
            return translated(error, self.path, doing)
        otherwise = "full" if error.errno in FULL else "read-only"
        return JournalError(
            f"could not {doing} the journal {self.path}: {told(error)}",
            reason="input-output" if error.errno in TRANSIENT else otherwise,
            hint="check that its directory exists, is yours and has room",
        )

    def flaw(self, log: bytes) -> str:
        """Return a description of the file's damage, '' for none. Raises JournalError when it cannot be read.

        Args:
            log: the write-ahead log's bytes from before SQLite opened the file.
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
        """Return the description of damage for a record with a wrong checksum."""
        return f"the record after {previous} of the journal {self.path} is damaged"

    def _let_go(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _connect(self) -> sqlite3.Connection:
        """Connect, choose SQLite's journal mode for the file system, and make the table.

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
            # Content that is not valid text is damaged: its checksum does not match.
            db.text_factory = text
            if not self.read_only:
                # PERSIST: the rollback journal's file stays, and with it its space on a disk that fills up.
                db.execute(f"PRAGMA journal_mode={'WAL' if self.wal else 'PERSIST'}")
                db.execute("PRAGMA synchronous=FULL")
        except UNREADABLE:
            db.close()
            raise
        return db


def _frames(db: sqlite3.Connection) -> int:
    """Return the number of frames in the write-ahead log that SQLite accepts as sound."""
    try:
        return max(int(db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]), 0)
    except sqlite3.OperationalError as error:
        if input_output(error):
            raise
        # A full disk has no room to checkpoint the log: its frames are counted later.
        return _UNCOUNTED


class Anchor(msgspec.Struct, frozen=True):
    """The identity of a record: its number, time and checksum."""

    seq: int
    time: float
    crc: int


@lru_cache(maxsize=1024)
def text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def insert(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows in one transaction. Raises sqlite3.Error.

    Args:
        db: the connection.
        rows: rows with number, time, kind, content and checksum.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        db.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
        db.execute("COMMIT")
    except BaseException:
        # SQLite may have ended the transaction already on a full disk.
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def holds(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the table has exactly the given rows in their range of numbers. Raises sqlite3.Error.

    Args:
        db: the connection.
        rows: rows with consecutive numbers.
    """
    found = db.execute(
        "SELECT * FROM journal WHERE seq BETWEEN ? AND ? ORDER BY seq", (rows[0][0], rows[-1][0])
    ).fetchall()
    return [tuple(row) for row in found] == [tuple(row) for row in rows]


def records_in(path: Path) -> dict[int, Record]:
    """Return the sound records of a damaged file: read from both ends, then one by one in between."""
    found: dict[int, Record] = {}
    try:
        db = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error:
        return found
    with contextlib.closing(db):
        db.text_factory = text
        for order in ("", " DESC"):
            # Reading stops at the damage; records behind it are read from the other end.
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
    """Return a row as a record, None when the row is damaged."""
    try:
        seq, time, kind, content, crc = row
        if checksum(seq, time, kind, content) != crc:
            return None
        _ANY_OBJECT.decode(content)
        return Record(seq=seq, time=time, kind=kind, content=msgspec.Raw(content))
    except _NO_RECORD:
        return None


def sound(row: tuple[Any, ...]) -> bool:
    """Whether a row is undamaged; cheaper than ``record_of``."""
    try:
        seq, time, kind, content, crc = row
        _ANY_OBJECT.decode(content)
        return crc == checksum(seq, time, kind, content) and seq.__class__ is int and kind.__class__ is str
    except _NO_RECORD:
        return False
