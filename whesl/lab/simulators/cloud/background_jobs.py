"""Job logs as background load of a workflow's cluster: scaled, replayed once, resumed at any moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whesl.lab.readers import swf
from whesl.lab.simulators.cloud import cluster
from whesl.lab.simulators.cloud.cluster import Jobs

HOUR = 3600.0
LOGS = {
    "Theta": ("lassen_like/theta-2023H1.swf.xz", 4392, 1),
    "Curie": ("lassen_like/CEA-Curie-2011-2.1-cln-to-2012-07.swf.xz", 5544, 16),
}


@dataclass(frozen=True, eq=False)
class Trace:
    """A log after its replay under FCFS and EASY.

    Attributes:
        name: the log's name, or "generated".
        nodes: number of nodes of the cluster.
        jobs: the jobs, scaled to the cluster.
        start: start of each job without the workflow, in seconds of the log.
        begin: begin of the first hour of ``free``, in seconds of the log.
        free: least number of free nodes in each hour.
    """

    name: str
    nodes: int
    jobs: Jobs
    start: NDArray[np.float64]
    begin: float
    free: NDArray[np.float64]

    def at(
        self, now: float, horizon: float, room: int = 4096
    ) -> tuple[cluster.Cluster, Jobs, NDArray[np.int64]]:
        """Return the cluster at a moment, its jobs up to a horizon, and their indices in the log.

        Args:
            now: the moment, in seconds of the log.
            horizon: length of the time in which later jobs arrive, in seconds.
            room: rows for the workflow's requests.
        """
        live = self.start + self.jobs.run > now
        picked = np.flatnonzero(live & (self.jobs.submit <= now + horizon))
        jobs = Jobs(*(column[picked] for column in self.jobs))
        return cluster.resumed(self.nodes, jobs, self.start[picked], now, room), jobs, picked

    def usable(self, deadline: float) -> NDArray[np.int64]:
        """Return the hours in which a case may start: after a fifth of the log, over a day before its end."""
        first = len(self.free) // 5
        last = len(self.free) - int(deadline / HOUR) - 25
        return np.arange(first, max(first + 1, last))


def replayed(name: str, nodes: int, jobs: Jobs) -> Trace:
    """Return the trace of a log, replayed under FCFS and EASY.

    Args:
        name: the log's name.
        nodes: number of nodes of the cluster.
        jobs: the log's jobs, scaled to the cluster.
    """
    whole = cluster.empty(nodes, jobs, 16)
    cluster.advance(whole, jobs, float(jobs.submit[0]), np.inf)
    # The first 2 % of the jobs may have been submitted before the log's real begin.
    begin = float(np.quantile(jobs.submit, 0.02))
    hours = int((jobs.submit[-1] - begin) // HOUR)
    free = cluster.least_free(nodes, jobs, whole.start, begin, hours)
    return Trace(name, nodes, jobs, whole.start, begin, free)


def from_log(path: Path, name: str, nodes: int) -> Trace:
    """Return a log scaled to a cluster.

    A job takes the same share of the cluster as of the logged machine, at least one node. Random rounding
    keeps the mean. Jobs larger than the machine are left out.

    Args:
        path: the SWF file.
        name: "Theta" or "Curie".
        nodes: number of nodes of the cluster.
    """
    _, machine, cores = LOGS[name]
    log = swf.read(path)
    submit, run = log.field("submit"), log.field("run")
    size = np.where(log.field("allocated") > 0, log.field("allocated"), log.field("requested")) / cores
    limit = np.where(log.field("requested_time") > 0, log.field("requested_time"), run)
    good = (run > 0) & (size > 0) & (size <= machine)
    return replayed(
        name, nodes, _scaled(submit[good], size[good] / machine, run[good], limit[good], nodes, 0)
    )


def generated(nodes: int, days: int, seed: int) -> Trace:
    """Return a generated log: arrivals vary by hour and weekday, sizes are log-uniform, run times log-normal.

    Args:
        nodes: number of nodes of the cluster.
        days: length of the log, in days.
        seed: random seed of the log.
    """
    source = np.random.default_rng(seed)
    hours = np.arange(days * 24)
    rate = 1 + 0.6 * np.sin(2 * np.pi * (hours % 24 - 9) / 24) * np.where(hours // 24 % 7 < 5, 1.0, 0.4)
    size = 2.0 ** source.uniform(-9, -1.5, size=200_000)
    run = np.minimum(86_400, np.exp(source.normal(8.3, 1.3, size=200_000)))
    # The number of jobs that keeps the machine about 85 % busy.
    count = int(0.85 * days * 86_400 / float((size * run).mean()))
    count = min(count, 200_000)
    hour = source.choice(hours, size=count, p=rate / rate.sum())
    submit = np.sort(HOUR * (hour + source.random(count)))
    limit = np.minimum(86_400, run[:count] * source.uniform(1.0, 4.0, size=count))
    return replayed("generated", nodes, _scaled(submit, size[:count], run[:count], limit, nodes, seed))


def _scaled(
    submit: NDArray[np.float64],
    share: NDArray[np.float64],
    run: NDArray[np.float64],
    limit: NDArray[np.float64],
    nodes: int,
    seed: int,
) -> Jobs:
    order = np.argsort(submit, kind="stable")
    wanted = share[order] * nodes
    rounded = np.floor(wanted + np.random.default_rng(seed).random(len(wanted)))
    # A job of less than one node runs on one node for a shorter time, which keeps the work.
    size = np.maximum(1.0, rounded)
    shrink = np.where(wanted < 1, wanted, 1.0)
    return Jobs(
        submit[order],
        size,
        np.maximum(1.0, run[order] * shrink),
        np.maximum(1.0, np.maximum(limit[order], run[order]) * shrink),
    )
