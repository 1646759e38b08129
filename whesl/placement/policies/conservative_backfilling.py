"""Conservative backfilling (A. Mu'alem, D. Feitelson, IEEE TPDS 12(6), 2001).

Each job gets a reservation when it arrives: the earliest time at which enough nodes are free for its
estimate, beside all running and reserved jobs. When a job ends before its estimate, each reservation in the
queue's order moves to the earliest time that is free then. So none is ever delayed.

The free nodes over time are a *profile*: ``free[i]`` nodes from ``times[i]`` to ``times[i + 1]``, the last
ones for ever. It occupies the places ``lo`` to ``hi - 1`` of its arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@jit
def earliest(
    times: NDArray[np.float64],
    free: NDArray[np.int64],
    lo: int,
    hi: int,
    now: float,
    size: int,
    duration: float,
    before: float,
    until: float,
) -> float:
    """Return the earliest start of a job in a profile.

    Args:
        times: when each part begins, in seconds, ascending.
        free: nodes that are free in it.
        lo: the place of the part that holds ``now``.
        hi: the place behind the last part.
        now: the current time, in seconds.
        size: the job's nodes.
        duration: its estimate, in seconds.
        before: its present reservation, to be returned where no earlier start fits; ``inf`` where it has
            none.
        until: no start at or behind this time, in seconds, is looked for.

    Returns:
        The start in seconds; ``inf`` where it fits at no time.
    """
    start = now
    fits = False
    for at in range(lo, hi):
        if times[at] >= before:
            break
        if free[at] < size:
            fits = False
            continue
        if not fits:
            if times[at] >= until:
                break
            fits = True
            start = max(now, times[at])
        if at + 1 < hi and times[at + 1] >= start + duration:
            return start
    return start if fits else before


@jit
def occupy(
    times: NDArray[np.float64], free: NDArray[np.int64], lo: int, hi: int, begin: float, end: float, size: int
) -> int:
    """Take ``size`` nodes (give them back where negative) from ``begin`` to ``end``; return the new ``hi``.

    The arrays need two places more than ``hi``, and ``begin`` is no earlier than the profile's.
    """
    first = locate(times, lo, hi, begin)
    if times[first] != begin:
        hi = _split(times, free, first, hi, begin)
        first += 1
    last = first
    while last < hi and times[last] < end:
        free[last] -= size
        last += 1
    if end < np.inf and (last == hi or times[last] != end):
        free[last - 1] += size
        hi = _split(times, free, last - 1, hi, end)
        free[last - 1] -= size
    if end < np.inf and free[last] == free[last - 1]:
        hi = _merge(times, free, last, hi)
    if first > lo and free[first] == free[first - 1]:
        hi = _merge(times, free, first, hi)
    return hi


@jit
def locate(times: NDArray[np.float64], lo: int, hi: int, time: float) -> int:
    """Return the last part that begins no later than ``time``."""
    while hi - lo > 1:
        middle = (lo + hi) >> 1
        if times[middle] <= time:
            lo = middle
        else:
            hi = middle
    return lo


@jit
def _split(times: NDArray[np.float64], free: NDArray[np.int64], part: int, hi: int, time: float) -> int:
    at = hi
    while at > part + 1:
        times[at] = times[at - 1]
        free[at] = free[at - 1]
        at -= 1
    times[at] = time
    free[at] = free[part]
    return hi + 1


@jit
def _merge(times: NDArray[np.float64], free: NDArray[np.int64], part: int, hi: int) -> int:
    for at in range(part, hi - 1):
        times[at] = times[at + 1]
        free[at] = free[at + 1]
    return hi - 1
