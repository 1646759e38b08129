"""What is not known beforehand: free nodes and run times, as quantiles and as draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.cloud.core.pace import Pace
    from whesl.cloud.core.records import FreeForecast, Profile

# How much of an hour's rank among its quantiles carries over to the next hour (chosen).
PERSISTENCE = 0.9
# Standard deviation of a mean run time's logarithm: of a measured one beyond its sampling error, of one that
# the workflow states, of one that was estimated otherwise (chosen).
MEASURED, STATED, GUESSED = 0.02, 0.10, 0.30


class Draws(NamedTuple):
    """What is not known beforehand.

    Attributes:
        ranks: of the free nodes, shape (courses, hours).
        factors: of the run times, shape (courses, stages), the same on both sides.
        lateness: of the last task in units of ``courses.SPREAD``, normal, shape (courses,).
    """

    ranks: NDArray[np.float64]
    factors: NDArray[np.float64]
    lateness: NDArray[np.float64]


def draws(paces: tuple[Pace, ...], profile: Profile, hours: int, courses: int, seed: int) -> Draws:
    """Return what is drawn for courses; the same for every plan that is compared.

    Args:
        paces: of the stages.
        profile: which of its entries are estimates.
        hours: of the longest plan.
        courses: how many.
        seed: of all draws.
    """
    source = np.random.default_rng(seed)
    normal = np.empty((courses, hours))
    normal[:, 0] = source.standard_normal(courses)
    fresh = np.sqrt(1 - PERSISTENCE**2)
    for hour in range(1, hours):
        normal[:, hour] = PERSISTENCE * normal[:, hour - 1] + fresh * source.standard_normal(courses)
    spread = np.array([_spread(pace, profile) for pace in paces])
    factors = np.exp(spread * source.standard_normal((courses, len(paces))))
    return Draws(_normal_rank(normal), factors, source.standard_normal(courses))


def _spread(pace: Pace, profile: Profile) -> float:
    """Return the standard deviation of the logarithm of a stage's mean run time."""
    entries = [one for one in profile.measurements if one.stage == pace.stage.name]
    measured = [one for one in entries if one.count]
    if measured:
        best = max(measured, key=lambda one: one.count)
        relative = best.deviation / max(best.seconds, 1e-9)
        return float(np.hypot(MEASURED, relative / np.sqrt(best.count)))
    return STATED if pace.stage.seconds is not None else GUESSED


def _normal_rank(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal distribution's function (Abramowitz and Stegun 26.2.17, error below 7.5e-8)."""
    size = np.abs(value)
    part = 1 / (1 + 0.2316419 * size)
    series = part * (
        0.319381530
        + part * (-0.356563782 + part * (1.781477937 + part * (-1.821255978 + part * 1.330274429)))
    )
    tail = np.exp(-(size**2) / 2) / np.sqrt(2 * np.pi) * series
    return np.asarray(np.where(value >= 0, 1 - tail, tail), dtype=np.float64)


def free_nodes(forecast: FreeForecast, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return free nodes at ranks of their distribution, linear between the quantiles.

    Beyond the outer quantiles the distribution goes on as far again as to its middle, within 0 and the
    cluster's nodes; hours behind the last one are as the last.

    Args:
        forecast: the quantiles.
        ranks: shape (courses, hours), or one rank for every hour: shape (1, hours).
    """
    found = np.empty_like(ranks)
    levels = np.array(forecast.levels)
    for hour in range(ranks.shape[1]):
        row = np.array(forecast.nodes[min(hour, len(forecast.nodes) - 1)], dtype=np.float64)
        low = max(0.0, row[0] - (row[len(row) // 2] - row[0]))
        high = min(float(forecast.capacity), row[-1] + (row[-1] - row[len(row) // 2]))
        found[:, hour] = np.interp(ranks[:, hour], [0, *levels, 1], [low, *row, high])
    return np.floor(np.clip(found, 0, forecast.capacity))


def at_quantile(forecast: FreeForecast, quantile: float, hours: int) -> tuple[float, ...]:
    """Return the free nodes of each hour at one quantile."""
    found = free_nodes(forecast, np.full((1, hours), quantile))
    return tuple(float(nodes) for nodes in found[0])
