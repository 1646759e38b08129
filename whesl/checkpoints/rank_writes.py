"""Checks whether ranks that may write do write, by their byte counters and states in /proc."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from whesl.checkpoints.rank_shared_memory import Slot, SlotState


def signs(pid: int) -> object | None:
    """Return a value that changes while a process writes; None where it cannot be read.

    A process in an uninterruptible call (proc_pid_stat(5), state D) waits for a file system. For such a
    process each call returns a new object, so only the node's time limit for writing ends the checkpoint.
    """
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1]
        counters = Path(f"/proc/{pid}/io").read_bytes()  # proc_pid_io(5)
    except OSError:
        return None
    if state == [b"D"]:
        return object()
    return next((line for line in counters.splitlines() if line.startswith(b"wchar:")), None)


class Writing:
    """Observes a node's ranks after they were allowed to write.

    Args:
        arrival: seconds for which a rank may show no sign of writing.
        commit: seconds within which every rank has to commit.
        now: seconds of a monotonic clock.
        look: returns a process's sign of writing, as ``signs`` does.
    """

    def __init__(
        self, arrival: float, commit: float, now: float, look: Callable[[int], object | None] = signs
    ) -> None:
        self.arrival, self._commit, self._began, self._look = arrival, commit, now, look
        self._seen: dict[int, tuple[object | None, float]] = {}
        self._looked = now
        self._told = False

    def trouble(self, unwritten: Sequence[Slot], now: float) -> str:
        """Return which rank makes the checkpoint fail, and why; '' while all ranks may still write.

        Args:
            unwritten: ranks whose part is not durable.
            now: seconds of the monotonic clock.
        """
        for slot in unwritten:
            if slot.state is SlotState.WRITING and slot.polls > slot.target:
                return f"rank {slot.rank}: it polled again without commit, after poll had it write"
        if unwritten and now - self._began > self._commit:
            late = ", ".join(str(slot.rank) for slot in unwritten)
            return f"rank {late}: not written in {self._commit:g} s"
        if now - self._looked < self.arrival / 20:
            return ""
        self._looked = now
        for slot in unwritten:
            if slot.state not in (SlotState.HOLDING, SlotState.WRITING):
                continue  # the rank has not reached the step yet
            sign = self._look(slot.pid)
            before, since = self._seen.get(slot.rank, (None, now))
            if sign is None or sign != before or slot.syncing == slot.epoch:
                self._seen[slot.rank] = sign, now
            elif now - since > self.arrival:
                return (
                    f"rank {slot.rank}: it was let to write, and has neither written nor committed for"
                    f" {self.arrival:g} s; does commit follow poll, and does it wait for other ranks there?"
                )
        return ""

    def slow(self, unwritten: Sequence[Slot], now: float) -> tuple[int, ...]:
        """Return the ranks that still write after ``arrival`` seconds; nothing at each further call.

        Args:
            unwritten: ranks whose part is not durable.
            now: seconds of the monotonic clock.
        """
        if self._told or not unwritten or now - self._began <= self.arrival:
            return ()
        self._told = True
        return tuple(slot.rank for slot in unwritten if slot.state is SlotState.WRITING)
