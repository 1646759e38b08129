"""Conservative backfilling over several clusters: a start for each waiting job.

A new job gets its earliest start. When machines of a cluster fail or come back, the jobs with reservations on
that cluster get new ones, in order of arrival, on the cluster with the earliest start; all other jobs keep
theirs. A job that is too large for the machines in service of each suitable cluster is cancelled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.multicluster.fcfs_easy import Running, Waiting
from whesl.placement.policies.multicluster.profile import Profiles, earliest, reset, take
from whesl.prediction.numba_jit import jit


class Schedule(NamedTuple):
    """Reservations of the waiting jobs, in the queue's order, each array of shape (waiting,).

    Attributes:
        cluster: the cluster of each job; -1 for no cluster yet, or for a job to cancel.
        start: the start of each job, in seconds.
    """

    cluster: NDArray[np.int64]
    start: NDArray[np.float64]


@jit
def base(profiles: Profiles, cluster: int, running: Running, capacity: int, now: float) -> None:
    """Set a cluster's profile to that of its running jobs alone.

    Args:
        profiles: the profiles of all clusters, which are changed.
        cluster: index of the cluster.
        running: the running jobs.
        capacity: processors in service of the cluster.
        now: the current time, in seconds.
    """
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
    """Reserve the earliest start of one job; return its cluster (-1 if it fits nowhere) and the start.

    Args:
        profiles: profiles of all clusters, with room for two more steps; they are changed.
        suits: whether each cluster suits the job, shape (clusters,).
        preference: clusters, the fastest first, of equally fast ones the largest first.
        now: the current time, in seconds.
        time: run time of the job, in seconds.
        cpus: number of processors that the job needs.
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
    """Renew the reservations on changed clusters, and reserve for jobs without a reservation.

    Args:
        profiles: profiles of all clusters, with room for two more steps per waiting job; they are changed.
        schedule: the reservations; they are changed.
        waiting: the waiting jobs in order of arrival.
        running: the running jobs.
        capacity: processors in service of each cluster, shape (clusters,).
        changed: whether machines of each cluster failed or recovered, shape (clusters,).
        suits: whether a kind of job may run on a cluster, shape (kinds, clusters).
        preference: clusters, the fastest first, of equally fast ones the largest first.
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
