"""Distributions of the time to failure, fitted by maximum likelihood to complete and right-censored times.

Exponential, Weibull and log-normal in closed form or by Newton's method; Kaplan-Meier without parameters.
Source: Lawless, Statistical Models and Methods for Lifetime Data, chapters 3 to 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Ages in seconds at which cumulative hazards are tabulated: from ten seconds to 31 years, 2 % apart.
AGES: Floats = np.concatenate([[0.0], np.geomspace(10.0, 1e9, 931)])
_AT_RISK = 10  # least number of times at risk; a Kaplan-Meier curve is extrapolated beyond that
_TAIL = 4  # last segments of a Kaplan-Meier curve whose mean slope extrapolates it
_KNOTS = 40  # segments of a Kaplan-Meier curve at most, so that each rests on several failures


@dataclass(frozen=True, slots=True)
class Law:
    """A fitted distribution of the time to failure.

    Attributes:
        name: ``exponential``, ``weibull``, ``log-normal`` or ``kaplan-meier``.
        parameters: of ``exponential`` the mean; of ``weibull`` shape and scale; of ``log-normal`` mean and
            deviation of the logarithm; of ``kaplan-meier`` ages, then their cumulative hazards; in seconds.
    """

    name: str
    parameters: tuple[float, ...]

    def cumulative(self, age: Floats) -> Floats:
        """Return the cumulative hazard -log S(age).

        Args:
            age: ages in seconds, 0 or more.
        """
        if self.name == "exponential":
            return age / self.parameters[0]
        if self.name == "weibull":
            shape, scale = self.parameters
            return np.asarray((age / scale) ** shape)
        if self.name == "log-normal":
            from scipy.special import log_ndtr

            mean, deviation = self.parameters
            return np.asarray(-log_ndtr((mean - np.log(np.maximum(age, 1e-9))) / deviation))
        ages, hazard = self._knots()
        tail = min(_TAIL, len(ages) - 1) + 1
        slope = (hazard[-1] - hazard[-tail]) / (ages[-1] - ages[-tail])
        beyond = np.maximum(age - ages[-1], 0.0) * slope
        return np.asarray(np.interp(age, ages, hazard) + beyond)

    def log_hazard(self, age: Floats) -> Floats:
        """Return the logarithm of the hazard, per second. Arguments: see ``cumulative``; ages are above 0."""
        if self.name == "exponential":
            return np.full(np.shape(age), -math.log(self.parameters[0]))
        if self.name == "weibull":
            shape, scale = self.parameters
            return np.asarray(math.log(shape / scale) + (shape - 1.0) * np.log(age / scale))
        if self.name == "log-normal":
            mean, deviation = self.parameters
            z = (np.log(age) - mean) / deviation
            density = -0.5 * z * z - np.log(age * deviation * math.sqrt(2.0 * math.pi))
            return np.asarray(density + self.cumulative(age))
        ages, hazard = self._knots()
        slopes = np.diff(hazard) / np.diff(ages)
        return np.asarray(np.log(slopes[np.clip(np.searchsorted(ages, age) - 1, 0, len(slopes) - 1)]))

    def survival(self, age: Floats) -> Floats:
        """Return the probability of no failure up to an age. Arguments: see ``cumulative``."""
        return np.asarray(np.exp(-self.cumulative(age)))

    def _knots(self) -> tuple[Floats, Floats]:
        half = len(self.parameters) // 2
        return np.array(self.parameters[:half]), np.array(self.parameters[half:])


def exponential(duration: Floats, failed: Flags) -> Law:
    """Fit an exponential distribution: its mean is the sum of all times divided by the number of failures.

    Args:
        duration: observed times in seconds, above 0.
        failed: whether a failure ended each time; at least one did.

    Returns:
        The law with its mean, in seconds. ``fit`` checks the arguments.
    """
    return Law("exponential", (float(duration.sum() / failed.sum()),))


def weibull(duration: Floats, failed: Flags) -> Law:
    """Fit a Weibull distribution: the shape is the likelihood equation's root, the scale follows from it.

    Args:
        duration: observed times in seconds, above 0.
        failed: whether a failure ended each time; the times to failure have at least two values.

    Returns:
        The law with its shape and its scale, in seconds. ``fit`` checks the arguments.
    """
    top = duration.max()
    ratio = duration / top
    logs = np.log(ratio)
    mean = logs[failed].mean()

    def slope(shape: float) -> float:
        power = ratio**shape
        return float((power * logs).sum() / power.sum() - 1.0 / shape - mean)

    shape = _root(slope, 0.02, 50.0)
    scale = top * float(((ratio**shape).sum() / failed.sum()) ** (1.0 / shape))
    return Law("weibull", (shape, scale))


def log_normal(duration: Floats, failed: Flags) -> Law:
    """Fit a log-normal distribution: in closed form without censoring, else by Nelder and Mead's method.

    Args:
        duration: observed times in seconds, above 0.
        failed: whether a failure ended each time; the times to failure have at least two values.

    Returns:
        The law with mean and standard deviation of the logarithm of seconds. ``fit`` checks the arguments.
    """
    logs = np.log(duration)
    mean, deviation = float(logs[failed].mean()), max(float(logs[failed].std()), 1e-3)
    if failed.all():
        return Law("log-normal", (mean, deviation))
    from scipy.optimize import minimize
    from scipy.special import log_ndtr

    seen, unseen = logs[failed], logs[~failed]

    def loss(point: Floats) -> float:
        centre, width = point[0], math.exp(point[1])
        z = (seen - centre) / width
        survived = log_ndtr((centre - unseen) / width).sum()
        return float(0.5 * (z * z).sum() + len(seen) * point[1] - survived)

    start = np.array([mean, math.log(deviation)])
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8})
    return Law("log-normal", (float(found.x[0]), math.exp(float(found.x[1]))))


def product_limit(duration: Floats, failed: Flags) -> tuple[Floats, Floats]:
    """Return Kaplan and Meier's estimate: the times to failure, and the survival probability just after each.

    Args:
        duration: observed times in seconds.
        failed: whether a failure ended each time.
    """
    times, deaths = np.unique(duration[failed], return_counts=True)
    at_risk = len(duration) - np.searchsorted(np.sort(duration), times, side="left")
    return times, np.asarray(np.cumprod(1.0 - deaths / at_risk), dtype=np.float64)


def kaplan_meier(duration: Floats, failed: Flags) -> Law:
    """Fit Kaplan and Meier's curve: its cumulative hazard is linear between quantiles.

    Args:
        duration: observed times in seconds, above 0.
        failed: whether a failure ended each time; the times to failure have at least two values.

    Returns:
        The law with the ages of its knots, in seconds, and the cumulative hazard at each. ``fit`` checks the
        arguments.
    """
    times, survival = product_limit(duration, failed)
    at_risk = len(duration) - np.searchsorted(np.sort(duration), times, side="left")
    enough = max(2, int((at_risk >= _AT_RISK).sum()))
    times, survival = times[:enough], np.maximum(survival[:enough], 0.5 / len(duration))
    hazard = -np.log(survival)
    picked = np.unique(np.searchsorted(hazard, np.linspace(0.0, hazard[-1], _KNOTS + 1)[1:]))
    picked = picked[picked < len(times)]
    rising = np.concatenate([[True], np.diff(hazard[picked]) > 0])
    picked = picked[rising]
    return Law("kaplan-meier", (0.0, *times[picked].tolist(), 0.0, *hazard[picked].tolist()))


LAWS: dict[str, Callable[[Floats, Flags], Law]] = {
    "exponential": exponential,
    "weibull": weibull,
    "log-normal": log_normal,
    "kaplan-meier": kaplan_meier,
}


def fit(name: str, duration: Floats, failed: Flags | None = None) -> Law:
    """Fit a distribution.

    Args:
        name: one of ``LAWS``.
        duration: times to failure, or observed times without a failure, in seconds; times that are not above
            0 are left out.
        failed: whether a failure ended each time; None when all did.

    Raises:
        UsageError: the distribution is unknown, or there are fewer than two different times to failure.
    """
    if name not in LAWS:
        raise UsageError(f"no distribution {name!r}", hint=f"there are {', '.join(LAWS)}")
    duration = np.asarray(duration, dtype=np.float64)
    failed = np.ones(len(duration), dtype=np.bool_) if failed is None else failed
    positive = duration > 0
    duration, failed = duration[positive], failed[positive]
    if len(np.unique(duration[failed])) < 2:
        raise UsageError(
            f"{name}: {int(failed.sum())} failures are too few to fit a distribution",
            hint="two different times to failure are needed",
        )
    return LAWS[name](duration, failed)


def likelihood(law: Law, entry: Floats, leave: Floats, failed: Flags) -> float:
    """Return the log-likelihood of left-truncated times: only the part of each time after ``entry`` counts.

    Args:
        law: the distribution.
        entry: the age from which each node was observed, in seconds.
        leave: the age at which the node failed or its observation ended, in seconds.
        failed: whether the node failed.
    """
    ends = law.log_hazard(np.maximum(leave[failed], 1.0)).sum()
    return float(ends - (law.cumulative(leave) - law.cumulative(entry)).sum())


def rmse(law: Law, duration: Floats) -> float:
    """Return the root mean square difference between the empirical distribution of times and a fitted one.

    Args:
        law: the distribution.
        duration: complete times to failure, in seconds.
    """
    ordered = np.sort(duration)
    empirical = (np.arange(len(ordered)) + 0.5) / len(ordered)
    return float(np.sqrt(np.mean((1.0 - law.survival(ordered) - empirical) ** 2)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a rising function in a bracket, or the nearer end of a bracket without root."""
    from scipy.optimize import brentq

    if function(low) >= 0:
        return low
    return high if function(high) <= 0 else float(brentq(function, low, high, xtol=1e-10))
