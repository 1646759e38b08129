"""Uncertain free nodes and run times, as quantiles and as random draws."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from whesl.cloud.core.plan_records import CLUSTER, HOUR, FreeForecast, Profile
from whesl.cloud.core.stage_speed import Pace, critical_path

# Correlation of the ranks of two successive hours among their quantiles (on Theta and Curie: 0.6 to 0.8).
PERSISTENCE = 0.75
# Standard deviation of the logarithm of a mean run time that is measured (beyond its sampling error), stated
# by the workflow, or estimated otherwise (WHESL's choice).
MEASURED, STATED, GUESSED = 0.02, 0.10, 0.30
# Standard deviation of the logarithm of a run time that is derived from another platform (WHESL's choice).
ELSEWHERE = 0.15
# Standard deviation of tasks' run times, relative to their mean, without a measurement (WHESL's choice).
TASKS = 0.25
# Seconds between a task's end and its child's begin without the copy: polling and messages (WHESL's choice:
# the mean delay of polling every 20 s).
HANDOVER = 10.0
# Bytes a second of one task's copy between the sides without a measurement, and of checkpoints on the cluster
# (assumptions).
WIDE, LOCAL = 250e6, 500e6


class Draws(NamedTuple):
    """The random draws of all courses.

    Attributes:
        ranks: ranks of the numbers of free nodes, shape (courses, hours).
        factors: factors of the mean run times on the cluster and in the cloud, shape (courses, stages, 2).
        deviations: standard deviations of tasks' run times, relative to their means, shape (stages,).
        lateness: standard normal draws for the last task's delay, shape (courses,).
        losses: ranks of the number of revoked spot instances, shape (courses, steps).
        wide: bytes a second of one task's copy between the sides.
    """

    ranks: NDArray[np.float64]
    factors: NDArray[np.float64]
    deviations: NDArray[np.float64]
    lateness: NDArray[np.float64]
    losses: NDArray[np.float64]
    wide: float = WIDE


def draws(
    paces: tuple[Pace, ...], profile: Profile, hours: int, courses: int, seed: int, cluster: str = CLUSTER
) -> Draws:
    """Return the random draws of the courses, which all compared plans share.

    Args:
        paces: the stages' speeds.
        profile: the profile, whose entries tell measurements from estimates.
        hours: hours of the longest plan.
        courses: number of courses.
        seed: seed of all draws.
        cluster: the name of the cluster's platform.
    """
    source = np.random.default_rng(seed)
    normal = np.empty((courses, hours))
    normal[:, 0] = source.standard_normal(courses)
    fresh = np.sqrt(1 - PERSISTENCE**2)
    for hour in range(1, hours):
        normal[:, hour] = PERSISTENCE * normal[:, hour - 1] + fresh * source.standard_normal(courses)
    factors = np.empty((courses, len(paces), 2))
    for at, pace in enumerate(paces):
        names = (cluster, pace.platform.name if pace.platform else "")
        factors[:, at] = _factors(pace, profile, names, source.standard_normal((courses, 3)))
    return Draws(
        _normal_rank(normal),
        factors,
        np.array([_deviation(pace, profile) for pace in paces]),
        source.standard_normal(courses),
        source.random((courses, 12 * hours)),
        profile.copied or WIDE,
    )


def _factors(
    pace: Pace, profile: Profile, names: tuple[str, str], normal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the random factors of a stage's mean run times; measurements have independent errors.

    A run time that was not measured on a side derives from the stage's most often measured run time, and
    shares its error.
    """
    measured = [one for one in profile.measurements if one.stage == pace.stage.name and one.count]
    found = np.empty((len(normal), 2))
    for side, name in enumerate(names):
        entry, number = next((one for one in measured if one.platform == name), None), 1 + side
        other = 0.0
        if entry is None and measured:
            entry = max(measured, key=lambda one: one.count)
            number = 1 + names.index(entry.platform) if entry.platform in names else 0
            other = ELSEWHERE
        if entry is not None:
            relative = entry.deviation / max(entry.seconds, 1e-9)
            spread = math.hypot(MEASURED, relative / math.sqrt(entry.count), other)
        else:
            spread, number = STATED if pace.stage.seconds is not None else GUESSED, 0
        found[:, side] = np.exp(spread * normal[:, number])
    return found


