"""The page of memory that a node's agent and ranks share; ``clients/c/src/page.h`` has the same layout.

The agent writes the header, and every rank writes its own slot. A rank stores its count and then loads the
target; the agent stores the target and then loads the counts. One of both sees the other's value, so no rank
passes the target unnoticed.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from whesl.model.errors import WheslError

MAGIC = 0x31304B434C534857
IDLE = 2**64 - 1  # value for "no step is agreed on" and "no checkpoint to restore"
HEADER, SLOT, TEXT = 1024, 256, 128  # sizes in bytes; the text is a slot's second half
SLOTS = 256
_SIZE = HEADER + SLOTS * SLOT

# Indices of the header's words, of eight bytes each.
_MAGIC, _SLOTS, HEARTBEAT, CANDIDATE, AGREED = 0, 1, 2, 3, 4
TARGET, EPOCH, GRANTED, RELEASED = 8, 9, 10, 11
_DIRECTORY = 128  # byte offset of the directory's name in the header
# Indices of a slot's words, of eight bytes each.
COUNT, STATE, SLOT_EPOCH, SLOT_TARGET, RANK, PID, BYTES, CHECKSUM, VERIFIED, RANKS, DURABLE = range(11)
SYNCING, SHARED = 11, 12


class SlotState(IntEnum):
    """The state of a rank."""

    FREE = 0
    RUNNING = 1
    HOLDING = 2
    WRITING = 3
    COMMITTED = 4
    FAILED = 5
    FINISHED = 6
    CLAIMED = 7  # a rank is taking the slot


class Slot(NamedTuple):
    """The content of a rank's slot."""

    polls: int
    state: SlotState
    epoch: int
    target: int
    rank: int
    pid: int
    bytes: int
    checksum: int
    verified: int
    ranks: int
    syncing: int  # number of the checkpoint whose part the rank is making durable
    shared: bool  # whether the rank writes a shared file
    text: str


class Page:
    """An agent's view of the page.

    Args:
        path: path of the page; an existing page is taken over, another file is replaced.
        directory: directory of the checkpoints.

    Raises:
        WheslError: the page cannot be made, or the directory's name is too long.
    """

    def __init__(self, path: Path, directory: Path) -> None:
        self.path = path
        name = os.fsencode(directory)
        if len(name) >= HEADER - _DIRECTORY:
            raise WheslError(f"the name of {directory} is longer than {HEADER - _DIRECTORY - 1} bytes")
        try:
            self._file = _opened(path, name)
            self._memory = mmap.mmap(self._file, _SIZE)
        except (OSError, ValueError) as error:
            raise WheslError(f"cannot make {path}: {error}", hint="remove it if it is no page") from error
        self._words = memoryview(self._memory).cast("Q")
        self.beat()

    def beat(self) -> None:
        """Increase the heartbeat, which shows waiting ranks that the agent lives."""
        self._words[HEARTBEAT] = time.monotonic_ns()

    def get(self, word: int) -> int:
        """Return a word of the header."""
        return self._words[word]

    def put(self, word: int, value: int) -> None:
        """Write a number into one field of the header.

        Args:
            word: index of the field, such as ``TARGET``; each field has eight bytes.
            value: an integer from 0 to 2**64 - 1.
        """
        self._words[word] = value

    def ranks(self) -> Iterator[Slot]:
        """Yield the ranks that run, have failed, or have ended after their part of this checkpoint."""
        return iter(self.registered()[0])

    def registered(self) -> tuple[list[Slot], int]:
        """Return the ranks of ``ranks``, and the number of the other ranks, which ended without a part."""
        slots = list(self._slots())
        ranks = [slot for slot in slots if slot.state is not SlotState.FINISHED]
        return ranks, len(slots) - len(ranks)

    def _slots(self) -> Iterator[Slot]:
        for index in range(SLOTS):
            first = (HEADER + index * SLOT) // 8
            # Both are read before the state: a rank commits before polling again, and resets its state first.
            polls = self._words[first + COUNT]
            epoch = self._words[first + SLOT_EPOCH]
            state = self._words[first + STATE]
            if state == SlotState.FREE:
                return
            if state == SlotState.CLAIMED:
                continue
            target = self._words[first + SLOT_TARGET]
            if state == SlotState.FINISHED and target == self._words[TARGET]:
                # The part of a rank that ended while others write still counts. No slot has IDLE as target.
                state = SlotState.COMMITTED if self._words[first + DURABLE] == self._words[EPOCH] else state
            text = bytes(self._memory[first * 8 + TEXT : first * 8 + SLOT]).partition(b"\0")[0]
            words = self._words
            yield Slot(
                polls,
                SlotState(state),
                epoch,
                target,
                words[first + RANK],
                words[first + PID],
                words[first + BYTES],
                words[first + CHECKSUM],
                words[first + VERIFIED],
                words[first + RANKS],
                words[first + SYNCING],
                bool(words[first + SHARED]),
                text.decode(errors="replace"),
            )

    def close(self, *, remove: bool) -> None:
        """Release the agent's mapping; ranks keep theirs. ``remove``: whether the file is removed."""
        self._words.release()
        self._memory.close()
        os.close(self._file)
        if remove:
            self.path.unlink(missing_ok=True)


def remove_ownerless(directory: Path) -> None:
    """Remove pages without a living agent or rank, which killed agents have left.

    Args:
        directory: directory of this user's pages on this node.
    """
    for path in directory.glob("[!.]*"):
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if _lock(file, fcntl.F_WRLCK) and not _has_ranks(os.pread(file, _SIZE, 0)):
                path.unlink(missing_ok=True)
        finally:
            os.close(file)


def _has_ranks(content: bytes) -> bool:
    """Return whether a rank of a page lives; True for a file that is no page."""
    if len(content) != _SIZE:
        return True
    words = memoryview(content).cast("Q")
    slots = range(HEADER // 8, _SIZE // 8, SLOT // 8)
    ended = (SlotState.FREE, SlotState.FINISHED)
    pids = [words[first + PID] for first in slots if words[first + STATE] not in ended]
    return words[_MAGIC] != MAGIC or any(map(alive, pids))


def alive(pid: int) -> bool:
    """Return whether a process runs: True where it cannot be examined, False for a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    return not status.rpartition(b")")[2].strip().startswith((b"Z", b"X"))


def _opened(path: Path, directory: bytes) -> int:
    """Open a page, or make it, and lock it for reading, which shows that the page has an owner.

    Process ids of another namespace are not visible, so only the lock shows that the owner lives.
    """
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return _made(path, directory)
        _lock(file, fcntl.F_RDLCK)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        os.close(file)  # the page was removed meanwhile


def _made(path: Path, directory: bytes) -> int:
    """Make a page and open it; the page gets its name when it is whole, so no rank opens a partial page."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    content = bytearray(_SIZE)
    words = memoryview(content).cast("Q")
    words[_MAGIC], words[_SLOTS], words[TARGET] = MAGIC, SLOTS, IDLE
    words.release()
    content[_DIRECTORY : _DIRECTORY + len(directory)] = directory
    file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.write(file, content)
    _lock(file, fcntl.F_RDLCK)
    beside.rename(path)
    return file


def _lock(file: int, kind: int) -> bool:
    """Lock a file while this process or a forked one has it open; return False where another one holds it.

    Source: fcntl(2), "Open file description locks"; clients use flock(2), which is another lock.
    """
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
