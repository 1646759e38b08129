"""The optimal interval between two checkpoints.

Sources: J. W. Young, CACM 17(9), 1974; J. T. Daly, FGCS 22(3), 2006; the dissertation, equations (2.1) and
(2.2). The interval that includes the predictor's errors (``with_errors``) is WHESL's own;
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
    """Return Daly's higher-order interval (equation 37): the mean time between failures where C >= 2 M.

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
    """Return the interval without failures that migration avoids, equation (2.2) of the dissertation.

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
    """A predictor's error rates and lead times.

    Attributes:
        recall: share of failures that are predicted, 1 - false negatives.
        precision: share of predictions that are followed by a failure, 1 - false positives.
        migrated: share of the predictions whose lead time suffices for a migration.
        committed: share of the predictions whose lead time suffices for the node's own checkpoint, but not
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
    """Return the optimal interval for a predictor with false negatives and false positives.

    Work since the last checkpoint is lost only in failures without migration or checkpoint, which come at the
    rate u = (1 - recall (migrated + committed)) / M. Predictions that lead to a checkpoint, true or false,
    come at the rate m = recall committed / (precision M), and each restarts the interval. The cost of
    periodic checkpoints and lost work per unit of time is minimal where x - 1 + exp(-x) = C m^2 / u with x =
    m t; for m = 0 this is Young's interval at the rate u.

    Args:
        cost: time to write one periodic checkpoint, in seconds.
        between_failures: mean time between failures of the job's nodes, in seconds.
        accuracy: the predictor's accuracy.

    Raises:
        UsageError: an argument is out of its range, or no failure causes a loss of work.
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
    # The start lies above the root of a convex function, so Newton's steps descend to the root.
    x = math.sqrt(2.0 * goal) + goal
    for _ in range(100):
        step = (x - 1.0 + math.exp(-x) - goal) / -math.expm1(-x)
        x -= step
        if abs(step) < 1e-12 * x:
            break
    return x / proactive
