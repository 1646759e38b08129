"""The usefulness of a predictor to a site: node-hours that its alarms withhold and save, and the verdict.

An alarm keeps jobs off its node until the next question. The thresholds of the verdict are the constants
below, which were chosen before any predictor was scored. Intervals are 95 % percentiles of the block
bootstrap (Carlstein, The use of subseries values for estimating the variance of a general statistic from a
stationary sequence, Annals of Statistics 14, 1986): whole days or weeks are drawn with replacement, since
questions of one day share their failures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from whesl.lab.predictor_evaluation.evaluation import Questions
from whesl.model.errors import RefusedError

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

ENOUGH = 10  # least number of failures for a verdict
CLEARLY = 2.0  # least lift: how many times as often as random questions alarms have to be right
WIDEST = 0.9  # share of the machine's nodes; a larger job cannot avoid nodes at risk
LOST = 96.0  # node-hours that a node's failure costs if no job is known: eight nodes for half a day (chosen)
_DRAWS = 2000
_HOUR = 3600.0


class Verdict(Enum):
    """The verdict on a predictor: only a positive one lets it act."""

    POSITIVE = "positive"
    NOT_POSITIVE = "not-positive"
    TOO_LITTLE = "too-little"


class Estimate(NamedTuple):
    """A figure with its 95 % interval; NaN if it cannot be estimated."""

    value: float
    low: float
    high: float

    def above(self, bound: float) -> bool | None:
        """Return whether the figure is above a bound; None if the interval holds the bound."""
        if math.isnan(self.value) or self.value <= bound:
            return False
        return True if self.low > bound else None


class Use(NamedTuple):
    """The usefulness of a predictor's alarms.

    Attributes:
        withheld: node-hours under an alarm, with or without a failure.
        avoided: number of avoided job kills: for each failure, the share of the horizon before it in which
            its node was under an alarm.
        false_alarms: number of false alarms per right alarm; ``inf`` if no alarm was right.
        saved: node-hours that the avoided kills would have cost.
        gain: ``saved`` less ``withheld``, in node-hours.
        precision: share of alarms that a failure followed.
        lift: precision divided by the share of all questions that a failure followed.
        pays_from: node-hours that a node's failure has to cost for the alarms to pay; ``inf`` if no alarm was
            right.
    """

    withheld: float
    avoided: float
    false_alarms: float
    saved: Estimate
    gain: Estimate
    precision: Estimate
    lift: Estimate
    pays_from: float


class Criterion(msgspec.Struct, frozen=True):
    """A condition of the verdict: its text, whether it holds (None for undecided), and its figures."""

    asks: str
    holds: bool | None
    figures: str


def use(
    raised: Flags,
    questions: Questions,
    *,
    horizon: float,
    every: Floats,
    lost: float,
    seed: int,
    block: float,
) -> Use:
    """Return the usefulness of alarms.

    Args:
        raised: whether each question was answered by an alarm.
        questions: the questions, and whether the nodes failed.
        horizon: how far the questions look ahead, in seconds.
        every: time from each question to the next about its node, in seconds.
        lost: mean node-hours that a node's failure costs.
        seed: seed of the random draws for the intervals.
        block: length of the blocks of time that the intervals draw, in seconds.
    """
    _, number = np.unique(np.floor(questions.start / block), return_inverse=True)
    right = raised & questions.failed
    columns = (raised, right, questions.failed, np.ones(len(raised)), raised * every, right * every)
    each = np.stack([np.bincount(number, one) for one in columns])
    drawn = np.random.default_rng(seed).integers(0, each.shape[1], (_DRAWS, each.shape[1]))
    sums = np.concatenate([each.sum(axis=1)[:, None], each[:, drawn].sum(axis=2)], axis=1)
    alarms, hits, failed, asked, withheld, before = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = hits / alarms
        lift = precision / (failed / asked)
    withheld, avoided = withheld / _HOUR, before / horizon
    saved = avoided * lost
    some = bool(hits[0])
    return Use(
        float(withheld[0]),
        float(avoided[0]),
        float((alarms[0] - hits[0]) / hits[0]) if some else math.inf,
        _estimate(saved),
        _estimate(saved - withheld),
        _estimate(precision),
        _estimate(lift),
        float(withheld[0] / avoided[0]) if some else math.inf,
    )


def _estimate(values: Floats) -> Estimate:
    """Return the first value, with the 95 % interval of the others."""
    if not np.isfinite(values[0]) or not np.isfinite(values[1:]).any():
        return Estimate(math.nan, math.nan, math.nan)
    low, high = np.nanquantile(values[1:], [0.025, 0.975])
    return Estimate(float(values[0]), float(low), float(high))


def criteria(
    chosen: Use, skill: Estimate, over_recency: Estimate | None, *, failures: int, rate: float
) -> tuple[Criterion, ...]:
    """Return the conditions of the verdict, each with whether it holds.

    Args:
        chosen: the usefulness of the predictor's alarms.
        skill: the predictor's Brier skill against the base rate.
        over_recency: the predictor's Brier skill against ``recency``; None if the predictor is ``recency``.
        failures: number of failures in the horizon of a question.
        rate: share of questions that a failure followed.
    """
    found = [
        Criterion(
            f"there are at least {ENOUGH} failures to be judged by",
            True if failures >= ENOUGH else None,
            f"{failures}",
        ),
        Criterion("better than the base rate", skill.above(0.0), _percent(skill)),
    ]
    if over_recency is not None:
        asks = "better than the table of hours since a node last failed"
        found.append(Criterion(asks, over_recency.above(0.0), _percent(over_recency)))
    found.append(
        Criterion(
            f"alarms are right at least {CLEARLY:g} times as often as nodes at random",
            chosen.lift.above(CLEARLY),
            f"{_percent(chosen.precision)} of the alarms, {100 * rate:.2g} % of all questions",
        )
    )
    gain = chosen.gain
    found.append(
        Criterion(
            "more node-hours are saved than withheld",
            gain.above(0.0),
            f"{chosen.saved.value:,.0f} saved, {chosen.withheld:,.0f} withheld: "
            f"{gain.value:+,.0f} ({gain.low:+,.0f} to {gain.high:+,.0f})",
        )
    )
    return tuple(found)


def verdict(found: Sequence[Criterion]) -> Verdict:
    """Return the verdict: positive if every condition holds, not positive if one does not hold.

    The verdict is too little if there are fewer than ``ENOUGH`` failures, or if no condition fails but some
    are undecided.
    """
    if any(one.holds is False for one in found) and found[0].holds:
        return Verdict.NOT_POSITIVE
    return Verdict.POSITIVE if all(one.holds for one in found) else Verdict.TOO_LITTLE


def require(given: Verdict, despite: str | None, what: str) -> None:
    """Refuse to act by a predictor without a positive verdict, unless the user accepts its verdict.

    Args:
        given: the predictor's verdict.
        despite: the worst verdict that the user accepts; None for a positive one only.
        what: the predictor's file, for the message.

    Raises:
        RefusedError: the verdict is neither positive nor accepted.
    """
    taken = (
        {Verdict.POSITIVE} if despite is None else {Verdict.POSITIVE, Verdict.TOO_LITTLE, Verdict(despite)}
    )
    if given in taken:
        return
    raise RefusedError(
        f"{what}: its score is {TOLD[given]}: acting on it is not shown to be of use",
        hint="go on observing (--observe), and see `whesl placement score`; "
        f"--despite {given.value} acts all the same",
    )


TOLD = {
    Verdict.POSITIVE: "positive",
    Verdict.NOT_POSITIVE: "not positive",
    Verdict.TOO_LITTLE: "too little to tell",
}


def stake(jobs: Sequence[tuple[float, int]], nodes: int, span: float) -> float | None:
    """Return the mean node-hours that the failure of a random node at a random time costs.

    A failure hits a job with a probability in proportion to the job's node-hours, and on average after half
    of the job's length. A job that needs nearly all nodes (``WIDEST``) cannot be kept off nodes at risk and
    counts as no saving. Nodes without a known job count as idle.

    Args:
        jobs: length in seconds and number of nodes of each job.
        nodes: number of nodes of the machine.
        span: length of the time in which the jobs ran, in seconds.

    Returns:
        The node-hours; None without jobs.
    """
    if not jobs or not span > 0:
        return None
    length, width = (np.array(column, dtype=np.float64) for column in zip(*jobs, strict=True))
    work = length * width / _HOUR
    busy = max(work.sum(), nodes * span / _HOUR)
    return float((np.where(width <= WIDEST * nodes, work, 0.0) * work / 2.0).sum() / busy)


def _percent(found: Estimate) -> str:
    if math.isnan(found.value):
        return "none"
    value, low, high = (100 * one for one in found)
    return f"{value:.2g} % ({low:.2g} to {high:.2g} %)"
