"""A cluster under FCFS with EASY backfilling, compiled: production jobs, and a workflow's one-node requests.

Nodes have no identity here. One-node requests that are submitted together share a row of the queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.easy_backfilling import reservation
from whesl.prediction.numba_jit import jit

# Columns of ``Cluster.queue``, then columns of ``Cluster.running``.
SUBMIT, NODES, LIMIT, RUN, STAGE, JOB = range(6)  # STAGE is -1 for a production job, whose index is JOB
END, BY, COUNT, OWNER = range(4)  # end, end of the time limit, number of nodes, stage or -1
# Indices into ``Cluster.state``.
FREE, QUEUED, RUNNING, NEXT, GRANTED = range(5)


class Jobs(NamedTuple):
    """Production jobs in order of submission: times in seconds, sizes in nodes, each of shape (jobs,)."""

    submit: NDArray[np.float64]
    nodes: NDArray[np.float64]
    run: NDArray[np.float64]
    limit: NDArray[np.float64]


class Cluster(NamedTuple):
    """The state of a simulated cluster.

    Attributes:
        state: the counts FREE to GRANTED, shape (5,).
        queue: waiting jobs and requests in order of arrival, shape (rows, 6).
        running: running jobs and executors, unordered, shape (rows, 4).
        start: start of each production job in seconds, -1 before its start, shape (jobs,).
        grants: (time, stage, nodes) of the workflow's requests granted since the caller last took them, shape
            (rows, 3).
    """

    state: NDArray[np.int64]
    queue: NDArray[np.float64]
    running: NDArray[np.float64]
    start: NDArray[np.float64]
    grants: NDArray[np.float64]


def empty(nodes: int, jobs: Jobs, room: int) -> Cluster:
    """Return a cluster before its first job.

    Args:
        nodes: number of nodes of the cluster.
        jobs: the jobs that will arrive.
        room: rows for the workflow's requests beside the jobs.
    """
    count = len(jobs.submit) + room
    state = np.zeros(5, np.int64)
    state[FREE] = nodes
    return Cluster(
        state,
        np.zeros((count, 6)),
        np.zeros((count, 4)),
        np.full(len(jobs.submit), -1.0),
        np.zeros((room, 3)),
    )


def resumed(nodes: int, jobs: Jobs, start: NDArray[np.float64], now: float, room: int) -> Cluster:
    """Return the cluster as it was at a moment of an earlier simulation.

    Args:
        nodes: number of nodes of the cluster.
        jobs: the earlier simulation's jobs, without the jobs that ended before the moment.
        start: start of each job in the earlier simulation, in seconds.
        now: the moment, in seconds.
        room: rows for the workflow's requests.
    """
    cluster = empty(nodes, jobs, room)
    begun = (start <= now) & (start >= 0)
    live = np.flatnonzero(begun & (start + jobs.run > now))
    cluster.running[: len(live), END] = start[live] + jobs.run[live]
    cluster.running[: len(live), BY] = start[live] + np.maximum(jobs.limit[live], jobs.run[live])
    cluster.running[: len(live), COUNT] = jobs.nodes[live]
    cluster.running[: len(live), OWNER] = -1
    waiting = np.flatnonzero((jobs.submit <= now) & ~begun)
    for row, job in enumerate(waiting):
        cluster.queue[row] = (jobs.submit[job], jobs.nodes[job], jobs.limit[job], jobs.run[job], -1, job)
    cluster.state[:] = (
        nodes - int(jobs.nodes[live].sum()),
        len(waiting),
        len(live),
        int(np.searchsorted(jobs.submit, now, side="right")),
        0,
    )
    cluster.start[begun] = start[begun]
    return cluster


@jit
def ask(cluster: Cluster, now: float, stage: int, count: int, seconds: float) -> None:
    """Submit requests for one node each.

    Args:
        cluster: the cluster, changed in place.
        now: present time, in seconds.
        stage: index of the stage that the nodes are for.
        count: number of requests.
        seconds: time limit of each request, in seconds.
    """
    row = cluster.state[QUEUED]
    cluster.queue[row, SUBMIT] = now
    cluster.queue[row, NODES] = count
    cluster.queue[row, LIMIT] = seconds
    cluster.queue[row, RUN] = seconds
    cluster.queue[row, STAGE] = stage
    cluster.state[QUEUED] += 1


@jit
def withdraw(cluster: Cluster, stage: int, count: int) -> None:
    """Cancel waiting requests, the newest first.

    Args:
        cluster: the cluster, changed in place.
        stage: index of the requests' stage.
        count: largest number of requests to cancel.
    """
    row = cluster.state[QUEUED] - 1
    while row >= 0 and count > 0:
        if cluster.queue[row, STAGE] == stage:
            taken = min(count, int(cluster.queue[row, NODES]))
            cluster.queue[row, NODES] -= taken
            count -= taken
            if cluster.queue[row, NODES] == 0:
                _remove(cluster, row)
        row -= 1


@jit
def give_back(cluster: Cluster, stage: int, count: int) -> None:
    """End executors of a stage before their time, those with the latest end first.

    Args:
        cluster: the cluster, changed in place.
        stage: index of the executors' stage.
        count: largest number of executors to end.
    """
    while count > 0:
        best = -1
        for row in range(cluster.state[RUNNING]):
            here = cluster.running[row, OWNER] == stage
            if here and (best < 0 or cluster.running[row, END] > cluster.running[best, END]):
                best = row
        if best < 0:
            return
        taken = min(count, int(cluster.running[best, COUNT]))
        cluster.running[best, COUNT] -= taken
        cluster.state[FREE] += taken
        count -= taken
        if cluster.running[best, COUNT] == 0:
            last = cluster.state[RUNNING] - 1
            cluster.running[best] = cluster.running[last]
            cluster.state[RUNNING] = last


@jit
def waiting(cluster: Cluster, counts: NDArray[np.int64]) -> None:
    """Count the waiting requests of each stage.

    Args:
        cluster: the cluster.
        counts: filled with the number of waiting requests, shape (stages,).
    """
    counts[:] = 0
    for row in range(cluster.state[QUEUED]):
        stage = int(cluster.queue[row, STAGE])
        if stage >= 0:
            counts[stage] += int(cluster.queue[row, NODES])


@jit
def _remove(cluster: Cluster, row: int) -> None:
    for after in range(row, cluster.state[QUEUED] - 1):
        cluster.queue[after] = cluster.queue[after + 1]
    cluster.state[QUEUED] -= 1


@jit
def _start(cluster: Cluster, row: int, count: int, now: float) -> None:
    """Start ``count`` nodes of a row of the queue; the row keeps the nodes that have not started."""
    place = cluster.state[RUNNING]
    cluster.running[place, END] = now + cluster.queue[row, RUN]
    cluster.running[place, BY] = now + max(cluster.queue[row, LIMIT], cluster.queue[row, RUN])
    cluster.running[place, COUNT] = count
    stage = cluster.queue[row, STAGE]
    cluster.running[place, OWNER] = stage
    cluster.state[RUNNING] += 1
    cluster.state[FREE] -= count
    if stage < 0:
        cluster.start[int(cluster.queue[row, JOB])] = now
    else:
        grant = cluster.state[GRANTED]
        cluster.grants[grant, 0] = now
        cluster.grants[grant, 1] = stage
        cluster.grants[grant, 2] = count
        cluster.state[GRANTED] += 1
    cluster.queue[row, NODES] -= count


@jit
def _pass(cluster: Cluster, now: float) -> None:
    """Run one pass of the scheduler: start the queue's head, then rows that do not delay the head."""
    while cluster.state[QUEUED] > 0 and cluster.state[FREE] > 0:
        wanted = int(cluster.queue[0, NODES])
        free = cluster.state[FREE]
        if cluster.queue[0, STAGE] >= 0:
            wanted = min(wanted, free)
        if wanted > free:
            break
        _start(cluster, 0, wanted, now)
        if cluster.queue[0, NODES] == 0:
            _remove(cluster, 0)
    if cluster.state[QUEUED] < 2 or cluster.state[FREE] == 0:
        return
    # The head's latest start (shadow time), and the nodes that the head leaves free then.
    count = cluster.state[RUNNING]
    order = np.argsort(cluster.running[:count, BY])
    need = cluster.queue[0, NODES]
    ends, nodes = cluster.running[order, BY], cluster.running[order, COUNT]
    shadow, extra = reservation(ends, nodes, count, float(cluster.state[FREE]), need, False)
    shadow = max(now, shadow)
    row = 1
    while row < cluster.state[QUEUED] and cluster.state[FREE] > 0:
        wanted = int(cluster.queue[row, NODES])
        fits = now + cluster.queue[row, LIMIT] <= shadow
        if cluster.queue[row, STAGE] >= 0:
            wanted = min(wanted, cluster.state[FREE])
            if not fits:
                wanted = min(wanted, int(extra))
        elif not fits and wanted > extra:
            wanted = 0
        if wanted == 0 or wanted > cluster.state[FREE]:
            row += 1
            continue
        if not fits:
            extra -= wanted
        _start(cluster, row, wanted, now)
        if cluster.queue[row, NODES] == 0:
            _remove(cluster, row)
        else:
            row += 1


