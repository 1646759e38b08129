"""The journal's file: records in SQLite, on disk before ``append`` returns.

A state machine is rebuilt from its journal alone, so nothing may be lost in silence: every record carries a
checksum, a damaged file is put aside and what is readable of it is carried over, and the damage is itself
a record (kind ``journal-damaged``).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sqlite3
import tempfile
import time as _time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec
import psutil

from whesl.journal import files
from whesl.journal.errors import DAMAGED, FULL, UNREADABLE, JournalError, translated
from whesl.model.decoding import UNDECODABLE

if TYPE_CHECKING:
    from whesl.journal.consumer import CaughtUp

__all__ = ["Damage", "Journal", "JournalError", "Record"]

Data = dict[str, Any] | msgspec.Struct

# SQLite's write-ahead log needs memory shared by all processes that open the file, which only a file
# system of this machine gives (https://sqlite.org/wal.html, section 1). Unknown ones count as remote.
_LOCAL_FILE_SYSTEMS = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})
_BUSY_TIMEOUT = 10.0
# Seconds between attempts to have a reserve again that was used up.
_REFILL = 30.0
# Records between looks at how much of the reserve is left.
_LOOK = 64
# Numbers that are asked for one by one when a damaged table cannot be read through.
_MOST_SINGLE = 200_000
# Decoders made once; the second one looks over an object and keeps nothing of it.
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_ANY_OBJECT = msgspec.json.Decoder(msgspec.defstruct("_AnyObject", ()))
_NO_RECORD = (TypeError, ValueError, *UNDECODABLE)
# More frames than any log has.
_UNCOUNTED = 1 << 40
_SCHEMA = """
CREATE TABLE journal (
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

    def __str__(self) -> str:
        """Say all of it in a line, for a daemon's log."""
        return (
            f"the journal was damaged ({self.reason}): {self.kept} records were kept, "
            f"at least {len(self.missing)} are lost; it lies now at {self.file}"
        )


class Journal:
    """An append-only journal with one writer.

    Args:
        path: the database file; made (mode 0600) unless ``read_only``.
        read_only: only ``read``, ``follow`` and ``export`` are wanted; the file has to exist.
        reserve: bytes that are kept for the time when the file system is full. They lie in the journal's own
            files, where nobody else can take them.
        begin_anew: when nothing of a damaged file can be read, put it aside and go on with an empty one,
            whose first record says so; for callers who know from elsewhere what goes on.

    ``damage`` is set when the file was found damaged: the readable part was kept. ``tight`` is set while
    records go into the reserve.

    Raises JournalError when it cannot be opened.
    """

    def __init__(
        self, path: Path, *, read_only: bool = False, reserve: int = 0, begin_anew: bool = False
    ) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self.tight = False
        self._reserve = reserve
        self._begin_anew = begin_anew
        self._look_in = _LOOK
        self._refill_at = 0.0
        self.damage: Damage | None = None
        self._last = 0
        self._wal = False
        self._log = b""
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
        # What a writer that was killed has left.
        self._log = files.log_of(self.path)
        try:
            self._db = self._open()
            reason = self._check()
        except JournalError as error:
            if error.reason != "damaged":
                raise
            reason = error.message
        if reason:
            self._salvage(reason)
        self._log = b""
        self._last = self.last
        self._refill()

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
            try:
                _insert(db, rows)
            except sqlite3.OperationalError:
                if not self._reserve:
                    raise
                # Into the reserve: a log that was taken over whole is written again from its beginning.
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                _insert(db, rows)
                self.tight = True
        except sqlite3.IntegrityError as error:
            raise JournalError(
                f"another process has written to the journal {self.path}",
                reason="foreign-writer",
                hint="look for a second daemon with the same WHESL_HOME and end one of the two",
            ) from error
        except sqlite3.Error as error:
            raise translated(error, self.path, "write to") from error
        self._last += len(rows)
        self._look_in -= len(rows)
        if self._reserve and (self.tight or self._look_in <= 0):
            self._refill()
        return [row[0] for row in rows]

    def _refill(self) -> None:
        """Have the reserve whole again, where there is room for it."""
        now = _time.monotonic()
        if not self._reserve or (self.tight and now < self._refill_at):
            return
        db = self._connected()
        self._look_in = _LOOK
        try:
            free = db.execute("PRAGMA freelist_count").fetchone()[0] * files.PAGE
            if not self.tight and free > self._reserve // 2 and self._log_size() >= self._reserve // 2:
                return
            files.grow(db, self._reserve)
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self.tight = False
        except sqlite3.Error:
            self.tight = True
            self._refill_at = now + _REFILL

    def _log_size(self) -> int:
        """Return the size of the write-ahead log's file; without such a log, more than enough."""
        if not self._wal:
            return self._reserve
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

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
        except UNREADABLE as error:
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
                self._wal = file_system_type(self.path.parent) in _LOCAL_FILE_SYSTEMS
            if not self.read_only and not self.path.exists():
                files.create(self.path, _SCHEMA, wal=self._wal, spare=self._reserve)
            wrong = files.flaw(self.path)
            if wrong:
                raise JournalError(
                    f"could not open the journal {self.path}: {wrong}", reason="damaged", hint=DAMAGED
                )
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
                reason="full" if error.errno in FULL else "read-only",
                hint="check that its directory exists, is yours and has room",
            ) from error
        try:
            # What is no text was not written here: its checksum will say so.
            db.text_factory = _text
            if not self.read_only:
                # PERSIST: the rollback journal keeps its room on a disk that fills up.
                db.execute(f"PRAGMA journal_mode={'WAL' if self._wal else 'PERSIST'}")
                db.execute("PRAGMA synchronous=FULL")
        except UNREADABLE as error:
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
                        self._damaged_after(previous),
                        reason="damaged",
                        hint="start its daemon again: it keeps what is readable and reports the rest",
                    )
                yield record
                previous = record.seq
        except UNREADABLE as error:
            raise translated(error, self.path, "read") from error

    def _damaged_after(self, previous: int | str) -> str:
        return f"the record after {previous} of the journal {self.path} is damaged"

    def _check(self) -> str:
        """Return what is wrong with the file, or an empty string."""
        db = self._connected()
        try:
            verdict = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict is None or verdict[0] != "ok":
                return f"SQLite says: {'no answer' if verdict is None else verdict[0]}"
            if self._log and files.unread(self._log, self._frames(db)):
                return "the end of its log is damaged"
            previous: int | str = "the start"
            for row in db.execute("SELECT * FROM journal ORDER BY seq"):
                if not _sound(row):
                    return self._damaged_after(previous)
                previous = row[0]
        except UNREADABLE as error:
            raise translated(error, self.path, "read") from error
        return ""

    def _frames(self, db: sqlite3.Connection) -> int:
        """Return how many frames of the write-ahead log SQLite has found sound."""
        try:
            return max(int(db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]), 0)
        except sqlite3.OperationalError:
            # There is no room to take them over: they are counted when there is.
            return _UNCOUNTED

    def _salvage(self, reason: str) -> None:
        """Put the damaged file aside, carry the readable records over, and record the damage."""
        now = _time.time()
        aside = self.path.with_name(f"{self.path.name}.damaged-{int(now)}")
        fresh = self.path.with_name(f"{self.path.name}.rescue-{os.getpid()}")
        try:
            self._rescue(reason, now, aside, fresh)
        except OSError as error:
            raise JournalError(
                f"the journal {self.path} is damaged ({reason}) and could not be put aside: {error.strerror}",
                reason="full" if error.errno in FULL else "damaged",
                hint="make room in its directory, then start the daemon again",
            ) from error
        finally:
            for suffix in ("", *files.SIDES):
                fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
        self._db = self._open()

    def _rescue(self, reason: str, now: float, aside: Path, fresh: Path) -> None:
        self.close()
        if self._log:
            self.path.with_name(f"{self.path.name}-wal").write_bytes(self._log)
        for suffix in ("", *files.SIDES):
            fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
        rescued = Journal(fresh)
        readable = self._readable(fresh)
        if not readable and not self._begin_anew:
            rescued.close()
            raise JournalError(
                f"the journal {self.path} is damaged and nothing of it can be read ({reason})",
                reason="damaged",
                hint=f"look at what still runs, then move {self.path} away to start afresh",
            )
        last = max(readable, default=0)
        missing = tuple(sorted(set(range(1, last + 1)) - set(readable)))
        damage = Damage(file=str(aside), reason=reason, kept=len(readable), missing=missing)
        db = rescued._connected()
        _insert(db, [_row(readable[number]) for number in sorted(readable)])
        rescued._last = last
        rescued.append("journal-damaged", damage, now)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rescued.close()
        # Both copies are complete before the damaged file loses its name; its log goes with it, since SQLite
        # would apply it to whatever file bears the name.
        for suffix in ("", *files.SIDES):
            old = self.path.with_name(self.path.name + suffix)
            if old.exists():
                shutil.copy2(old, f"{aside}{suffix}")
                if suffix:
                    old.unlink()
        fresh.replace(self.path)
        self.damage = damage

    def _readable(self, whole: Path) -> dict[int, Record]:
        """Return every record that can still be read, of a copy: SQLite changes what it opens.

        Args:
            whole: a sound, empty journal, whose first page is tried when the damaged one's says nothing.
        """
        found: dict[int, Record] = {}
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=f".{self.path.name}.") as scratch:
            copies = (Path(scratch, "as-it-is"), Path(scratch, "mended"))
            for suffix in ("", "-wal", "-journal"):
                old = self.path.with_name(self.path.name + suffix)
                if old.exists():
                    shutil.copyfile(old, f"{copies[0]}{suffix}")
            files.mended(self.path, whole, copies[1])
            for copy in copies:
                found = {**_records_in(copy), **found}
        return found


