"""The coordinator's figures for Prometheus.

The threads that serve figures read the latest snapshot, which the coordinator's loop replaces and never
changes: slow readers do not delay the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from whesl import __version__
from whesl.model.states import TaskState
from whesl.runtime.coordinator.counters import BOUNDS, Snapshot

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

# Reasons for dropped messages; each counter starts at zero, so that the first drop shows in a rate.
_DROPPED = ("malformed", "refused", "repeated", "unexpected", "unsent")


class LatestSnapshot:
    """The figures of the latest snapshot, as a collector of prometheus_client.

    Args:
        journal: the journal's file, whose size is one of the metrics.
    """

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._latest: Snapshot | None = None

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot that readers get."""
        self._latest = snapshot

    def describe(self) -> Iterator[Metric]:
        """Return no metrics: this is the registry's only collector, so names cannot collide."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the latest snapshot."""
        snapshot = self._latest
        if snapshot is not None:
            yield from families(snapshot, self._size())

    def _size(self) -> int:
        """Return the size in bytes of the journal with its write-ahead log."""
        total = 0
        for suffix in ("", "-wal"):
            path = self._journal.with_name(self._journal.name + suffix)
            total += path.stat().st_size if path.exists() else 0
        return total


def families(snapshot: Snapshot, journal_bytes: int) -> Iterator[Metric]:
    """Yield the metrics of a snapshot.

    Args:
        snapshot: the figures.
        journal_bytes: size of the journal.
    """
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        InfoMetricFamily,
    )

    state, figures = snapshot.state, snapshot.figures
    yield InfoMetricFamily("whesl", "The running coordinator.", {"version": __version__})
    yield GaugeMetricFamily("whesl_workflows", "Workflows known.", len(state.workflows))
    tasks = GaugeMetricFamily("whesl_tasks", "Tasks by state.", labels=["state"])
    counts = Counter(task.state for task in state.tasks.values())
    for each in TaskState:
        tasks.add_metric([each.value], counts[each])
    yield tasks
    raised = CounterMetricFamily("whesl_exceptions", "Exceptions raised.", labels=["exception"])
    for name, count in sorted(figures.raised.items()):
        raised.add_metric([name], count)
    yield raised
    recoveries = CounterMetricFamily(
        "whesl_recoveries", "Recoveries that ended.", labels=["exception", "outcome"]
    )
    for name, outcomes in sorted(figures.recoveries.items()):
        for outcome, count in sorted(outcomes.items()):
            recoveries.add_metric([name, outcome], count)
    yield recoveries
    bounds = [*(repr(bound) for bound in BOUNDS), "+Inf"]
    buckets = list(zip(bounds, map(float, accumulate(figures.seconds)), strict=True))
    yield HistogramMetricFamily(
        "whesl_recovery_seconds",
        "From an exception to the task running again.",
        buckets=buckets,
        sum_value=figures.seconds_sum,
    )
    requeues = CounterMetricFamily("whesl_requeues", "Orders to run a job again.", labels=["outcome"])
    for outcome, count in sorted(figures.requeues.items()):
        requeues.add_metric([outcome], count)
    yield requeues
    open_ones = sum(recovery.open for recovery in state.recoveries.values())
    yield GaugeMetricFamily("whesl_open_recoveries", "Recoveries that wait for the coordinator.", open_ones)
    yield GaugeMetricFamily(
        "whesl_isolators_connected", "Isolators that have a connection.", snapshot.connected
    )
    yield CounterMetricFamily("whesl_heartbeats", "Heartbeats of isolators answered.", snapshot.heartbeats)
    yield GaugeMetricFamily("whesl_unacknowledged_messages", "Messages on their way.", snapshot.waiting)
    dropped = CounterMetricFamily("whesl_dropped_messages", "Messages dropped, by why.", labels=["reason"])
    for reason in sorted({*_DROPPED, *snapshot.counters}):
        dropped.add_metric([reason], snapshot.counters.get(reason, 0))
    yield dropped
    bad = sum(node.expires > snapshot.time for node in state.bad_nodes.values())
    yield GaugeMetricFamily("whesl_bad_nodes", "Nodes that are avoided.", bad)
    yield GaugeMetricFamily("whesl_journal_bytes", "Size of the journal.", journal_bytes)
    yield GaugeMetricFamily("whesl_snapshot_time_seconds", "When these figures were taken.", snapshot.time)
