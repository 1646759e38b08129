"""The learned forecast: a mix of boosted trees, a linear model and simple forecasts.

Trees predict the difference from a simple forecast. Up to three hours ahead, that is the number of free nodes
now, the least of the last hour, and the queue rolled forward in either order. Beyond three hours, it is zero
(the trees predict the level itself), the median of the last week, and both rolled queues. A linear model is
added. Models trained on earlier moments forecast later blocks of the past; the errors give the weights with
which all forecasts are mixed for each hour, and the width of the intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction.free_nodes import boosting, conformal, linear_model
from whesl.prediction.free_nodes.boosting import Boosted
from whesl.prediction.free_nodes.features import COLUMNS, Rows
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Floats
from whesl.prediction.free_nodes.linear_model import Linear
from whesl.prediction.free_nodes.rollforward import HOURS

SHORT = 3  # hours ahead that use the first anchor of each pair of ``ANCHORS``; later hours use the second
LEVELS = (0.1, 0.5, 0.9)
# The simple forecasts to which each model's trees are added, up to ``SHORT`` hours ahead and beyond.
ANCHORS = (("now", "nothing"), ("last", "week"), ("rolled", "rolled"), ("smallest", "smallest"))
# Simple forecasts in the mix; the baselines are among them, which keeps the mix from being worse than those.
SIMPLE = ("now", "rolled", "smallest", "last", "week", "month", "median", "of day")
_TAUGHT = len(ANCHORS) + 1  # number of learned models in the mix: trees and the linear model
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
)  # hours ahead in the training rows; the hour is a feature
_BLOCKS = (0.5, 0.75, 1.0)  # bounds of the blocks that are forecast unseen, as shares of the time
_MOST = 3000  # largest number of training moments of one model's trees; neighbouring hours are much alike
_HALF_LIFE = 90 * DAY  # half-life in seconds of a past forecast's influence on the weights beyond ``SHORT``
_FOLLOWED = (0.9, 0.7)  # learned part of the weights, up to ``SHORT`` and beyond; the rest is equal weights
_STEPS = 400  # iterations of the fit of the weights
LEAST_DAYS = 28  # least number of days of history for learning
_COLUMN = {
    "last": "least of 1 h back",
    "rolled": "rolled forward, 50%",
    "smallest": "smallest first, 50%",
    "week": "median of the last 7 days",
    "month": "median of the last 28 days",
}


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """A learned forecast model; all values are shares of the capacity.

    Attributes:
        middle: for each of ``ANCHORS``, the trees up to ``SHORT`` and the trees beyond.
        outer: for the lower and the upper quantile, the trees up to ``SHORT`` and the trees beyond.
        linear: the linear model.
        weights: weights of ``ANCHORS``, the linear model and ``SIMPLE`` for each hour, shape (hours, mixed).
        median: median of the least free share, shape (hours,).
        of_day: median of the least free share by the hour of the day in UTC, shape (24,).
        scores: the latest forecasts of unseen blocks, before calibration, with their outcomes.
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
    """Learn a forecast model from moments and their outcomes.

    Args:
        rows: features of the moments, in order of time.
        truth: least free share in each of the hours after each moment, shape (moments, hours).
        seed: seed of the trees' random choices.
        threads: number of threads.
        advance: called after each third of the work.

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
    """Return the lower, middle and upper quantiles before calibration, as shares, shape (3, moments, hours).

    Args:
        model: the forecast model; see ``fit``.
        rows: features of the moments.
    """
    low, high = _outer(model, rows)
    return np.stack(conformal.ordered(low, _mix(_parts(model, rows), model.weights), high))


def baselines(model: Model, rows: Rows) -> dict[str, Floats]:
    """Return baseline forecasts by name, as shares of the capacity, each of shape (moments, hours).

    ``persistence`` is the number of free nodes at the moment; ``last hour`` is the least of the hour before
    it.

    Args:
        model: the fitted model, whose medians are the baselines ``median`` and ``climatology``.
        rows: features of the moments at which the forecasts are made.
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
    """Return the simple forecast of a name, shape (moments, hours)."""
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
    """Return convex weights with the least absolute error, shrunk towards the mean of the learned models.

    Each hour's weights are fitted to its neighbouring hours too. Weights beyond ``SHORT`` are shrunk more,
    since the best weights of one season are not those of the next.
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
