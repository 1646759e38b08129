"""The running jobs, twice: a heap by the times at which they end, and a list by the latest ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@jit
def push(times: NDArray[np.float64], items: NDArray[np.int64], count: int, time: float, item: int) -> None:
    """Put an item into a binary heap of ``count`` items."""
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
    """Take the item of the least time out of a heap of ``count`` items and return it."""
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
    """Insert into a list in ascending order of ``ends``, behind equal ones."""
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
    """Remove an item, whose end is known, from the list."""
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
