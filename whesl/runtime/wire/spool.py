"""The spool: undelivered messages of ended isolators for the coordinator (docs/design/recovery.md).

Its files need no signature: who can write them can also read the user's keys in the same directory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.model import home as places
from whesl.runtime.wire.keys import private_directory
from whesl.runtime.wire.messages import Envelope, Escalate, RecoveryRequest, decode, encode

SUFFIX = ".messages"
UNREADABLE = ".unreadable"
LARGEST = 64 << 20

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[bytes])


class Left(msgspec.Struct, frozen=True):
    """One isolator's file. ``envelopes`` are in the order of sending."""

    path: Path
    envelopes: tuple[Envelope, ...]

    @property
    def peer(self) -> str:
        """The peer that left the file, as ``sender#incarnation``."""
        first = self.envelopes[0]
        return f"{first.sender}#{first.incarnation}"


def worth_leaving(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Return the messages to leave: all except requests, whose answers no process waits for."""
    return [
        envelope for envelope in envelopes if not isinstance(envelope.message, RecoveryRequest | Escalate)
    ]


def leave(home: Path, incarnation: str, envelopes: Iterable[Envelope]) -> Path:
    """Write an isolator's undelivered messages to the disk, and return the file.

    Args:
        home: the WHESL home.
        incarnation: the sender's incarnation, which names the file.
        envelopes: the messages in order.

    Raises OSError or HomeError when they cannot be written.
    """
    private_directory(places.coordinator(home))
    path = private_directory(places.spool(home)) / f"{incarnation}{SUFFIX}"
    content = _encoder.encode([encode(envelope) for envelope in envelopes])
    file_retry.replace(path, content, durable=True)
    return path


def collect(home: Path) -> tuple[list[Left], list[Path]]:
    """Return the spooled messages, oldest first, and the files that are not valid."""
    found: list[tuple[float, str]] = []
    for name in file_retry.names(places.spool(home)):
        with contextlib.suppress(OSError):  # not now; it is looked at again
            if name.endswith(SUFFIX) and not name.startswith("."):
                found.append(((places.spool(home) / name).lstat().st_mtime, name))
    left, unreadable = [], []
    for _, name in sorted(found):
        path = places.spool(home) / name
        try:
            envelopes = _read(path)
        except OSError:
            continue  # not now; it is looked at again
        if envelopes:
            left.append(Left(path, envelopes))
        else:
            unreadable.append(path)
    return left, unreadable


def put_aside(path: Path) -> Path:
    """Rename an invalid file, so that it is kept and not read again, and return its new path.

    Raises OSError.
    """
    return path.rename(path.with_name(path.name + UNREADABLE))


def _read(path: Path) -> tuple[Envelope, ...]:
    """Return a file's envelopes, none for a file that is not an isolator's of this user. Raises OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = file_retry.retried(lambda: os.open(path, flags), file_retry.BRIEF)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return ()
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size > LARGEST:
        os.close(descriptor)
        return ()
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(LARGEST)
    try:
        frames = _decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
    envelopes = [envelope for envelope in map(decode, frames) if envelope is not None and envelope.number > 0]
    one = {(envelope.sender, envelope.incarnation) for envelope in envelopes}
    return tuple(envelopes) if len(envelopes) == len(frames) and len(one) == 1 else ()
