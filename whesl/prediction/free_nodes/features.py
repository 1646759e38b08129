"""Features of a forecast: the queue rolled forward, the queue itself, the recent past, and the calendar.

There is one row for each moment and hour ahead. A row uses only what was known at its moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.free_nodes.hourly_free_node_history import Supply
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Floats, Ints
from whesl.prediction.free_nodes.rollforward import HOURS, LEVELS, Index, Rolled, State, roll, state

_LAGS = (1, 2, 3, 6, 12, 24)  # hours before the moment
_AHEAD = (1, 2, 3, 6, 12, 24)  # hours within which running jobs reach their limits
MOMENT = (
    "free now",
    *(f"least of {lag} h back" for lag in _LAGS),
    *(f"least in the last {lag} h" for lag in _LAGS[1:]),
    *(f"median of the last {days} days" for days in (1, 7, 28)),
    *(f"nodes that reach their limits within {hours} h" for hours in _AHEAD),
    *("waiting jobs", "waiting nodes", "largest waiting", "waiting node hours", "held nodes"),
    *("nodes submitted in the last 6 h", "nodes submitted in the last 24 h"),
    *("hours to maintenance", "hours of maintenance left", "hour of day", "day of week"),
)
AHEAD = (
    "hours ahead",
    *(f"rolled forward, {level:.0%}" for level in LEVELS),
    "rolled forward, mean",
    "rolled forward, half without a free node",
    "rolled forward, the hour before",
    "rolled forward, lowest until then",
    *(f"smallest first, {level:.0%}" for level in LEVELS[1:4]),
    "smallest first, mean",
    "free of running jobs",
    "free now and what reaches its limit until then",
    "median at this hour of day",
    "a day before",
    "a week before",
    "maintenance",
    "hour of day then",
    "day of week then",
)
COLUMNS = (*MOMENT, *AHEAD)
_FAR = 14 * 24.0  # value in hours of the time to maintenance when none is announced


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Features of moments.

    Attributes:
        time: time of each moment in seconds, shape (moments,).
        capacity: number of nodes as known at each moment, shape (moments,).
        free: number of free nodes at each moment, shape (moments,).
        values: features, numbers of nodes as shares of the capacity, shape (moments, hours, columns).
    """

    time: Floats
    capacity: Floats
    free: Floats
    values: NDArray[np.float32]


def table(
    known: Index,
    hours: Supply,
    which: Ints,
    closed: Floats,
    *,
    draws: int,
    seed: int,
    advance: Callable[[float], None] = lambda steps: None,
) -> Rows:
    """Return the features of moments.

    Args:
        known: the job history; see ``rollforward.index``.
        hours: the same history by the hour.
        which: indices of the hours at whose begins forecasts are made.
        closed: announced maintenance, shape (windows, 2), in seconds.
        draws: how often the queue is rolled forward.
        seed: seed of the random numbers; a moment's draws depend only on the seed and the moment.
        advance: called with the number of finished moments.
    """
    time = hours.times[which]
    values = np.empty((len(which), HOURS, len(COLUMNS)), dtype=np.float32)
    recent = Recent(hours)
    for place, hour in enumerate(which):
        now, capacity = float(time[place]), float(hours.capacity[hour])
        pools = hours.pools[:, hour]
        at = state(known.jobs, now, pools, closed)
        generator = np.random.default_rng((seed, int(now)))
        rolled = [
            roll(known, one, capacity, pools, closed, draws, generator)
            for one in (at, state(known.jobs, now, pools, closed, smallest_first=True))
        ]
        values[place, :, : len(MOMENT)] = _moment(known, at, hours, recent, int(hour), closed)
        values[place, :, len(MOMENT) :] = _ahead(known, at, hours, recent, int(hour), rolled, closed)
        advance(1)
    return Rows(time, hours.capacity[which], hours.free[which], values)


