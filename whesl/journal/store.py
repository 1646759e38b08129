"""The journal's file: records in SQLite, on disk before ``append`` returns.

A state machine is rebuilt from its journal alone, so nothing may be lost in silence: every record carries a
checksum, a damaged file is put aside and what is readable of it is carried over, and the damage is itself
a record (kind ``journal-damaged``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time as _time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec
import psutil

from whesl.journal.errors import JournalError, translated

if TYPE_CHECKING:
    from whesl.journal.consumer import CaughtUp

__all__ = ["Damage", "Journal", "JournalError", "Record"]

Data = dict[str, Any] | msgspec.Struct

# SQLite's write-ahead log needs memory shared by all processes that open the file, which only a file
# system of this machine gives (https://sqlite.org/wal.html, section 1). Unknown ones count as remote.
_LOCAL_FILE_SYSTEMS = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})
_BUSY_TIMEOUT = 10.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS journal (
  seq INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL
)
"""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One journalled fact: its number (from 1), when (seconds since the epoch), its kind, its content."""

    seq: int
    time: float
    kind: str
    data: dict[str, Any]


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """What was found when a damaged journal was opened: where it lies now and what could not be read."""

    file: str
    reason: str
    kept: int
    missing: tuple[int, ...]  # numbers known to have existed and not readable


class Journal:
    """An append-only journal with one writer.

    Args:
        path: the database file; made (mode 0600) unless ``read_only``.
        read_only: only ``read``, ``follow`` and ``export`` are wanted; the file has to exist.

    ``damage`` is set when the file was found damaged: the readable part was kept.

    Raises JournalError when it cannot be opened.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self.damage: Damage | None = None
        self._last = 0
        self._db: sqlite3.Connection | None = None
        if read_only:
            if not self.path.exists():
                raise JournalError(
                    f"there is no journal at {self.path}",
                    reason="missing",
                    hint="nothing was recorded yet, or WHESL_HOME names another directory",
                )
            self._db = self._open()
            return
        try:
            self._db = self._open()
            reason = self._check()
        except JournalError as error:
            if error.reason != "damaged":
                raise
            reason = error.message
        if reason:
            self._salvage(reason)
        self._last = self.last

    def append(self, kind: str, data: Data, time: float) -> int:
        """Write one record and return its number; it is on disk when this returns.

        Args:
            kind: the event's word.
            data: a JSON object or a struct.
            time: when it happened, seconds since the epoch.

        Raises JournalError; then nothing was written and the same call may be tried again.
        """
        return self.append_many([(kind, data)], time)[-1]

    def append_many(self, records: Sequence[tuple[str, Data]], time: float) -> list[int]:
        """Write several records, all or none, and return their numbers. Raises as ``append`` does."""
        db = self._writable()
        rows = []
        for offset, (kind, data) in enumerate(records):
            content = msgspec.json.encode(data)
            number = self._last + 1 + offset
            rows.append((number, time, kind, content, _checksum(number, time, kind, content)))
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                db.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
                db.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise
        except sqlite3.IntegrityError as error:
            raise JournalError(
                f"another process has written to the journal {self.path}",
                reason="foreign-writer",
                hint="look for a second daemon with the same WHESL_HOME and end one of the two",
            ) from error
        except sqlite3.Error as error:
            raise translated(error, self.path, "write to") from error
        self._last += len(rows)
        return [row[0] for row in rows]

    def read(self, since: int = 0, kinds: Iterable[str] | None = None) -> Iterator[Record]:
        """Yield the records with a number above ``since``, in order.

        Args:
            since: the last number already seen, 0 for all.
            kinds: only these, None for all.

        Raises JournalError at the first record that cannot be read, after all before it were yielded.
        """
        wanted = None if kinds is None else frozenset(kinds)
        for record in self._rows("SELECT * FROM journal WHERE seq > ? ORDER BY seq", (since,)):
            if wanted is None or record.kind in wanted:
                yield record

    def follow(self, since: int = 0) -> Iterator[Record | CaughtUp]:
        """Yield the history, then CAUGHT_UP, then records as they come; it never ends by itself."""
        from whesl.journal.consumer import JournalConsumer  # the consumer opens journals: no cycle at import

        return iter(JournalConsumer(self.path, since=since))

    def export(self, out: IO[bytes], since: int = 0) -> int:
        """Write the records as JSON lines and return how many there were. Raises as ``read`` does."""
        count = 0
        for record in self.read(since):
            out.write(msgspec.json.encode(record) + b"\n")
            count += 1
        return count

    @property
    def last(self) -> int:
        """The number of the newest record on disk, 0 for none."""
        try:
            row = self._connected().execute("SELECT max(seq) FROM journal").fetchone()
        except sqlite3.Error as error:
            raise translated(error, self.path, "read") from error
        return int(row[0] or 0)

    def close(self) -> None:
        """Close the file; everything appended is already on disk. Closing twice is no error."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connected(self) -> sqlite3.Connection:
        if self._db is None:
            raise JournalError(f"the journal {self.path} is closed", reason="closed")
        return self._db

    def _writable(self) -> sqlite3.Connection:
        if self.read_only:
            raise JournalError(f"the journal {self.path} was opened for reading", reason="read-only")
        return self._connected()

    def _open(self) -> sqlite3.Connection:
        """Connect, choose the journal mode for the file system, make the table."""
        try:
            if not self.read_only:
                # SQLite would make it with the umask's mode.
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            mode = "ro" if self.read_only else "rw"
            db = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_BUSY_TIMEOUT,
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise translated(error, self.path, "open") from error
        except OSError as error:
            raise JournalError(
                f"could not open the journal {self.path}: {error.strerror}",
                reason="full" if error.errno in _FULL else "read-only",
                hint="check that its directory exists, is yours and has room",
            ) from error
        try:
            if not self.read_only:
                local = file_system_type(self.path.parent) in _LOCAL_FILE_SYSTEMS
                db.execute(f"PRAGMA journal_mode={'WAL' if local else 'TRUNCATE'}")
                db.execute("PRAGMA synchronous=FULL")
                db.execute(_SCHEMA)
        except sqlite3.Error as error:
            db.close()
            raise translated(error, self.path, "open") from error
        return db

    def _rows(self, query: str, arguments: tuple[int, ...] = ()) -> Iterator[Record]:
        db = self._connected()
        previous: int | str = "the start"
        try:
            for row in db.execute(query, arguments):
                record = _record(row)
                if record is None:
                    raise JournalError(
                        f"the record after {previous} of the journal {self.path} is damaged",
                        reason="damaged",
                        hint="start its daemon again: it keeps what is readable and reports the rest",
                    )
                yield record
                previous = record.seq
        except sqlite3.Error as error:
            raise translated(error, self.path, "read") from error

    def _check(self) -> str:
        """Return what is wrong with the file, or an empty string."""
        try:
            verdict = self._connected().execute("PRAGMA quick_check(1)").fetchone()
            if verdict is None or verdict[0] != "ok":
                return f"SQLite says: {'no answer' if verdict is None else verdict[0]}"
            for _ in self._rows("SELECT * FROM journal ORDER BY seq"):
                pass
        except sqlite3.Error as error:
            raise translated(error, self.path, "read") from error
        except JournalError as error:
            if error.reason != "damaged":
                raise
            return error.message
        return ""

    def _salvage(self, reason: str) -> None:
        """Put the damaged file aside, carry the readable records over, and record the damage."""
        readable = self._readable()
        self.close()
        if not readable:
            raise JournalError(
                f"the journal {self.path} is damaged and nothing of it can be read ({reason})",
                reason="damaged",
                hint=f"look at what still runs, then move {self.path} away to start afresh",
            )
        now = _time.time()
        aside = self.path.with_name(f"{self.path.name}.damaged-{int(now)}")
        fresh = self.path.with_name(f"{self.path.name}.rescue-{os.getpid()}")
        fresh.unlink(missing_ok=True)
        missing = tuple(sorted(set(range(1, max(readable) + 1)) - set(readable)))
        damage = Damage(file=str(aside), reason=reason, kept=len(readable), missing=missing)
        rescued = Journal(fresh)
        db = rescued._connected()
        db.execute("BEGIN IMMEDIATE")
        for number in sorted(readable):
            record = readable[number]
            content = msgspec.json.encode(record.data)
            crc = _checksum(number, record.time, record.kind, content)
            row = (number, record.time, record.kind, content, crc)
            db.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", row)
        db.execute("COMMIT")
        rescued._last = max(readable)
        rescued.append("journal-damaged", damage, now)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rescued.close()
        # Both copies are complete before the damaged file loses its name; its log goes with it, since SQLite
        # would apply it to whatever file bears the name.
        for suffix in ("", "-wal", "-shm", "-journal"):
            old = self.path.with_name(self.path.name + suffix)
            if old.exists():
                shutil.copy2(old, f"{aside}{suffix}")
                if suffix:
                    old.unlink()
        fresh.replace(self.path)
        self._db = self._open()
        self.damage = damage

    def _readable(self) -> dict[int, Record]:
        """Return every record that can still be read: from the front, then from the back."""
        found: dict[int, Record] = {}
        for order in ("", " DESC"):
            try:
                db = self._db or self._open()
                self._db = db
                for row in db.execute(f"SELECT * FROM journal ORDER BY seq{order}"):  # noqa: S608 - a constant
                    record = _record(row)
                    if record is not None:
                        found[record.seq] = record
            except (sqlite3.Error, JournalError):
                # The damage was reached; what lies on its other side is read from the other end.
                continue
        return found


_FULL = frozenset({28, 122})  # ENOSPC, EDQUOT


def _checksum(seq: int, time: float, kind: str, content: bytes) -> int:
    return zlib.crc32(f"{seq}|{time!r}|{kind}|".encode() + content)


def _record(row: tuple[Any, ...]) -> Record | None:
    """Return a row as a record, None when its content is not what was written."""
    try:
        seq, time, kind, content, crc = row
        if _checksum(seq, time, kind, content) != crc:
            return None
        return Record(seq=seq, time=time, kind=kind, data=msgspec.json.decode(content, type=dict[str, Any]))
    except (TypeError, ValueError, msgspec.DecodeError):
        return None


def file_system_type(directory: Path) -> str:
    """Return the type of the file system that holds a directory, as the mount table names it."""
    place = directory.resolve()
    best, kind = -1, ""
    for mount in psutil.disk_partitions(all=True):
        point = Path(mount.mountpoint)
        # Later entries are mounted over earlier ones.
        if (place == point or point in place.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), mount.fstype
    return kind
