"""Predictors fitted to the failures before a date and scored on those after it.

Each node that is up is asked about at regular moments: does it fail within the horizon? A question at t uses
failures before t alone. The threshold of alarms is the one with the highest F1 on the last fifth of the past,
for a model that was fitted to the four before; then the model is fitted to all of the past.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whesl.lab.predictor_evaluation import catalogue
from whesl.model.errors import UsageError
from whesl.prediction.failures import measures
from whesl.prediction.failures.compiled_predictor import by_node, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whesl.lab.execution.progress_interface import Progress
    from whesl.lab.predictor_evaluation.catalogue import Asked
    from whesl.prediction.failures.failure_history import History
    from whesl.prediction.failures.measures import Alarms, Calibration
    from whesl.prediction.failures.predictor_base import ArrayPredictor

    Floats = NDArray[np.float64]

_MOST = 1_000_000  # questions; more moments are left out evenly
_DRAWS = 2000
_WEEK = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked.

    Attributes:
        split: when the future begins, in seconds of the history's epoch.
        horizon: how far each question looks ahead, in seconds.
        every: the time between two questions about a node, in seconds.
        seed: of predictors and of confidence intervals.
        tolerance: of periods, in seconds.
    """

    split: float
    horizon: float = 86400.0
    every: float = 21600.0
    seed: int = 0
    tolerance: float = 900.0


class Questions(NamedTuple):
    """What was asked, and what happened.

    Attributes:
        node: of each question.
        start: when it was asked, in seconds.
        failed: whether the node failed within the horizon.
    """

    node: NDArray[np.int64]
    start: Floats
    failed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Judged:
    """How answers did.

    Attributes:
        brier, log_loss, ranking: see ``whesl.prediction.failures.measures``.
        skill: 1 - Brier / Brier of the base rate of the past.
        interval: of the skill, 95 %, by drawing times with replacement.
        alarms: precision, recall, AOA and lead times of answers at or above the threshold.
        calibration: what was said beside what happened.
    """

    brier: float
    log_loss: float
    ranking: float
    skill: float
    interval: tuple[float, float]
    alarms: Alarms
    calibration: Calibration


def judged(
    said: Floats,
    raised: NDArray[np.bool_],
    questions: Questions,
    base: float | Floats,
    history: History,
    horizon: float,
    *,
    seed: int,
    block: float = _WEEK,
) -> dict[str, Any]:
    """Return the fields of ``Judged``.

    Args:
        said: the answers.
        raised: those that were alarms.
        questions: what was asked.
        base: the base rate of the past, at each question where it changes.
        history: what happened.
        horizon: how far the questions look ahead, in seconds.
        seed: of the interval.
        block: what is drawn for it, in seconds: failures of such a time are alike.
    """
    failed = questions.failed
    return {
        "brier": measures.brier(said, failed),
        "log_loss": measures.log_loss(said, failed),
        "ranking": measures.ranking(said, failed),
        "skill": measures.skill(said, failed, base),
        "interval": skill_interval(said, questions, base, seed, block),
        "alarms": measures.alarms(history, questions.node, questions.start, horizon, raised),
        "calibration": measures.calibration(said, failed),
    }


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Score(Judged):
    """How a predictor did.

    Attributes:
        asked: as it was asked for.
        name: the predictor's, with what was fitted.
        fitted: whether it was fitted to the past, and saw nothing else.
        fit_seconds, ask_seconds: how long the fit and all answers took.
        hindsight: the skill against the future's own rate, not known before, with its interval: what
            is left when a rate that changes is not counted.
        threshold: probabilities at or above it were alarms.
        predictor: the predictor itself, over all of the history.
    """

    asked: str
    name: str
    fitted: bool
    fit_seconds: float
    ask_seconds: float
    hindsight: tuple[float, float, float]
    threshold: float
    predictor: ArrayPredictor

    @property
    def better(self) -> bool:
        """Whether the predictor is better than the base rate, beyond chance."""
        return self.fitted and self.asked != catalogue.BASE and self.interval[0] > 0


@dataclass(frozen=True, eq=False, slots=True)
class Evaluation:
    """What came out.

    Attributes:
        questions: how many were asked.
        every: the time between two questions about a node, in seconds, after some were left out.
        failures: how many failures of the future could be predicted.
        rate: the share of questions that a failure followed.
        base: the share that the past alone makes expect.
        scores: by predictor, in the order in which they were asked for.
    """

    questions: int
    every: float
    failures: int
    rate: float
    base: float
    scores: tuple[Score, ...]

    @property
    def best(self) -> Score | None:
        """The best of those that were fitted, if it is better than the base rate beyond chance."""
        better = [score for score in self.scores if score.better]
        return max(better, key=lambda score: score.skill, default=None)


