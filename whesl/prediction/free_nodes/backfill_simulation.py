"""FCFS with EASY backfilling on counted nodes, compiled: it replays a whole log or rolls a queue forward.

Time limits are the estimates of ``whesl.prediction.easy_backfilling``, which has the algorithm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.easy_backfilling import may_overtake, reservation
from whesl.prediction.numba_jit import jit

Floats = NDArray[np.float64]


@jit
def _opened(time: float, limit: float, closed_from: Floats, closed_to: Floats) -> float:
    """Return the earliest time at which a job of this time limit can run without announced maintenance."""
    opened = time
    for window in range(len(closed_from)):
        if opened < closed_to[window] and opened + limit > closed_from[window]:
            opened = closed_to[window]
    return opened


@jit
def _reservation(
    time: float, capacity: float, free: float, size: float, opened: float, nodes: Floats, planned: Floats
) -> tuple[float, float]:
    """Return the head's shadow time, which is not before ``opened``, and the nodes left over then."""
    shadow, extra = reservation(planned, nodes, len(nodes), free, size, False)
    if opened > max(time, shadow):
        return opened, capacity - size
    return max(time, shadow), extra


@jit
def simulate(
    now: float,
    until: float,
    capacity: float,
    busy: Floats,
    busy_planned: Floats,
    busy_end: Floats,
    submit: Floats,
    size: Floats,
    limit: Floats,
    run: Floats,
    closed_from: Floats,
    closed_to: Floats,
) -> Floats:
    """Return when each job starts.

    Args:
        now: start of the simulation, in seconds.
        until: end of the simulation, in seconds; no job starts later.
        capacity: number of nodes.
        busy: number of nodes of each job that runs at ``now``, shape (running,).
        busy_planned: ends of the running jobs' time limits, in seconds, shape (running,).
        busy_end: actual ends of the running jobs, in seconds, shape (running,).
        submit: submission times of all other jobs in seconds: first waiting jobs in the order of the queue,
            then future jobs by time, shape (jobs,).
        size: number of nodes of each of these jobs, shape (jobs,).
        limit: their time limits in seconds, shape (jobs,).
        run: their run times in seconds, shape (jobs,).
        closed_from: begins of announced maintenance in seconds, ascending; no job starts that could run into
            it.
        closed_to: ends of announced maintenance in seconds.

    Returns:
        Start times in seconds, ``inf`` for a job that does not start, shape (jobs,).
    """
    count = len(submit)
    start = np.full(count, np.inf)
    waiting = np.empty(count, dtype=np.int64)
    most = len(busy) + count
    planned = np.empty(most)  # planned ends of running jobs, ascending
    end = np.empty(most)
    nodes = np.empty(most)
    running = 0
    free = capacity
    for one in range(len(busy)):
        free -= busy[one]
        at = running
        while at > 0 and planned[at - 1] > busy_planned[one]:
            planned[at], end[at], nodes[at] = planned[at - 1], end[at - 1], nodes[at - 1]
            at -= 1
        planned[at], end[at], nodes[at] = busy_planned[one], busy_end[one], busy[one]
        running += 1
    soonest = busy_end.min() if len(busy) else np.inf  # the first end of a running job
    smallest = np.inf  # nodes of the smallest waiting job
    queued = 0
    coming = 0
    time = now
    while time <= until:
        if soonest <= time:
            kept = 0
            soonest = np.inf
            for one in range(running):
                if end[one] <= time:
                    free += nodes[one]
                else:
                    planned[kept], end[kept], nodes[kept] = planned[one], end[one], nodes[one]
                    soonest = min(soonest, end[one])
                    kept += 1
            running = kept
        while coming < count and submit[coming] <= time:
            if size[coming] <= capacity:
                waiting[queued] = coming
                queued += 1
                smallest = min(smallest, size[coming])
            coming += 1
        kept = 0
        shadow = np.inf
        extra = 0.0
        headed = False
        looked = queued if smallest <= free else 0
        if looked:
            smallest = np.inf
        for place in range(looked):
            job = waiting[place]
            opened = _opened(time, limit[job], closed_from, closed_to)
            starts = size[job] <= free and opened <= time
            if starts and headed:
                starts = may_overtake(size[job], limit[job], time, free, shadow, extra)
                if starts and time + limit[job] > shadow:
                    extra -= size[job]
            elif not starts and not headed:
                headed = True
                shadow, extra = _reservation(
                    time, capacity, free, size[job], opened, nodes[:running], planned[:running]
                )
            if starts:
                start[job] = time
                free -= size[job]
                done = time + limit[job]
                at = running
                while at > 0 and planned[at - 1] > done:
                    planned[at], end[at], nodes[at] = planned[at - 1], end[at - 1], nodes[at - 1]
                    at -= 1
                planned[at], end[at], nodes[at] = done, time + run[job], size[job]
                soonest = min(soonest, end[at])
                running += 1
            else:
                waiting[kept] = job
                smallest = min(smallest, size[job])
                kept += 1
        if looked:
            queued = kept
        later = soonest
        if coming < count:
            later = min(later, submit[coming])
        if queued > 0:
            for window in range(len(closed_to)):
                if closed_to[window] > time:
                    later = min(later, closed_to[window])
        if later == np.inf:
            break
        time = later
    return start


@jit
def held(
    now: float,
    capacity: float,
    busy: Floats,
    busy_planned: Floats,
    size: Floats,
    limit: Floats,
    closed_from: Floats,
    closed_to: Floats,
) -> NDArray[np.bool_]:
    """Return which waiting jobs would start at once under EASY, so that something else than nodes holds them.

    Args:
        now: the current time, in seconds.
        capacity: number of nodes.
        busy: number of nodes of each running job.
        busy_planned: ends of the running jobs' time limits, in seconds.
        size: number of nodes of each waiting job, in the order of the queue.
        limit: time limits of the waiting jobs, in seconds.
        closed_from: begins of announced maintenance, in seconds.
        closed_to: ends of announced maintenance, in seconds.
    """
    found = np.zeros(len(size), dtype=np.bool_)
    free = capacity - busy.sum()
    order = np.argsort(busy_planned)
    headed = False
    shadow = np.inf
    extra = 0.0
    for job in range(len(size)):
        if size[job] > capacity:
            found[job] = True
            continue
        opened = _opened(now, limit[job], closed_from, closed_to)
        if opened <= now and size[job] <= free:
            found[job] = not headed or may_overtake(size[job], limit[job], now, free, shadow, extra)
        elif not headed:
            headed = True
            shadow, extra = _reservation(
                now, capacity, free, size[job], opened, busy[order], busy_planned[order]
            )
    return found
