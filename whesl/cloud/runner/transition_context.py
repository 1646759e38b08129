"""The shared context of the runner's core: the state, and one transition's records and commands."""

from __future__ import annotations

from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.events_and_commands import Command, End, Limits
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.runner.state import Executor, RunState

END_AGAIN = 30.0  # seconds until the order to end is repeated to an executor
STILL_THERE = 600.0  # seconds after which an executor that does not end is reported to the user


class Context:
    """The context of one run.

    Args:
        state: the run's state from its journal; each record is applied when it is written.
        limits: the run's limits.
    """

    def __init__(self, state: RunState, limits: Limits) -> None:
        self.state, self.limits = state, limits
        self.records: list[r.Record] = []
        self.commands: list[Command] = []
        self.ready: list[str] = []
        # The first and the last time at which each executor was told to end.
        self._told: dict[str, tuple[float, float]] = {}

    def write(self, record: r.Record, now: float) -> None:
        """Write a record, and apply it to the state.

        Args:
            record: the record.
            now: the record's time, seconds since the epoch.
        """
        self.records.append(record)
        self.ready += self.state.take(record, now)

    def trouble(self, what: str, why: str, now: float) -> None:
        """Record that something fails, or works again; once for each reason.

        Args:
            what: what fails, in words; the same words stand for the same trouble.
            why: the reason; '' where it works again.
            now: seconds since the epoch.
        """
        if self.state.troubles.get(what, "") != why:
            self.write(r.Trouble(what=what, why=why, over=not why), now)

    def end(self, executor: Executor, why: str, now: float) -> None:
        """End an executor; the order is repeated until the executor has ended.

        Args:
            executor: the executor; repeated calls give the order again after ``END_AGAIN`` seconds.
            why: the reason, which is recorded with the first order.
            now: seconds since the epoch.
        """
        if executor.state is not ExecutorState.ENDING:
            self.write(r.ExecutorSeen(id=executor.id, state=ExecutorState.ENDING, why=why), now)
        first, last = self._told.get(executor.id, (now, -END_AGAIN))
        if last <= now < last + END_AGAIN:
            return
        # Where the clock was set back, the time is counted from now.
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
        """Record that an executor is gone, and that the trouble of ending it is over.

        Args:
            executor: the executor.
            seen: the record of its end, or of the refusal to start it.
            now: seconds since the epoch.
        """
        self.write(seen, now)
        self.trouble(_ending(executor), "", now)

    def taken(self) -> tuple[list[r.Record], list[Command]]:
        """Return this transition's records and commands, and begin the next transition."""
        found = self.records, self.commands
        self.records, self.commands = [], []
        return found


def _ending(executor: Executor) -> str:
    return f"ending {executor.id}"
