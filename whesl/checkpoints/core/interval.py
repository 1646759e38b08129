"""How long to compute between two checkpoints.

Sources: J. W. Young, CACM 17(9), 1974; J. T. Daly, FGCS 22(3), 2006; the dissertation, equations (2.1) and
(2.2). The interval with the predictor's errors in it (``with_errors``) is WHESL's own;
``docs/checkpoint-interval.md`` derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from whesl.model.errors import UsageError


def _positive(**values: float) -> None:
    wrong = [
        f"{name.replace('_', ' ')} is {value}" for name, value in values.items() if not 0 < value < math.inf
    ]
    if wrong:
        raise UsageError("; ".join(wrong), hint="each has to be a positive, finite number")


def _share(**values: float) -> None:
    wrong = [f"{name.replace('_', ' ')} is {value}" for name, value in values.items() if not 0 <= value <= 1]
    if wrong:
        raise UsageError("; ".join(wrong), hint="each has to be from 0 to 1")


def young(cost: float, between_failures: float) -> float:
    """Return Young's interval, sqrt(2 C M), which is (2.1) of the dissertation with 1 / M = lambda c.

    Args:
        cost: time to write one checkpoint, C, in seconds.
        between_failures: mean time between failures of the job's nodes, M, in seconds.

    Raises:
        UsageError: an argument is not positive and finite.
    """
    _positive(cost=cost, time_between_failures=between_failures)
    return math.sqrt(2.0 * cost * between_failures)


def daly(cost: float, between_failures: float) -> float:
    """Return Daly's interval of higher order (his equation 37): the mean time itself where C >= 2 M.

    Args:
        cost: time to write one checkpoint, in seconds.
        between_failures: mean time between failures of the job's nodes, in seconds.

    Raises:
        UsageError: an argument is not positive and finite.
    """
    _positive(cost=cost, time_between_failures=between_failures)
    if cost >= 2.0 * between_failures:
        return between_failures
    root = math.sqrt(cost / (2.0 * between_failures))
    return math.sqrt(2.0 * cost * between_failures) * (1.0 + root / 3.0 + root * root / 9.0) - cost


def with_migration(cost: float, between_failures: float, sigma: float) -> float:
    """Return (2.2) of the dissertation: failures that migration avoids do not count.

    Args:
        cost: time to write one checkpoint, in seconds.
        between_failures: mean time between failures of the job's nodes, in seconds.
        sigma: share of lead times that are long enough for a migration, from 0 to below 1.

    Raises:
        UsageError: an argument is out of its range.
    """
    _share(share_of_migrations=sigma)
    if sigma == 1.0:
        raise UsageError(
            "the share of migrations is 1: no failure is left", hint="no checkpoint is needed then"
        )
    return young(cost, between_failures) / math.sqrt(1.0 - sigma)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How a predictor errs, and how far ahead it sees.

    Attributes:
        recall: share of failures that are predicted at all, 1 - false negatives.
        precision: share of predictions that a failure follows, 1 - false positives.
        migrated: share of the predictions whose lead time is enough for a migration.
        committed: share of the predictions whose lead time is enough for the node's own checkpoint, and not
            for a migration.
    """

    recall: float
    precision: float
    migrated: float
    committed: float

    def __post_init__(self) -> None:
        _share(recall=self.recall, precision=self.precision, migrated=self.migrated, committed=self.committed)
        if self.migrated + self.committed > 1.0 + 1e-9:
            raise UsageError(
                f"{self.migrated:g} of the predictions end in migrations, {self.committed:g} in checkpoints",
                hint="together they are at most 1",
            )
        if self.recall > 0 and self.precision == 0:
            raise UsageError("a predictor with recall has some precision", hint="precision has to be above 0")


def with_errors(cost: float, between_failures: float, accuracy: Accuracy) -> float:
    """Return the interval that weighs false negatives and false positives, too.

    A failure costs what was computed since the last checkpoint only where no action met it, at rate
    u = (1 - recall (migrated + committed)) / M. Every prediction that ends in a checkpoint, true or false,
    at rate m = recall committed / (precision M), writes one and starts the interval anew. The cost of
    periodic checkpoints and of lost work per unit of time is least where x - 1 + exp(-x) = C m^2 / u with x
    = m t; for m = 0 that is Young's interval at rate u.

    Args:
        cost: time to write one periodic checkpoint, in seconds.
        between_failures: mean time between failures of the job's nodes, in seconds.
        accuracy: of the predictor.

    Raises:
        UsageError: an argument is out of its range, or no failure is left to lose work by.
    """
    _positive(cost=cost, time_between_failures=between_failures)
    unmet = (1.0 - accuracy.recall * (accuracy.migrated + accuracy.committed)) / between_failures
    if unmet <= 0.0:
        raise UsageError(
            "every failure is met in time: no work is lost", hint="no periodic checkpoint is needed"
        )
    proactive = accuracy.recall * accuracy.committed / between_failures
    proactive = proactive / accuracy.precision if proactive else 0.0
    goal = cost * proactive * proactive / unmet
    if goal < 1e-12:
        return math.sqrt(2.0 * cost / unmet)
    x = math.sqrt(2.0 * goal) + goal  # above the root of a convex function: Newton's steps come down to it
    for _ in range(100):
        step = (x - 1.0 + math.exp(-x) - goal) / -math.expm1(-x)
        x -= step
        if abs(step) < 1e-12 * x:
            break
    return x / proactive
