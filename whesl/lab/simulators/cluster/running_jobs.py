"""The running jobs in two structures: a heap by their ends, and a list by their latest ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@jit
def push(times: NDArray[np.float64], items: NDArray[np.int64], count: int, time: float, item: int) -> None:
    """Put an item into a binary heap.

    Args:
        times: the heap's times, with room for one more.
        items: the heap's items, with room for one more.
        count: number of items in the heap.
        time: the new item's time.
        item: the new item.
    """
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
    """Remove the item with the least time from a heap, and return the item.

    Args:
        times: the heap's times.
        items: the heap's items.
        count: number of items in the heap before the call.
    """
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
    """Insert an attempt into the list in ascending order of latest ends, after equal ends.

    Args:
        ends: latest ends of the listed attempts, in seconds.
        sizes: numbers of nodes of the listed attempts.
        items: the listed attempts.
        count: number of listed attempts before the call.
        end: the new attempt's latest end, in seconds.
        size: the new attempt's number of nodes.
        item: the new attempt.
    """
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
    """Remove an attempt from the list.

    Args:
        ends: latest ends of the listed attempts, in seconds.
        sizes: numbers of nodes of the listed attempts.
        items: the listed attempts.
        count: number of listed attempts before the call.
        end: the attempt's latest end, in seconds.
        item: the attempt.
    """
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
