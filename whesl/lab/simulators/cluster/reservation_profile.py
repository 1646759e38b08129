"""Reservations of all waiting jobs in one profile of free nodes, kept from pass to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.lab.simulators.cluster.waiting_jobs import following
from whesl.placement.policies.conservative_backfilling import earliest, locate, occupy
from whesl.prediction.numba_jit import jit, jit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Reservations(NamedTuple):
    """What is known of the jobs, shape (jobs,), and the profile: arrays of the event loop's machine."""

    size: NDArray[np.int64]
    limit: NDArray[np.float64]
    begin: NDArray[np.float64]
    promise: NDArray[np.float64]
    times: NDArray[np.float64]
    free: NDArray[np.int64]


@jit
def shifted(times: NDArray[np.float64], free: NDArray[np.int64], lo: int, hi: int) -> int:
    """Move a profile to the beginning of its arrays and return the place behind its end."""
    for at in range(lo, hi):
        times[at - lo] = times[at]
        free[at - lo] = free[at]
    return hi - lo


@jit
def rebuilt(
    times: NDArray[np.float64],
    free: NDArray[np.int64],
    ends: NDArray[np.float64],
    sizes: NDArray[np.int64],
    active: int,
    now_free: int,
    now: float,
) -> int:
    """Make the profile of the running jobs alone, from place 0 on, and return the place behind its end."""
    times[0] = now
    free[0] = now_free
    hi = 1
    for at in range(active):
        if times[hi - 1] != ends[at]:
            times[hi] = ends[at]
            free[hi] = free[hi - 1]
            hi += 1
        free[hi - 1] += sizes[at]
    return hi


@jit_inner
def place(
    waits: NDArray[np.int64], job: int, behind: int, of: Reservations, lo: int, hi: int, now: float
) -> int:
    """Give each waiting job from ``job`` on, below ``behind``, a reservation; return the profile's end."""
    job = following(waits, job, behind)
    while job >= 0:
        size, limit = of.size[job], of.limit[job]
        begin = earliest(of.times, of.free, lo, hi, now, size, limit, np.inf, np.inf)
        of.begin[job] = begin
        if of.promise[job] == np.inf:
            of.promise[job] = begin
        if begin < np.inf:
            hi = occupy(of.times, of.free, lo, hi, begin, begin + limit, size)
        job = following(waits, job + 1, behind)
    return hi


@jit
def widen(risen: NDArray[np.float64], count: int, begin: float, end: float) -> int:
    """Add a time in which nodes became free to ``risen``, shape (most, 2); return how many there are.

    Where there is no place left, the last one becomes wide enough for both.
    """
    if count == len(risen):
        count -= 1
        begin = min(begin, risen[count, 0])
        end = max(end, risen[count, 1])
    risen[count, 0] = begin
    risen[count, 1] = end
    return count + 1


@jit_inner
def _most(
    of: Reservations, lo: int, hi: int, risen: NDArray[np.float64], begun: int, count: int
) -> tuple[int, float]:
    """Return the most nodes free at any time in ``risen[begun:count]``, and when the last of these ends."""
    most = 0
    last = -np.inf
    for one in range(begun, count):
        begin, end = risen[one, 0], risen[one, 1]
        last = max(last, end)
        at = locate(of.times, lo, hi, begin)
        while at < hi and of.times[at] < end:
            most = max(most, of.free[at])
            at += 1
    return most, last


@jit_inner
def compressed(
    waits: NDArray[np.int64],
    job: int,
    behind: int,
    of: Reservations,
    lo: int,
    hi: int,
    now: float,
    risen: NDArray[np.float64],
    count: int,
) -> tuple[int, int]:
    """Move each reservation, in the queue's order, to its earliest time.

    A job can move only if it fits at some time at which nodes became free, and starts before the last of
    these: since the previous call, or in it by the move of a job behind it.

    Returns:
        The place behind the profile's end, and how many times in ``risen`` are kept for the next call.
    """
    known = count
    most, last = _most(of, lo, hi, risen, 0, count)
    job = following(waits, job, behind)
    while job >= 0:
        old, size, limit = of.begin[job], of.size[job], of.limit[job]
        if old > now and size <= most:
            new = earliest(of.times, of.free, lo, hi, now, size, limit, old, last)
            if new < old:
                if old < np.inf:
                    hi = occupy(of.times, of.free, lo, hi, old, old + limit, -size)
                hi = occupy(of.times, of.free, lo, hi, new, new + limit, size)
                of.begin[job] = new
                if count == len(risen):
                    known = min(known, count - 1)
                count = widen(risen, count, old, old + limit)
                more, end = _most(of, lo, hi, risen, count - 1, count)
                most, last = max(most, more), max(last, end)
        job = following(waits, job + 1, behind)
    for one in range(known, count):
        risen[one - known, 0] = risen[one, 0]
        risen[one - known, 1] = risen[one, 1]
    return hi, count - known
