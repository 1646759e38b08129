"""The checkpoint client for Python programs, with and without mpi4py.

    client = whesl.api.checkpoints.Client(rank, ranks)
    path = client.restore()
    for step in ...:
        compute()
        if client.poll():
            write(client.path)
            client.commit(client.path)
    client.finish()

It works like the C client (``clients/c/include/whesl_ckpt.h``), on the same page of memory.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from whesl.checkpoints import manifest, rank_shared_memory
from whesl.checkpoints.rank_shared_memory import SlotState
from whesl.checkpoints.rendezvous import name_of_node
from whesl.files import file_retry
from whesl.model.errors import WheslError

_PAUSE, _LONGEST = 0.0002, 0.005  # seconds between two looks while a rank waits
_APPEARS = 5.0  # seconds until this node sees a file that another node has written
_UNNAMED = "the coordinator has named no checkpoint"


class CommitError(WheslError):
    """A part could not be made durable; the checkpoint is given up, the previous one stays the newest."""


class OtherRanksError(WheslError):
    """The checkpoint was written by another number of ranks. It is whole, and it is not removed."""


class DamagedError(WheslError):
    """A part differs from its manifest in size or checksum."""


class Client:
    """One rank of a program that writes checkpoints.

    Without an agent on the node ``poll`` always returns False and ``commit`` only makes its file durable. A
    message on standard error reports the missing agent once.

    Args:
        rank: number of this process, from 0; None for its rank in MPI_COMM_WORLD, by mpi4py.
        ranks: number of processes; None for the size of MPI_COMM_WORLD, by mpi4py.
        patience: seconds to wait for an agent without a sign of life; None for WHESL_CKPT_PATIENCE, or 60.
        shared: whether ``path`` is one file that all ranks write together (MPI-IO, HDF5); then all nodes
            write at the same time.
    """

    __slots__ = (
        "_absent",
        "_count",
        "_directory",
        "_first",
        "_memory",
        "_patience",
        "_said",
        "_shared",
        "_words",
        "epoch",
        "path",
        "rank",
        "ranks",
    )

    def __init__(
        self,
        rank: int | None = None,
        ranks: int | None = None,
        patience: float | None = None,
        *,
        shared: bool = False,
    ) -> None:
        if rank is None or ranks is None:
            from mpi4py import MPI

            rank, ranks = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
        self.rank, self.ranks = rank, ranks
        self.epoch = 0
        self.path = Path()
        self._count = 0
        self._said = False
        self._shared = shared
        self._absent = ""  # reason for which the expected agent is missing; '' for none
        self._patience = patience if patience is not None else _seconds("WHESL_CKPT_PATIENCE", 60.0)
        self._directory = os.environ.get("WHESL_CKPT_DIR", "")
        self._memory: mmap.mmap | None = None
        self._words = memoryview(bytearray(rank_shared_memory.HEADER + rank_shared_memory.SLOT)).cast("Q")
        self._words[rank_shared_memory.TARGET] = rank_shared_memory.IDLE
        self._first = rank_shared_memory.HEADER // 8
        name = os.environ.get("WHESL_CKPT_PAGE", "").replace("%n", name_of_node())
        if not 0 <= rank < ranks:
            self._lacks(f"rank {rank} of {ranks} is none", always=True)
        elif name:
            self._attach(Path(name))
        if not name:
            self._absent = ""
            self._say("no agent (WHESL_CKPT_PAGE is not set)")

    def poll(self) -> bool:
        """Return whether this rank has to write its checkpoint to ``path`` now.

        Called once per time step, so that ranks in the same state have made the same number of calls. Waits
        only while a checkpoint is being coordinated.
        """
        count = self._count = self._count + 1
        words = self._words
        words[self._first] = count
        # 8 is ``rank_shared_memory.TARGET``; looking up the name would double the time of a poll.
        if count < words[8]:
            return False
        return self._hold(count)

    def _hold(self, count: int) -> bool:
        words, first = self._words, self._first
        begin = seen = time.monotonic()
        beat = 0
        while True:
            epoch, target = words[rank_shared_memory.EPOCH], words[rank_shared_memory.TARGET]
            if (
                target == rank_shared_memory.IDLE
                or words[rank_shared_memory.RELEASED] >= epoch
                or count != target
            ):
                break
            if words[first + rank_shared_memory.STATE] in (SlotState.COMMITTED, SlotState.FAILED):
                # The state left by an earlier checkpoint must not be taken for this checkpoint's.
                words[first + rank_shared_memory.STATE] = SlotState.RUNNING
            words[first + rank_shared_memory.SLOT_EPOCH] = epoch
            words[first + rank_shared_memory.SLOT_TARGET] = target
            if words[rank_shared_memory.GRANTED] == epoch and words[rank_shared_memory.TARGET] == target:
                self.epoch = epoch
                name = "all-ranks.part" if self._shared else f"rank-{self.rank}.writing"
                self.path = Path(self._directory) / str(epoch) / name
                words[first + rank_shared_memory.DURABLE] = 0
                words[first + rank_shared_memory.STATE] = SlotState.WRITING
                return True
            words[first + rank_shared_memory.STATE] = SlotState.HOLDING
            if words[rank_shared_memory.HEARTBEAT] != beat:
                beat, seen = words[rank_shared_memory.HEARTBEAT], time.monotonic()
            elif time.monotonic() - seen > self._patience:
                self._say("the node's agent gives no sign of life")
                break
            _rest(begin)
        # A committed part keeps its state until the agent has reported it.
        if words[first + rank_shared_memory.STATE] == SlotState.HOLDING:
            words[first + rank_shared_memory.STATE] = SlotState.RUNNING
        return False

    def commit(self, path: str | os.PathLike[str]) -> None:
        """Make a file durable and report it to the agent (fsync, checksum, final name, directory's fsync).

        A shared file's checksums are computed when all ranks have committed. Where the checkpoint was given
        up meanwhile, the file is removed.

        Args:
            path: the file, which no process writes any more.

        Raises:
            CommitError: the file could not be made durable.
        """
        words, first = self._words, self._first
        coordinated = words[first + rank_shared_memory.STATE] == SlotState.WRITING
        if coordinated:
            words[first + rank_shared_memory.SYNCING] = self.epoch
        try:
            if coordinated:
                self._check(Path(path))
            if self._shared:
                name, size, checksum = _synced(Path(path))
            else:
                name, size, checksum = _durable(Path(path))
        except OSError as error:
            if coordinated and self._is_over(Path(path)):
                return
            self.give_up(str(error))
            raise CommitError(f"rank {self.rank} cannot commit {path}: {error}") from error
        if not coordinated or self._is_over(Path(path).with_name(name)):
            return
        words[first + rank_shared_memory.BYTES] = size
        words[first + rank_shared_memory.CHECKSUM] = checksum
        self._text(name)
        words[first + rank_shared_memory.DURABLE] = self.epoch
        words[first + rank_shared_memory.STATE] = SlotState.COMMITTED

    def _is_over(self, path: Path) -> bool:
        """Return whether the checkpoint was given up; remove its file in this case."""
        words, first = self._words, self._first
        if words[rank_shared_memory.RELEASED] < self.epoch:
            return False
        words[first + rank_shared_memory.STATE] = SlotState.RUNNING
        with suppress(OSError):
            self._check(path)
            path.unlink()
        return True

    def _check(self, path: Path) -> None:
        """Raise OSError where a file's name or directory does not fit a manifest."""
        name = path.name
        if len(os.fsencode(name)) >= rank_shared_memory.TEXT:
            raise OSError(f"its name is longer than {rank_shared_memory.TEXT - 1} bytes")
        if len(name.split()) != 1:
            raise OSError("its name has a blank")
        folder = Path(self._directory) / str(self.epoch)
        if not folder.samefile(path.parent):
            raise OSError(f"it is not in {folder}")

    def give_up(self, why: str) -> None:
        """Report that this rank cannot write its checkpoint, so that no rank waits for it."""
        if self._words[self._first + rank_shared_memory.STATE] == SlotState.WRITING:
            self._text(why)
            self._words[self._first + rank_shared_memory.STATE] = SlotState.FAILED

    def restore(self, timeout: float | None = None) -> Path | None:
        """Return this rank's part of the newest whole checkpoint; None where there is no checkpoint.

        All ranks get parts of the same checkpoint. A shared file is returned on each rank.

        Args:
            timeout: seconds to wait for other ranks after this rank has verified its part; None for
                WHESL_CKPT_RESTORE, or half an hour.

        Raises:
            OtherRanksError: another number of ranks has written the checkpoint (see ``restore_all``).
            WheslError: there is no agent although WHESL_CKPT_PAGE is set, the agent gives no sign of life, a
                file cannot be read, or not all ranks have verified a checkpoint in time. The program has to
                end, since other ranks may have restored.
        """
        found = self._restored(timeout, redistributes=False)
        return None if found is None else found[self.rank]

    def restore_all(self, timeout: float | None = None) -> list[Path] | None:
        """Return all parts of the newest whole checkpoint, in the order of the ranks that wrote them.

        This serves a program that distributes its state by itself: its number of ranks may differ from the
        checkpoint's. Each rank verifies its share of the parts, and all ranks have to call this method.

        Args:
            timeout: seconds to wait for other ranks, as in ``restore``.

        Raises:
            WheslError: for the reasons of ``restore``.
        """
        return self._restored(timeout, redistributes=True)

    def _restored(self, timeout: float | None, *, redistributes: bool) -> list[Path] | None:
        limit = timeout if timeout is not None else _seconds("WHESL_CKPT_RESTORE", 1800.0)
        words, first = self._words, self._first
        if self._memory is None:
            if self._absent:
                raise WheslError(
                    f"nothing was restored: {self._absent}", hint="is `whesl ckpt run` still running?"
                )
            return None
        begin = seen = time.monotonic()
        beat = answered = 0
        found: list[Path] | None = None
        due = begin + limit
        while True:
            candidate, agreed = words[rank_shared_memory.CANDIDATE], words[rank_shared_memory.AGREED]
            if agreed == rank_shared_memory.IDLE:
                return None
            if agreed and agreed == answered:
                self.epoch = agreed
                return found
            if candidate not in (0, answered, rank_shared_memory.IDLE):
                words[first + rank_shared_memory.VERIFIED] = 0  # no answer until this candidate is verified
                try:
                    found = self._verified(candidate, redistributes=redistributes)
                except DamagedError:
                    found = None
                answered = candidate
                words[first + rank_shared_memory.VERIFIED] = candidate * 2 + (found is not None)
                due = time.monotonic() + limit
            if words[rank_shared_memory.HEARTBEAT] != beat:
                beat, seen = words[rank_shared_memory.HEARTBEAT], time.monotonic()
            elif time.monotonic() - seen > self._patience:
                raise WheslError(
                    "the node's agent gives no sign of life", hint="is `whesl ckpt run` still running?"
                )
            if time.monotonic() > due:
                # This answer is withdrawn, since no rank may restore a checkpoint that this rank gives up.
                words[first + rank_shared_memory.VERIFIED] = 0
                what = f"not all ranks have verified checkpoint {answered}" if answered else _UNNAMED
                raise WheslError(
                    f"nothing was restored: {what} within {limit:g} s",
                    hint="is each rank started, and an agent on each node? WHESL_CKPT_RESTORE is the limit",
                )
            _rest(begin)

    def finish(self) -> None:
        """End the client, which must not be used afterwards."""
        if self._memory is not None:
            self._words[self._first + rank_shared_memory.STATE] = SlotState.FINISHED
            self._words.release()
            self._memory.close()
            self._memory = None

    def _verified(self, epoch: int, *, redistributes: bool) -> list[Path]:
        """Return all parts of a checkpoint after verifying this rank's own parts."""
        until = time.monotonic() + _APPEARS
        while True:
            try:
                return file_retry.retried(lambda: self._looked(epoch, redistributes=redistributes))
            except (FileNotFoundError, DamagedError) as error:
                if time.monotonic() > until or isinstance(error, DamagedError):
                    raise DamagedError(f"checkpoint {epoch} is damaged: {error}") from error
            except OSError as error:
                # A part that cannot be read does not count as damaged, since another attempt may read it.
                raise WheslError(
                    f"nothing was restored: checkpoint {epoch} cannot be read: {error}",
                    hint="start the program again when its file system answers",
                ) from error
            time.sleep(0.1)  # a network file system shows another node's files with a delay

    def _looked(self, epoch: int, *, redistributes: bool) -> list[Path]:
        folder = Path(self._directory) / str(epoch)
        found = manifest.told(folder)
        if found is None:
            (folder / manifest.NAME).stat()
            raise DamagedError("its manifest is torn")
        ranks = len(found.parts)
        if ranks != self.ranks and not redistributes:
            raise OtherRanksError(
                f"nothing was restored: checkpoint {epoch} has parts of {ranks} ranks, and this program has"
                f" {self.ranks}",
                hint=f"start it with {ranks} ranks, or with another --dir to begin anew; a program that"
                " redistributes its state calls restore_all",
            )
        for part in found.parts[self.rank :: self.ranks]:
            size = sum(one.bytes for one in found.parts if one.name == part.name)
            whole = (folder / part.name).stat().st_size == size
            check = manifest.checksum(folder / part.name, part.offset, part.bytes)
            if not whole or check != (part.bytes, part.checksum):
                raise DamagedError(f"{part.name} is not what its manifest tells")
        return [folder / part.name for part in found.parts]

    def _attach(self, name: Path) -> None:
        until = time.monotonic() + self._patience
        while True:
            try:
                file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                break
            except OSError as error:
                if not isinstance(error, FileNotFoundError) or time.monotonic() > until:
                    self._lacks(f"cannot open {name}: {error.strerror}")
                    return
            time.sleep(0.01)  # the agent starts together with the ranks
        try:
            status = os.fstat(file)
            if (
                status.st_uid != os.geteuid()
                or status.st_size < rank_shared_memory.HEADER + rank_shared_memory.SLOT
            ):
                self._lacks("the page is not this user's, or too small")
                return
            memory = mmap.mmap(file, status.st_size)
            words = memoryview(memory).cast("Q")
            if words[0] != rank_shared_memory.MAGIC:
                self._lacks("the agent is of another version")
                return
            # Python has no compare-and-swap, so the processes of a node take their slots under a lock.
            fcntl.flock(file, fcntl.LOCK_EX)
            for index in range(words[1]):
                first = (rank_shared_memory.HEADER + index * rank_shared_memory.SLOT) // 8
                state = words[first + rank_shared_memory.STATE]
                mine = state != SlotState.FREE and words[first + rank_shared_memory.RANK] == self.rank
                if (
                    mine
                    and state != SlotState.FINISHED
                    and rank_shared_memory.alive(words[first + rank_shared_memory.PID])
                ):
                    self._lacks("another process has this rank: two programs in one job?")
                    return
                if mine or state == SlotState.FREE:
                    self._memory, self._words, self._first = memory, words, first
                    for word in (
                        rank_shared_memory.COUNT,
                        rank_shared_memory.VERIFIED,
                        rank_shared_memory.SLOT_EPOCH,
                        rank_shared_memory.DURABLE,
                        rank_shared_memory.SYNCING,
                    ):
                        words[first + word] = 0
                    words[first + rank_shared_memory.RANK] = self.rank
                    words[first + rank_shared_memory.RANKS] = self.ranks
                    words[first + rank_shared_memory.SHARED] = self._shared
                    words[first + rank_shared_memory.PID] = os.getpid()
                    words[first + rank_shared_memory.STATE] = SlotState.RUNNING
                    directory = bytes(memory[128 : rank_shared_memory.HEADER]).partition(b"\0")[0]
                    self._directory = os.fsdecode(directory)
                    return
            self._lacks("more ranks on this node than a page has room for")
        finally:
            # Closing alone would not unlock, since the memory mapping keeps the file open.
            fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)

    def _text(self, text: str) -> None:
        if self._memory is not None:
            start = self._first * 8 + rank_shared_memory.TEXT
            data = os.fsencode(text)[: rank_shared_memory.TEXT - 1]
            self._memory[start : start + rank_shared_memory.TEXT] = data.ljust(rank_shared_memory.TEXT, b"\0")

    def _lacks(self, what: str, *, always: bool = False) -> None:
        """Record and report why the agent is missing, so that ``restore`` fails and does not return None."""
        self._absent = what
        self._say(what, always=always)

    def _say(self, what: str, *, always: bool = False) -> None:
        if not self._said and (self.rank == 0 or always) and sys.stderr is not None:
            with suppress(OSError, ValueError):  # standard error may be full or closed
                sys.stderr.write(f"whesl.checkpoints: {what}: checkpoints are not coordinated\n")
                sys.stderr.flush()
        self._said = True


