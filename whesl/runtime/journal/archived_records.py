"""Archive files of a journal: old records in files beside it, which readers see as part of the journal.

A journal's state is in its snapshots; its older records are for people. Old records are copied to compressed
files of JSON lines before they are removed from the journal. A reader that finds a gap in the record numbers
reads on in these files. A daemon that is killed in between leaves records in both places; they are read once.
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
    """One journalled fact: its number (from 1), time (s since the epoch), kind, and content as JSON."""

    seq: int
    time: float
    kind: str
    content: msgspec.Raw = msgspec.field(name="data")

    @property
    def data(self) -> dict[str, Any]:
        """The content, as JSON builtins."""
        return _OBJECT.decode(self.content)


class Segment(NamedTuple):
    """A file of old records with the numbers from ``first`` to ``last``, both included."""

    first: int
    last: int
    path: Path


_LINE = msgspec.json.Decoder(Record)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def segments(journal: Path, of: int) -> list[Segment]:
    """Return the files of a journal's old records, the oldest first.

    Args:
        journal: the journal's file, beside which the files lie.
        of: the checksum of the journal's first record; files of other journals are ignored.

    Raises JournalError when the directory cannot be read.
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

    Raises JournalError where the file is damaged, FileNotFoundError when it has been removed.
    """
    import gzip  # imported here, since isolators never need it

    last = segment.first - 1
    try:
        # The file (some MiB at most) is read in one piece, so that a failed read can be repeated.
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
        damaged = "it is damaged"  # gzip.BadGzipFile has no errno
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
    """Yield the old records between two numbers. Raises JournalError where a file is damaged.

    Args:
        journal: the journal's file.
        of: the checksum of the journal's first record.
        after: the number before the first wanted record.
        before: the number after the last wanted record.
    """
    for segment in segments(journal, of):
        if segment.last <= after or segment.first >= before:
            continue
        with contextlib.suppress(FileNotFoundError):  # the writer may remove the oldest file meanwhile
            for record in read(segment):
                if after < record.seq < before:
                    yield record
                    after = record.seq


def put_away(
    journal: Path, of: int, records: Iterable[Record], *, breathe: Callable[[], None] = lambda: None
) -> Segment | None:
    """Write records into a new file and read it again; return the file, None without any record.

    Args:
        journal: the journal's file.
        of: the checksum of the journal's first record.
        records: the records in the order of their numbers.
        breathe: called now and then; it may pause, so that other threads do not wait for this one.

    Raises JournalError; then the file does not exist.
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
    """Remove the oldest files until the others have at most ``most`` bytes; return the removed files.

    Unfinished files are removed too. Only the journal's writer may call this.

    Args:
        journal: the journal's file.
        of: the checksum of the journal's first record.
        most: the most bytes that the remaining files may have.
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
