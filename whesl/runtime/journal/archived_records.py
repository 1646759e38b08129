"""Old records that were moved out of a journal: files beside it that are read as if they were still in it.

A journal's state is in its snapshots; its older records are for people. They are copied to compressed files
of JSON lines before they are removed from the journal: a reader that finds a gap in the numbers reads on in
these files. Records that are in both places, since a daemon was killed in between, are read once.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.runtime.journal.database_integrity import sync_directory
from whesl.runtime.journal.sqlite_errors import FULL, JournalError

_NAME = re.compile(r"history-([0-9a-f]{8})-(\d{12})-(\d{12})\.jsonl\.gz")
_UNFINISHED = ".history-*.new"
_BROKEN = (EOFError, zlib.error, *UNDECODABLE)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One journalled fact: its number (from 1), when (s since the epoch), its kind, its content as JSON."""

    seq: int
    time: float
    kind: str
    content: msgspec.Raw = msgspec.field(name="data")

    @property
    def data(self) -> dict[str, Any]:
        """The content, as JSON builtins."""
        return _OBJECT.decode(self.content)


class Segment(NamedTuple):
    """A file of old records, from one number to another, both included."""

    first: int
    last: int
    path: Path


_LINE = msgspec.json.Decoder(Record)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def segments(journal: Path, of: int) -> list[Segment]:
    """Return the files of a journal's old records, the oldest first.

    Args:
        journal: the journal's file, beside which they lie.
        of: the checksum of the journal's first record; files of other journals are not looked at.

    Raises JournalError when the directory could not be read.
    """
    found = []
    try:
        names = file_retry.names(journal.parent)
    except OSError as error:
        raise JournalError(
            f"the files of old records beside {journal} could not be looked for: {file_retry.told(error)}",
            reason="input-output",
            hint="check the file system that holds them",
        ) from error
    for name in names:
        match = _NAME.fullmatch(name)
        if match and int(match[1], 16) == of:
            found.append(Segment(int(match[2]), int(match[3]), journal.parent / name))
    return sorted(found)


def read(segment: Segment) -> Iterator[Record]:
    """Yield the records of a file.

    Raises JournalError where it is damaged, FileNotFoundError when it has been removed.
    """
    import gzip  # no isolator ever needs it

    last = segment.first - 1
    try:
        # The file is read in one piece, some MiB at most, so that a failed read can be repeated.
        content = file_retry.retried(segment.path.read_bytes)
        with gzip.open(io.BytesIO(content), "rb") as file:
            for line in file:
                record = _LINE.decode(line)
                yield record
                last = record.seq
    except FileNotFoundError:
        raise
    except _BROKEN:
        damaged = "it is damaged"
    except OSError as error:
        if error.errno is not None:
            raise JournalError(
                f"the old records after {last} could not be read from {segment.path}: "
                f"{file_retry.told(error)}",
                reason="input-output",
                hint="check the file system that holds them",
                readable_after=segment.last,
            ) from error
        damaged = "it is damaged"  # gzip.BadGzipFile, which has no number
    else:
        if last == segment.last:
            return
        damaged = "its end is missing"
    raise JournalError(
        f"the old records after {last} could not be read from {segment.path}: {damaged}",
        reason="damaged",
        hint=f"`whesl events --since {segment.last}` shows what came after them",
        readable_after=segment.last,
    )


def between(journal: Path, of: int, after: int, before: int) -> Iterator[Record]:
    """Yield the old records that there are between two numbers. Raises as ``read``."""
    for segment in segments(journal, of):
        if segment.last <= after or segment.first >= before:
            continue
        with contextlib.suppress(FileNotFoundError):  # the oldest file was removed meanwhile
            for record in read(segment):
                if after < record.seq < before:
                    yield record
                    after = record.seq


def put_away(
    journal: Path, of: int, records: Iterable[Record], *, breathe: Callable[[], None] = lambda: None
) -> Segment | None:
    """Write records into a file of their own and read it again; None when there were none.

    Args:
        journal: the journal's file.
        of: the checksum of its first record.
        records: in order.
        breathe: called now and then; it may pause, so that other threads do not wait for this one.

    Raises JournalError; then there is no such file.
    """
    import gzip

    beside = journal.parent / f".history-{os.getpid()}.new"
    numbers: list[int] = []
    try:
        try:
            descriptor = os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as raw:
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:
                    for record in records:
                        numbers.append(record.seq)
                        file.write(msgspec.json.encode(record) + b"\n")
                        if not len(numbers) % 100:
                            breathe()
                raw.flush()
                os.fsync(descriptor)
            if not numbers:
                return None
            written = Segment(numbers[0], numbers[-1], beside)
            again = iter(numbers)
            for count, record in enumerate(read(written), 1):
                if record.seq != next(again, None):
                    raise JournalError(f"{beside} is not what was written", reason="input-output")
                if not count % 100:
                    breathe()
            name = f"history-{of:08x}-{written.first:012d}-{written.last:012d}.jsonl.gz"
            beside.rename(journal.parent / name)
            sync_directory(journal.parent)
            return Segment(written.first, written.last, journal.parent / name)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        why = "the file system is full" if error.errno in FULL else file_retry.told(error)
        raise JournalError(
            f"old records could not be moved out of the journal {journal}: {why}",
            reason="full" if error.errno in FULL else "input-output",
        ) from error


def shrink(journal: Path, of: int, most: int) -> list[Segment]:
    """Remove the oldest files until the others have at most ``most`` bytes; return those removed.

    Unfinished files are removed, too. For the journal's writer alone.
    """
    removed = []
    with contextlib.suppress(OSError, JournalError):
        for path in journal.parent.glob(_UNFINISHED):
            path.unlink(missing_ok=True)
        known = segments(journal, of)
        total = sum(segment.path.stat().st_size for segment in known)
        for segment in known[:-1]:
            if total <= most:
                break
            total -= segment.path.stat().st_size
            segment.path.unlink()
            removed.append(segment)
    return removed
