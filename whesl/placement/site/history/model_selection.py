"""The choice of a site's predictor: the best on its last weeks, or the prior if the history is too short."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from whesl.lab.predictor_evaluation import catalogue
from whesl.placement.site.history import prior, rolling
from whesl.placement.site.history.model import About, SiteModel
from whesl.placement.site.history.rolling import Rolled
from whesl.placement.site.history.site_history import SiteHistory
from whesl.placement.site.history.site_score import Scored
from whesl.placement.site.history.usefulness import Verdict
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.failure_precursors import Signs
from whesl.prediction.failures.predictor_base import ArrayPredictor

FAILURES = 20  # least number of failures for a choice; with fewer, any choice would be chance
DAYS = 28.0
SCORED = 0.3  # share of the history that is held out for the choice
_WEEK = 7 * 86400.0
_MOST_WEEKS = 12.0


class Choice(NamedTuple):
    """The chosen predictor.

    Attributes:
        name: the predictor's name; see ``rolling.names``.
        prior: why the history is too short, and what is assumed instead; "" for a sufficient history.
        rolled: the candidates' scores on the held-out weeks; None if nothing was held out.
    """

    name: str
    prior: str
    rolled: Rolled | None


def too_little(history: History) -> str:
    """Return why a history is too short to choose a predictor by, "" for a sufficient history.

    Args:
        history: the failures.
    """
    days = (history.finish - history.begin) / 86400.0
    lacking = []
    if len(history) < FAILURES:
        lacking.append(f"{len(history)} failures, of {FAILURES} that are needed")
    if days < DAYS:
        lacking.append(f"{days:.0f} days, of {DAYS:.0f} that are needed")
    return " and ".join(lacking)


def choose(
    history: History,
    seen: Signs,
    *,
    asked: Sequence[str] = (),
    horizon: float = 86400.0,
    seed: int = 0,
    advance: Callable[[float], None] = lambda _: None,
) -> Choice:
    """Choose a predictor by its score on the last part of a history.

    Args:
        history: the failures.
        seen: signs of failures.
        asked: names of predictors to choose from; empty for all.
        horizon: how far ahead predictions look, in seconds.
        seed: seed of the random numbers.
        advance: called for each fitted predictor.
    """
    lacking = too_little(history)
    if lacking:
        return Choice(rolling.PRIOR, f"too little history ({lacking}): {prior.SOURCE}", None)
    weeks = min((history.finish - history.begin) / _WEEK * SCORED, _MOST_WEEKS)
    what = rolling.plan(history, weeks, horizon=horizon, seed=seed)
    tried = rolling.names(history, seen, asked)
    rolled = rolling.roll(history, seen, tried, what, advance)
    ranked = {name: one.skill for name, one in rolled.scores.items() if not math.isnan(one.skill)}
    if not ranked or not rolled.failures:
        why = f"no failure in the last {weeks:.1f} weeks to choose by"
        return Choice(rolling.PRIOR, f"{why}: {prior.SOURCE}", rolled)
    best = max(ranked, key=ranked.__getitem__)
    over = rolled.scores[best].over_recency
    if catalogue.RECENCY in ranked and over is not None and not over.above(0.0):
        # A predictor that does not beat the simple recency table beyond chance gives way to it.
        best = catalogue.RECENCY
    if ranked[best] <= 0 and catalogue.BASE in rolled.scores:
        best = catalogue.BASE
    return Choice(best, "", rolled)


def learn(
    found: SiteHistory,
    now: float,
    *,
    asked: Sequence[str] = (),
    horizon: float = 86400.0,
    seed: int = 0,
    advance: Callable[[float], None] = lambda _: None,
    scored: Scored | None = None,
) -> tuple[SiteModel, Choice]:
    """Fit a site's model.

    Args:
        found: the history from the site's records.
        now: the current time, in seconds since the epoch.
        asked, horizon, seed, advance: see ``choose``.
        scored: the score of an equal choice on the last weeks; None if the history is too short for a score.
    """
    history = found.history
    choice = choose(history, found.seen, asked=asked, horizon=horizon, seed=seed, advance=advance)
    predictor: ArrayPredictor = rolling.fitted(choice.name, history, found.seen, seed)
    score = choice.rolled.scores.get(choice.name) if choice.rolled else None
    if choice.rolled is not None:
        predictor = predictor.at_threshold(_threshold(predictor, history, horizon))
    about = About(
        learned=now,
        begin=history.begin,
        finish=history.finish,
        failures=len(history),
        sources=found.sources,
        predictor=choice.name,
        prior=choice.prior,
        horizon=horizon,
        skill=_number(score.skill) if score else None,
        interval=_interval(score.interval) if score else None,
        beats_base=bool(score and score.better),
        scores={name: _number(one.skill) for name, one in choice.rolled.scores.items()}
        if choice.rolled
        else {},
        verdict=scored.verdict if scored else Verdict.TOO_LITTLE,
        criteria=scored.criteria if scored else (),
    )
    return SiteModel(predictor, history.names, about), choice


def _threshold(predictor: ArrayPredictor, history: History, horizon: float) -> float:
    """Return the threshold with the highest F1 on the last part of the predictor's history."""
    from whesl.lab.predictor_evaluation.evaluation import Settings, answers, ask
    from whesl.prediction.failures import measures

    begin = history.finish - SCORED * (history.finish - history.begin)
    questions, _ = ask(history, begin, history.finish, Settings(begin, horizon, horizon / 4.0), 200_000)
    if not len(questions.node):
        return predictor.threshold
    return measures.best_threshold(answers(predictor, questions, horizon), questions.failed)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _interval(value: tuple[float, float]) -> tuple[float, float] | None:
    return None if np.isnan(value).any() else (float(value[0]), float(value[1]))
