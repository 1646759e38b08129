"""Intervals that cover as often as they say, calibrated on the latest forecasts whose outcome is known.

Sources: Y. Romano, E. Patterson, E. Candès, "Conformalized quantile regression", NeurIPS 2019, with a rolling
    window;
I. Gibbs, E. Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021: the share that is
    aimed at rises while too few of the intervals that were given held what came, and falls while too many do.
The lower end is moved until a tenth of the latest outcomes were below it, or it is 0; then the upper end
until four fifths were between. Where none free is likely nothing lies below the lower end, and the upper end
is below the nine tenths quantile: the interval covers four fifths all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.prediction.free_nodes.job_history import Floats

COVERAGE = 0.8
WINDOW = 28 * 86400.0  # seconds of latest outcomes that are used
_LEAST = 48  # outcomes below which nothing is moved
_RATE = 0.24 / 86400.0  # change of the target share per second while all or no outcomes lie inside
_AIMED = (0.5, 0.98)  # between which it stays
_DAY = 86400.0
_APART = 6 * 3600.0  # a forecast stands for so long at most: one a day must not throw the share about


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """Forecasts whose outcome is known, as shares of the capacity.

    Attributes:
        time: when each was made, ascending, in seconds, shape (forecasts,).
        low: the lower end before any calibration, shape (forecasts, hours).
        high: the upper end, likewise.
        truth: what came, likewise.
    """

    time: Floats
    low: Floats
    high: Floats
    truth: Floats

    @staticmethod
    def none() -> Scores:
        """Return no forecasts."""
        nothing = np.zeros((0, 24))
        return Scores(np.zeros(0), nothing, nothing, nothing)

    def latest(self, window: float = WINDOW) -> Scores:
        """Return the outcomes of the last days, and at least the number that an estimate needs."""
        keep = self.time > (self.time[-1] - window if len(self.time) else 0.0)
        keep[-_LEAST:] = True
        return Scores(self.time[keep], self.low[keep], self.high[keep], self.truth[keep])

    def joined(self, other: Scores) -> Scores:
        """Return these and later ones."""
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
    """Return three quantiles that do not cross: the outer ones give way."""
    return np.minimum(low, middle), middle, np.maximum(high, middle)


def offsets(past: Scores, aim: Floats | None = None) -> tuple[Floats, Floats]:
    """Return what is added to the lower and to the upper end for each hour, shape (hours,) each.

    Args:
        past: the forecasts to calibrate on.
        aim: share that is to be between for each hour; ``COVERAGE`` without it.
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
        # Of the moments above the lower end, the share below the upper one: then ``aim`` of all lie between.
        share = min(aim[hour] / max(above.mean(), 1e-9), 1.0)
        up[hour] = np.quantile((truth - high)[above], share, method="higher")
    return down, up


def calibrated(quantiles: Floats, moved: tuple[Floats, Floats]) -> Floats:
    """Return quantiles whose ends are moved, from 0 to 1, not crossing.

    Args:
        quantiles: shape (3, moments, hours).
        moved: see ``offsets``.
    """
    low, middle, high = quantiles
    low, high = np.clip(low + moved[0], 0.0, 1.0), np.clip(high + moved[1], 0.0, 1.0)
    return np.stack(ordered(low, middle, high))


def aimed(aim: Floats, time: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Return the share that is aimed at after more outcomes, shape (hours,).

    Args:
        aim: before them.
        time: when their forecasts were made, and before them the one of the forecast before; ascending, in
            seconds, shape (forecasts + 1,).
        inside: whether the intervals that were given held what came, shape (forecasts, hours).
    """
    for since, held in zip(np.minimum(np.diff(time), _APART), inside, strict=True):
        aim = np.clip(aim + _RATE * since * (COVERAGE - held), *_AIMED)
    return aim


def rolling(before: Scores, quantiles: Floats, time: Floats, truth: Floats) -> Floats:
    """Return quantiles calibrated anew each day, with what has come out by then; shape (3, moments, hours).

    Args:
        before: earlier forecasts.
        quantiles: not yet calibrated, shape (3, moments, hours).
        time: of the moments, ascending, in seconds, shape (moments,).
        truth: what came, shape (moments, hours); looked at only when its last hour is over.
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