@jit
def advance(cluster: Cluster, jobs: Jobs, now: float, until: float) -> None:
    """Simulate up to a moment, with the arrivals and ends at that moment.

    Args:
        cluster: the cluster, changed in place.
        jobs: the jobs that arrive.
        now: present time of the cluster, in seconds.
        until: the moment, in seconds.
    """
    _pass(cluster, now)
    while True:
        arrival = np.inf
        if cluster.state[NEXT] < len(jobs.submit):
            arrival = jobs.submit[cluster.state[NEXT]]
        end = np.inf
        for row in range(cluster.state[RUNNING]):
            end = min(end, cluster.running[row, END])
        now = min(arrival, end)
        if now > until or now == np.inf:
            return
        row = 0
        while row < cluster.state[RUNNING]:
            if cluster.running[row, END] <= now:
                cluster.state[FREE] += int(cluster.running[row, COUNT])
                last = cluster.state[RUNNING] - 1
                cluster.running[row] = cluster.running[last]
                cluster.state[RUNNING] = last
            else:
                row += 1
        while cluster.state[NEXT] < len(jobs.submit) and jobs.submit[cluster.state[NEXT]] <= now:
            job = cluster.state[NEXT]
            place = cluster.state[QUEUED]
            cluster.queue[place, SUBMIT] = jobs.submit[job]
            cluster.queue[place, NODES] = jobs.nodes[job]
            cluster.queue[place, LIMIT] = jobs.limit[job]
            cluster.queue[place, RUN] = jobs.run[job]
            cluster.queue[place, STAGE] = -1
            cluster.queue[place, JOB] = job
            cluster.state[QUEUED] += 1
            cluster.state[NEXT] += 1
        _pass(cluster, now)


def least_free(
    nodes: int, jobs: Jobs, start: NDArray[np.float64], begin: float, hours: int
) -> NDArray[np.float64]:
    """Return the least free nodes in each hour of a simulation.

    Args:
        nodes: number of nodes of the cluster.
        jobs: the simulation's jobs.
        start: start of each job in seconds, negative for a job that did not start.
        begin: begin of the first hour, in seconds.
        hours: number of hours.
    """
    ran = start >= 0
    times = np.concatenate([start[ran], start[ran] + jobs.run[ran]])
    change = np.concatenate([-jobs.nodes[ran], jobs.nodes[ran]])
    # At equal times, ends come before starts.
    order = np.lexsort((-change, times))
    times, free = times[order], nodes + np.cumsum(change[order])
    edges = begin + 3600.0 * np.arange(hours + 1)
    at = np.searchsorted(times, edges, side="right") - 1
    found = np.full(hours, float(nodes))
    for hour in range(hours):
        inside = free[max(0, at[hour]) : at[hour + 1] + 1] if at[hour + 1] >= 0 else free[:0]
        found[hour] = min(nodes, inside.min()) if len(inside) else nodes
    return found
