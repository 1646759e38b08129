"""Predictors on weeks that they had not seen: fitted anew at each origin, asked until the next one.

Rolling origin (Tashman, Out-of-sample tests of forecasting accuracy, International Journal of Forecasting 16,
2000): each origin's model is fitted to what was known then, and answers for the time up to the next origin,
each question from failures before it alone. The threshold of alarms at an origin is the one with the highest
F1 on the questions of the origins before; those of the first one serve for that alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.lab.prediction import catalogue
from whesl.lab.prediction.evaluation import Judged, Questions, Settings, answers, ask, judged
from whesl.model.errors import WheslError
from whesl.predict import measures, signs
from whesl.site.history import prior

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whesl.predict.failure_history import History
    from whesl.predict.predictor_base import ArrayPredictor
    from whesl.predict.signs import Signs

    Floats = NDArray[np.float64]

PRIOR = "prior"
NEVER = "none"
SIGNS = "+signs"
ENOUGH = 10  # failures below which nothing is said to be beyond chance
_MOST = 200_000  # questions of one origin; of more, moments are left out evenly
_LEARN = 20  # failures that a learned predictor needs
_DAY = 86400.0
_LONG = 12  # weeks from which on whole weeks are drawn for intervals, else days


class Plan(NamedTuple):
    """What is asked.

    Attributes:
        origins: when a model is fitted, ascending, in seconds of the history's epoch.
        finish: until when it is asked, in seconds.
        horizon: how far each question looks ahead, in seconds.
        every: the time between two questions about a node, in seconds.
        seed: of what is random.
    """

    origins: tuple[float, ...]
    finish: float
    horizon: float = 86400.0
    every: float = 21600.0
    seed: int = 0


def plan(history: History, weeks: float, *, horizon: float = 86400.0, steps: int = 4, seed: int = 0) -> Plan:
    """Return origins over the last weeks of a history.

    Args:
        history: the failures.
        weeks: how many are scored.
        horizon: in seconds.
        steps: how often models are fitted anew in them.
        seed: of what is random.
    """
    length = weeks * 7 * 86400.0 / steps
    first = history.finish - weeks * 7 * 86400.0
    # One step before the first: its questions give the first threshold.
    origins = tuple(first + length * step for step in range(-1, steps))
    return Plan(origins, history.finish, horizon, horizon / 4.0, seed)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Score(Judged):
    """How a predictor did; the base rate is the one known at each origin.

    Attributes:
        predictor: its name.
    """

    predictor: str

    @property
    def better(self) -> bool:
        """Whether it is better than the base rate, beyond chance."""
        return self.predictor != catalogue.BASE and self.interval[0] > 0 and self.alarms.failures >= ENOUGH


@dataclass(frozen=True, eq=False, slots=True)
class Rolled:
    """What came out.

    Attributes:
        questions: how many were asked.
        failures: how many could have been predicted.
        rate: the share of questions that a failure followed.
        base: the share that the past made expect, the mean over the origins.
        begin, finish: of what was scored, in seconds.
        scores: by predictor.
        failed: why predictors could not be fitted.
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
    """Return the predictors that are tried.

    Args:
        history: all failures.
        seen: signs; with any, each predictor is tried with them too.
        asked: names of ``whesl lab predict`` or ``prior``; empty for all that make sense.
    """
    usual = [catalogue.BASE, PRIOR, "survival", "frailty", "ffp"]
    usual += ["learned"] if len(history) >= _LEARN else []
    some = list(dict.fromkeys(asked or usual))
    for name in some:
        if name not in (PRIOR, NEVER):
            catalogue.asked(name)
    return tuple(some + [f"{name}{SIGNS}" for name in some if len(seen) and name != NEVER])


def fitted(name: str, past: History, seen: Signs, seed: int) -> ArrayPredictor:
    """Fit a predictor.

    Args:
        name: of ``names``.
        past: what is known.
        seen: signs; later ones than its end are not used for the fit.
        seed: of what is random in it.
    """
    plain = name.removesuffix(SIGNS)
    if plain == PRIOR:
        base: ArrayPredictor = prior.fit(past)
    else:
        base = catalogue.fit(catalogue.asked(plain), past, seed, catalogue.TOLERANCE)
    return signs.fit(base, past, seen) if name.endswith(SIGNS) else base


def roll(
    history: History,
    seen: Signs,
    tried: Sequence[str],
    what: Plan,
    advance: Callable[[float], None] = lambda _: None,
) -> Rolled:
    """Fit predictors at each origin, and score what they say until the next.

    Args:
        history: all failures.
        seen: all signs; a question uses those before it.
        tried: of ``names``.
        what: the plan.
        advance: told of each predictor that was fitted: ``len(tried) * len(what.origins)`` times.
    """
    ends = (*what.origins[1:], what.finish)
    said: dict[str, list[Floats]] = {name: [] for name in tried}
    raised: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in tried}
    failed: dict[str, str] = {}
    asked: list[Questions] = []
    bases: list[Floats] = []
    for origin, end in zip(what.origins, ends, strict=True):
        past = history.until(origin)
        settings = Settings(origin, what.horizon, what.every, what.seed)
        questions, _ = ask(history, origin, min(end + what.horizon, what.finish), settings, _MOST)
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
            # Who says the same of all nodes raises no alarm.
            raised[name].append((values >= threshold) & bool(np.ptp(values) > 1e-9 if len(values) else False))
            said[name].append(values)
        asked.append(questions)
    # The first origin has served for the thresholds.
    every = Questions(*(np.concatenate(column) for column in zip(*asked[1:], strict=True)))
    base = np.concatenate(bases[1:])
    scores = {
        name: _score(
            name, np.concatenate(said[name][1:]), np.concatenate(raised[name][1:]), every, base, history, what
        )
        for name in tried
        if name not in failed and len(every.node)
    }
    failures = next((one.alarms.failures for one in scores.values()), 0)
    rate = float(every.failed.mean()) if len(every.node) else math.nan
    mean = float(base.mean()) if len(base) else math.nan
    return Rolled(len(every.node), failures, rate, mean, what.origins[1], what.finish, scores, failed)


def _base(past: History, horizon: float) -> float:
    """Return the share of questions that a failure follows, as the past makes expect; half a failure more."""
    lives = past.lifetimes()
    up = float((lives.end - lives.begin).sum())
    return 1.0 - math.exp(-(float(lives.failed.sum()) + 0.5) / max(up, 1.0) * horizon)


def _answers(
    name: str, past: History, history: History, seen: Signs, questions: Questions, what: Plan
) -> Floats:
    if name == NEVER:
        return np.zeros(len(questions.node))
    found = fitted(name, past, seen, what.seed)
    if isinstance(found, signs.Signed):
        # The history goes on; the prior's nodes keep the age that they were given.
        found = signs.Signed(_observing(found.base, history), seen, found.factor, found.window, 0.5)
        return answers(found, questions, what.horizon)
    return answers(_observing(found, history), questions, what.horizon)


def _observing(found: ArrayPredictor, history: History) -> ArrayPredictor:
    if found.name == PRIOR:
        return found.observe(prior.aged(history))
    return found.observe(history)


def _score(
    name: str,
    said: Floats,
    raised: NDArray[np.bool_],
    every: Questions,
    base: Floats,
    history: History,
    what: Plan,
) -> Score:
    # Questions of one day share their failures, so that they cannot be drawn one by one.
    weeks = float(np.ptp(every.start)) / (7 * _DAY)
    block = 7 * _DAY if weeks >= _LONG else _DAY
    return Score(
        predictor=name,
        **judged(said, raised, every, base, history, what.horizon, seed=what.seed, block=block),
    )
