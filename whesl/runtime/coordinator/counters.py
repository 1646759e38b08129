"""Counts of the coordinator's records, for a site's monitoring. Pure.

Only records are counted, so a restarted coordinator rebuilds the same counts from its journal. Tasks, nodes,
jobs and workflows are no labels of metrics, since their number has no bound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import msgspec

from whesl.model.outcomes import RecoveryOutcome
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.records import isolator_records

# Users' specifications name exceptions: names beyond this number are counted under one label.
MOST_NAMES = 100
OTHER = "other"
# Upper bounds of a histogram in seconds: from a restart in place to a wait for a person. Snapshots have a
# count for each: other bounds need a higher ``runtime.journal.snapshot.VERSION``.
BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Figures(msgspec.Struct, kw_only=True):
    """Counts of a journal's records, which grow with each record.

    ``recoveries``: by exception, then by outcome. ``seconds`` counts recoveries by upper bound (the last
    count has no bound).
    """

    raised: dict[str, int] = {}
    recoveries: dict[str, dict[str, int]] = {}
    requeues: dict[str, int] = {}
    seconds: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds_sum: float = 0.0

    def take(self, record: records.AnyRecord) -> None:
        """Count one record of the coordinator's journal; most kinds are not counted."""
        match record:
            case records.Reported(record=isolator_records.Raised() as told):
                _count(self.raised, self._name(told.raised.exception))
            case records.Reported(record=isolator_records.Recovered() as told):
                for name in told.exceptions:
                    self._recovered(name, RecoveryOutcome.RECOVERED)
            case records.RecoveryDone():
                self._recovered(record.exception, record.outcome)
                if record.outcome is RecoveryOutcome.RELAUNCHED:
                    self.seconds[bisect_left(BOUNDS, record.seconds)] += 1
                    self.seconds_sum += record.seconds
            case records.RequeueDone():
                _count(self.requeues, record.outcome.value)

    def _recovered(self, name: str, outcome: RecoveryOutcome) -> None:
        _count(self.recoveries.setdefault(self._name(name), {}), outcome.value)

    def _name(self, name: str) -> str:
        known = self.raised.keys() | self.recoveries.keys()
        return name if name in known or len(known - {OTHER}) < MOST_NAMES else OTHER


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The figures at one time, which never change: any thread may read them.

    ``connected`` counts isolators with a connection, ``waiting`` messages without an acknowledgement,
    ``counters`` dropped messages by reason.
    """

    state: State
    figures: Figures
    heartbeats: int
    connected: int
    waiting: int
    counters: Mapping[str, int]
    time: float
