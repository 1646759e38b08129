"""The steps from a job history to training data, and from a model to a forecast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction.free_nodes import conformal, features, forecast_ensemble, rollforward
from whesl.prediction.free_nodes.features import Rows
from whesl.prediction.free_nodes.forecast_ensemble import Model
from whesl.prediction.free_nodes.hourly_free_node_history import Supply, supply
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Floats, Jobs
from whesl.prediction.free_nodes.past_forecasts import Forecast, Given
from whesl.prediction.free_nodes.rollforward import HOURS

_SETTLED = 14 * DAY  # seconds of history after which the use shows the capacity
_LOOKED = 57 * DAY  # seconds of history: four weeks of capacities, which each need four weeks
NO_CALENDAR = np.zeros((0, 2))


class Learnable(NamedTuple):
    """Moments with their outcomes, to learn from.

    Attributes:
        rows: features of the moments.
        truth: least free share in each of the next hours, shape (moments, hours).
    """

    rows: Rows
    truth: Floats

    def select(self, which: NDArray[np.bool_]) -> Learnable:
        """Return the moments that ``which`` selects."""
        rows = self.rows
        return Learnable(
            features.Rows(rows.time[which], rows.capacity[which], rows.free[which], rows.values[which]),
            self.truth[which],
        )


def learnable(
    history: Jobs,
    closed: Floats = NO_CALENDAR,
    *,
    capacity: float | None = None,
    draws: int = 24,
    seed: int = 0,
    every: int = 1,
    begin: Callable[[str, float], Callable[[float], None]] | None = None,
) -> Learnable:
    """Return all moments of a history whose features and outcomes are known.

    Args:
        history: the job history.
        closed: announced maintenance, shape (windows, 2), in seconds.
        capacity: number of nodes of a machine that never fails; None to estimate it from use (see
            ``supply``).
        draws: how often the queue is rolled forward at each moment.
        seed: seed of the random numbers.
        every: hours between two moments.
        begin: called with the name and number of steps of the work; returns a function to call with finished
            steps.

    Raises:
        UsageError: the history is too short.
    """
    hours = supply(history, capacity)
    which = _moments(hours, 0.0 if capacity is not None else _SETTLED)[::every]
    if not len(which):
        spans = history.covered[:, 1] - history.covered[:, 0]
        raise UsageError(
            f"the job log covers {max(spans.max(), 0.0) / DAY:.1f} days without a gap, too few to learn from",
            hint=f"{forecast_ensemble.LEAST_DAYS + 20} days are the least, a year is good",
        )
    advance = begin("roll the queue forward", len(which)) if begin is not None else lambda steps: None
    known = rollforward.index(history)
    rows = features.table(known, hours, which, closed, draws=draws, seed=seed, advance=advance)
    ahead = which[:, None] + np.arange(HOURS)
    return Learnable(rows, hours.least[ahead] / hours.capacity[which][:, None])


def _moments(hours: Supply, settled: float) -> NDArray[np.int64]:
    """Return the hours whose following day is covered by the log and whose capacity is known."""
    good = hours.covered.copy()
    for ahead in range(1, min(HOURS, len(good))):
        good[: len(good) - ahead] &= hours.covered[ahead:]
    good[max(0, len(good) - HOURS + 1) :] = False
    good[: int(settled / HOUR)] = False
    return np.flatnonzero(good)


def forecast(
    learned: Model,
    history: Jobs,
    now: float,
    closed: Floats = NO_CALENDAR,
    *,
    draws: int = 24,
    seed: int = 0,
    given: Given | None = None,
) -> Forecast:
    """Forecast from what is known at a moment.

    Args:
        learned: see ``forecast_ensemble.fit``.
        history: the job history; nothing after ``now`` is used.
        now: the time of the forecast, in seconds.
        closed: announced maintenance, shape (windows, 2), in seconds.
        draws: how often the queue is rolled forward.
        seed: seed of the random numbers.
        given: earlier forecasts with their outcomes; see ``whesl.prediction.free_nodes.past_forecasts``.

    Raises:
        UsageError: nothing is known before ``now``.
    """
    past = history.until(now)
    if not len(past) or not len(past.covered) or not np.isfinite(past.start).any():
        raise UsageError("no job has started before the moment of the forecast", hint="give a later --now")
    # Hours are counted back from ``now``, so that the last hour ends at ``now``.
    first = max(float(past.covered.min()), now - _LOOKED)
    begin = now - np.ceil((now - first) / HOUR) * HOUR
    covered = np.maximum(past.covered[past.covered[:, 1] > first], first)
    if not len(covered):
        raise UsageError(
            f"the job log covers nothing of the {_LOOKED / DAY:.0f} days before the moment",
            hint="give a longer log, or an earlier --now",
        )
    covered[0, 0] = begin
    covered[-1, 1] = max(covered[-1, 1], now)
    hours = supply(
        replace(past, covered=np.vstack([covered[:-1], [[covered[-1, 0], now + 1.0]]])), begin=begin
    )
    which = np.array([len(hours.use) - 1])
    rows = features.table(rollforward.index(past), hours, which, closed, draws=draws, seed=seed)
    if given is None:
        moved = conformal.offsets(learned.scores)
    else:
        moved = conformal.offsets(given.scores(learned.scores, now).latest(), given.aim)
    shares = forecast_ensemble.predict(learned, rows)
    nodes = conformal.calibrated(shares, moved)[:, 0]
    capacity = float(rows.capacity[0])
    waits = rollforward.state(past, now, hours.pools[:, which[0]], closed)
    return Forecast(
        now,
        capacity,
        forecast_ensemble.LEVELS,
        nodes.T * capacity,
        len(waits.running),
        len(waits.waiting),
        len(waits.held),
        shares[:, 0],
    )
