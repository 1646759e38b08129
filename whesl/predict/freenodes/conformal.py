"""Intervals that cover as often as they say, calibrated on the latest forecasts whose outcome is known.

Source: Y. Romano, E. Patterson, E. Candès, "Conformalized quantile regression", NeurIPS 2019, with a rolling
    window.
The lower end is moved until a tenth of the latest outcomes were below it, or it is 0; then the upper end
until four fifths were between. Where none free is likely nothing lies below the lower end, and the upper end
is below the nine tenths quantile: the interval covers four fifths all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from whesl.predict.freenodes.jobs import Floats

COVERAGE = 0.8
WINDOW = 28 * 86400.0  # of latest outcomes, in seconds
_LEAST = 48  # outcomes below which nothing is moved


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
        """Return those of the last days."""
        keep = self.time > (self.time[-1] - window if len(self.time) else 0.0)
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
        """Return those whose last hour is over at a time, in seconds."""
        keep = self.time + 3600.0 * self.truth.shape[1] <= now
        return Scores(self.time[keep], self.low[keep], self.high[keep], self.truth[keep])


def ordered(low: Floats, middle: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return three quantiles that do not cross: the outer ones give way."""
    return np.minimum(low, middle), middle, np.maximum(high, middle)


def offsets(past: Scores) -> tuple[Floats, Floats]:
    """Return what is added to the lower and to the upper end for each hour, shape (hours,) each.

    Args:
        past: the forecasts to calibrate on.
    """
    hours = past.truth.shape[1]
    down, up = np.zeros(hours), np.zeros(hours)
    if len(past.time) < _LEAST:
        return down, up
    for hour in range(hours):
        low, high, truth = past.low[:, hour], past.high[:, hour], past.truth[:, hour]
        down[hour] = np.quantile(truth - low, (1 - COVERAGE) / 2, method="lower")
        above = truth >= np.maximum(low + down[hour], 0.0)
        # Of all, four fifths have to be between: those below count as outside already.
        share = min(COVERAGE / max(above.mean(), 1e-9), 1.0)
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
