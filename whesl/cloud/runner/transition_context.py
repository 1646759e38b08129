"""What the parts of the runner's core share: the state, and what one transition writes and asks for."""

from __future__ import annotations

from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.events_and_commands import Command, End, Limits
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.runner.state import Executor, RunState

END_AGAIN = 30.0  # seconds until an executor that has not ended is told again
STILL_THERE = 600.0  # seconds after which people are told of one that does not end


class Context:
    """One run.

    Args:
        state: the run as its journal tells it; each record is taken in as it is written.
        limits: what the run may do.
    """

    def __init__(self, state: RunState, limits: Limits) -> None:
        self.state, self.limits = state, limits
        self.records: list[r.Record] = []
        self.commands: list[Command] = []
        self.ready: list[str] = []
        # The first and the last time at which each executor was told to end.
        self._told: dict[str, tuple[float, float]] = {}

    def write(self, record: r.Record, now: float) -> None:
        """Write a record, and take it in."""
        self.records.append(record)
        self.ready += self.state.take(record, now)

    def trouble(self, what: str, why: str, now: float) -> None:
        """Write down that something does not work, or (``why`` empty) works again; once for each reason."""
        if self.state.troubles.get(what, "") != why:
            self.write(r.Trouble(what=what, why=why, over=not why), now)

    def end(self, executor: Executor, why: str, now: float) -> None:
        """End an executor; one that does not end is told again."""
        if executor.state is not ExecutorState.ENDING:
            self.write(r.ExecutorSeen(id=executor.id, state=ExecutorState.ENDING, why=why), now)
        first, last = self._told.get(executor.id, (now, -END_AGAIN))
        if last <= now < last + END_AGAIN:
            return
        # A clock that was set back begins to count anew.
        first = first if first <= now else now
        self._told[executor.id] = first, now
        self.commands.append(End(executor.id, executor.domain, executor.handle))
        if now >= first + STILL_THERE:
            known_as = executor.handle or "it has told no name"
            why = (
                f"told for {STILL_THERE / 60:.0f} minutes, and still there ({known_as}): look at it yourself"
            )
            self.trouble(_ending(executor), why, now)

    def gone(self, executor: Executor, seen: r.ExecutorSeen | r.ExecutorRefused, now: float) -> None:
        """Write down that an executor is gone."""
        self.write(seen, now)
        self.trouble(_ending(executor), "", now)

    def taken(self) -> tuple[list[r.Record], list[Command]]:
        """Return what this transition writes and asks for, and begin the next one."""
        found = self.records, self.commands
        self.records, self.commands = [], []
        return found


def _ending(executor: Executor) -> str:
    return f"ending {executor.id}"
