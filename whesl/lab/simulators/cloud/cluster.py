"""A cluster under FCFS with EASY backfilling, compiled: production jobs, and a workflow's one-node requests.

Nodes have no identity here. Requests of one node that come together are one row of the queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Columns of the queue and of what runs.
SUBMIT, NODES, LIMIT, RUN, STAGE, JOB = range(6)  # STAGE is -1 for production; then JOB is its number
END, BY, COUNT, OWNER = range(4)  # when it ends, when its limit ends, nodes, stage or -1
# Places in ``Cluster.state``.
FREE, QUEUED, RUNNING, NEXT, GRANTED = range(5)


class Jobs(NamedTuple):
    """Production jobs by submission: seconds and nodes, each of shape (jobs,)."""

    submit: NDArray[np.float64]
    nodes: NDArray[np.float64]
    run: NDArray[np.float64]
    limit: NDArray[np.float64]


class Cluster(NamedTuple):
    """All that changes.

    Attributes:
        state: counts by the names above, shape (5,).
        queue: rows in the order of arrival, shape (rows, 6).
        running: rows without order, shape (rows, 4).
        start: of each production job, -1 before it, shape (jobs,).
        grants: (time, stage, nodes) of the workflow's requests since they were last taken, shape (rows, 3).
    """

    state: NDArray[np.int64]
    queue: NDArray[np.float64]
    running: NDArray[np.float64]
    start: NDArray[np.float64]
    grants: NDArray[np.float64]


def empty(nodes: int, jobs: Jobs, room: int) -> Cluster:
    """Return a cluster before its first job.

    Args:
        nodes: of it.
        jobs: that will come.
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
        nodes: of it.
        jobs: of that simulation, without those over before the moment.
        start: of each job in it.
        now: the moment.
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
    """Submit requests for one node each."""
    row = cluster.state[QUEUED]
    cluster.queue[row, SUBMIT] = now
    cluster.queue[row, NODES] = count
    cluster.queue[row, LIMIT] = seconds
    cluster.queue[row, RUN] = seconds
    cluster.queue[row, STAGE] = stage
    cluster.state[QUEUED] += 1


@jit
def withdraw(cluster: Cluster, stage: int, count: int) -> None:
    """Cancel requests that wait, the newest first."""
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
    """End executors of a stage before their time, those that end last first."""
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
    """Count the requests that wait, by stage."""
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
    """Start a queue's row, or ``count`` nodes of the workflow's; it stays in the queue with what is left."""
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
    """One pass of the scheduler: the queue's head, then what fits without delaying it."""
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
    # When the head starts at the latest, and how many nodes are left over then.
    count = cluster.state[RUNNING]
    order = np.argsort(cluster.running[:count, BY])
    need = cluster.queue[0, NODES]
    free = float(cluster.state[FREE])
    shadow, extra = np.inf, 0.0
    for place in order:
        free += cluster.running[place, COUNT]
        if free >= need:
            shadow = max(now, cluster.running[place, BY])
            extra = free - need
            break
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
    """Go on until a moment; what arrives or ends at it is taken in.

    Args:
        cluster: changed in place.
        jobs: that come.
        now: where it stands.
        until: the moment.
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
        nodes: of the cluster.
        jobs: of it.
        start: of each.
        begin: where the first hour begins.
        hours: how many.
    """
    ran = start >= 0
    times = np.concatenate([start[ran], start[ran] + jobs.run[ran]])
    change = np.concatenate([-jobs.nodes[ran], jobs.nodes[ran]])
    # Ends before starts of the same moment.
    order = np.lexsort((-change, times))
    times, free = times[order], nodes + np.cumsum(change[order])
    edges = begin + 3600.0 * np.arange(hours + 1)
    at = np.searchsorted(times, edges, side="right") - 1
    found = np.full(hours, float(nodes))
    for hour in range(hours):
        inside = free[max(0, at[hour]) : at[hour + 1] + 1] if at[hour + 1] >= 0 else free[:0]
        found[hour] = min(nodes, inside.min()) if len(inside) else nodes
    return found
