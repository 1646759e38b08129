"""Persistence with empirical errors: a forecast of free nodes from those of now and the log's own past.

It stands behind the same record as ``whesl cloud forecast``; a better predictor takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.cloud.core.plan_records import FreeForecast

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
_BINS = 4


def persistence(
    free: NDArray[np.float64], hour: int, capacity: int, now: float, hours: int = 24
) -> FreeForecast:
    """Return a forecast at the beginning of an hour.

    Hours of the past with about as many free nodes as the hour before now (a quarter of the past, by rank)
    say how the free nodes went on from there.

    Args:
        free: least free nodes of each hour.
        hour: the first hour that is foreseen; only those before it are used.
        capacity: nodes of the cluster.
        now: seconds since the epoch, the hour's beginning.
        hours: how many are foreseen.
    """
    past = free[:hour]
    last = past[-1]
    usable = len(past) - hours - 1
    rows: list[tuple[float, ...]] = []
    near = np.argsort(np.abs(past[: max(1, usable)] - last), kind="stable")[: max(20, usable // _BINS)]
    for ahead in range(1, hours + 1):
        follow = past[np.minimum(near + ahead, len(past) - 1)]
        # What is free now decides the next hours, what is usual the later ones.
        errors = follow - past[near]
        weight = np.exp(-ahead / 12)
        nodes = weight * (last + errors) + (1 - weight) * follow
        found = np.quantile(np.clip(nodes, 0, capacity), LEVELS)
        rows.append(tuple(float(value) for value in np.maximum.accumulate(found)))
    return FreeForecast(
        made=now,
        start=now,
        capacity=capacity,
        levels=LEVELS,
        nodes=tuple(rows),
        source=f"persistence with the errors of {len(past) / 24:.0f} days",
    )
