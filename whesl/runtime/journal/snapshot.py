"""Snapshots: files beside a journal, each with the state after the journal's records up to one of them.

A snapshot consists of lines ``<checksum> <word> <JSON>``. The first line names the last record in the
snapshot, the last line has the number of lines. Each checksum covers all lines up to its own, so no line can
be missing, repeated or moved. A snapshot gets its final name when it is on the disk as a whole, and counts
only when it has been read as a whole: else a reader uses an older snapshot, or the journal.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import WheslError
from whesl.runtime.journal.database_integrity import sync_directory
from whesl.runtime.journal.sqlite_errors import FULL
from whesl.runtime.journal.store import Anchor

VERSION = 2
_FORMAT = "whesl snapshot"
_NAME = re.compile(r"snapshot-(\d{12})")
_UNFINISHED = ".snapshot-*.new"
_HEAD, _END = "head", "end"
# Bytes after which a snapshot is forced to the disk: the write of a record has to wait for unforced bytes.
_SYNCED = 1 << 20
# Bytes that have to stay free on the file system, beside room for several snapshots.
_LEFT_FREE = 8 << 20


class SnapshotError(WheslError):
    """A snapshot cannot be written, or is damaged."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a snapshot: its place in the journal.

    ``last`` is the newest record in the snapshot. ``first`` is the journal's oldest record, which identifies
    the journal; None when that record was lost.
    """

    format: str = _FORMAT
    version: int = VERSION
    last: Anchor
    first: Anchor | None = None


class _End(msgspec.Struct, frozen=True):
    lines: int


Piece = tuple[str, bytes]


def write(
    directory: Path,
    head: Head,
    pieces: Iterable[Piece],
    *,
    expected: int = 0,
    breathe: Callable[[], None] = lambda: None,
) -> Path:
    """Write a snapshot and return its path.

    Args:
        directory: the journal's directory.
        head: the place in the journal.
        pieces: the content, each piece a word and JSON.
        expected: the likely size in bytes; writing starts only with room for far more.
        breathe: called after each piece; it may pause, so that other threads do not wait for this one.

    Raises SnapshotError; then no file is left.
    """
    path = directory / f"snapshot-{head.last.seq:012d}"
    beside = directory / f".{path.name}.{os.getpid()}.new"
    try:
        if shutil.disk_usage(directory).free < 4 * expected + _LEFT_FREE:
            raise SnapshotError(f"no snapshot was written: there is too little room in {directory}")
        try:
            descriptor = os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                unsynced = 0
                for line in _lines(head, pieces):
                    file.write(line)
                    unsynced += len(line)
                    if unsynced > _SYNCED:
                        unsynced = 0
                        file.flush()
                        os.fdatasync(descriptor)
                    breathe()
                file.flush()
                os.fsync(descriptor)
            beside.rename(path)
            sync_directory(directory)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        why = "the file system is full" if error.errno in FULL else file_retry.told(error)
        raise SnapshotError(f"no snapshot was written in {directory}: {why}") from error
    return path


def _lines(head: Head, pieces: Iterable[Piece]) -> Iterator[bytes]:
    crc, line = _line(0, _HEAD, msgspec.json.encode(head))
    yield line
    count = 0
    for word, content in pieces:
        count += 1
        crc, line = _line(crc, word, content)
        yield line
    yield _line(crc, _END, msgspec.json.encode(_End(count)))[1]


def _line(crc: int, word: str, content: bytes) -> tuple[int, bytes]:
    body = b"%s %s\n" % (word.encode(), content)
    crc = zlib.crc32(body, crc)
    return crc, b"%08x %s" % (crc, body)


def read(path: Path, take: Callable[[str, bytes], None]) -> Head:
    """Read a snapshot and return its head. When this raises, the caller has to drop the pieces taken so far.

    Args:
        path: the file.
        take: called with the word and the JSON of each piece, in order.

    Raises SnapshotError, FileNotFoundError when the file does not exist (any more).
    """
    try:
        content = file_retry.retried(path.read_bytes)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SnapshotError(f"the snapshot {path} could not be read: {file_retry.told(error)}") from error
    return _read(path, io.BytesIO(content), take)


def _read(path: Path, file: Iterable[bytes], take: Callable[[str, bytes], None]) -> Head:
    crc, count = 0, -1
    head: Head | None = None
    ended = False
    for line in file:
        crc = zlib.crc32(line[9:], crc)
        word, _, content = line[9:-1].partition(b" ")
        if ended or line[:9] != b"%08x " % crc or line[-1:] != b"\n":
            break
        if head is None:
            head = _head(path, word, content)
        elif word == _END.encode():
            ended = content == msgspec.json.encode(_End(count))
            if not ended:
                break
            continue
        else:
            take(word.decode("ascii", "replace"), content)
        count += 1
    else:
        if head is not None and ended:
            return head
    raise SnapshotError(f"the snapshot {path} is damaged")


def _head(path: Path, word: bytes, content: bytes) -> Head:
    try:
        head = msgspec.json.decode(content, type=Head)
    except UNDECODABLE:
        head = None
    if head is None or word != _HEAD.encode() or (head.format, head.version) != (_FORMAT, VERSION):
        raise SnapshotError(f"the snapshot {path} was written by another version of WHESL")
    return head


def found(directory: Path) -> list[Path]:
    """Return the files of a journal's snapshots, the newest first, without reading them.

    Raises SnapshotError when the directory cannot be read.
    """
    try:
        names = file_retry.names(directory)
    except OSError as error:
        raise SnapshotError(
            f"{directory} could not be searched for snapshots: {file_retry.told(error)}"
        ) from error
    return sorted((directory / name for name in names if _NAME.fullmatch(name)), reverse=True)


def number(path: Path) -> int:
    """Return the number of the newest record in a snapshot, from the snapshot's name."""
    return int(path.name.rpartition("-")[2])


def tidy(directory: Path, *, keep: Collection[Path]) -> None:
    """Remove all snapshots except some, and unfinished files.

    Only the journal's writer may call this, while no snapshot is being written.

    Args:
        directory: the journal's directory.
        keep: the snapshots that stay, which are known to be readable.
    """
    with contextlib.suppress(OSError, SnapshotError):
        for path in (*found(directory), *directory.glob(_UNFINISHED)):
            if path not in keep:
                path.unlink(missing_ok=True)


def put_aside(path: Path) -> None:
    """Rename the snapshot of another journal so that ``found`` does not return it. Raises OSError."""
    path.rename(path.with_name(f"{path.name}.other"))
