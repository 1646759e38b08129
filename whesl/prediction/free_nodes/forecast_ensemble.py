"""The learned forecast: boosted trees on changes and levels and a linear model, mixed with what is simple.

Trees say the difference from something near: up to three hours from the free nodes of now, from the least of
the last hour and from the queue rolled forward in either order; beyond, the level itself and the differences
from the median of the last week and from both rolled queues. A linear model stands beside them. Forecasts of
the past, made by models that had not seen it, give the weights with which these and the simple forecasts are
mixed for each hour, and how wide the intervals have to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from whesl.model.errors import UsageError
from whesl.prediction.free_nodes import boosting, conformal, linear_model
from whesl.prediction.free_nodes.features import COLUMNS
from whesl.prediction.free_nodes.job_history import DAY, HOUR
from whesl.prediction.free_nodes.rollforward import HOURS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whesl.prediction.free_nodes.boosting import Boosted
    from whesl.prediction.free_nodes.features import Rows
    from whesl.prediction.free_nodes.job_history import Floats
    from whesl.prediction.free_nodes.linear_model import Linear

SHORT = 3  # hours up to which changes are learned, beyond it levels
LEVELS = (0.1, 0.5, 0.9)
# What each model's trees are added to, below and beyond ``SHORT``.
ANCHORS = (("now", "nothing"), ("last", "week"), ("rolled", "rolled"), ("smallest", "smallest"))
# What the forecast is compared with is among them: a weight for it keeps the forecast from being worse.
SIMPLE = ("now", "rolled", "smallest", "last", "week", "month", "median", "of day")
_TAUGHT = len(ANCHORS) + 1  # models that are mixed: trees and the linear one
MIXED = _TAUGHT + len(SIMPLE)
_LEARNED = (
    0,
    1,
    2,
    3,
    5,
    7,
    9,
    11,
    14,
    17,
    20,
    23,
)  # hours ahead that are learned from; the trees know the hour
_BLOCKS = (0.5, 0.75, 1.0)  # shares of the time at which blocks of unseen forecasts begin
_MOST = 3000  # moments that one model's trees are learned from: those of neighbouring hours are much alike
_HALF_LIFE = 90 * DAY  # half-life of a past forecast's part in the weights beyond ``SHORT``
_FOLLOWED = (0.9, 0.7)  # part of the weights that is learned, up to ``SHORT`` and beyond; the rest is alike
_STEPS = 400  # iterations by which the weights are fitted
LEAST_DAYS = 28  # days of history that learning needs
_COLUMN = {
    "last": "least of 1 h back",
    "rolled": "rolled forward, 50%",
    "smallest": "smallest first, 50%",
    "week": "median of the last 7 days",
    "month": "median of the last 28 days",
}


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """What was learned; everything is a share of the capacity.

    Attributes:
        middle: for each of ``ANCHORS`` the trees below and beyond ``SHORT``.
        outer: trees of the lower and of the upper quantile, below and beyond ``SHORT``.
        linear: the linear model.
        weights: of ``ANCHORS``, the linear model and ``SIMPLE`` for each hour, shape (hours, mixed).
        median: of the least free share, shape (hours,).
        of_day: its median by the hour of the day in UTC, shape (24,).
        scores: how far outside of the unwidened intervals the latest unseen outcomes were.
    """

    middle: tuple[tuple[Boosted, Boosted], ...]
    outer: tuple[tuple[Boosted, Boosted], ...]
    linear: Linear
    weights: Floats
    median: Floats
    of_day: Floats
    scores: conformal.Scores


def fit(
    rows: Rows,
    truth: Floats,
    *,
    seed: int = 0,
    threads: int = 1,
    advance: Callable[[float], None] = lambda steps: None,
) -> Model:
    """Learn from moments and what came after them.

    Args:
        rows: features of moments in order of time.
        truth: least free share of each of the hours after each, shape (moments, hours).
        seed: of the trees.
        threads: processors to use.
        advance: called for each third of the work.

    Raises:
        UsageError: there are too few moments.
    """
    days = len(rows.time) * float(np.median(np.diff(rows.time))) / DAY if len(rows.time) > 1 else 0.0
    if days < LEAST_DAYS:
        raise UsageError(
            f"{days:.1f} days to learn from are too few",
            hint=f"the job log has to cover at least {LEAST_DAYS + 6} days without a gap, better a year",
        )
    begin = np.quantile(rows.time, _BLOCKS)
    unseen: list[tuple[Floats, ...]] = []
    for first, last in pairwise(begin):
        before = rows.time < first - HOURS * HOUR
        block = (rows.time >= first) & (rows.time < last)
        part = _taught(_select(rows, before), truth[before], seed, threads)
        parts = _parts(part, _select(rows, block))
        unseen.append((parts, *_outer(part, _select(rows, block)), truth[block], rows.time[block]))
        advance(1)
    parts = np.concatenate([one[0] for one in unseen], axis=1)
    seen = np.concatenate([one[3] for one in unseen])
    times = np.concatenate([one[4] for one in unseen])
    weights = _weights(parts, seen, times)
    middle = _mix(parts, weights)
    low, high = (np.concatenate([one[place] for one in unseen]) for place in (1, 2))
    low, _, high = conformal.ordered(low, middle, high)
    scores = conformal.Scores(times, low, high, seen)
    whole = _taught(rows, truth, seed, threads)
    advance(1)
    return Model(
        whole.middle, whole.outer, whole.linear, weights, whole.median, whole.of_day, scores.latest()
    )


def predict(model: Model, rows: Rows) -> Floats:
    """Return the lower, middle and upper quantile as shares, not yet calibrated; shape (3, moments, hours).

    Args:
        model: see ``fit``.
        rows: features of moments.
    """
    low, high = _outer(model, rows)
    return np.stack(conformal.ordered(low, _mix(_parts(model, rows), model.weights), high))


def baselines(model: Model, rows: Rows) -> dict[str, Floats]:
    """Return what is compared with, as shares of the capacity, each of shape (moments, hours).

    Persistence is the number of free nodes at the moment; ``last hour`` is the least of the hour before it.
    """
    shape = (len(rows.time), HOURS)
    return {
        "persistence": np.broadcast_to((rows.free / rows.capacity)[:, None], shape),
        "last hour": np.broadcast_to(_anchor(model, rows, "last"), shape),
        "median": np.broadcast_to(model.median, shape),
        "climatology": _anchor(model, rows, "of day"),
    }


def _select(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    from whesl.prediction.free_nodes.features import Rows as Table

    return Table(rows.time[which], rows.capacity[which], rows.free[which], rows.values[which])


def _taught(rows: Rows, truth: Floats, seed: int, threads: int) -> Model:
    """Return a model without weights and scores."""
    hour = _hour_of_day(rows)
    median = np.median(truth, axis=0)
    of_day = np.array(
        [np.median(truth[hour == one]) if (hour == one).any() else median[0] for one in range(24)]
    )
    linear = linear_model.fit(rows.values, truth)
    bare = Model((), (), linear, np.zeros((HOURS, MIXED)), median, of_day, conformal.Scores.none())

    apart = -(-len(rows.time) // _MOST)

    def learned(anchor: tuple[str, str], level: float, place: int) -> tuple[Boosted, Boosted]:
        found = []
        for name, hours in zip(anchor, (_LEARNED[:SHORT], _LEARNED[SHORT:]), strict=True):
            change = (truth - _anchor(bare, rows, name))[place % apart :: apart]
            found.append(
                boosting.fit(
                    rows.values[place % apart :: apart, hours].reshape(-1, len(COLUMNS)),
                    change[:, hours].ravel(),
                    settings=boosting.QUANTILE | {"quantile_alpha": level},
                    rounds=boosting.ROUNDS,
                    seed=seed,
                    threads=threads,
                )
            )
        return found[0], found[1]

    middle = tuple(learned(anchor, LEVELS[1], place) for place, anchor in enumerate(ANCHORS))
    outer = tuple(learned(ANCHORS[0], level, 0) for level in (LEVELS[0], LEVELS[2]))
    return Model(middle, outer, linear, bare.weights, median, of_day, bare.scores)


def _hour_of_day(rows: Rows) -> NDArray[np.int64]:
    then = rows.time[:, None] + HOUR * np.arange(HOURS)
    return ((then % DAY) // HOUR).astype(np.int64)


def _anchor(model: Model, rows: Rows, name: str) -> Floats:
    """Return a simple forecast, shape (moments, hours)."""
    shape = (len(rows.time), HOURS)
    if name == "nothing":
        return np.zeros(shape)
    if name == "median":
        return np.broadcast_to(model.median, shape)
    if name == "of day":
        return np.asarray(model.of_day[_hour_of_day(rows)])
    now = np.broadcast_to((rows.free / rows.capacity)[:, None], shape)
    if name == "now":
        return now
    found = rows.values[:, :, COLUMNS.index(_COLUMN[name])].astype(np.float64)
    return np.where(np.isnan(found), now if name == "last" else model.median, found)


def _added(pair: tuple[Boosted, Boosted], anchor: tuple[str, str], model: Model, rows: Rows) -> Floats:
    found = np.empty((len(rows.time), HOURS))
    for name, trees, part in zip(anchor, pair, (slice(0, SHORT), slice(SHORT, HOURS)), strict=True):
        values = rows.values[:, part]
        said = trees.score(values.reshape(-1, values.shape[2])).reshape(values.shape[:2])
        found[:, part] = said + _anchor(model, rows, name)[:, part]
    return np.clip(found, 0.0, 1.0)


def _parts(model: Model, rows: Rows) -> Floats:
    """Return the forecasts that are mixed, shape (mixed, moments, hours)."""
    learned = [_added(pair, anchor, model, rows) for pair, anchor in zip(model.middle, ANCHORS, strict=True)]
    simple = (_anchor(model, rows, name) for name in SIMPLE)
    return np.stack([*learned, model.linear.score(rows.values), *simple])


def _outer(model: Model, rows: Rows) -> tuple[Floats, Floats]:
    low, high = (_added(pair, ANCHORS[0], model, rows) for pair in model.outer)
    return low, high


def _mix(parts: Floats, weights: Floats) -> Floats:
    return np.asarray(np.einsum("hp,pmh->mh", weights, parts))


def _weights(parts: Floats, truth: Floats, time: Floats) -> Floats:
    """Return convex weights with the least absolute error, drawn to the mean of the learned models.

    Neighbouring hours have weights together. They are drawn further beyond ``SHORT``: there the best weights
    of one season are not those of the next.
    By exponentiated gradients: J. Kivinen, M. K. Warmuth, "Exponentiated gradient versus gradient descent for
    linear predictors", Information and Computation 132, 1997.
    """
    first = np.full(MIXED, 0.1 / len(SIMPLE))
    first[:_TAUGHT] = 0.9 / _TAUGHT
    mean = np.zeros(MIXED)
    mean[:_TAUGHT] = 1.0 / _TAUGHT
    recent = 0.5 ** ((time.max() - time) / _HALF_LIFE)
    found = np.empty((HOURS, MIXED))
    for hour in range(HOURS):
        short = hour < SHORT
        low, high = (
            (max(0, hour - 1), min(SHORT, hour + 2))
            if short
            else (max(SHORT, hour - 3), min(HOURS, hour + 4))
        )
        share = np.repeat(np.ones(len(time)) if short else recent, high - low)
        said, was = parts[:, :, low:high].reshape(MIXED, -1), truth[:, low:high].ravel()
        step = max(1, len(was) // 8_000)
        said, was, share = np.ascontiguousarray(said[:, ::step]), was[::step], share[::step]
        share /= share.sum()
        weight = first.copy()
        for _ in range(_STEPS):
            slope = said @ (np.sign(weight @ said - was) * share)
            weight = weight * np.exp(-4.0 * (slope - slope.min()))
            weight /= weight.sum()
        part = _FOLLOWED[0] if short else _FOLLOWED[1]
        found[hour] = part * weight + (1.0 - part) * mean
    return found
