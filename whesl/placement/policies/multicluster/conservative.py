"""Conservative backfilling over several clusters: a start for each waiting job.

A new job gets its earliest start. When machines of a cluster fail or come back, the jobs with reservations on
that cluster get new ones, in order of arrival, on whatever cluster is earliest; all others keep theirs. A job
that no suitable cluster can hold with the machines in service is cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.placement.policies.multicluster.fcfs_easy import Running, Waiting
from whesl.placement.policies.multicluster.profile import Profiles, earliest, reset, take
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Schedule(NamedTuple):
    """Reservations of the waiting jobs, in the queue's order, each array of shape (waiting,).

    Attributes:
        cluster: where a job will start; -1 for none yet, or for a job to cancel.
        start: when, in seconds.
    """

    cluster: NDArray[np.int64]
    start: NDArray[np.float64]


@jit
def base(profiles: Profiles, cluster: int, running: Running, capacity: int, now: float) -> None:
    """Make a cluster's profile of its running jobs alone."""
    reset(profiles, cluster, now, capacity)
    for i in range(len(running.cluster)):
        if running.cluster[i] == cluster and running.end[i] > now:
            take(profiles, cluster, now, running.end[i], running.cpus[i])


@jit
def reserve(
    profiles: Profiles,
    suits: NDArray[np.bool_],
    preference: NDArray[np.int64],
    now: float,
    time: float,
    cpus: int,
) -> tuple[int, float]:
    """Return the earliest start of one job and its cluster, and take it; -1 where it fits nowhere.

    Args:
        profiles: of all clusters, with room for two more steps.
        suits: whether each cluster suits it, shape (clusters,).
        preference: clusters, the fastest first, of equal ones the largest.
        now: the current time, in seconds.
        time: how long it runs, in seconds.
        cpus: that it needs.
    """
    best, where = np.inf, -1
    for cluster in preference:
        if suits[cluster]:
            start = earliest(profiles, cluster, now, time, cpus)
            if start < best:
                best, where = start, int(cluster)
    if where >= 0:
        take(profiles, where, best, best + time, cpus)
    return where, best


@jit
def renew(
    profiles: Profiles,
    schedule: Schedule,
    waiting: Waiting,
    running: Running,
    capacity: NDArray[np.int64],
    changed: NDArray[np.bool_],
    suits: NDArray[np.bool_],
    preference: NDArray[np.int64],
    now: float,
) -> None:
    """Make the reservations anew that lie on changed clusters, and those of jobs that have none.

    Args:
        profiles: of all clusters, with room for two steps for each waiting job more; they are changed.
        schedule: the reservations; they are changed.
        waiting: in order of arrival.
        running: what runs.
        capacity: processors in service of each cluster, shape (clusters,).
        changed: clusters whose machines failed or came back, shape (clusters,).
        suits: whether a kind of job may run on a cluster, shape (kinds, clusters).
        preference: clusters, the fastest first, of equal ones the largest.
        now: the current time, in seconds.
    """
    for cluster in range(len(capacity)):
        if changed[cluster]:
            base(profiles, cluster, running, capacity[cluster], now)
    for i in range(len(waiting.job)):
        if schedule.cluster[i] < 0 or changed[schedule.cluster[i]]:
            where, start = reserve(
                profiles, suits[waiting.kind[i]], preference, now, waiting.time[i], waiting.cpus[i]
            )
            schedule.cluster[i], schedule.start[i] = where, start
