"""A linear model with the least absolute error, which unlike trees extrapolates.

Fitted by reweighted least squares (E. J. Schlossmacher, "An iterative technique for absolute deviations curve
fitting", JASA 68, 1973) with a small ridge penalty, since many features are nearly collinear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.free_nodes.features import COLUMNS
from whesl.prediction.free_nodes.job_history import Floats

_WIDE = (  # unbounded features, which enter by their logarithm
    *("waiting jobs", "waiting nodes", "largest waiting", "waiting node hours", "held nodes"),
    *("nodes submitted in the last 6 h", "nodes submitted in the last 24 h"),
    *("hours to maintenance", "hours of maintenance left"),
)
# Left out since each hour ahead has its own coefficients, and since the effect of clock times is not linear.
_LEFT_OUT = ("hours ahead", "hour of day", "day of week", "hour of day then", "day of week then")
_KEPT = [place for place, name in enumerate(COLUMNS) if name not in _LEFT_OUT]
_LOGARITHM = [place for place, kept in enumerate(_KEPT) if COLUMNS[kept] in _WIDE]
_CIRCLES = (("hour of day then", 24.0), ("day of week then", 7.0))
TERMS = len(_KEPT) + 4 * len(_CIRCLES)
_RIDGE = 0.01  # ridge penalty of each weight, for features of unit variance
_ROUNDS = 25
_NEAR = 0.01  # smaller absolute errors get the weight of this one
_ENOUGH = 1e-4  # the fit ends when no coefficient moves by more than this in a round
_MOST = 3000  # largest number of training moments


@dataclass(frozen=True, eq=False, slots=True)
class Linear:
    """Coefficients of the linear model for each hour ahead.

    Attributes:
        constant: the forecast for a row whose terms are all at their centers, shape (hours,).
        center: mean of each term, which also replaces an unknown value, shape (hours, terms).
        slope: coefficient of each term, shape (hours, terms).
    """

    constant: Floats
    center: Floats
    slope: Floats

    def score(self, values: NDArray[np.float32]) -> Floats:
        """Return the forecast free share, from 0 to 1, shape (moments, hours).

        Args:
            values: features, shape (moments, hours, columns).
        """
        said = np.empty(values.shape[:2])
        for hour, (constant, center, slope) in enumerate(
            zip(self.constant, self.center, self.slope, strict=True)
        ):
            away = terms(values[:, hour]) - center
            said[:, hour] = constant + np.where(np.isnan(away), 0.0, away) @ slope
        return np.clip(said, 0.0, 1.0)


def fit(values: NDArray[np.float32], truth: Floats) -> Linear:
    """Fit the coefficients to moments, or to an even sample of many moments.

    Args:
        values: features, shape (moments, hours, columns).
        truth: least free share of each of the hours, shape (moments, hours).
    """
    apart = max(-(-len(values) // _MOST), 1)
    hours = truth.shape[1]
    constant, center, slope = np.empty(hours), np.empty((hours, TERMS)), np.empty((hours, TERMS))
    for hour in range(hours):
        given, label = terms(values[::apart, hour]), truth[::apart, hour]
        known = ~np.isnan(given)
        mean = np.where(known, given, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        given = np.where(known, given, mean) - mean
        spread = given.std(axis=0)
        spread = np.where(spread < 1e-6, np.inf, spread)  # a constant feature gets no weight
        found = least_absolute(given / spread, label)
        constant[hour], center[hour], slope[hour] = found[0], mean, found[1:] / spread
    return Linear(constant, center, slope)


def terms(values: NDArray[np.float32]) -> Floats:
    """Return the linear terms of the features for one hour ahead, shape (moments, terms)."""
    found = values[:, _KEPT].astype(np.float64)
    found[:, _LOGARITHM] = np.log1p(np.maximum(found[:, _LOGARITHM], 0.0))
    circles = []
    for name, length in _CIRCLES:
        angle = 2 * np.pi * values[:, COLUMNS.index(name)].astype(np.float64) / length
        circles += [np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)]
    return np.column_stack([found, *circles])


def least_absolute(given: Floats, label: Floats) -> Floats:
    """Return a constant and coefficients with the least mean absolute error and a small ridge penalty.

    Args:
        given: terms with mean 0 and unit variance, shape (rows, terms).
        label: the target values, shape (rows,).
    """
    table = np.column_stack([np.ones(len(label)), given])
    found = np.zeros(table.shape[1])
    found[0] = np.median(label)
    places = np.arange(1, table.shape[1])
    for _ in range(_ROUNDS):
        weight = 1.0 / np.maximum(np.abs(label - table @ found), _NEAR)
        # Without BLAS, whose threads wait for one another for longer than these small products take.
        square = np.einsum("rj,rk->jk", table, table * weight[:, None])
        square[places, places] += _RIDGE * weight.sum()
        before, found = found, np.linalg.solve(square, table.T @ (weight * label))
        if np.abs(found - before).max() < _ENOUGH:
            break
    return found
