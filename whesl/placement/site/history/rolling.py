"""Scores of predictors on unseen weeks: each is fitted anew at each origin, and asked until the next.

Rolling origin (Tashman, Out-of-sample tests of forecasting accuracy, International Journal of Forecasting 16,
2000): each origin's model is fitted to the history known then, and answers the questions up to the next
origin, each from failures before the question. Alarms are raised as by the service (``exclude_list_choice``):
for a node clearly worse than the machine's mean at that moment, with the threshold that has the highest F1 on
the questions of earlier origins. Questions of the first origin only serve for the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.predictor_evaluation import catalogue
from whesl.lab.predictor_evaluation.evaluation import (
    Judged,
    Questions,
    Settings,
    answers,
    ask,
    judged,
    skill_interval,
)
from whesl.model.errors import WheslError
from whesl.placement.policies.exclude_list_choice import thresholds
from whesl.placement.site.history import prior, usefulness
from whesl.placement.site.history.usefulness import ENOUGH, Estimate, Use
from whesl.prediction.failures import failure_precursors, measures
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.failure_precursors import Signs
from whesl.prediction.failures.predictor_base import ArrayPredictor

Floats = NDArray[np.float64]

PRIOR = "prior"
NEVER = "none"
SIGNS = "+signs"
_MOST = 200_000  # largest number of questions of one origin; beyond it, moments are left out evenly
_LEARN = 20  # least number of failures for a learned predictor
_DAY = 86400.0
_LONG = 12  # least number of weeks for which intervals draw whole weeks instead of days


class Plan(NamedTuple):
    """The plan of a scoring.

    Attributes:
        origins: when models are fitted, ascending, in seconds of the history's epoch.
        finish: end of the questions, in seconds.
        horizon: how far each question looks ahead, in seconds.
        every: the time between two questions about a node, in seconds.
        seed: seed of the random numbers.
        lost: mean node-hours that a node's failure costs the job on it.
    """

    origins: tuple[float, ...]
    finish: float
    horizon: float = 86400.0
    every: float = 21600.0
    seed: int = 0
    lost: float = usefulness.LOST


def plan(
    history: History,
    weeks: float,
    *,
    horizon: float = 86400.0,
    steps: int = 4,
    seed: int = 0,
    lost: float = usefulness.LOST,
) -> Plan:
    """Return the plan of a scoring of the last weeks of a history.

    Args:
        history: the failures.
        weeks: number of scored weeks.
        horizon: how far each question looks ahead, in seconds.
        steps: how often models are fitted anew in these weeks.
        seed: seed of the random numbers.
        lost: mean node-hours that a node's failure costs the job on it.
    """
    length = weeks * 7 * 86400.0 / steps
    first = history.finish - weeks * 7 * 86400.0
    # There is one more origin before the scored weeks, whose questions give the first threshold.
    origins = tuple(first + length * step for step in range(-1, steps))
    return Plan(origins, history.finish, horizon, horizon / 4.0, seed, lost)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Score(Judged):
    """The scores of a predictor; the base rate is the rate known at each origin.

    Attributes:
        predictor: the predictor's name.
        over_recency: the skill against ``recency`` in place of the base rate; None if ``recency`` was not
            tried or could not be fitted.
        hindsight: the skill against the scored weeks' own rate, which is not known beforehand.
        use: the usefulness of the predictor's alarms.
    """

    predictor: str
    over_recency: Estimate | None
    hindsight: Estimate
    use: Use

    @property
    def better(self) -> bool:
        """Whether the predictor is better than the base rate, beyond chance."""
        return self.predictor != catalogue.BASE and self.interval[0] > 0 and self.alarms.failures >= ENOUGH


@dataclass(frozen=True, eq=False, slots=True)
class Rolled:
    """The result of a scoring.

    Attributes:
        questions: number of scored questions.
        failures: number of failures in the horizon of a question.
        rate: share of questions that a failure followed.
        base: expected share of questions that a failure follows, the mean over the origins.
        begin, finish: begin and end of the scored time, in seconds.
        scores: scores of each predictor by name.
        failed: for each predictor that could not be fitted, the reason.
    """

    questions: int
    failures: int
    rate: float
    base: float
    begin: float
    finish: float
    scores: dict[str, Score]
    failed: dict[str, str]


def names(history: History, seen: Signs, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of the predictors to try.

    Args:
        history: all failures.
        seen: signs of failures; if there are any, each predictor is also tried with signs.
        asked: names as in ``whesl lab predict``, or ``prior``; empty for all that suit the history.
    """
    usual = [catalogue.BASE, PRIOR, catalogue.RECENCY, "survival", "frailty", "ffp"]
    usual += ["learned"] if len(history) >= _LEARN else []
    some = list(dict.fromkeys(asked or usual))
    for name in some:
        if name not in (PRIOR, NEVER):
            catalogue.asked(name)
    return tuple(some + [f"{name}{SIGNS}" for name in some if len(seen) and name != NEVER])


def fitted(name: str, past: History, seen: Signs, seed: int) -> ArrayPredictor:
    """Fit a predictor.

    Args:
        name: the predictor's name; see ``names``.
        past: the history to fit to.
        seen: signs of failures; signs after the end of ``past`` are not used for the fit.
        seed: seed of the predictor's random numbers.
    """
    plain = name.removesuffix(SIGNS)
    if plain == PRIOR:
        base: ArrayPredictor = prior.fit(past)
    else:
        base = catalogue.fit(catalogue.asked(plain), past, seed, catalogue.TOLERANCE)
    return failure_precursors.fit(base, past, seen) if name.endswith(SIGNS) else base


