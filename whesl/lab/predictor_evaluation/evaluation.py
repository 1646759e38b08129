"""Evaluation of predictors: fitted to the failures before a date, scored on the failures after it.

At regular moments the predictor answers, for each node that is up, whether that node fails within the
horizon. The answer at time t uses failures before t alone. The alarm threshold has the highest F1 on the last
fifth of the past, for a model fitted to the first four fifths; the model is then fitted again to the whole
past.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.execution.progress_interface import Progress
from whesl.lab.predictor_evaluation import catalogue
from whesl.lab.predictor_evaluation.catalogue import Asked
from whesl.model.errors import UsageError
from whesl.prediction.failures import measures
from whesl.prediction.failures.compiled_predictor import by_node, rank
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.measures import Alarms, Calibration
from whesl.prediction.failures.predictor_base import ArrayPredictor

Floats = NDArray[np.float64]

_MOST = 1_000_000  # largest number of questions; beyond it, moments are left out evenly
_DRAWS = 2000
_WEEK = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an evaluation.

    Attributes:
        split: end of the past and begin of the future, in seconds of the history's epoch.
        horizon: how far each question looks ahead, in seconds.
        every: the time between two questions about the same node, in seconds.
        seed: random seed of predictors and of confidence intervals.
        tolerance: largest distance of a periodic failure from its expected time, in seconds.
    """

    split: float
    horizon: float = 86400.0
    every: float = 21600.0
    seed: int = 0
    tolerance: float = 900.0


class Questions(NamedTuple):
    """Questions about nodes, and their outcomes; arrays of shape (questions,).

    Attributes:
        node: index of the node of each question.
        start: time of the question, in seconds; the horizon begins there.
        failed: whether the node failed within the horizon.
    """

    node: NDArray[np.int64]
    start: Floats
    failed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Judged:
    """Scores of a predictor's answers.

    Attributes:
        brier, log_loss, ranking: see ``whesl.prediction.failures.measures``.
        skill: 1 - Brier / Brier of the base rate of the past.
        interval: 95 % confidence interval of the skill, by bootstrap over blocks of time.
        alarms: precision, recall, AOA and lead times of the answers that were alarms.
        calibration: predicted probabilities beside the observed shares of failures.
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
    """Return a predictor's scores as the fields of ``Judged``.

    Args:
        said: the answered probabilities, shape (questions,).
        raised: whether each answer was an alarm, shape (questions,).
        questions: the questions and their outcomes.
        base: the base rate of the past; an array of shape (questions,) where it changes over time.
        history: the failures that happened.
        horizon: how far the questions look ahead, in seconds.
        seed: random seed of the bootstrap.
        block: length of a bootstrap block, in seconds; failures within a block are correlated.
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
    """A predictor and the scores of its answers.

    Attributes:
        asked: the predictor as the user requested it.
        name: the predictor's name with its fitted distributions.
        fitted: whether the predictor was fitted to the past, without knowledge of the future.
        fit_seconds, ask_seconds: durations of the fit and of all answers.
        hindsight: the skill against the base rate of the future, with its interval; a change of the rate
            between past and future does not count.
        threshold: least probability that was an alarm.
        predictor: the predictor after it has observed the whole history.
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
        """Whether the predictor is fitted, is not the base rate, and its skill's interval is above 0."""
        return self.fitted and self.asked != catalogue.BASE and self.interval[0] > 0


@dataclass(frozen=True, eq=False, slots=True)
class Evaluation:
    """The results of an evaluation.

    Attributes:
        questions: number of questions.
        every: the time between two questions about the same node, in seconds, after moments were left out.
        failures: number of failures after the split.
        rate: the share of questions with a failure within the horizon.
        base: the expected share of such questions by the failure rate of the past.
        scores: the scores of each predictor, in the user's order.
    """

    questions: int
    every: float
    failures: int
    rate: float
    base: float
    scores: tuple[Score, ...]

    @property
    def best(self) -> Score | None:
        """The fitted predictor with the highest skill among those with ``better``, or None."""
        better = [score for score in self.scores if score.better]
        return max(better, key=lambda score: score.skill, default=None)


def evaluate(
    history: History, predictors: Sequence[Asked], settings: Settings, progress: Progress
) -> Evaluation:
    """Fit predictors to the failures before the split and score them on the failures after it.

    Args:
        history: all failures.
        predictors: the requested predictors.
        settings: settings of the evaluation.
        progress: progress display, advanced with each predictor.

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
    """Return the questions from ``begin`` to ``finish``, and the time between two questions in seconds.

    Args:
        history: the failures.
        begin: time of the first questions, in seconds.
        finish: end of the last question's horizon at the latest, in seconds.
        settings: the settings, with the horizon and the time between questions.
        most: largest number of questions; beyond it, moments are left out evenly.
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
    """Return a predictor's probabilities, each from the failures before its question alone.

    Args:
        predictor: a predictor over a history that may continue after the questions.
        questions: the questions.
        horizon: how far each question looks ahead, in seconds.
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
    """Return the skill's 95 % interval by bootstrap: blocks of time are drawn with replacement.

    Args:
        said: the answered probabilities, shape (questions,).
        questions: the questions and their outcomes.
        base: the probabilities that the answers are compared with.
        seed: random seed of the bootstrap.
        block: length of a bootstrap block, in seconds.
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
