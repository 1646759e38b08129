"""The table of a journal, and the writing of a complete journal. Standard library only."""

from __future__ import annotations

import json
import os
import zlib

from whesl.files import file_retry

TYPE_CHECKING = False  # the imports of typing and collections.abc take milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SCHEMA = """
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL
)
"""


def checksum(seq: int, time: float, kind: str, content: bytes) -> int:
    """Return the checksum of a row.

    Args:
        seq: the record's number.
        time: the record's time, seconds since the epoch.
        kind: the record's kind.
        content: the record's content as JSON.
    """
    return zlib.crc32(f"{seq}|{time!r}|{kind}|".encode() + content)


def write(path: str, records: Sequence[dict[str, Any]], time: float) -> None:
    """Write a complete journal; an existing file is replaced.

    Args:
        path: the file.
        records: JSON objects, each with its ``kind``.
        time: the time of the records, seconds since the epoch.

    Raises OSError; sqlite3.Error.
    """
    import sqlite3  # imported here, since most importers of this module never write

    rows = []
    for number, record in enumerate(records, 1):
        content = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
        rows.append((number, time, record["kind"], content, checksum(number, time, record["kind"], content)))
    beside = f"{path}.new"
    file_retry.remove(beside)
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(beside, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("BEGIN")
        db.execute(SCHEMA)
        db.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
        db.execute("COMMIT")
    finally:
        db.close()
    file_retry.sync(beside)
    os.replace(beside, path)  # noqa: PTH105
