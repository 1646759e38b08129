"""The checkpoint client for Python programs, with and without mpi4py.

    client = whesl.ckpt.Client(rank, ranks)
    path = client.restore()
    for step in ...:
        compute()
        if client.poll():
            write(client.path)
            client.commit(client.path)
    client.finish()

It does what the C client does (``clients/c/include/whesl_ckpt.h``), on the same page of memory.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import sys
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path

from whesl.ckpt import manifest, rank_page
from whesl.ckpt.rank_page import SlotState
from whesl.ckpt.rendezvous import name_of_node
from whesl.model import file_retry
from whesl.model.errors import WheslError

_PAUSE, _LONGEST = 0.0002, 0.005  # seconds between two looks while a rank waits
_START = 10.0  # seconds in which the node's agent makes its page
_UNNAMED = "the coordinator has named no checkpoint"


class CommitError(WheslError):
    """A part could not be made durable; the checkpoint is given up, and the one before stays the newest."""


class DamagedError(WheslError):
    """A part does not have the size or checksum that its manifest tells."""


class Client:
    """One rank of a program that writes checkpoints.

    Without an agent on the node ``poll`` always returns False, ``commit`` makes one file durable, and that
    is said once on standard error.

    Args:
        rank: this process, from 0; None for what mpi4py's world says.
        ranks: how many there are; None likewise.
        patience: seconds to wait for an agent that gives no sign of life; None for WHESL_CKPT_PATIENCE, or
            60.
    """

    __slots__ = (
        "_count",
        "_directory",
        "_first",
        "_memory",
        "_patience",
        "_said",
        "_words",
        "epoch",
        "path",
        "rank",
        "ranks",
    )

    def __init__(
        self, rank: int | None = None, ranks: int | None = None, patience: float | None = None
    ) -> None:
        if rank is None or ranks is None:
            from mpi4py import MPI

            rank, ranks = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
        self.rank, self.ranks = rank, ranks
        self.epoch = 0
        self.path = Path()
        self._count = 0
        self._said = False
        self._patience = patience if patience is not None else _seconds("WHESL_CKPT_PATIENCE", 60.0)
        self._directory = os.environ.get("WHESL_CKPT_DIR", "")
        self._memory: mmap.mmap | None = None
        self._words = memoryview(bytearray(rank_page.HEADER + rank_page.SLOT)).cast("Q")
        self._words[rank_page.TARGET] = rank_page.IDLE
        self._first = rank_page.HEADER // 8
        name = os.environ.get("WHESL_CKPT_PAGE", "").replace("%n", name_of_node())
        if not 0 <= rank < ranks:
            self._say(f"rank {rank} of {ranks} is none", always=True)
        elif name:
            self._attach(Path(name))
        else:
            self._say("no agent (WHESL_CKPT_PAGE is not set)")

    def poll(self) -> bool:
        """Return whether this rank is to write its checkpoint now, to ``path``.

        To be called once per time step, the same number of times on all ranks for the same state. Waits only
        while a checkpoint is being coordinated.
        """
        count = self._count = self._count + 1
        words = self._words
        words[self._first] = count
        if count < words[8]:  # page.TARGET: a name of a module costs as much as the rest
            return False
        return self._hold(count)

    def _hold(self, count: int) -> bool:
        words, first = self._words, self._first
        begin = seen = time.monotonic()
        beat = 0
        while True:
            epoch, target = words[rank_page.EPOCH], words[rank_page.TARGET]
            if target == rank_page.IDLE or words[rank_page.RELEASED] >= epoch or count != target:
                break
            if words[first + rank_page.STATE] in (SlotState.COMMITTED, SlotState.FAILED):
                # Of an earlier checkpoint: with this one's number it would tell of the earlier part.
                words[first + rank_page.STATE] = SlotState.RUNNING
            words[first + rank_page.SLOT_EPOCH] = epoch
            words[first + rank_page.SLOT_TARGET] = target
            if words[rank_page.GRANTED] == epoch and words[rank_page.TARGET] == target:
                self.epoch = epoch
                self.path = Path(self._directory) / str(epoch) / f"rank-{self.rank}.writing"
                words[first + rank_page.DURABLE] = 0
                words[first + rank_page.STATE] = SlotState.WRITING
                return True
            words[first + rank_page.STATE] = SlotState.HOLDING
            if words[rank_page.HEARTBEAT] != beat:
                beat, seen = words[rank_page.HEARTBEAT], time.monotonic()
            elif time.monotonic() - seen > self._patience:
                self._say("the node's agent gives no sign of life")
                break
            _rest(begin)
        if words[first + rank_page.STATE] == SlotState.HOLDING:  # what is committed is still to be told
            words[first + rank_page.STATE] = SlotState.RUNNING
        return False

    def commit(self, path: str | os.PathLike[str]) -> None:
        """Make a file durable and tell the agent: fsync, checksum, final name, fsync of the directory.

        Args:
            path: the file, which nobody writes to any longer.

        Raises:
            CommitError: it could not be made durable.
        """
        words, first = self._words, self._first
        coordinated = words[first + rank_page.STATE] == SlotState.WRITING
        try:
            name, size, checksum = _durable(Path(path))
            if coordinated:
                self._check(Path(path), name)
        except OSError as error:
            self.give_up(str(error))
            raise CommitError(f"rank {self.rank} cannot commit {path}: {error}") from error
        if not coordinated:
            return
        words[first + rank_page.BYTES] = size
        words[first + rank_page.CHECKSUM] = checksum
        self._text(name)
        words[first + rank_page.DURABLE] = self.epoch
        words[first + rank_page.STATE] = SlotState.COMMITTED

    def _check(self, path: Path, name: str) -> None:
        """Raise OSError where a manifest cannot name a file."""
        if len(os.fsencode(name)) >= rank_page.TEXT:
            raise OSError(f"its name is longer than {rank_page.TEXT - 1} bytes")
        if len(name.split()) != 1:
            raise OSError("its name has a blank")
        folder = Path(self._directory) / str(self.epoch)
        if not folder.samefile(path.parent):
            raise OSError(f"it is not in {folder}")

    def give_up(self, why: str) -> None:
        """Say that this rank cannot write its checkpoint, so that nobody waits for it."""
        if self._words[self._first + rank_page.STATE] == SlotState.WRITING:
            self._text(why)
            self._words[self._first + rank_page.STATE] = SlotState.FAILED

    def restore(self, timeout: float | None = None) -> Path | None:
        """Return this rank's part of the newest whole checkpoint, the same one on all ranks; None for none.

        Args:
            timeout: seconds to wait for other ranks after this one's part was verified; None for
                WHESL_CKPT_RESTORE, or half an hour.

        Raises:
            WheslError: the agent gives no sign of life, or not all ranks have verified a checkpoint in time.
                The program has to end: other ranks may have restored.
        """
        limit = timeout if timeout is not None else _seconds("WHESL_CKPT_RESTORE", 1800.0)
        words, first = self._words, self._first
        if self._memory is None:
            return None
        begin = seen = time.monotonic()
        beat = answered = 0
        path: Path | None = None
        due = begin + limit
        while True:
            candidate, agreed = words[rank_page.CANDIDATE], words[rank_page.AGREED]
            if agreed == rank_page.IDLE:
                return None
            if agreed and agreed == answered:
                self.epoch = agreed
                return path
            if candidate not in (0, answered, rank_page.IDLE):
                try:
                    path = self._verified(candidate)
                except DamagedError:
                    path = None
                answered = candidate
                words[first + rank_page.VERIFIED] = candidate * 2 + (path is not None)
                due = time.monotonic() + limit
            if words[rank_page.HEARTBEAT] != beat:
                beat, seen = words[rank_page.HEARTBEAT], time.monotonic()
            elif time.monotonic() - seen > self._patience:
                raise WheslError(
                    "the node's agent gives no sign of life", hint="is `whesl ckpt run` still running?"
                )
            if time.monotonic() > due:
                words[first + rank_page.VERIFIED] = 0  # others are not to restore what this rank does not
                what = f"not all ranks have verified checkpoint {answered}" if answered else _UNNAMED
                raise WheslError(
                    f"nothing was restored: {what} within {limit:g} s",
                    hint="is each rank started, and an agent on each node? WHESL_CKPT_RESTORE is the limit",
                )
            _rest(begin)

    def finish(self) -> None:
        """End; the client is not to be used afterwards."""
        if self._memory is not None:
            self._words[self._first + rank_page.STATE] = SlotState.FINISHED
            self._words.release()
            self._memory.close()
            self._memory = None

    def _verified(self, epoch: int) -> Path:
        folder = Path(self._directory) / str(epoch)
        try:
            found = manifest.read(folder)
            if found is None or self.rank >= len(found.parts):
                raise DamagedError(f"checkpoint {epoch} has no part of rank {self.rank}")
            part = found.parts[self.rank]
            path = folder / part.name
            if _checksum(path) != (part.bytes, part.checksum):
                raise DamagedError(f"{path} is not what its manifest tells")
        except OSError as error:
            raise DamagedError(f"cannot read checkpoint {epoch}: {error}") from error
        return path

    def _attach(self, name: Path) -> None:
        until = time.monotonic() + min(self._patience, _START)
        while True:
            try:
                file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                break
            except OSError as error:
                if not isinstance(error, FileNotFoundError) or time.monotonic() > until:
                    self._say(f"cannot open {name}: {error.strerror}")
                    return
            time.sleep(0.01)  # agents and ranks are started at the same time
        try:
            status = os.fstat(file)
            if status.st_uid != os.geteuid() or status.st_size < rank_page.HEADER + rank_page.SLOT:
                self._say("the page is not this user's, or too small")
                return
            memory = mmap.mmap(file, status.st_size)
            words = memoryview(memory).cast("Q")
            if words[0] != rank_page.MAGIC:
                self._say("the agent is of another version")
                return
            # Python has no compare-and-swap: processes of one node take their slots one after the other.
            fcntl.flock(file, fcntl.LOCK_EX)
            for index in range(words[1]):
                first = (rank_page.HEADER + index * rank_page.SLOT) // 8
                state = words[first + rank_page.STATE]
                mine = state != SlotState.FREE and words[first + rank_page.RANK] == self.rank
                if mine and state != SlotState.FINISHED and rank_page.alive(words[first + rank_page.PID]):
                    self._say("another process has this rank: two programs in one job?")
                    return
                if mine or state == SlotState.FREE:
                    self._memory, self._words, self._first = memory, words, first
                    for word in (
                        rank_page.COUNT,
                        rank_page.VERIFIED,
                        rank_page.SLOT_EPOCH,
                        rank_page.DURABLE,
                    ):
                        words[first + word] = 0
                    words[first + rank_page.RANK] = self.rank
                    words[first + rank_page.RANKS] = self.ranks
                    words[first + rank_page.PID] = os.getpid()
                    words[first + rank_page.STATE] = SlotState.RUNNING
                    directory = bytes(memory[128 : rank_page.HEADER]).partition(b"\0")[0]
                    self._directory = os.fsdecode(directory)
                    return
            self._say("more ranks on this node than a page has room for")
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # the mapping keeps the file open, and would keep the lock
            os.close(file)

    def _text(self, text: str) -> None:
        if self._memory is not None:
            start = self._first * 8 + rank_page.TEXT
            data = os.fsencode(text)[: rank_page.TEXT - 1]
            self._memory[start : start + rank_page.TEXT] = data.ljust(rank_page.TEXT, b"\0")

    def _say(self, what: str, *, always: bool = False) -> None:
        if not self._said and (self.rank == 0 or always) and sys.stderr is not None:
            with suppress(OSError, ValueError):  # it is full, or closed: the program has to go on
                sys.stderr.write(f"whesl.ckpt: {what}: checkpoints are not coordinated\n")
                sys.stderr.flush()
        self._said = True


def _rest(since: float) -> None:
    """Pause, longer the longer was waited: processors are for those that compute and write."""
    time.sleep(min(max((time.monotonic() - since) / 50, _PAUSE), _LONGEST))


def _seconds(name: str, usual: float) -> float:
    """Return what a variable of the environment says; the usual time where it says none."""
    try:
        given = float(os.environ.get(name, ""))
    except ValueError:
        return usual
    return given if given > 0 else usual


def _checksum(path: Path) -> tuple[int, int]:
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            size += len(block)
            crc = zlib.crc32(block, crc)
    return size, crc


def _durable(path: Path) -> tuple[str, int, int]:
    failed: list[OSError] = []

    def sync() -> None:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            failed.append(error)

    with path.open("rb") as file:
        # The kernel writes while the checksum is computed: either may take as long as the other.
        syncing = threading.Thread(target=sync)
        try:
            syncing.start()
        except RuntimeError:  # there are no more threads to be had
            sync()
        try:
            size, crc = _checksum(path)
        finally:
            if syncing.ident is not None:
                syncing.join()
    if failed:
        raise failed[0]
    if path.suffix == ".writing":
        path = path.rename(path.with_suffix(".part"))
    file_retry.sync(path.parent)
    return path.name, size, crc
