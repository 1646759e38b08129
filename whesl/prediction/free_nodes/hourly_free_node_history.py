"""The hourly history of a machine: nodes in use, capacity, outages, and the least number of free nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.free_nodes.job_history import DAY, HOUR, Floats, Jobs
from whesl.prediction.numba_jit import jit

OUTAGE_USE = 0.05  # use as a share of the capacity below which the machine counts as out
OUTAGE_TIME = 3 * HOUR
QUANTILE = 0.99  # quantile of the nodes in use that estimates the capacity
SPAN = 28 * DAY  # seconds of history that estimate the capacity; fewer at the begin of the log


@dataclass(frozen=True, eq=False, slots=True)
class Supply:
    """An hourly history.

    Attributes:
        begin: begin of the first hour, in seconds.
        use: highest number of nodes in use in each hour, shape (hours,).
        now: number of nodes in use at the begin of each hour, shape (hours,).
        capacity: number of nodes as known at the begin of each hour, shape (hours,).
        pools: number of nodes of each pool, the first of which is the whole machine, shape (pools, hours).
        out: whether each hour has an outage, shape (hours,).
        seen_out: whether an outage is known at the begin of each hour, shape (hours,).
        covered: whether every job of each hour is known, shape (hours,).
    """

    begin: float
    use: Floats
    now: Floats
    capacity: Floats
    pools: Floats
    out: NDArray[np.bool_]
    seen_out: NDArray[np.bool_]
    covered: NDArray[np.bool_]

    @property
    def least(self) -> Floats:
        """Return the least number of free nodes in each hour; none are free in an outage."""
        return np.asarray(np.where(self.out, 0.0, np.maximum(self.capacity - self.use, 0.0)))

    @property
    def free(self) -> Floats:
        """Return the number of free nodes at the begin of each hour, by what is known then."""
        return np.asarray(np.where(self.seen_out, 0.0, np.maximum(self.capacity - self.now, 0.0)))

    @property
    def times(self) -> Floats:
        """Return the begin of each hour in seconds."""
        return np.asarray(self.begin + HOUR * np.arange(len(self.use)), dtype=np.float64)


def steps(history: Jobs, pool: int | None = None) -> tuple[Floats, Floats]:
    """Return the times of changes of the number of nodes in use, and the number after each change.

    Args:
        history: the job history.
        pool: number of the pool whose nodes count; None for all nodes.
    """
    ran = np.isfinite(history.start)
    if pool is not None:
        ran &= history.pool == pool
    over = ran & np.isfinite(history.end)
    time = np.concatenate([history.start[ran], history.end[over]])
    change = np.concatenate([history.size[ran], -history.size[over]])
    # Ends come before starts of the same second, so that a node passed on to the next job counts once.
    order = np.lexsort((change, time))
    return time[order], np.cumsum(change[order])


def supply(history: Jobs, capacity: float | None = None, begin: float | None = None) -> Supply:
    """Return the hourly history of a job history.

    Args:
        history: the job history; the known part of the last hour counts as the whole hour.
        capacity: number of nodes of a machine that never fails, as in a replay; None for a quantile of use
            over the last 28 days, with hours without use as outages.
        begin: begin of the first hour, in seconds; None for a full hour.
    """
    time, use = steps(history)
    if begin is None:
        begin = float(np.floor(history.covered.min() / HOUR) * HOUR)
    hours = max(int(np.ceil((history.covered.max() - begin) / HOUR)), 1)
    most, now = _hourly(time, use, begin, hours)
    known = np.full(hours, float(capacity)) if capacity is not None else rolling_capacity(now)
    known = np.maximum(known, 1.0)
    pools = np.empty((int(history.pool.max()) + 1, hours))
    pools[0] = known
    for pool in range(1, len(pools)):
        used = _hourly(*steps(history, pool), begin, hours)[1]
        pools[pool] = np.maximum(rolling_capacity(used), used)
    out, seen = np.zeros(hours, dtype=np.bool_), np.zeros(hours, dtype=np.bool_)
    if capacity is None:
        _outages(time, use, begin, known, OUTAGE_USE, OUTAGE_TIME, out, seen)
    middle = begin + HOUR * np.arange(hours)
    covered = np.zeros(hours, dtype=np.bool_)
    for first, last in history.covered:
        covered |= (middle >= first) & (middle + HOUR <= last + HOUR)
    return Supply(begin, most, now, known, pools, out, seen, covered)


def least_after(history: Jobs, time: float, capacity: float) -> Floats:
    """Return the least number of free nodes in each of the 24 hours after a time; none are free in an outage.

    Args:
        history: the job history, which covers those hours.
        time: the time in seconds.
        capacity: number of nodes.
    """
    moments, use = steps(history)
    begin, hours = time - DAY, 48
    most, _ = _hourly(moments, use, begin, hours)
    out, seen = np.zeros(hours, dtype=np.bool_), np.zeros(hours, dtype=np.bool_)
    _outages(moments, use, begin, np.full(hours, capacity), OUTAGE_USE, OUTAGE_TIME, out, seen)
    return np.asarray(np.where(out, 0.0, np.maximum(capacity - most, 0.0))[24:])


def windows(hours: Supply) -> Floats:
    """Return begin and end of each outage in covered hours, in seconds, ascending, shape (outages, 2)."""
    out = np.concatenate([[False], hours.out & hours.covered, [False]]).astype(np.int8)
    change = np.diff(out)
    begin, end = np.flatnonzero(change > 0), np.flatnonzero(change < 0)
    return np.asarray(hours.begin + HOUR * np.stack([begin, end], axis=1), dtype=np.float64)


def rolling_capacity(now: Floats) -> Floats:
    """Return the estimated capacity at each hour: a quantile of the use ``now`` up to that hour."""
    width = int(SPAN / HOUR)
    found = np.empty(len(now))
    for hour in range(len(now)):
        found[hour] = np.quantile(now[max(0, hour + 1 - width) : hour + 1], QUANTILE)
    return found


@jit
def _hourly(time: Floats, use: Floats, begin: float, hours: int) -> tuple[Floats, Floats]:
    most = np.zeros(hours)
    now = np.zeros(hours)
    at = 0
    present = 0.0
    for hour in range(hours):
        first = begin + 3600.0 * hour
        while at < len(time) and time[at] <= first:
            present = use[at]
            at += 1
        now[hour] = present
        highest = present
        while at < len(time) and time[at] < first + 3600.0:
            present = use[at]
            highest = max(highest, present)
            at += 1
        most[hour] = highest
    return most, now


@jit
def _outages(
    time: Floats,
    use: Floats,
    begin: float,
    capacity: Floats,
    share: float,
    least: float,
    out: NDArray[np.bool_],
    seen: NDArray[np.bool_],
) -> None:
    hours = len(capacity)
    since = np.nan
    finish = begin + 3600.0 * hours
    for at in range(len(time) + 1):
        moment = time[at] if at < len(time) else finish
        hour = min(max(int((moment - begin) // 3600.0), 0), hours - 1)
        low = at < len(time) and use[at] < share * capacity[hour]
        if low and np.isnan(since):
            since = moment
        elif not low and not np.isnan(since):
            if moment - since >= least:
                first = max(int((since - begin) // 3600.0), 0)
                last = min(int(np.ceil((moment - begin) / 3600.0)), hours)
                for one in range(first, last):
                    out[one] = True
                    top = begin + 3600.0 * one
                    if since + least <= top < moment:
                        seen[one] = True
            since = np.nan