def last_task(
    paces: tuple[Pace, ...], drawn: Draws, length: float, clouded: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the seconds by which the last task ends later than it would if tasks were divisible.

    Each stage of the critical path hands over, with a copy where a task's input lies on the other side, and
    the path's last tasks are the slowest ones of those that run at once: the largest of n normal draws, with
    Blom's mean and Gumbel's deviation.

    Args:
        paces: the stages' speeds.
        drawn: the random draws of the courses.
        length: seconds of the plan.
        clouded: number of each stage's tasks that run in the cloud, shape (courses, stages).
    """
    by_name = {pace.stage.name: pace for pace in paces}
    path = [by_name[name] for name in critical_path(paces)[1]]
    whole = sum(pace.best for pace in path)
    longest = max(path, key=lambda pace: pace.best)
    spread = float(np.sqrt(sum((drawn.deviations[pace.number] * pace.best) ** 2 for pace in path))) / whole
    at_once = min(longest.stage.tasks, max(2.0, longest.stage.tasks * longest.best / length))
    most = NormalDist().inv_cdf((at_once - 0.375) / (at_once + 0.25))
    normal = drawn.lateness
    slowest = most + normal * 1.28 / math.sqrt(2 * math.log(at_once)) if at_once > 1 else normal
    late = HANDOVER * len(path) + whole * (np.exp(spread * slowest) - 1)
    before = np.zeros(len(clouded))  # the workflow's own inputs lie on the cluster
    for pace in path:
        share = clouded[:, pace.number] / pace.stage.tasks
        other = share * (1 - before) + (1 - share) * before
        late = late + other * pace.stage.input_bytes / drawn.wide
        before = share
    return np.asarray(np.maximum(0.0, late), dtype=np.float64)


def _deviation(pace: Pace, profile: Profile) -> float:
    """Return the standard deviation of a stage's single tasks, relative to their mean."""
    entries = [one for one in profile.measurements if one.stage == pace.stage.name and one.deviation > 0]
    known = max(entries, key=lambda one: one.count, default=None)
    return known.deviation / max(known.seconds, 1e-9) if known is not None else TASKS


def from_hour(forecast: FreeForecast, start: float) -> FreeForecast:
    """Return a forecast whose hours begin at a given time, by interpolation between the original hours.

    Args:
        forecast: the quantiles.
        start: seconds since the epoch; times before the forecast get its first hour.
    """
    ahead = max(0.0, (start - forecast.start) / HOUR)
    rows = np.array(forecast.nodes, dtype=np.float64)
    last = len(rows) - 1
    places = np.minimum(ahead + np.arange(max(1, len(rows) - int(ahead))), last)
    low = places.astype(int)
    part = (places - low)[:, None]
    made = (1 - part) * rows[low] + part * rows[np.minimum(low + 1, last)]
    nodes = tuple(tuple(float(number) for number in row) for row in made)
    return msgspec.structs.replace(forecast, start=start, nodes=nodes)


def _normal_rank(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal distribution function (Abramowitz and Stegun 26.2.17, error below 7.5e-8)."""
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

    The distribution extends beyond each outer quantile by that quantile's distance from the median, between 0
    and the cluster's nodes. Hours behind the forecast's last hour repeat that hour.

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
    """Return the free nodes of each hour at one quantile.

    Args:
        forecast: the quantiles of free nodes in each hour.
        quantile: probability that no more nodes are free, from 0 to 1; 0.5 is the median.
        hours: number of hours, from the forecast's first hour on; it is the length of the result.
    """
    found = free_nodes(forecast, np.full((1, hours), quantile))
    return tuple(float(nodes) for nodes in found[0])