def evaluate(
    history: History, predictors: Sequence[Asked], settings: Settings, progress: Progress
) -> Evaluation:
    """Fit predictors to what is before the split and score them on what is after it.

    Args:
        history: all failures.
        predictors: their names.
        settings: what is asked.
        progress: told how far it is.

    Raises:
        UsageError: the split leaves no past, no future or no question.
    """
    past, future = _split(history, settings)
    questions, every = ask(history, settings.split, history.finish, settings, _MOST)
    if not len(questions.node):
        raise UsageError(
            "no node is up and in service for a whole horizon after the split",
            hint=f"take an earlier split than {_date(settings.split)}, or a shorter horizon",
        )
    inner = settings.split - 0.2 * (settings.split - history.begin)
    earlier, _ = ask(past, inner, settings.split, settings, _MOST // 4)
    lives = past.lifetimes()
    base = 1.0 - float(np.exp(-lives.failed.sum() / (lives.end - lives.begin).sum() * settings.horizon))
    scores = []
    with progress.stage("predictors", len(predictors)) as advance:
        for one in predictors:
            scores.append(_scored(one, history, past, inner, earlier, questions, base, settings))
            advance(1)
    return Evaluation(len(questions.node), every, future, float(questions.failed.mean()), base, tuple(scores))


def ask(
    history: History, begin: float, finish: float, settings: Settings, most: int
) -> tuple[Questions, float]:
    """Return the questions from one time to another, and the time between two of them.

    Args:
        history: the failures.
        begin: of the first questions, in seconds.
        finish: until when the outcome of all is known, in seconds.
        settings: horizon and time between questions.
        most: with more, moments are left out evenly.
    """
    last = finish - settings.horizon
    moments = np.arange(begin, last, settings.every)
    apart = max(1, int(np.ceil(len(moments) * history.nodes / most)))
    moments = moments[::apart]
    entry, leave = history.service()
    start, node = (grid.ravel() for grid in np.meshgrid(moments, np.arange(history.nodes), indexing="ij"))
    serves = (entry[node] <= start) & (start + settings.horizon <= leave[node])
    order, offsets = by_node(history.nodes, history.node, history.start)
    index = rank(offsets, history.start[order], node, start, inclusive=False) - 1
    ends = history.end[order]
    down = (index >= offsets[node]) & (ends[np.maximum(index, 0)] > start)
    kept = serves & ~down
    node, start = node[kept].astype(np.int64), start[kept]
    failed = measures.failed_within(history, node, start, np.asarray(settings.horizon))
    return Questions(node, start, failed), settings.every * apart


def answers(predictor: ArrayPredictor, questions: Questions, horizon: float) -> Floats:
    """Return a predictor's answers, each from failures before its question alone.

    Args:
        predictor: over a history that may hold more.
        questions: what is asked.
        horizon: how far ahead, in seconds.
    """
    before = np.nextafter(questions.start, -np.inf)
    return predictor.probability(questions.node, questions.start, np.asarray(horizon), before)


def _split(history: History, settings: Settings) -> tuple[History, int]:
    if not history.begin < settings.split < history.finish - settings.horizon:
        raise UsageError(
            "the split leaves nothing to learn from, or nothing to be scored on",
            hint=f"the records go from {_date(history.begin)} to {_date(history.finish)}",
        )
    past = history.until(settings.split)
    future = int((history.start >= settings.split).sum())
    if not len(past) or not future:
        raise UsageError(
            f"{len(past)} failures before the split and {future} after it",
            hint=f"the records go from {_date(history.begin)} to {_date(history.finish)}",
        )
    return past, future


def _scored(
    one: Asked,
    history: History,
    past: History,
    inner: float,
    earlier: Questions,
    questions: Questions,
    base: float,
    settings: Settings,
) -> Score:
    begun = time.perf_counter()
    if one.fitted:
        predictor = catalogue.fit(one, past, settings.seed, settings.tolerance)
    else:
        predictor = catalogue.given(one, history, settings.seed)
    fitted = time.perf_counter() - begun
    threshold = predictor.threshold
    if one.fitted and len(earlier.node) and len(past.until(inner)) >= 20:
        first = catalogue.fit(one, past.until(inner), settings.seed, settings.tolerance).observe(past)
        threshold = measures.best_threshold(answers(first, earlier, settings.horizon), earlier.failed)
    predictor = predictor.observe(history).at_threshold(threshold)
    begun = time.perf_counter()
    said = answers(predictor, questions, settings.horizon)
    took = time.perf_counter() - begun
    rate = float(questions.failed.mean())
    hindsight = measures.skill(said, questions.failed, rate)
    return Score(
        asked=one.text,
        name=predictor.name,
        fitted=one.fitted,
        fit_seconds=fitted,
        ask_seconds=took,
        hindsight=(hindsight, *skill_interval(said, questions, rate, settings.seed, _WEEK)),
        threshold=threshold,
        predictor=predictor,
        **judged(said, said >= threshold, questions, base, history, settings.horizon, seed=settings.seed),
    )


def skill_interval(
    said: Floats, questions: Questions, base: float | Floats, seed: int, block: float
) -> tuple[float, float]:
    """Return the skill's 95 % interval: times are drawn with replacement.

    Args:
        said: the answers.
        questions: what was asked, and what happened.
        base: the answers that they are compared with.
        seed: of the draws.
        block: what is drawn, in seconds.
    """
    _, number = np.unique(np.floor(questions.start / block), return_inverse=True)
    own = np.bincount(number, (said - questions.failed) ** 2)
    plain = np.bincount(number, (base - questions.failed) ** 2)
    drawn = np.random.default_rng(seed).integers(0, len(own), (_DRAWS, len(own)))
    whole = plain[drawn].sum(axis=1)
    skill = 1.0 - own[drawn].sum(axis=1) / np.where(whole > 0, whole, np.nan)
    if not np.isfinite(skill).any():
        return float("nan"), float("nan")
    low, high = np.nanquantile(skill, [0.025, 0.975])
    return float(low), float(high)


def _date(seconds: float) -> str:
    return str(np.datetime64(round(seconds), "s")).replace("T", " ")
