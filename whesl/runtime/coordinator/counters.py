"""Counts of the coordinator's records, for a site's monitoring. Pure.

Only records are counted, so a restarted coordinator rebuilds the same counts from its journal. Tasks, nodes,
jobs and workflows are no labels of metrics, since their number has no bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from whesl.model.outcomes import RecoveryOutcome
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.records import isolator_records

# Users' specifications name exceptions: names beyond this number are counted under one label.
MOST_NAMES = 100
OTHER = "other"
# Upper bounds of a histogram in seconds: from a restart in place to a wait for a person.
BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The figures at one time, which never change: any thread may read them.

    ``seconds`` counts recoveries by upper bound (the last count has no bound); ``connected`` counts
    isolators.
    """

    state: State
    raised: Mapping[str, int]
    recoveries: Mapping[tuple[str, str], int]
    requeues: Mapping[str, int]
    seconds: tuple[int, ...]
    seconds_sum: float
    heartbeats: int
    connected: int
    waiting: int
    counters: Mapping[str, int]
    time: float


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a journal's records. ``recoveries``: triples of exception, outcome and count."""

    names: tuple[str, ...] = ()
    raised: dict[str, int] = {}
    recoveries: list[tuple[str, str, int]] = []
    requeues: dict[str, int] = {}
    seconds: tuple[int, ...] = ()
    seconds_sum: float = 0.0


class Figures:
    """Counts that grow with each record and each heartbeat."""

    def __init__(self) -> None:
        self.heartbeats = 0
        self._raised: Counter[str] = Counter()
        self._recoveries: Counter[tuple[str, str]] = Counter()
        self._requeues: Counter[str] = Counter()
        self._seconds = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0
        self._names: set[str] = set()

    def take(self, record: records.AnyRecord) -> None:
        """Count one record of the coordinator's journal; most kinds are not counted."""
        match record:
            case records.Reported(record=isolator_records.Raised() as told):
                self._raised[self._name(told.raised.exception)] += 1
            case records.Reported(record=isolator_records.Recovered() as told):
                for name in told.exceptions:
                    self._recoveries[self._name(name), RecoveryOutcome.RECOVERED.value] += 1
            case records.RecoveryDone():
                self._recoveries[self._name(record.exception), record.outcome.value] += 1
                if record.outcome is RecoveryOutcome.RELAUNCHED:
                    self._took(record.seconds)
            case records.RequeueDone():
                self._requeues[record.outcome.value] += 1

    def snapshot(
        self, state: State, *, connected: int, waiting: int, counters: Mapping[str, int], now: float
    ) -> Snapshot:
        """Return the present figures, including those that are not counts of records.

        Args:
            state: the coordinator's state.
            connected: the number of isolators with a connection.
            waiting: the number of messages without an acknowledgement.
            counters: counts of dropped messages, by reason.
            now: seconds since the epoch.
        """
        return Snapshot(
            state=state,
            raised=dict(self._raised),
            recoveries=dict(self._recoveries),
            requeues=dict(self._requeues),
            seconds=tuple(self._seconds),
            seconds_sum=self._sum,
            heartbeats=self.heartbeats,
            connected=connected,
            waiting=waiting,
            counters=dict(counters),
            time=now,
        )

    def memory(self) -> Memory:
        """Return the counts of records, for a later ``restore``."""
        return Memory(
            names=tuple(sorted(self._names)),
            raised=dict(self._raised),
            recoveries=[(*key, count) for key, count in self._recoveries.items()],
            requeues=dict(self._requeues),
            seconds=tuple(self._seconds),
            seconds_sum=self._sum,
        )

    def restore(self, memory: Memory) -> None:
        """Continue from saved counts; a histogram with other bounds than the present ones is dropped."""
        self._raised = Counter(memory.raised)
        self._recoveries = Counter({(name, outcome): count for name, outcome, count in memory.recoveries})
        self._requeues = Counter(memory.requeues)
        self._names = set(memory.names)
        if len(memory.seconds) == len(self._seconds):
            self._seconds = list(memory.seconds)
            self._sum = memory.seconds_sum

    def _took(self, seconds: float) -> None:
        place = next((n for n, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self._seconds[place] += 1
        self._sum += seconds

    def _name(self, name: str) -> str:
        if name not in self._names and len(self._names) >= MOST_NAMES:
            return OTHER
        self._names.add(name)
        return name