def _rest(since: float) -> None:
    """Sleep for a time that grows with the wait, to leave the processor to ranks that compute and write."""
    time.sleep(min(max((time.monotonic() - since) / 50, _PAUSE), _LONGEST))


def _seconds(name: str, usual: float) -> float:
    """Return the seconds in an environment variable; ``usual`` where it holds no positive number."""
    try:
        given = float(os.environ.get(name, ""))
    except ValueError:
        return usual
    return given if given > 0 else usual


def _synced(path: Path) -> tuple[str, int, int]:
    """Make this rank's part of a shared file durable."""
    file_retry.sync(path)
    file_retry.sync(path.parent)
    return path.name, 0, 0


def _durable(path: Path) -> tuple[str, int, int]:
    failed: list[OSError] = []

    def sync() -> None:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            failed.append(error)

    with path.open("rb") as file:
        # The kernel writes the file while this process computes the checksum, which takes about as long.
        syncing = threading.Thread(target=sync)
        try:
            syncing.start()
        except RuntimeError:  # the process may start no more threads
            sync()
        try:
            size, crc = manifest.checksum(path)
        finally:
            if syncing.ident is not None:
                syncing.join()
    if failed:
        raise failed[0]
    if path.suffix == ".writing":
        path = path.rename(path.with_suffix(".part"))
    file_retry.sync(path.parent)
    return path.name, size, crc
