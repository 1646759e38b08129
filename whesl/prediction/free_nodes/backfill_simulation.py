"""FCFS with EASY backfilling on counted nodes, compiled: the whole of a log, or a queue rolled forward.

Source of the algorithm: D. A. Lifka, "The ANL/IBM SP scheduling system", 1995. The first job that does not
fit gets a reservation at the time when, by time limits, enough nodes are free; a later one may start when it
ends before that time, or needs no more nodes than are then left over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@jit
def _opened(time: float, limit: float, closed_from: Floats, closed_to: Floats) -> float:
    """Return from when on no announced maintenance meets a job of this time limit."""
    opened = time
    for window in range(len(closed_from)):
        if opened < closed_to[window] and opened + limit > closed_from[window]:
            opened = closed_to[window]
    return opened


@jit
def _reservation(
    time: float, capacity: float, free: float, size: float, opened: float, nodes: Floats, planned: Floats
) -> tuple[float, float]:
    """Return when the first job that does not fit is to start, and how many nodes are then left over.

    Args:
        time: now, in seconds.
        capacity: nodes.
        free: nodes now.
        size: the job's.
        opened: from when on no maintenance meets it.
        nodes: of running jobs, in the order in which their limits end.
        planned: when these end.
    """
    then = free
    shadow = time
    for one in range(len(nodes)):
        if then >= size:
            break
        then += nodes[one]
        shadow = max(time, planned[one])
    if opened > shadow:
        shadow = opened
        then = capacity
    return shadow, then - size


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
        now: when it begins, in seconds.
        until: when it ends at the latest; jobs that would start later do not.
        capacity: nodes.
        busy: sizes of the jobs that run now, shape (running,).
        busy_planned: when their limits end, shape (running,).
        busy_end: when they end, shape (running,).
        submit: of the other jobs, in the order of the queue, those of the future after those of now and by
            time, shape (jobs,).
        size: their nodes, shape (jobs,).
        limit: their time limits in seconds, shape (jobs,).
        run: how long they run, in seconds, shape (jobs,).
        closed_from: begins of announced maintenance, ascending; no job starts that could run into one.
        closed_to: their ends.

    Returns:
        starts in seconds, ``inf`` for a job that does not start, shape (jobs,).
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
                if time + limit[job] > shadow:
                    starts = size[job] <= extra
                    if starts:
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
    """Return which waiting jobs the scheduler would start at once: something else keeps them from it.

    Args:
        now: in seconds.
        capacity: nodes.
        busy: sizes of running jobs.
        busy_planned: when their limits end.
        size: of waiting jobs, in the order of the queue.
        limit: their time limits in seconds.
        closed_from: begins of announced maintenance.
        closed_to: their ends.
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
            found[job] = not headed or now + limit[job] <= shadow or size[job] <= extra
        elif not headed:
            headed = True
            shadow, extra = _reservation(
                now, capacity, free, size[job], opened, busy[order], busy_planned[order]
            )
    return found
