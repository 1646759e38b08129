"""EASY backfilling that only counts processors: the least work of any simulator, for comparison."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.easy_backfilling import may_overtake, reservation
from whesl.prediction.numba_jit import jit


@jit
def push(times: NDArray[np.float64], items: NDArray[np.int64], count: int, time: float, item: int) -> None:
    """Put an item into a binary heap."""
    at = count
    while at > 0:
        parent = (at - 1) >> 1
        if times[parent] <= time:
            break
        times[at] = times[parent]
        items[at] = items[parent]
        at = parent
    times[at] = time
    items[at] = item


@jit
def pop(times: NDArray[np.float64], items: NDArray[np.int64], count: int) -> int:
    """Remove the item with the least time from a heap, and return the item."""
    first = int(items[0])
    count -= 1
    time = times[count]
    item = items[count]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[at] = times[child]
        items[at] = items[child]
        at = child
    times[at] = time
    items[at] = item
    return first


@jit
def enter(
    ends: NDArray[np.float64],
    sizes: NDArray[np.int64],
    items: NDArray[np.int64],
    count: int,
    end: float,
    size: int,
    item: int,
) -> None:
    """Insert an attempt into the list in ascending order of latest ends, after equal ends."""
    at = count
    while at > 0 and ends[at - 1] > end:
        ends[at] = ends[at - 1]
        sizes[at] = sizes[at - 1]
        items[at] = items[at - 1]
        at -= 1
    ends[at] = end
    sizes[at] = size
    items[at] = item


@jit
def leave(
    ends: NDArray[np.float64],
    sizes: NDArray[np.int64],
    items: NDArray[np.int64],
    count: int,
    end: float,
    item: int,
) -> None:
    """Remove an attempt from the list."""
    at = 0
    behind = count
    while at < behind:
        middle = (at + behind) >> 1
        if ends[middle] < end:
            at = middle + 1
        else:
            behind = middle
    while items[at] != item:
        at += 1
    for place in range(at, count - 1):
        ends[place] = ends[place + 1]
        sizes[place] = sizes[place + 1]
        items[place] = items[place + 1]


@jit
def counting(
    submit: NDArray[np.float64],
    size: NDArray[np.int64],
    run: NDArray[np.float64],
    estimate: NDArray[np.float64],
    nodes: int,
) -> NDArray[np.float64]:
    """EASY that counts processors and records starts alone: what any such simulation needs at least."""
    count = len(submit)
    start = np.empty(count)
    after = np.full(count + 1, -1, dtype=np.int64)
    most = min(nodes, count) + 1
    ends, times = np.empty(most), np.empty(most)
    sizes, listed = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    items = np.empty(most, dtype=np.int64)
    free, active, arrived, head, tail = nodes, 0, 0, -1, -1
    while arrived < count or active > 0:
        now = submit[arrived] if arrived < count else np.inf
        if active > 0:
            now = min(now, times[0])
        while active > 0 and times[0] == now:
            job = pop(times, items, active)
            leave(ends, sizes, listed, active, start[job] + estimate[job], job)
            active -= 1
            free += size[job]
        while arrived < count and submit[arrived] == now:
            if head < 0:
                head = arrived
            else:
                after[tail] = arrived
            tail = arrived
            arrived += 1
        before, job = -1, head
        shadow, extra = np.inf, 0
        while job >= 0 and free > 0:
            following = after[job]
            if before < 0 and size[job] > free:
                shadow, extra = reservation(ends, sizes, active, free, size[job])
                before = job
            elif before < 0 or may_overtake(size[job], estimate[job], now, free, shadow, extra):
                start[job] = now
                free -= size[job]
                push(times, items, active, now + run[job], job)
                enter(ends, sizes, listed, active, now + estimate[job], size[job], job)
                active += 1
                if before < 0:
                    head = following
                else:
                    if now + estimate[job] > shadow:
                        extra -= size[job]
                    after[before] = following
                    if tail == job:
                        tail = before
            else:
                before = job
            job = following
        if head < 0:
            tail = -1
    return start
