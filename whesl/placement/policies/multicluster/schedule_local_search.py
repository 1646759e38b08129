"""Local search: random changes to a schedule, kept when they improve it.

An iteration moves a random waiting job to a random place in the order of a suitable cluster. The starts on
the
changed clusters follow from their orders: each job starts as early as the jobs before it leave room. The
change is kept if ``W > 0``, where W is the sum of the relative gains in the mean slowdown, wait and response
of the waiting jobs (equation 2). The source allows two iterations per waiting job, and two seconds. A limit
on the number of computed starts can replace the seconds, so that one seed gives one schedule on any machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.hash_based_random_numbers import draw
from whesl.placement.policies.multicluster.conservative import Schedule, base
from whesl.placement.policies.multicluster.fcfs_easy import Running, Waiting
from whesl.placement.policies.multicluster.numba_monotonic_clock import seconds
from whesl.placement.policies.multicluster.profile import Profiles, copied, earliest, empty, take
from whesl.prediction.numba_jit import jit


class Effort(NamedTuple):
    """Limits of a search.

    Attributes:
        factor: number of iterations per waiting job.
        starts: number of computed starts after which no iteration begins.
        seed: seed of the random draws.
        turn: number of the search within the run, for the random draws.
        seconds: seconds after which no iteration begins; ``inf`` for no such limit.
    """

    factor: float
    starts: int
    seed: int
    turn: int
    seconds: float


@jit
def gain(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return the weight W of a new schedule, which is above 0 for a better schedule.

    Args:
        before: sums of slowdown, wait and response of the waiting jobs in the old schedule, shape (3,).
        after: the same sums in the new schedule, shape (3,).
    """
    weight = 0.0
    for i in range(3):
        if before[i] > 0.0:
            weight += (before[i] - after[i]) / before[i]
        elif after[i] > 0.0:  # the old sum is 0, so that any wait is worse
            weight -= 1.0
    return weight


@jit
def _placed(
    profiles: Profiles,
    steady: Profiles,
    cluster: int,
    order: NDArray[np.int64],
    count: int,
    first: int,
    start: NDArray[np.float64],
    waiting: Waiting,
    now: float,
) -> None:
    """Compute a cluster's starts from the order's index ``first`` on; ``inf`` for a job that never fits."""
    copied(steady, cluster, profiles, cluster)
    for i in range(count):
        job = order[i]
        time, cpus = waiting.time[job], waiting.cpus[job]
        if i >= first:
            start[job] = earliest(profiles, cluster, now, time, cpus)
            if start[job] == np.inf:
                return
        take(profiles, cluster, start[job], start[job] + time, cpus)


@jit
def _judged(
    start: NDArray[np.float64], waiting: Waiting, submit: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    sums[:] = 0.0
    for job in range(len(start)):
        wait = start[job] - submit[job]
        sums[0] += (wait + waiting.time[job]) / waiting.time[job]
        sums[1] += wait
        sums[2] += wait + waiting.time[job]


@jit
def improve(
    schedule: Schedule,
    waiting: Waiting,
    submit: NDArray[np.float64],
    running: Running,
    capacity: NDArray[np.int64],
    suits: NDArray[np.bool_],
    now: float,
    effort: Effort,
) -> tuple[int, int]:
    """Improve a schedule in place; the caller renews the clusters' profiles if any change is kept.

    Args:
        schedule: the reservations.
        waiting: the waiting jobs in order of arrival; each has a reservation.
        submit: arrival of each waiting job, in seconds, shape (waiting,).
        running: the running jobs.
        capacity: processors in service of each cluster, shape (clusters,).
        suits: whether a kind of job may run on a cluster, shape (kinds, clusters).
        now: the current time, in seconds.
        effort: limits of the search.

    Returns:
        The number of iterations, and the number of kept changes.
    """
    jobs, clusters = len(waiting.job), len(capacity)
    room = 2 * (jobs + len(running.cluster)) + 4
    steady, scratch = empty(clusters, room), empty(clusters, room)
    order = np.empty((clusters, jobs + 1), dtype=np.int64)
    count = np.zeros(clusters, dtype=np.int64)
    for cluster in range(clusters):
        base(steady, cluster, running, capacity[cluster], now)
    for job in np.argsort(schedule.start, kind="mergesort"):
        cluster = schedule.cluster[job]
        order[cluster, count[cluster]] = job
        count[cluster] += 1
    start = schedule.start.copy()
    before, after = np.empty(3), np.empty(3)
    _judged(start, waiting, submit, before)
    old, new = np.empty(jobs + 1, dtype=np.int64), np.empty(jobs + 1, dtype=np.int64)
    computed = iterations = kept = 0
    most = int(effort.factor * jobs)
    read = np.empty(2, dtype=np.int64)
    limited = effort.seconds < np.inf
    until = seconds(read) + effort.seconds if limited else np.inf
    while iterations < most and computed < effort.starts and (not limited or seconds(read) < until):
        turn = effort.turn * 3
        job = int(draw(effort.seed, turn, iterations, 0) * jobs)
        row = suits[waiting.kind[job]]
        able = 0
        for cluster in range(clusters):
            able += row[cluster] and capacity[cluster] >= waiting.cpus[job]
        pick = int(draw(effort.seed, turn + 1, iterations, 1) * able)
        iterations += 1
        source, target = schedule.cluster[job], -1
        for cluster in range(clusters):
            if row[cluster] and capacity[cluster] >= waiting.cpus[job]:
                if pick == 0:
                    target = cluster
                pick -= 1
        if target < 0:
            continue
        was = 0
        while order[source, was] != job:
            was += 1
        others = count[target] - (source == target)
        place = int(draw(effort.seed, turn + 2, iterations, 2) * (others + 1))
        if source == target and place == was:
            continue
        old_source, old_target = count[source], count[target]
        old[:old_source] = order[source, :old_source]
        new[:old_target] = order[target, :old_target]
        for i in range(was, old_source - 1):
            order[source, i] = order[source, i + 1]
        count[source] -= 1
        for i in range(count[target], place, -1):
            order[target, i] = order[target, i - 1]
        order[target, place] = job
        count[target] += 1
        first = min(was, place) if source == target else place
        _placed(scratch, steady, target, order[target], count[target], first, start, waiting, now)
        computed += count[target]
        if source != target:
            _placed(scratch, steady, source, order[source], count[source], was, start, waiting, now)
            computed += count[source]
        _judged(start, waiting, submit, after)
        if gain(before, after) > 0.0:
            kept += 1
            before[:] = after
            schedule.cluster[job] = target
            schedule.start[:] = start
        else:
            count[source], count[target] = old_source, old_target
            order[target, :old_target] = new[:old_target]
            order[source, :old_source] = old[:old_source]
            start[:] = schedule.start
    return iterations, kept
