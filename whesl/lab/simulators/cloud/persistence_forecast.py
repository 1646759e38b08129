"""Persistence with empirical errors: a forecast from the present free nodes and the log's past.

The forecast is the same record that ``whesl cloud forecast`` writes, so a better predictor can replace it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.cloud.core.plan_records import FreeForecast

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
_BINS = 4


def persistence(
    free: NDArray[np.float64], hour: int, capacity: int, now: float, hours: int = 24
) -> FreeForecast:
    """Return a forecast of free nodes, made at the beginning of an hour.

    The forecast uses the quarter of the past hours whose free nodes are nearest to those of the last hour,
    and the course of the free nodes after these hours.

    Args:
        free: least number of free nodes in each hour.
        hour: index of the first hour of the forecast; only earlier hours are used.
        capacity: number of nodes of the cluster.
        now: beginning of that hour, in seconds since the epoch.
        hours: number of hours of the forecast.
    """
    past = free[:hour]
    last = past[-1]
    usable = len(past) - hours - 1
    rows: list[tuple[float, ...]] = []
    near = np.argsort(np.abs(past[: max(1, usable)] - last), kind="stable")[: max(20, usable // _BINS)]
    for ahead in range(1, hours + 1):
        follow = past[np.minimum(near + ahead, len(past) - 1)]
        # The present free nodes dominate the first hours, the usual free nodes the later hours.
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
