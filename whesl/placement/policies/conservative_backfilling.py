"""Conservative backfilling (A. Mu'alem, D. Feitelson, IEEE TPDS 12(6), 2001).

Each job gets a reservation when it arrives: the earliest time at which enough nodes are free for its
estimate, beside all running and reserved jobs. When a job ends before its estimate, each reservation, in the
queue's order, moves to the earliest time that is now free. So no reservation is ever delayed.

The free nodes over time are a *profile*: ``free[i]`` nodes are free from ``times[i]`` to ``times[i + 1]``;
the last part has no end. A profile occupies the indices ``lo`` to ``hi - 1`` of its arrays.
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
        times: begin of each part of the profile, in seconds, ascending.
        free: number of free nodes in each part.
        lo: index of the part that holds ``now``.
        hi: index behind the last part.
        now: the current time, in seconds.
        size: number of nodes of the job.
        duration: estimated duration of the job, in seconds.
        before: start of the job's present reservation, the result if no earlier start fits; ``inf`` for none.
        until: starts at or after this time, in seconds, are not searched.

    Returns:
        The start in seconds; ``inf`` if the job fits at no time.
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
    """Take nodes out of a profile from ``begin`` to ``end``; return the new ``hi``.

    Args:
        times: begin of each part of the profile, in seconds, ascending; with room for two more parts.
        free: number of free nodes in each part; with room for two more parts.
        lo: index of the first part.
        hi: index behind the last part.
        begin: begin of the time in seconds, not before that of the profile.
        end: end of the time in seconds.
        size: number of nodes to take; a negative number gives nodes back.
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
    """Return the index of the last part that begins no later than ``time``, in seconds."""
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
