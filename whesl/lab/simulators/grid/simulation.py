"""A job log on several clusters, from its inputs to its measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.lab.simulators.grid.event_loop import (
    CANCELLED,
    COMPLETED,
    KILLED,
    POLICIES,
    Jobs,
    Options,
    Outcome,
    run,
)
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.readers.swf import Log
    from whesl.lab.simulators.grid.cluster_eligibility import Requirements
    from whesl.lab.simulators.grid.event_loop import Grid, Outages

INTERVAL = 300.0  # seconds between two local searches, as PBSPro set priorities on MetaCentrum
FACTOR = 2.0  # iterations for each waiting job
STARTS = 20_000  # computed starts of a search, where the document has two seconds


class Measures(NamedTuple):
    """One run's figures; the means are of completed jobs, as the document's.

    Attributes:
        jobs: how many were submitted.
        response: mean from submission to completion, in seconds.
        slowdown: mean response over run time.
        wait: mean from submission to start, in seconds.
        killed: jobs that a failure ended.
        killed_length: their mean run time, had they not been killed, in seconds.
        cancelled: jobs that no suitable cluster could hold.
        utilised: processor-seconds that completed jobs used, as a share up to the last end.
        searches: iterations of local search.
        kept: changes that it kept.
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
    """Return the rows of a log's jobs in order of submission: those with a run time and processors.

    A slowdown without a run time is undefined.

    Raises:
        UsageError: there is none.
    """
    valid = (log.field("run") > 0) & (log.asked() > 0)
    rows = np.flatnonzero(valid)
    if not len(rows):
        raise UsageError(f"{log.name}: no job with a positive run time")
    return rows[np.argsort(log.field("submit")[rows], kind="stable")]


def jobs_of(log: Log, rows: NDArray[np.int64], requirements: Requirements) -> Jobs:
    """Return a log's jobs as the event loop takes them.

    Args:
        log: the job log.
        rows: of it, in order of submission.
        requirements: of those.
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
    """Run jobs under a policy.

    Args:
        grid: the clusters.
        jobs: in order of submission.
        outages: of machines.
        policy: one of ``POLICIES``.
        seed: of the draws of fcfs-lb and ls.
        starts: computed starts after which a local search ends.
        seconds: by the clock, after which it ends; then the schedule depends on the machine.
        record: whether reservations are kept, for an audit.
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
