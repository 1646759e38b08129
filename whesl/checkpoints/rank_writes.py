"""Whether ranks that were let to write do so: pure but for what /proc tells of their bytes and states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whesl.checkpoints.rank_page import Slot, SlotState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def signs(pid: int) -> object | None:
    """Return what changes while a process writes; None where that cannot be seen.

    A process in an uninterruptible call (proc_pid_stat(5), state D) waits for a file system: its sign is a
    new object each time, so that it is left to the time that a node has to write.
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
    """A node's ranks since they were let to write.

    Args:
        arrival: seconds for which a rank may show no sign of writing.
        commit: seconds in which every rank has to have committed.
        now: in seconds, of a clock that never goes back.
        look: returns a process's signs, as ``signs`` does.
    """

    def __init__(
        self, arrival: float, commit: float, now: float, look: Callable[[int], object | None] = signs
    ) -> None:
        self.arrival, self._commit, self._began, self._look = arrival, commit, now, look
        self._seen: dict[int, tuple[object | None, float]] = {}
        self._looked = now
        self._told = False

    def trouble(self, unwritten: Sequence[Slot], now: float) -> str:
        """Return which rank ends the checkpoint, and why; nothing where all may still write.

        Args:
            unwritten: ranks whose part is not durable.
            now: as ``now`` above.
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
        """Return the ranks that write for long, once."""
        if self._told or not unwritten or now - self._began <= self.arrival:
            return ()
        self._told = True
        return tuple(slot.rank for slot in unwritten if slot.state is SlotState.WRITING)
