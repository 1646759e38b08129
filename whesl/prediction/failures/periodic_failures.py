"""Periodic failures: periods are found from the gaps between events, then the events that keep to a period.

Source: Ma and Hellerstein, Mining Partially Periodic Event Patterns with Unknown Periods, ICDE 2001, which
the filtered failure prediction model uses. A length is a period when the number C of gaps between successive
events within ``tolerance`` of it is larger than chance explains: ``C > sqrt(chi2 N p (1 - p)) + N p`` with
``p = 2 tolerance rate exp(-rate period)`` and N gaps.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction.numba_jit import jit

Floats = NDArray[np.float64]

CHI2 = 3.84  # 95 % confidence with one degree of freedom
_LEAST = 5  # least number of gaps for the chi-squared approximation
_TRIED = 8  # number of most significant periods that are tried on the remaining failures
_SHARE = 0.5  # least share of a cycle's predicted times at which an event happened
_MOST = 3  # largest number of cycles; an event belongs to at most one of them
_SKIPS = 3  # largest distance of two successive events of a cycle, in periods


class Period(NamedTuple):
    """A period that chance does not explain, found by the chi-squared test.

    Attributes:
        period: the mean of the gaps near the period, in seconds.
        gaps: number of gaps within the tolerance of the period.
        needed: largest number of such gaps that chance explains at the test's confidence.
    """

    period: float
    gaps: int
    needed: float


class Cycle(NamedTuple):
    """A cycle: events that keep to a period.

    Attributes:
        period: the period in seconds.
        first: the time of the first event, in seconds.
        events: indices of the events, ascending.
        share: share of the predicted times between first and last event at which an event happened.
    """

    period: float
    first: float
    events: NDArray[np.int64]
    share: float


def detect(times: Floats, tolerance: float, chi2: float = CHI2) -> list[Period]:
    """Return the periods of a sequence of events, the most significant first, in linear time.

    Args:
        times: times of the events in seconds, ascending.
        tolerance: how far a gap may be from its period, in seconds.
        chi2: the threshold of the chi-squared test with one degree of freedom.

    Raises:
        UsageError: the tolerance is not above 0, or the threshold is negative.
    """
    if not tolerance > 0 or not chi2 >= 0:
        raise UsageError(f"tolerance {tolerance} s and chi-squared {chi2}: both have to be above 0")
    gaps = np.diff(times)
    span = float(times[-1] - times[0]) if len(times) else 0.0
    if len(gaps) < _LEAST or span <= 0:
        return []
    # All gaps within the tolerance of a multiple of the tolerance are in the two bins beside that multiple.
    bins = np.floor(gaps / tolerance)
    filled = Counter(bins.tolist())
    pairs: dict[float, int] = {}
    for bin_, count in filled.items():
        pairs[bin_] = count + filled.get(bin_ + 1, 0)
        pairs.setdefault(bin_ - 1, filled.get(bin_ - 1, 0) + count)
    found = []
    for bin_, count in pairs.items():
        highest = pairs.get(bin_ - 1, 0) < count >= pairs.get(bin_ + 1, 0)
        period = (bin_ + 1) * tolerance
        if not highest or count < _LEAST or period < 2 * tolerance:
            continue
        needed = by_chance(len(gaps), span, period, tolerance, chi2)
        if count > needed:
            mine = gaps[(bins == bin_) | (bins == bin_ + 1)]
            found.append(Period(float(mine.mean()), count, needed))
    return sorted(found, key=lambda one: one.needed - one.gaps)


def by_chance(gaps: int, span: float, period: float, tolerance: float, chi2: float = CHI2) -> float:
    """Return the test's threshold: the largest number of a Poisson process's gaps near a period by chance.

    Args:
        gaps: N, the number of gaps.
        span: time from the first event to the last, in seconds.
        period: the period in seconds.
        tolerance: how far a gap may be from the period, in seconds.
        chi2: the threshold of the chi-squared test.
    """
    rate = gaps / span
    chance = min(1.0, 2.0 * tolerance * rate * math.exp(-rate * period))
    return math.sqrt(chi2 * gaps * chance * (1.0 - chance)) + gaps * chance


def cycles(times: Floats, tolerance: float, chi2: float = CHI2) -> list[Cycle]:
    """Return the cycles of a sequence of events: periods with the events that keep to them.

    The chi-squared test alone also finds periods in random failures, since it is made for many lengths. So a
    period counts only when events happened at a minimum share of its predicted times, and when the
    probability that a Poisson process has an equally long sequence anywhere with any period is below 1 in
    1,000.

    Args:
        times: times of the events in seconds, ascending.
        tolerance: how far an event may be from its predicted time, in seconds.
        chi2: the threshold of the chi-squared test.
    """
    left = np.arange(len(times))
    found: list[Cycle] = []
    while len(found) < _MOST:
        mine = times[left]
        for one in detect(mine, tolerance, chi2)[:_TRIED]:
            chain = _chain(mine, one.period, tolerance)
            length = float(mine[chain[-1]] - mine[chain[0]])
            told = max(round(length / one.period), 1)
            kept = (len(chain) - 1) / told
            if kept >= _SHARE and not _likely(len(chain), mine, tolerance):
                found.append(Cycle(length / told, float(mine[chain[0]]), left[chain], kept))
                left = np.delete(left, chain)
                break
        else:
            return found
    return found


def _likely(length: int, times: Floats, tolerance: float) -> bool:
    """Return whether a Poisson process of equal rate has so long a cycle with probability 1/1000 or more."""
    span = float(times[-1] - times[0])
    step = min(1.0, _SKIPS * 2.0 * tolerance * len(times) / span)
    tries = len(times) * span / tolerance / 2.0
    return (length - 1) * math.log(step) + math.log(tries) > math.log(1e-3)


def followers(times: Floats, cycle: Cycle, tolerance: float) -> NDArray[np.int64]:
    """Return the indices of events that keep to a cycle; each is judged by earlier events alone.

    Args:
        times: times of the events in seconds, ascending; also events after those that the cycle was found in.
        cycle: the cycle.
        tolerance: how far an event may be from its predicted time, in seconds.
    """
    return np.asarray(_followers(times, cycle.period, cycle.first, tolerance))


@jit
def _followers(times: Floats, period: float, first: float, tolerance: float) -> NDArray[np.int64]:
    kept = np.zeros(len(times), dtype=np.int64)
    count = 0
    phase = -1.0
    for index in range(len(times)):
        if times[index] < first:
            continue
        if count > 0:
            rounds = np.floor((times[index] - phase) / period + 0.5)
            if rounds < 1 or abs(times[index] - phase - rounds * period) > tolerance:
                continue
        phase = times[index]
        kept[count] = index
        count += 1
    return kept[:count]


@jit
def _chain(times: Floats, period: float, tolerance: float) -> NDArray[np.int64]:
    """Return the longest sequence whose successive events are one, two or three periods apart."""
    length = np.ones(len(times), dtype=np.int64)
    before = np.full(len(times), -1, dtype=np.int64)
    low = np.zeros(_SKIPS, dtype=np.int64)
    best = 0
    for index in range(len(times)):
        for skip in range(_SKIPS):
            away = (skip + 1) * period
            while times[low[skip]] < times[index] - away - tolerance:
                low[skip] += 1
            other = low[skip]
            while times[other] <= times[index] - away + tolerance and other < index:
                if length[other] + 1 > length[index]:
                    length[index] = length[other] + 1
                    before[index] = other
                other += 1
        if length[index] > length[best]:
            best = index
    chain = np.zeros(length[best], dtype=np.int64)
    for place in range(len(chain) - 1, -1, -1):
        chain[place] = best
        best = before[best]
    return chain
