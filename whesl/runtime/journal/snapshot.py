"""Snapshots: the state after a journal's records up to one of them, in a file beside the journal.

A file of lines: ``<checksum> <word> <JSON>``. The first says which record the snapshot stands for, the last
how many lines there were; each checksum goes over all lines up to its own, so that none can be missing, come
twice or in another order. Such a file gets its name when all of it is on the disk, and is believed only when
all of it has been read: until then a reader uses the snapshot before it, or the journal.

Other daemons could not start because of half-written files under their final name, and of damaged ones that
were kept until they had filled the disk (etcd-io/etcd#3498, #5518, #20732). A snapshot that cannot be written
is no reason to refuse writes either (redis/redis#584).
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

VERSION = 1
_FORMAT = "whesl snapshot"
_NAME = re.compile(r"snapshot-(\d{12})")
_UNFINISHED = ".snapshot-*.new"
_HEAD, _END = "head", "end"
# Bytes after which a snapshot is forced to the disk: a record's own write would wait for all of them.
_SYNCED = 1 << 20
# Bytes that have to stay free on the file system beside several such snapshots: others use it, too.
_LEFT_FREE = 8 << 20


class SnapshotError(WheslError):
    """A snapshot could not be written, or is not what was written."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot stands for.

    ``last`` is the newest record in it, ``first`` the journal's oldest one, by which another journal's
    snapshot is known; None when that one was lost.
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
        directory: that of the journal.
        head: what it stands for.
        pieces: its content, each a word and JSON.
        expected: its likely size in bytes; nothing is begun unless there is room for far more.
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
    """Read a snapshot and return what it stands for. Nothing that was taken counts when this raises.

    Args:
        path: the file.
        take: called with the word and the JSON of each piece, in order.

    Raises SnapshotError, FileNotFoundError when there is no such file (any more).
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
    """Return a journal's snapshots, the newest first; they were not read.

    Raises SnapshotError when the directory could not be read.
    """
    try:
        names = file_retry.names(directory)
    except OSError as error:
        raise SnapshotError(
            f"{directory} could not be searched for snapshots: {file_retry.told(error)}"
        ) from error
    return sorted((directory / name for name in names if _NAME.fullmatch(name)), reverse=True)


def number(path: Path) -> int:
    """Return the number of the record that a snapshot of this name stands for."""
    return int(path.name.rpartition("-")[2])


def tidy(directory: Path, *, keep: Collection[Path]) -> None:
    """Remove all snapshots but some, and unfinished ones.

    For the journal's writer alone, while no snapshot is being written.

    Args:
        directory: that of the journal.
        keep: the snapshots that stay, which are known to be readable.
    """
    with contextlib.suppress(OSError, SnapshotError):
        for path in (*found(directory), *directory.glob(_UNFINISHED)):
            if path not in keep:
                path.unlink(missing_ok=True)


def put_aside(path: Path) -> None:
    """Give the snapshot of another journal a name under which it is not looked for. Raises OSError."""
    path.rename(path.with_name(f"{path.name}.other"))
