"""Simulation of a job log on several clusters, with its measures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.readers.swf import Log
from whesl.lab.simulators.grid.cluster_eligibility import Requirements
from whesl.lab.simulators.grid.event_loop import (
    CANCELLED,
    COMPLETED,
    KILLED,
    POLICIES,
    Grid,
    Jobs,
    Options,
    Outages,
    Outcome,
    run,
)
from whesl.model.errors import UsageError

INTERVAL = 300.0  # seconds between two local searches; PBSPro's interval on MetaCentrum
FACTOR = 2.0  # iterations of a local search per waiting job
STARTS = 20_000  # limit of a local search in computed starts; the document's limit is two seconds


class Measures(NamedTuple):
    """The measures of one run; means are over completed jobs, as in the document.

    Attributes:
        jobs: number of submitted jobs.
        response: mean time from submission to completion, in seconds.
        slowdown: mean of response / run time.
        wait: mean time from submission to start, in seconds.
        killed: number of jobs that a failure ended.
        killed_length: mean full run time of the killed jobs, in seconds.
        cancelled: number of jobs that no suitable cluster could hold.
        utilised: processor-seconds of completed jobs as a share of the capacity up to the last end.
        searches: number of iterations of local searches.
        kept: number of changes that local searches kept.
    """

    jobs: int
    response: float
    slowdown: float
    wait: float
    killed: int
    killed_length: float
    cancelled: int
    utilised: float
    searches: int
    kept: int


def chosen(log: Log) -> NDArray[np.int64]:
    """Return the rows of the jobs with a run time and processors, in order of submission.

    Jobs without a run time are left out since their slowdown is undefined.

    Raises:
        UsageError: there is no such job.
    """
    valid = (log.field("run") > 0) & (log.asked() > 0)
    rows = np.flatnonzero(valid)
    if not len(rows):
        raise UsageError(f"{log.name}: no job with a positive run time")
    return rows[np.argsort(log.field("submit")[rows], kind="stable")]


def jobs_of(log: Log, rows: NDArray[np.int64], requirements: Requirements) -> Jobs:
    """Return a log's jobs as arrays for the event loop.

    Args:
        log: the job log.
        rows: rows of the jobs in the log, in order of submission.
        requirements: requirements of these jobs.
    """
    return Jobs(
        log.field("submit")[rows],
        log.asked()[rows].astype(np.int64),
        log.field("run")[rows],
        requirements.kind,
        requirements.suits,
    )


def simulate(
    grid: Grid,
    jobs: Jobs,
    outages: Outages,
    policy: str,
    seed: int,
    *,
    starts: int = STARTS,
    seconds: float = np.inf,
    record: bool = False,
) -> tuple[Outcome, Measures]:
    """Simulate jobs under a policy, and return the outcome and its measures.

    Args:
        grid: the clusters.
        jobs: the jobs in order of submission.
        outages: the machines' outages.
        policy: one of ``POLICIES``.
        seed: random seed of the policies fcfs-lb and ls.
        starts: limit of a local search, in computed starts.
        seconds: time limit of a local search, in seconds of the wall clock; a finite limit makes the schedule
            depend on the computer's speed.
        record: whether reservations are recorded, for an audit.
    """
    options = Options(POLICIES[policy], seed, INTERVAL, FACTOR, starts, record, seconds)
    outcome = run(grid, jobs, outages, options)
    done = outcome.state == COMPLETED
    response = outcome.end[done] - jobs.submit[done]
    span = float(np.nanmax(outcome.end) - jobs.submit[0])
    killed = outcome.state == KILLED
    return outcome, Measures(
        len(done),
        float(response.mean()) if done.any() else np.nan,
        float((response / jobs.time[done]).mean()) if done.any() else np.nan,
        float((outcome.start[done] - jobs.submit[done]).mean()) if done.any() else np.nan,
        int(killed.sum()),
        float(jobs.time[killed].mean()) if killed.any() else np.nan,
        int((outcome.state == CANCELLED).sum()),
        float((jobs.cpus[done] * jobs.time[done]).sum()) / (span * float(grid.cpus.sum())),
        int(outcome.searches[0]),
        int(outcome.searches[1]),
    )