@lru_cache(maxsize=1024)
def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _insert(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
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


def _records_in(path: Path) -> dict[int, Record]:
    """Return the sound records of a damaged file: from the front, from the back, then one by one between."""
    found: dict[int, Record] = {}
    try:
        db = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error:
        return found
    with contextlib.closing(db):
        db.text_factory = _text
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
        record = _record(row)
        if record is not None and record.seq > 0:
            found[record.seq] = record


def _row(record: Record) -> tuple[int, float, str, bytes, int]:
    content = msgspec.json.encode(record.data)
    crc = _checksum(record.seq, record.time, record.kind, content)
    return (record.seq, record.time, record.kind, content, crc)


def _checksum(seq: int, time: float, kind: str, content: bytes) -> int:
    return zlib.crc32(f"{seq}|{time!r}|{kind}|".encode() + content)


def _record(row: tuple[Any, ...]) -> Record | None:
    """Return a row as a record, None when its content is not what was written."""
    try:
        seq, time, kind, content, crc = row
        if _checksum(seq, time, kind, content) != crc:
            return None
        return Record(seq=seq, time=time, kind=kind, data=_OBJECT.decode(content))
    except _NO_RECORD:
        return None


def _sound(row: tuple[Any, ...]) -> bool:
    """Whether ``_record`` would return one; what is in it is not made."""
    try:
        seq, time, kind, content, crc = row
        _ANY_OBJECT.decode(content)
        return crc == _checksum(seq, time, kind, content) and seq.__class__ is int and kind.__class__ is str
    except _NO_RECORD:
        return False


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
