"""A journal's rows: what is in one, and what proves that it is what was written."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from whesl.journal.archived_records import Record
from whesl.journal.errors import UNREADABLE
from whesl.model.decoding import UNDECODABLE

SCHEMA = """
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL
)
"""
# Numbers that are asked for one by one when a damaged table cannot be read through.
_MOST_SINGLE = 200_000
# Looks over an object and keeps nothing of it.
_ANY_OBJECT = msgspec.json.Decoder(msgspec.defstruct("_AnyObject", ()))
_NO_RECORD = (TypeError, ValueError, *UNDECODABLE)


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
    """Return the sound records of a damaged file: from the front, from the back, then one by one between."""
    found: dict[int, Record] = {}
    try:
        db = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error:
        return found
    with contextlib.closing(db):
        db.text_factory = text
        for order in ("", " DESC"):
            # The damage was reached; what lies on its other side is read from the other end.
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


def checksum(seq: int, time: float, kind: str, content: bytes) -> int:
    return zlib.crc32(f"{seq}|{time!r}|{kind}|".encode() + content)


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
    """Whether ``record_of`` would return one; what is in it is not made."""
    try:
        seq, time, kind, content, crc = row
        _ANY_OBJECT.decode(content)
        return crc == checksum(seq, time, kind, content) and seq.__class__ is int and kind.__class__ is str
    except _NO_RECORD:
        return False