def roll(
    history: History,
    seen: Signs,
    tried: Sequence[str],
    what: Plan,
    advance: Callable[[float], None] = lambda _: None,
) -> Rolled:
    """Fit predictors at each origin, and score their answers until the next origin.

    Args:
        history: all failures.
        seen: all signs; each question uses the signs before it.
        tried: names of the predictors; see ``names``.
        what: the plan.
        advance: called for each fitted predictor: ``len(tried) * len(what.origins)`` times.
    """
    ends = (*what.origins[1:], what.finish)
    said: dict[str, list[Floats]] = {name: [] for name in tried}
    raised: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in tried}
    failed: dict[str, str] = {}
    asked: list[Questions] = []
    bases: list[Floats] = []
    apart: list[Floats] = []
    for origin, end in zip(what.origins, ends, strict=True):
        past = history.until(origin)
        settings = Settings(origin, what.horizon, what.every, what.seed)
        questions, every = ask(history, origin, min(end + what.horizon, what.finish), settings, _MOST)
        apart.append(np.full(len(questions.node), every))
        bases.append(np.full(len(questions.node), _base(past, what.horizon)))
        for name in tried:
            advance(1)
            if name in failed:
                continue
            try:
                values = _answers(name, past, history, seen, questions, what)
            except WheslError as error:
                failed[name] = error.message
                continue
            before = [one.failed for one in asked]
            threshold = 0.5
            if before and np.concatenate(before).any():
                threshold = measures.best_threshold(np.concatenate(said[name]), np.concatenate(before))
            raised[name].append(_alarms(values, questions.start, threshold))
            said[name].append(values)
        asked.append(questions)
    # Questions of the first origin only served for the thresholds, and are not scored.
    judge = _Judge(
        Questions(*(np.concatenate(column) for column in zip(*asked[1:], strict=True))),
        np.concatenate(bases[1:]),
        np.concatenate(apart[1:]),
        history,
        what,
    )
    whole = {name: np.concatenate(said[name][1:]) for name in tried if name not in failed}
    recency = whole.get(catalogue.RECENCY)
    questions, base = judge.questions, judge.base
    scores = {
        name: judge.score(name, values, np.concatenate(raised[name][1:]), recency)
        for name, values in whole.items()
        if len(values)
    }
    failures = next((one.alarms.failures for one in scores.values()), 0)
    rate = float(questions.failed.mean()) if len(base) else math.nan
    mean = float(base.mean()) if len(base) else math.nan
    return Rolled(len(base), failures, rate, mean, what.origins[1], what.finish, scores, failed)


def _base(past: History, horizon: float) -> float:
    """Return the expected share of questions that a failure follows, with half a past failure added."""
    lives = past.lifetimes()
    up = float((lives.end - lives.begin).sum())
    return 1.0 - math.exp(-(float(lives.failed.sum()) + 0.5) / max(up, 1.0) * horizon)


def _answers(
    name: str, past: History, history: History, seen: Signs, questions: Questions, what: Plan
) -> Floats:
    if name == NEVER:
        return np.zeros(len(questions.node))
    found = fitted(name, past, seen, what.seed)
    if isinstance(found, failure_precursors.Signed):
        # The base predictor observes the whole history; nodes of the prior keep their assumed age.
        found = failure_precursors.Signed(
            _observing(found.base, history), seen, found.factor, found.window, 0.5
        )
        return answers(found, questions, what.horizon)
    return answers(_observing(found, history), questions, what.horizon)


def _observing(found: ArrayPredictor, history: History) -> ArrayPredictor:
    if found.name == PRIOR:
        return found.observe(prior.aged(history))
    return found.observe(history)


def _alarms(values: Floats, moments: Floats, threshold: float) -> NDArray[np.bool_]:
    """Return which answers are alarms: those for which the service would put the node at risk."""
    _, number = np.unique(moments, return_inverse=True)
    mean = np.bincount(number, values) / np.bincount(number) if len(values) else values
    bounds = np.array([thresholds(one, threshold, float(one[0]))[0] for one in mean[:, None]])
    return np.asarray(values >= bounds[number], dtype=np.bool_)


class _Judge(NamedTuple):
    """The basis of all scores: the questions, with base rate and time to the node's next question."""

    questions: Questions
    base: Floats
    apart: Floats
    history: History
    what: Plan

    def score(self, name: str, said: Floats, raised: NDArray[np.bool_], recency: Floats | None) -> Score:
        """Return the scores of one predictor's answers and alarms.

        Args:
            name: the predictor's name.
            said: the predictor's probability for each question.
            raised: whether each question has an alarm.
            recency: the recency table's probability for each question; None without that predictor.
        """
        asked, what = self.questions, self.what
        # Questions of one day share their failures, so intervals draw whole days or weeks of questions.
        weeks = float(np.ptp(asked.start)) / (7 * _DAY)
        block = 7 * _DAY if weeks >= _LONG else _DAY

        def against(other: Floats) -> Estimate:
            skill = measures.skill(said, asked.failed, other)
            return Estimate(skill, *skill_interval(said, asked, other, what.seed, block))

        return Score(
            predictor=name,
            over_recency=None if recency is None else against(recency),
            hindsight=against(np.full(len(said), asked.failed.mean())),
            use=usefulness.use(
                raised,
                asked,
                horizon=what.horizon,
                every=self.apart,
                lost=what.lost,
                seed=what.seed,
                block=block,
            ),
            **judged(
                *(said, raised, asked, self.base, self.history, what.horizon), seed=what.seed, block=block
            ),
        )
