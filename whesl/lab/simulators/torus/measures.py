"""The measures of "Fault-aware job scheduling for BlueGene/L systems", sections 3 and 6.1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whesl.lab.simulators.torus.event_loop import Jobs, Outcome

BOUND = 10.0  # seconds; the bounded slowdown counts shorter jobs as this long


class Measures(NamedTuple):
    """The measures of one run.

    Attributes:
        jobs: number of jobs.
        mean_wait: mean time from arrival to the last start, in seconds.
        mean_response: mean time from arrival to the end, in seconds.
        mean_bounded_slowdown: mean of max(response, 10 s) / max(run time, 10 s). The document prints min in
            the denominator, which must be a misprint: even without any waiting, SDSC's mean would be above
            the range of the document's figure.
        utilised: work done as a share of the capacity between the first arrival and the last end.
        unused: free capacity beyond the waiting jobs' requests, as a share of the capacity.
        lost: remaining share of the capacity: work lost to failures, and nodes that could not be used.
        killed: number of attempts that a failure ended.
        killed_jobs: number of jobs that were killed at least once.
        node_hours_lost: node-hours of the attempts that failures ended.
        migrations: number of times that running jobs were repacked.
        makespan: time from the first arrival to the last end, in seconds.
    """

    jobs: int
    mean_wait: float
    mean_response: float
    mean_bounded_slowdown: float
    utilised: float
    unused: float
    lost: float
    killed: int
    killed_jobs: int
    node_hours_lost: float
    migrations: int
    makespan: float


def measures(jobs: Jobs, outcome: Outcome, nodes: int) -> Measures:
    """Return a run's measures.

    Args:
        jobs: the simulated jobs.
        outcome: the run's outcome.
        nodes: number of nodes of the torus.
    """
    response = outcome.end - jobs.submit
    makespan = float(outcome.end.max() - jobs.submit.min())
    capacity = makespan * nodes
    utilised = float((jobs.size * jobs.time).sum()) / capacity
    unused = float(outcome.unused) / capacity
    return Measures(
        len(response),
        float((outcome.start - jobs.submit).mean()),
        float(response.mean()),
        float((np.maximum(response, BOUND) / np.maximum(jobs.time, BOUND)).mean()),
        utilised,
        unused,
        1.0 - utilised - unused,
        int(outcome.hits),
        int((outcome.attempts > 1).sum()),
        float(outcome.wasted.sum()) / 3600.0,
        int(outcome.migrations),
        makespan,
    )
