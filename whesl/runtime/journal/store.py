"""The journal's file: records in SQLite, on disk before ``append`` returns.

A state machine is rebuilt from its journal alone, so nothing may be lost in silence: every record carries a
checksum, a damaged file is put aside and what is readable of it is carried over, and the damage is itself
a record (kind ``journal-damaged``).
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

# The kind of the record that tells what a damaged file has lost.
DAMAGE = "journal-damaged"
# Seconds between attempts to restore a reserve that was used up.
_REFILL = 30.0
# Records between looks at how much of the reserve is left.
_LOOK = 64
# Rows that are read at once.
_ROWS = 500
_Rows = list[tuple[Any, ...]]


class Journal:
    """An append-only journal with one writer.

    Args:
        path: the database file; made (mode 0600) unless ``read_only``.
        read_only: only ``read`` is wanted; the file has to exist.
        reserve: bytes that are kept for the time when the file system is full. They lie in the journal's own
            files, where no other file can take them.
        begin_anew: when nothing of a damaged file can be read, put it aside and go on with an empty one,
            whose first record says so; for callers that know the state from elsewhere.
        after: a number that is known from elsewhere to have been given; when a damaged file has lost it, the
            next records get higher numbers all the same.

    ``damage`` is set when the file was found damaged: the readable part was kept. ``tight`` is set while
    records go into the reserve.

    Raises JournalError when it cannot be opened.
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
        self._uncertain: _Rows = []  # rows of a failed call, which may have been written all the same
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
        """Write one record and return its number; it is on disk when this returns.

        Args:
            kind: the record's kind.
            data: a JSON object or a struct.
            time: when it happened, seconds since the epoch.

        Raises JournalError; then nothing was written and the same call may be tried again.
        """
        return self.append_many([(kind, data)], time)[-1]

    def append_many(self, records: Sequence[tuple[str, Data]], time: float) -> list[int]:
        """Write several records, all or none, and return their numbers. Raises as ``append`` does."""
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
            # The call before this one has written its rows, and has reported a failure.
            db.execute("DELETE FROM journal WHERE seq > ?", (self._last,))
        try:
            try:
                insert(db, rows)
            except sqlite3.OperationalError as error:
                if not self._reserve or (input_output(error) and not no_room(self.path.parent)):
                    raise
                # The rows go into the reserve: a log that is checkpointed as a whole is written again from
                # its begin.
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                insert(db, rows)
                self.tight = True
        except sqlite3.IntegrityError as error:
            if holds(db, rows):
                return  # the same call has written them, and has failed all the same
            raise JournalError(
                f"another process has written to the journal {self.path}",
                reason="foreign-writer",
                hint="look for a second daemon with the same WHESL_HOME and end one of the two",
            ) from error

    def _refill(self) -> None:
        """Restore the reserve, where there is room for it."""
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
            # An error of the file system does not tell whether it is full.
            passing = isinstance(error, OSError) or input_output(error)
            self.tight = self.tight or not passing or no_room(self.path.parent)
            self._refill_at = now + _REFILL

    def _log_size(self) -> int:
        """Return the size of the write-ahead log's file; without such a log, more than enough."""
        if not self._database.wal:
            return self._reserve
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

    def read(self, since: int = 0, kinds: Iterable[str] | None = None) -> Iterator[Record]:
        """Yield the records with a number above ``since``, in order; old ones that were moved out too.

        Nothing is locked between two of them, however long the caller takes: a reader must not keep the
        daemon from writing.

        Args:
            since: the last number already seen, 0 for all.
            kinds: only these, None for all.

        Raises JournalError at the first record that cannot be read, after all before it were yielded.
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
        """Return what tells a record from all others, None when there is none of that number."""
        row = self._database.row("SELECT seq, time, crc FROM journal WHERE seq = ?", (seq,))
        return Anchor(*row) if row is not None else None

    def put_away(self, last: int, *, breathe: Callable[[], None] = lambda: None) -> None:
        """Copy the records up to a number to a file of old records; ``forget`` removes them here.

        The newest record stays in any case: the next one's number follows from it.

        May be called on a journal that was opened for reading, while its writer goes on.

        Args:
            last: the number.
            breathe: called now and then; it may pause, so that other threads do not wait for this one.

        Raises JournalError; the records stay where they were.
        """
        origin = self._origin()
        known = archived_records.segments(self.path, origin)
        after = max(1, known[-1].last if known else 0)
        if origin:
            last = min(last, self.last - 1)
            rows = itertools.takewhile(lambda record: record.seq <= last, self._rows(after))
            archived_records.put_away(self.path, origin, rows, breathe=breathe)

    def put_away_up_to(self) -> int:
        """Return the number up to which records are in files of old records, 0 for none."""
        known = archived_records.segments(self.path, self._origin())
        return known[-1].last if known else 0

    def complete(self) -> bool:
        """Whether all records can be read, except those that damage has taken and a record names."""
        row = self._database.row("SELECT min(seq) FROM journal WHERE seq > 1")
        if row[0] is None or row[0] <= 2:
            return True
        known = archived_records.segments(self.path, self._origin())
        if known:
            return known[0].first <= 2
        return any(record.kind == DAMAGE for record in self._rows(0))

    def forget(self, most: int) -> bool:
        """Remove some records that are in files of old records; return whether there may be more.

        The first record stays: it tells whose files these are.

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
        """Give the next record a number after this one, which is known to have been given."""
        self._last = max(self._last, seq)

    def close(self) -> None:
        """Close the file; everything appended is already on disk. Closing twice is no error."""
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
        """Return the next rows, up to the first that cannot be read."""
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
        """Return the checksum of the first record, which stays when others are moved out; 0 for none."""
        first = self.anchor(1)
        return first.crc if first is not None else 0

    def _salvage(self, reason: str) -> None:
        """Put the damaged file aside, carry the readable records over, and record the damage."""
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
        # Both copies are complete before the damaged file loses its name; its log goes with it, since SQLite
        # would apply it to whatever file bears the name.
        for suffix in ("", *database_integrity.SIDES):
            old = self.path.with_name(self.path.name + suffix)
            if exists(old):
                retried(partial(shutil.copy2, old, f"{aside}{suffix}"))
                if suffix:
                    remove(old)
        retried(lambda: fresh.replace(self.path))
        self.damage = damage

    def _elsewhere(self, readable: dict[int, Record]) -> set[int]:
        """Return the numbers that need not be readable here, since they are in files of old records."""
        first = readable.get(1)
        if first is None:
            return set()
        known = archived_records.segments(self.path, row_of(first)[4])
        return {number for segment in known for number in range(segment.first, segment.last + 1)}

    def _readable(self, whole: Path) -> dict[int, Record]:
        """Return every record that can still be read, from a copy: SQLite changes files that it opens.

        Args:
            whole: a sound, empty journal, whose first page is tried when the damaged one's says nothing.
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
