"""The placement service's counters, in the form that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from whesl.model.journal_record import Record
from whesl.placement.site.publish.node_change_records import (
    Failed,
    JobReleased,
    JobSeen,
    Released,
    Seen,
    What,
    Would,
    WouldNot,
)
from whesl.placement.site.slurm.placement_status import Status


class Figures:
    """Counters since the service was started, and the latest status."""

    def __init__(self) -> None:
        self._changes: Counter[tuple[str, str]] = Counter()
        self._jobs: Counter[str] = Counter()
        self._failed = 0
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._status: Status | None = None

    def take(self, record: Record) -> None:
        """Count a record that was written to the journal."""
        match record:
            case Would(change=change) if not change.failed:
                self._changes[change.what.value, "would"] += 1
            case Released(what=what):
                self._changes[what.value, "released"] += 1
            case Seen(what=What.DRAIN, failed=True):
                self._outcomes["made", "failed"] += 1
            case WouldNot(what=What.DRAIN, failed=failed):
                self._outcomes["would", "failed" if failed else "lived"] += 1
            case JobSeen(would=would):
                self._jobs["would" if would else "made"] += 1
            case JobReleased():
                self._jobs["changed"] += 1
            case Failed():
                self._failed += 1

    def changed(self, what: What) -> None:
        """Count a change of a node that Slurm has accepted; a decided change alone does not count."""
        self._changes[what.value, "made"] += 1

    def totals(self) -> dict[str, int]:
        """Return all counters by name."""
        found = {f"{what} {how}": count for (what, how), count in sorted(self._changes.items())}
        found |= {f"jobs {how}": count for how, count in sorted(self._jobs.items())}
        found |= {f"drains {how}: node {end}": count for (how, end), count in sorted(self._outcomes.items())}
        return {**found, "failures": self._failed}

    def show(self, status: Status) -> None:
        """Set the status that the metrics report from now on."""
        self._status = status

    def describe(self) -> Iterator[Metric]:
        """Return no metrics: this is the registry's only collector, so names cannot collide."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, as prometheus_client asks for them."""
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        changes = CounterMetricFamily(
            "whesl_placement_changes", "Changes of nodes, and those observed only.", labels=["what", "how"]
        )
        for (what, how), count in sorted(self._changes.items()):
            changes.add_metric([what, how], count)
        yield changes
        excluded = CounterMetricFamily(
            "whesl_placement_jobs", "Jobs kept off nodes, or that would be.", labels=["how"]
        )
        for how in ("made", "would", "changed"):
            excluded.add_metric([how], self._jobs[how])
        yield excluded
        outcomes = CounterMetricFamily(
            "whesl_placement_outcomes", "What became of drained nodes.", labels=["how", "node"]
        )
        for (how, end), count in sorted(self._outcomes.items()):
            outcomes.add_metric([how, end], count)
        yield outcomes
        yield CounterMetricFamily("whesl_placement_failures", "What could not be done.", self._failed)
        if (status := self._status) is not None:
            yield GaugeMetricFamily("whesl_placement_active", "Whether it acts.", int(status.active))
            yield GaugeMetricFamily("whesl_placement_look_time_seconds", "The latest look.", status.time)
            yield GaugeMetricFamily("whesl_placement_nodes", "Nodes of the cluster.", status.nodes)
            yield GaugeMetricFamily("whesl_placement_nodes_at_risk", "Said to fail.", status.at_risk)
            held = GaugeMetricFamily(
                "whesl_placement_nodes_changed",
                "Nodes changed now, refused by Slurm, or that would be.",
                labels=["what", "how"],
            )
            for how, some in (("made", status.held), ("refused", status.refused), ("would", status.would)):
                for what in What:
                    held.add_metric([what.value, how], sum(one[1] == what.value for one in some))
            yield held
            yield GaugeMetricFamily("whesl_placement_trouble", "Something failed.", int(bool(status.problem)))
