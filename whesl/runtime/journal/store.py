"""The journal's file: records in SQLite, on disk before ``append`` returns.

A state machine is rebuilt from its journal alone, so every loss has to show: each record has a checksum; a
damaged file is renamed and its readable records are copied to a new journal; the damage itself becomes a
record (kind ``journal-damaged``).
"""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import tempfile
import time as _time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from whesl.files.file_retry import exists, remove, retried, told
from whesl.model.journal_record import Damage
from whesl.runtime.journal import archived_records, database_integrity
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.database import (
    WRITING,
    Anchor,
    Database,
    holds,
    insert,
    record_of,
    records_in,
    row_of,
)
from whesl.runtime.journal.sqlite_errors import FULL, UNREADABLE, JournalError, input_output, no_room
from whesl.runtime.journal.table import checksum

__all__ = ["Anchor", "Damage", "Journal", "JournalError", "Record"]

Data = dict[str, Any] | msgspec.Struct

# The kind of the record that describes the losses of a damaged file.
DAMAGE = "journal-damaged"
# Seconds between two tries to restore a used reserve.
_REFILL = 30.0
# Records between two checks of the remaining reserve.
_LOOK = 64
# Rows that one query reads.
_ROWS = 500
_Rows = list[tuple[Any, ...]]


class Journal:
    """An append-only journal with one writer.

    Args:
        path: the database file; created with mode 0600 unless ``read_only``.
        read_only: open for ``read`` only; the file has to exist.
        reserve: bytes kept for the time when the file system is full, within the journal's own files, where
            no other file can take them.
        begin_anew: when nothing of a damaged file is readable, rename it and continue with an empty journal,
            whose first record says so; for callers that have the state from elsewhere.
        after: the highest record number that the caller knows to be used; new records get higher numbers,
            even if a damaged file has lost that record.

    ``damage`` is set when the file was damaged and only its readable part was kept. ``tight`` is set while
    records go into the reserve.

    Raises JournalError when the journal cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        reserve: int = 0,
        begin_anew: bool = False,
        after: int = 0,
    ) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self.tight = False
        self._reserve = reserve
        self._begin_anew = begin_anew
        self._after = after
        self._look_in = _LOOK
        self._refill_at = 0.0
        self.damage: Damage | None = None
        self._last = 0
        self._log = b""
        self._uncertain: _Rows = []  # rows of a failed call, which may be in the file nevertheless
        self._database = Database(self.path, read_only=read_only, reserve=reserve)
        try:
            if not read_only:
                # Unfinished files of a writer that was killed.
                self._log = database_integrity.log_of(self.path)
            elif not exists(self.path):
                raise JournalError(
                    f"there is no journal at {self.path}",
                    reason="missing",
                    hint="nothing was recorded yet, or WHESL_HOME names another directory",
                )
        except OSError as error:
            raise self._database.explained(error, "read") from error
        if read_only:
            self._database.open()
            return
        try:
            self._database.open()
            reason = self._database.flaw(self._log)
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
        """Write one record to the disk and return its number.

        Args:
            kind: the record's kind.
            data: a JSON object or a struct.
            time: the time of the event, seconds since the epoch.

        Raises JournalError; then nothing was written and the same call may be repeated.
        """
        return self.append_many([(kind, data)], time)[-1]

    def append_many(self, records: Sequence[tuple[str, Data]], time: float) -> list[int]:
        """Write several records, all or none, and return their numbers.

        Args:
            records: pairs of a record's kind and its data, a JSON object or a struct.
            time: the time of the events, seconds since the epoch.

        Raises JournalError; then nothing was written and the same call may be repeated.
        """
        database = self._writable()
        rows: _Rows = []
        for offset, (kind, data) in enumerate(records):
            content = msgspec.json.encode(data)
            number = self._last + 1 + offset
            rows.append((number, time, kind, content, checksum(number, time, kind, content)))
        try:
            database.repeated(lambda db: self._insert(db, rows), "write to", WRITING)
        except JournalError:
            self._uncertain = rows
            raise
        self._uncertain = []
        self._last += len(rows)
        self._look_in -= len(rows)
        if self._reserve and (self.tight or self._look_in <= 0):
            self._refill()
        return [row[0] for row in rows]

    def _insert(self, db: sqlite3.Connection, rows: _Rows) -> None:
        if self._uncertain and holds(db, self._uncertain):
            # The call before this one reported a failure although it had written its rows.
            db.execute("DELETE FROM journal WHERE seq > ?", (self._last,))
        try:
            try:
                insert(db, rows)
            except sqlite3.OperationalError as error:
                if not self._reserve or (input_output(error) and not no_room(self.path.parent)):
                    raise
                # The write-ahead log has space in reserve, which a full disk does not take: after a full
                # checkpoint, SQLite overwrites the log from its beginning, so that the rows go there.
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                insert(db, rows)
                self.tight = True
        except sqlite3.IntegrityError as error:
            if holds(db, rows):
                return  # the same call reported a failure although it had written its rows
            raise JournalError(
                f"another process has written to the journal {self.path}",
                reason="foreign-writer",
                hint="look for a second daemon with the same WHESL_HOME and end one of the two",
            ) from error

    def _refill(self) -> None:
        """Restore the reserve, if the disk has room for it."""
        now = _time.monotonic()
        if not self._reserve or (self.tight and now < self._refill_at):
            return
        self._look_in = _LOOK
        try:
            db = self._database.connection
            free = db.execute("PRAGMA freelist_count").fetchone()[0] * database_integrity.PAGE
            if not self.tight and free > self._reserve // 2 and self._log_size() >= self._reserve // 2:
                return
            database_integrity.grow(db, self._reserve)
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self.tight = False
        except (sqlite3.Error, OSError) as error:
            # An error of the file system does not show whether the disk is full.
            passing = isinstance(error, OSError) or input_output(error)
            self.tight = self.tight or not passing or no_room(self.path.parent)
            self._refill_at = now + _REFILL

    def _log_size(self) -> int:
        """Return the bytes of the write-ahead log's file; without such a log, the size of the reserve."""
        if not self._database.wal:
            return self._reserve
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

    def read(self, since: int = 0, kinds: Iterable[str] | None = None) -> Iterator[Record]:
        """Yield the records with a number above ``since``, in order, archived records included.

        No lock is held between two records, even for a slow caller: readers never block the daemon's writes.

        Args:
            since: the number of the last record already seen, 0 for all records.
            kinds: the kinds to yield, None for all.

        Raises JournalError at the first unreadable record, after all records before it were yielded.
        """
        wanted = None if kinds is None else frozenset(kinds)
        seen = since
        for record in self._rows(since):
            if record.seq > seen + 1:
                for old in archived_records.between(self.path, self._origin(), seen, record.seq):
                    if wanted is None or old.kind in wanted:
                        yield old
            seen = record.seq
            if wanted is None or record.kind in wanted:
                yield record

    @property
    def last(self) -> int:
        """The number of the newest record on disk, 0 for none."""
        return int(self._database.row("SELECT max(seq) FROM journal")[0] or 0)

    def anchor(self, seq: int) -> Anchor | None:
        """Return the identity of the record with a number, None when there is no such record."""
        row = self._database.row("SELECT seq, time, crc FROM journal WHERE seq = ?", (seq,))
        return Anchor(*row) if row is not None else None

    def put_away(self, last: int, *, breathe: Callable[[], None] = lambda: None) -> None:
        """Copy the records up to a number to a file of old records; ``forget`` removes them from the journal.

        The newest record always stays: the next record's number follows from it. The method may be called on
        a journal that is open for reading, while another process or thread writes.

        Args:
            last: the number of the last record to copy.
            breathe: called now and then; it may pause, so that other threads do not wait for this one.

        Raises JournalError; then the journal is unchanged.
        """
        origin = self._origin()
        known = archived_records.segments(self.path, origin)
        after = max(1, known[-1].last if known else 0)
        if origin:
            last = min(last, self.last - 1)
            rows = itertools.takewhile(lambda record: record.seq <= last, self._rows(after))
            archived_records.put_away(self.path, origin, rows, breathe=breathe)

    def put_away_up_to(self) -> int:
        """Return the highest record number in files of old records, 0 for none."""
        known = archived_records.segments(self.path, self._origin())
        return known[-1].last if known else 0

    def complete(self) -> bool:
        """Whether all records are readable, except those whose loss a record of damage names."""
        row = self._database.row("SELECT min(seq) FROM journal WHERE seq > 1")
        if row[0] is None or row[0] <= 2:
            return True
        known = archived_records.segments(self.path, self._origin())
        if known:
            return known[0].first <= 2
        return any(record.kind == DAMAGE for record in self._rows(0))

    def forget(self, most: int) -> bool:
        """Remove some records that are in files of old records; return whether more may have to be removed.

        The first record stays: it identifies the files of old records as this journal's.

        Raises JournalError.
        """
        database = self._writable()
        last = self.put_away_up_to()
        row = database.row("SELECT min(seq) FROM journal WHERE seq > 1")
        if row[0] is None or row[0] > last:
            return False
        until = min(row[0] + most - 1, last)
        database.row("DELETE FROM journal WHERE seq > 1 AND seq <= ?", (until,), "write to")
        return True

    def go_on_after(self, seq: int) -> None:
        """Give the next record a number above ``seq``, which is known to be used."""
        self._last = max(self._last, seq)

    def close(self) -> None:
        """Close the file; all records are already on disk. A second call is no error."""
        self._database.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _writable(self) -> Database:
        if self.read_only:
            raise JournalError(f"the journal {self.path} was opened for reading", reason="read-only")
        return self._database

    def _rows(self, since: int) -> Iterator[Record]:
        previous: int | str = "the start"
        while rows := self._some(since):
            for row in rows:
                record = record_of(row)
                if record is None:
                    raise JournalError(
                        self._database.damaged_after(previous),
                        reason="damaged",
                        hint="start its daemon again: it keeps what is readable and reports the rest",
                    )
                yield record
                since = previous = record.seq

    def _some(self, since: int) -> list[tuple[Any, ...]]:
        """Return the next rows, up to the first unreadable row."""
        query = "SELECT * FROM journal WHERE seq > ? ORDER BY seq LIMIT ?"

        def read(db: sqlite3.Connection) -> _Rows:
            rows: _Rows = []
            try:
                for row in db.execute(query, (since, _ROWS)):
                    rows.append(row)
            except UNREADABLE as error:
                if not rows or input_output(error):
                    raise
            return rows

        return self._database.repeated(read, "read")

    def _origin(self) -> int:
        """Return the checksum of the first record, which never leaves the journal; 0 without a record."""
        first = self.anchor(1)
        return first.crc if first is not None else 0

    def _salvage(self, reason: str) -> None:
        """Rename the damaged file, copy its readable records to a new journal, and record the damage."""
        now = _time.time()
        aside = self.path.with_name(f"{self.path.name}.damaged-{int(now)}")
        fresh = self.path.with_name(f"{self.path.name}.rescue-{os.getpid()}")
        try:
            self._rescue(reason, now, aside, fresh)
        except OSError as error:
            raise JournalError(
                f"the journal {self.path} is damaged ({reason}) and could not be put aside: {told(error)}",
                reason="full" if error.errno in FULL else "damaged",
                hint="make room in its directory, then start the daemon again",
            ) from error
        finally:
            for suffix in ("", *database_integrity.SIDES):
                remove(fresh.with_name(fresh.name + suffix))
        self._database.open()

    def _rescue(self, reason: str, now: float, aside: Path, fresh: Path) -> None:
        self.close()
        if self._log:
            self.path.with_name(f"{self.path.name}-wal").write_bytes(self._log)
        for suffix in ("", *database_integrity.SIDES):
            remove(fresh.with_name(fresh.name + suffix))
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
        if readable:
            last = max(last, self._after)
        elsewhere = self._elsewhere(readable)
        missing = tuple(sorted(set(range(1, last + 1)) - set(readable) - elsewhere))
        damage = Damage(file=str(aside), reason=reason, kept=len(readable), missing=missing)
        rows = [row_of(readable[number]) for number in sorted(readable)]
        if rows:
            whole = rescued._database
            whole.repeated(lambda db: None if holds(db, rows) else insert(db, rows), "write to")
        rescued._last = last
        rescued.append(DAMAGE, damage, now)
        rescued._database.row("PRAGMA wal_checkpoint(TRUNCATE)", doing="write to")
        rescued.close()
        # Both copies are complete before the damaged file is renamed. Its log is renamed too, since SQLite
        # would apply the log to any file with the journal's name.
        for suffix in ("", *database_integrity.SIDES):
            old = self.path.with_name(self.path.name + suffix)
            if exists(old):
                retried(partial(shutil.copy2, old, f"{aside}{suffix}"))
                if suffix:
                    remove(old)
        retried(lambda: fresh.replace(self.path))
        self.damage = damage

    def _elsewhere(self, readable: dict[int, Record]) -> set[int]:
        """Return the record numbers that may be missing here, since they are in files of old records."""
        first = readable.get(1)
        if first is None:
            return set()
        known = archived_records.segments(self.path, row_of(first)[4])
        return {number for segment in known for number in range(segment.first, segment.last + 1)}

    def _readable(self, whole: Path) -> dict[int, Record]:
        """Return every readable record, from a copy of the file, since SQLite changes files that it opens.

        Args:
            whole: a sound, empty journal, whose first page replaces an unusable first page.
        """
        found: dict[int, Record] = {}
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=f".{self.path.name}.") as scratch:
            copies = (Path(scratch, "as-it-is"), Path(scratch, "mended"))
            for suffix in ("", "-wal", "-journal"):
                old = self.path.with_name(self.path.name + suffix)
                if exists(old):
                    retried(partial(shutil.copyfile, old, f"{copies[0]}{suffix}"))
            retried(lambda: database_integrity.mended(self.path, whole, copies[1]))
            for copy in copies:
                found = {**records_in(copy), **found}
        return found
