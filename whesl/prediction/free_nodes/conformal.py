"""Forecast intervals with the stated coverage, calibrated on the latest forecasts whose outcome is known.

Sources: Y. Romano, E. Patterson, E. Candès, "Conformalized quantile regression", NeurIPS 2019, with a rolling
window; I. Gibbs, E. Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021: the target
share rises while too few of the published intervals contain the outcome, and falls while too many do.
The lower end is moved until a tenth of the latest outcomes are below it, or it is 0; then the upper end is
moved until four fifths are in the interval. When zero free nodes are likely, no outcome is below the lower
end and the upper end is below the 0.9 quantile, so that the interval still covers four fifths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.free_nodes.job_history import Floats

COVERAGE = 0.8
WINDOW = 28 * 86400.0  # age in seconds of the oldest outcomes that calibrate
_LEAST = 48  # least number of outcomes for a calibration
_RATE = 0.24 / 86400.0  # rate per second at which the target share follows a deviation of the coverage
_AIMED = (0.5, 0.98)  # bounds of the target share
_DAY = 86400.0
_APART = 6 * 3600.0  # longest time in seconds that one forecast counts for in the target share


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """Forecasts whose outcome is known, as shares of the capacity.

    Attributes:
        time: when each forecast was made, ascending, in seconds, shape (forecasts,).
        low: the lower ends before calibration, shape (forecasts, hours).
        high: the upper ends before calibration, shape (forecasts, hours).
        truth: the outcomes, shape (forecasts, hours).
    """

    time: Floats
    low: Floats
    high: Floats
    truth: Floats

    @staticmethod
    def none() -> Scores:
        """Return an empty collection of forecasts."""
        nothing = np.zeros((0, 24))
        return Scores(np.zeros(0), nothing, nothing, nothing)

    def latest(self, window: float = WINDOW) -> Scores:
        """Return the scores of the last ``window`` seconds, and at least as many as a calibration needs."""
        keep = self.time > (self.time[-1] - window if len(self.time) else 0.0)
        keep[-_LEAST:] = True
        return Scores(self.time[keep], self.low[keep], self.high[keep], self.truth[keep])

    def joined(self, other: Scores) -> Scores:
        """Return these scores followed by later ones."""
        return Scores(
            np.concatenate([self.time, other.time]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.truth, other.truth]),
        )

    def known(self, now: float) -> Scores:
        """Return the scores of forecasts whose last hour is over at ``now``, in seconds."""
        keep = self.time + 3600.0 * self.truth.shape[1] <= now
        return Scores(self.time[keep], self.low[keep], self.high[keep], self.truth[keep])


def ordered(low: Floats, middle: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return three quantiles that do not cross; the outer ones move to the middle one.

    Args:
        low: lower quantiles, of any shape.
        middle: middle quantiles, of the same shape.
        high: upper quantiles, of the same shape.
    """
    return np.minimum(low, middle), middle, np.maximum(high, middle)


def offsets(past: Scores, aim: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the corrections that calibration adds to the lower and upper ends, shape (hours,) each.

    Args:
        past: the forecasts to calibrate on.
        aim: target share of outcomes in the interval for each hour; None for ``COVERAGE``.
    """
    hours = past.truth.shape[1]
    aim = np.full(hours, COVERAGE) if aim is None else aim
    down, up = np.zeros(hours), np.zeros(hours)
    if len(past.time) < _LEAST:
        return down, up
    for hour in range(hours):
        low, high, truth = past.low[:, hour], past.high[:, hour], past.truth[:, hour]
        down[hour] = np.quantile(truth - low, (1 - aim[hour]) / 2, method="lower")
        above = truth >= np.maximum(low + down[hour], 0.0)
        # The share of outcomes below the upper end, of those above the lower end, that puts ``aim`` of all
        # between.
        share = min(aim[hour] / max(above.mean(), 1e-9), 1.0)
        up[hour] = np.quantile((truth - high)[above], share, method="higher")
    return down, up


def calibrated(quantiles: Floats, moved: tuple[Floats, Floats]) -> Floats:
    """Return quantiles with corrected ends, clipped to 0 to 1 and not crossing.

    Args:
        quantiles: lower, middle and upper quantiles, shape (3, moments, hours).
        moved: the corrections of both ends; see ``offsets``.
    """
    low, middle, high = quantiles
    low, high = np.clip(low + moved[0], 0.0, 1.0), np.clip(high + moved[1], 0.0, 1.0)
    return np.stack(ordered(low, middle, high))


def aimed(aim: Floats, time: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Return the target share updated by new outcomes, shape (hours,).

    Args:
        aim: the target share before the new outcomes, shape (hours,).
        time: when the previous forecast and the forecasts of the new outcomes were made, ascending, in
            seconds, shape (forecasts + 1,).
        inside: whether each outcome was in its published interval, shape (forecasts, hours).
    """
    for since, held in zip(np.minimum(np.diff(time), _APART), inside, strict=True):
        aim = np.clip(aim + _RATE * since * (COVERAGE - held), *_AIMED)
    return aim


def rolling(before: Scores, quantiles: Floats, time: Floats, truth: Floats) -> Floats:
    """Return quantiles, calibrated each day by the outcomes known then; shape (3, moments, hours).

    Args:
        before: scores of earlier forecasts.
        quantiles: quantiles before calibration, shape (3, moments, hours).
        time: times of the moments, ascending, in seconds, shape (moments,).
        truth: the outcomes, shape (moments, hours); each is used only when its last hour is over.
    """
    given = np.empty_like(quantiles)
    own = Scores(time, quantiles[0], quantiles[2], truth)
    aim, counted = np.full(truth.shape[1], COVERAGE), 0
    for day in np.unique(time // _DAY):
        today = time // _DAY == day
        known = own.known(float(day * _DAY))
        new = slice(counted, len(known.time))
        held = (truth[new] >= given[0, new] - 1e-9) & (truth[new] <= given[2, new] + 1e-9)
        last = time[max(counted - 1, 0)]
        aim = aimed(aim, np.append(last, time[new]), held)
        counted = len(known.time)
        given[:, today] = calibrated(quantiles[:, today], offsets(before.joined(known).latest(), aim))
    return given
