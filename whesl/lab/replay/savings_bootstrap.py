"""Savings of one simulation against another of the same jobs, with confidence intervals.

Jobs of one day share queue and failures, so the resampling draws whole days (weeks, for long logs) instead of
single jobs: the paired block bootstrap (Künsch 1989, "The jackknife and the bootstrap for general stationary
observations"), percentile intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_DAY = 86400.0
# Least number of blocks for a confidence interval.
FEWEST = 6
_WEEKS = 12  # a log of at least this many weeks has blocks of a week


class PerJob(NamedTuple):
    """The measures of each job in one simulation, each array of shape (jobs,).

    Attributes:
        kills: number of attempts that a node's failure ended.
        lost: node-hours lost in the attempts that failures ended.
        wait: time from submission to the last start, in hours; not finite for a job that never started.
    """

    kills: NDArray[np.float64]
    lost: NDArray[np.float64]
    wait: NDArray[np.float64]


class Saving(NamedTuple):
    """The saving in one measure against today's policy.

    Attributes:
        today: the measure under today's policy.
        other: the measure under the other policy.
        saved: ``today - other``.
        low, high: ends of the 95 % confidence interval of ``saved``; nan if the log is too short.
        blocks: number of blocks (days or weeks) of the bootstrap.
    """

    today: float
    other: float
    saved: float
    low: float
    high: float
    blocks: int


def blocks(submit: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each job's block: the day of submission, or the week for logs of at least ``_WEEKS`` weeks."""
    day = np.floor((submit - submit.min()) / _DAY).astype(np.int64) if len(submit) else np.zeros(0, np.int64)
    return day // 7 if len(day) and day.max() >= 7 * _WEEKS else day


def savings(
    today: PerJob, other: PerJob, submit: NDArray[np.float64], *, seed: int, draws: int = 2000
) -> dict[str, Saving]:
    """Return the savings in kills and lost node-hours (totals), and in waiting (hours, mean over jobs).

    Args:
        today: the simulation to compare with.
        other: the other simulation of the same jobs; a job that did not start in one simulation counts in the
            waiting of neither.
        submit: each job's time of submission, in seconds.
        seed: random seed of the bootstrap.
        draws: number of bootstrap samples.
    """
    names, block = np.unique(blocks(submit), return_inverse=True)
    count = len(names)
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    weights = drawn.astype(np.float64)
    both = np.isfinite(today.wait) & np.isfinite(other.wait)
    found = {}
    for name, mean in (("kills", False), ("lost", False), ("wait", True)):
        counted = both if mean else np.ones(len(submit), dtype=bool)
        first, second = (_sums(block, getattr(one, name), counted, count) for one in (today, other))
        sizes = _sums(block, np.ones(len(submit)), counted, count) if mean else np.ones(count) / count
        less = _value(weights, first, sizes) - _value(weights, second, sizes)
        low, high = np.nanpercentile(less, [2.5, 97.5]) if count >= FEWEST else (np.nan, np.nan)
        size = float(sizes.sum()) if mean else 1.0
        one, two = (float(sums.sum()) / size if size else np.nan for sums in (first, second))
        found[name] = Saving(one, two, one - two, float(low), float(high), count)
    return found


def _sums(
    block: NDArray[np.int64], values: NDArray[np.float64], counted: NDArray[np.bool_], count: int
) -> NDArray[np.float64]:
    return np.asarray(np.bincount(block, np.where(counted, values, 0.0), minlength=count), dtype=np.float64)


def _value(
    weights: NDArray[np.float64], sums: NDArray[np.float64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each bootstrap sample's sum divided by its size: a mean over jobs, or a total."""
    size = weights @ sizes
    return np.asarray(np.divide(weights @ sums, size, out=np.full(len(weights), np.nan), where=size > 0))