class Recent:
    """Statistics of the least free share over the hours before a given hour.

    Args:
        hours: the history by the hour.
    """

    def __init__(self, hours: Supply) -> None:
        self.share = np.where(hours.covered, hours.least / hours.capacity, np.nan)

    def back(self, hour: int, lag: int) -> float:
        """Return the least free share of the hour that began ``lag`` hours before; NaN where it is not known.

        Args:
            hour: index of an hour in the history.
            lag: number of hours; the history's first hour is ``hour`` hours before.
        """
        return float(self.share[hour - lag]) if hour >= lag else np.nan

    def last(self, hour: int, count: int) -> Floats:
        """Return the known least free shares of the ``count`` hours before an hour.

        Args:
            hour: index of an hour in the history.
            count: number of hours; fewer are there at the history's begin.

        Returns:
            The shares in the order of time, without those that are not known: shape (known hours,).
        """
        found = self.share[max(0, hour - count) : hour]
        return np.asarray(found[~np.isnan(found)])

    def median(self, hour: int, days: int) -> float:
        """Return the median least free share of the days before an hour; NaN when none is known.

        Args:
            hour: index of an hour in the history.
            days: number of days of 24 hours each.
        """
        found = self.last(hour, 24 * days)
        return float(np.median(found)) if len(found) else np.nan

    def of_day(self, hour: int) -> Floats:
        """Return the median at the time of day of each of the next hours, over 28 days, shape (hours,)."""
        found = np.full(HOURS, np.nan)
        past = self.share[max(0, hour - 24 * 28) : hour]
        past = past[len(past) % 24 :].reshape(-1, 24)
        known = ~np.isnan(past).all(axis=0)
        if len(past):
            found[known] = np.nanmedian(past[:, known], axis=0)
        return found


def _moment(known: Index, at: State, hours: Supply, recent: Recent, hour: int, closed: Floats) -> Floats:
    history, now, capacity = known.jobs, at.now, hours.capacity[hour]
    run, wait = at.running, at.waiting
    planned = history.start[run] + history.limit[run] - now
    size = history.size / capacity
    submitted = [
        size[np.searchsorted(history.submit, now - back * HOUR) : np.searchsorted(history.submit, now)].sum()
        for back in (6, 24)
    ]
    ahead = closed[closed[:, 1] > now]
    to, left = _FAR, 0.0
    if len(ahead):
        to = min(max(ahead[0, 0] - now, 0.0) / HOUR, _FAR)
        left = (ahead[0, 1] - now) / HOUR if ahead[0, 0] <= now else 0.0
    lowest = [recent.last(hour, lag) for lag in _LAGS[1:]]
    return np.array(
        [
            hours.free[hour] / capacity,
            *(recent.back(hour, lag) for lag in _LAGS),
            *(some.min() if len(some) else np.nan for some in lowest),
            *(recent.median(hour, days) for days in (1, 7, 28)),
            *(size[run][planned <= limit * HOUR].sum() for limit in _AHEAD),
            len(wait),
            size[wait].sum(),
            size[wait].max() if len(wait) else 0.0,
            (size[wait] * history.limit[wait]).sum() / HOUR,
            size[at.held].sum(),
            *submitted,
            to,
            left,
            *_clock(now),
        ]
    )


def _ahead(
    known: Index, at: State, hours: Supply, recent: Recent, hour: int, both: list[Rolled], closed: Floats
) -> Floats:
    history, now = known.jobs, at.now
    capacity = hours.capacity[hour]
    planned = history.start[at.running] + history.limit[at.running] - now
    size = history.size[at.running] / capacity
    order = np.argsort(planned)
    over = np.searchsorted(planned[order], HOUR * np.arange(HOURS), side="right")
    freed = np.append(0.0, np.cumsum(size[order]))[over]
    rolled, smallest = (one.least / capacity for one in both)
    middle = np.median(rolled, axis=0)
    back = recent.share[max(0, hour - 24) : hour]
    day = np.append(np.full(24 - len(back), np.nan), back)
    week = [recent.back(hour, 168 - ahead) for ahead in range(HOURS)]
    first = now + HOUR * np.arange(HOURS)
    inside = np.zeros(HOURS)
    for begin, finish in closed:
        part = np.minimum(finish, first + HOUR) - np.maximum(begin, first)
        inside = np.maximum(inside, np.clip(part / HOUR, 0.0, 1.0))
    clock = np.array([_clock(one) for one in first])
    columns = [
        np.arange(1, HOURS + 1),
        *np.quantile(rolled, LEVELS, axis=0),
        rolled.mean(axis=0),
        (rolled < 0.005).mean(axis=0),
        np.append(hours.free[hour] / capacity, middle[:-1]),
        np.minimum.accumulate(middle),
        *np.quantile(smallest, LEVELS[1:4], axis=0),
        smallest.mean(axis=0),
        np.maximum(1.0 - both[0].still / capacity, 0.0),
        np.minimum(hours.free[hour] / capacity + freed, 1.0),
        recent.of_day(hour),
        day,
        week,
        inside,
        clock[:, 0],
        clock[:, 1],
    ]
    return np.stack([np.asarray(one, dtype=np.float64) for one in columns], axis=1)


def _clock(time: float) -> tuple[float, float]:
    """Return the hour of the day and the day of the week (0 is Monday), in UTC."""
    return (time % DAY) / HOUR, float((int(time // DAY) + 3) % 7)
