"""A site's history, gathered from all its records: failures of named nodes, and signs of failures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from whesl.lab.readers.failures import Loaded, Malformed
from whesl.lab.readers.outage_records import Found, Outage
from whesl.lab.readers.site_job_records import JobLog, State
from whesl.model.errors import UsageError
from whesl.model.evidence import PredictedFailure
from whesl.model.hostlist import expand
from whesl.model.printable import visible
from whesl.placement.site.history.bad_node_reports import Seen
from whesl.placement.site.history.usefulness import stake
from whesl.placement.site.node_counters import Change
from whesl.prediction.failures import failure_precursors
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.failure_precursors import Sign, Signs

_NEAR = 900.0  # seconds around an outage in which a job's loss of its node belongs to the outage


class SiteHistory(NamedTuple):
    """The history from a site's records.

    Attributes:
        history: failures of named nodes.
        seen: signs of failures.
        sources: for each source of records, a text on what was found in it.
        warnings: what was left out, with the reason, in sentences.
        lost: mean node-hours that a node's failure costs, estimated from the jobs; None without jobs.
    """

    history: History
    seen: Signs
    sources: dict[str, str]
    warnings: list[str]
    lost: float | None = None


@dataclass
class Gathering:
    """Gathers records of all sources, in any order, and makes one history of them.

    Attributes:
        sources, warnings: see ``SiteHistory``.
    """

    sources: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _outages: list[Outage] = field(default_factory=list)
    _listed: set[str] = field(default_factory=set)
    _nodes: set[str] = field(default_factory=set)
    _begin: float = math.inf
    _finish: float = -math.inf
    _lost: list[tuple[tuple[str, ...], float]] = field(default_factory=list)
    _sightings: list[Change] = field(default_factory=list)
    _ran: list[tuple[float, float, int]] = field(default_factory=list)

    def nodes(self, names: Iterable[str]) -> None:
        """Add the names of all of the machine's nodes; records of other nodes are left out."""
        self._listed.update(names)

    def failures(self, name: str, loaded: Loaded) -> None:
        """Add failures of nodes.

        Args:
            name: name of the source.
            loaded: the result of a reader in ``whesl.lab.readers``.

        Raises:
            UsageError: the nodes have no names.
        """
        history = loaded.history
        if not history.names:
            raise UsageError(f"{name}: its nodes have no names")
        self._nodes.update(history.names)
        for node, start, end, cause in zip(
            history.node.tolist(),
            history.start.tolist(),
            history.end.tolist(),
            history.cause.tolist(),
            strict=True,
        ):
            reason = history.causes[cause] if cause >= 0 else ""
            self._outages.append(Outage(history.names[node], start, end, reason))
        self._begin = min(self._begin, history.begin)
        self._finish = max(self._finish, history.finish)
        self._malformed(name, loaded.malformed)
        others = ", ".join(f"{count} {what}" for what, count in loaded.elsewhere.items())
        more = f"; not taken: {others}" if others else ""
        self.sources[name] = f"{len(history)} failures of {history.nodes} nodes{more}"

    def jobs(self, name: str, log: JobLog) -> None:
        """Add jobs, which name nodes, and some of which ended by a failure of a node.

        Args:
            name: name of the source.
            log: the jobs.
        """
        lost = 0
        for job in log.jobs:
            times = [time for time in (job.start, job.end) if not math.isnan(time)]
            try:
                hosts = expand(job.hosts) if job.hosts else ()
            except ValueError as error:
                self.warnings.append(f"{name}: line {job.line}: {error}")
                continue
            self._nodes.update(hosts)
            self._finish = max(self._finish, *times) if times else self._finish
            if len(times) == 2 and job.end > job.start:
                self._ran.append((job.start, job.end, job.nodes or len(hosts)))
            if job.state is State.NODE_FAIL and hosts and times:
                self._lost.append((hosts, times[-1]))
                lost += 1
        self._malformed(name, log.malformed)
        self.sources[name] = f"{len(log.jobs)} jobs, {lost} lost to nodes"

    def evidence(self, name: str, seen: Sequence[Seen]) -> None:
        """Add reports of bad nodes by WHESL's tasks.

        Args:
            name: name of the source.
            seen: the reports.
        """
        self._sightings += [Change(one.node, one.time, f"bad node ({one.grade})", one.detail) for one in seen]
        self.sources[name] = f"{len(seen)} bad nodes"

    def health(self, name: str, changes: Sequence[Change], readings: int) -> None:
        """Add counters of nodes that went up.

        Args:
            name: name of the source.
            changes: the counters that went up.
            readings: number of readings from which the changes come.
        """
        self._sightings += changes
        self.sources[name] = f"{readings} readings, {len(changes)} counters that went up"

    def predictions(self, name: str, found: Sequence[PredictedFailure]) -> None:
        """Add predicted failures, such as those of log chains.

        Args:
            name: name of the source.
            found: the predicted failures.
        """
        self._sightings += [
            Change(one.node, one.time, one.source or "prediction", one.evidence[:300]) for one in found
        ]
        self.sources[name] = f"{len(found)} predictions"

    def until(self, time: float) -> None:
        """Extend the history to a time, in seconds since the epoch, at which the records were complete."""
        self._finish = max(self._finish, time)

    def since(self, time: float) -> None:
        """Begin the history at a time in epoch seconds, from which on the records hold all failures."""
        self._begin = min(self._begin, time)

    def made(self) -> SiteHistory:
        """Return the history of all added records.

        Raises:
            UsageError: no node is known, or the history has no begin and end.
        """
        self._leave_strangers_out()
        if not self._nodes:
            raise UsageError("no node is known", hint="give --nodes n[001-512], or records that name them")
        if math.isinf(self._begin):
            self._begin = min((time for _, time in self._lost), default=math.inf)
        if not self._begin < self._finish:
            raise UsageError(
                "no record of a failure, and no time from which on there was none",
                hint="give --events FILE with the output of `sacctmgr -P show event`, or --since DATE",
            )
        self._match_lost_jobs()
        found = Found(outages=self._outages, known=self._nodes, moments=[self._begin, self._finish])
        history = found.loaded("site").history
        return SiteHistory(
            history, self._placed(history), self.sources, self.warnings, self._lost_work(history)
        )

    def _lost_work(self, history: History) -> float | None:
        if not self._ran:
            return None
        starts, ends, _ = zip(*self._ran, strict=True)
        jobs = [(end - start, width) for start, end, width in self._ran]
        return stake(jobs, history.nodes, max(ends) - min(starts))

    def _leave_strangers_out(self) -> None:
        """Leave out records of nodes outside the machine, with a warning, if its nodes are named."""
        if not self._listed:
            return
        short = {name.partition(".")[0]: name for name in self._listed}
        called = {name: short.get(name.partition(".")[0], name) for name in self._nodes - self._listed}
        strangers = {name for name, listed in called.items() if listed not in self._listed}
        if strangers:
            shown = visible(", ".join(sorted(strangers)[:5]))
            self.warnings.append(
                f"{len(strangers)} nodes that are not of the machine (--nodes, or Slurm's sinfo): {shown}"
            )
        self._nodes = set(self._listed)
        outages = (Outage(called.get(one.node, one.node), *one[1:]) for one in self._outages)
        self._outages = [one for one in outages if one.node in self._listed]
        lost = ((tuple(called.get(host, host) for host in hosts), time) for hosts, time in self._lost)
        self._lost = [one for one in lost if self._listed.intersection(one[0])]

    def _match_lost_jobs(self) -> None:
        """Add failures known only by a lost job that ran on one node without an outage at that time."""
        near: dict[str, list[Outage]] = {}
        for outage in self._outages:
            near.setdefault(outage.node, []).append(outage)
        added = unnamed = 0
        for hosts, time in self._lost:
            if any(
                outage.start - _NEAR <= time <= outage.end + _NEAR
                for host in hosts
                for outage in near.get(host, ())
            ):
                continue
            if len(hosts) > 1:
                unnamed += 1
                continue
            added += 1
            self._outages.append(Outage(hosts[0], time, time, "a job lost the node"))
        if added:
            self.sources["failures known by a job alone"] = str(added)
        if unnamed:
            self.warnings.append(
                f"{unnamed} jobs of several nodes lost one that no event names: not counted as failures"
            )

    def _placed(self, history: History) -> Signs:
        index = {name: number for number, name in enumerate(history.names)}
        index = {name.partition(".")[0]: number for name, number in index.items()} | index
        rows: list[Sign] = []
        strangers: set[str] = set()
        for one in self._sightings:
            number = index.get(one.node, index.get(one.node.partition(".")[0]))
            if number is None:
                strangers.add(one.node)
            else:
                # Reports may hold users' own text, whose control characters must not reach a terminal.
                rows.append(Sign(number, one.time, visible(one.kind)[:100], visible(one.detail)))
        if strangers:
            shown = visible(", ".join(sorted(strangers)[:5]))
            self.warnings.append(f"signs of {len(strangers)} nodes that no other record names: {shown}")
        return failure_precursors.signs(rows)

    def _malformed(self, name: str, lines: Sequence[Malformed]) -> None:
        for line, why in lines[:5]:
            self.warnings.append(f"{name}:{line}: {why}")
        if len(lines) > 5:
            self.warnings.append(f"{name}: {len(lines) - 5} more lines that cannot be read")
