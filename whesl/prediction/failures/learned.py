"""Learned prediction: boosted trees over a node's history correct the hazard of a survival model.

The time ahead is cut at ``BOUNDS``. Each row of training data is one part of the time ahead of one moment:
the node's features at the moment, the failures in the part, and the hazard that a survival model with each
node's own rate expects in the observed share of the part. Trees learn the logarithm of the factor between
failures and hazard (Poisson likelihood). Without a pattern that generalises, the prediction equals the
survival model's. XGBoost fits the trees, ``whesl.prediction.tree_scoring`` scores them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction import tree_scoring
from whesl.prediction.failures import survival
from whesl.prediction.failures.compiled_predictor import Compiled, blank, by_node, rank
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.features import COLUMNS, Features
from whesl.prediction.failures.port import Floats, Nodes
from whesl.prediction.failures.predictor_base import ArrayPredictor, span
from whesl.prediction.failures.survival import By, Fitted, Survival
from whesl.prediction.tree_scoring import Rows, Trees

# Bounds of the parts of the time ahead, in seconds; the last part's rate also holds beyond the last bound.
BOUNDS = np.array([0.0, 1.0, 6.0, 24.0, 72.0, 240.0, 720.0]) * 3600.0
PARTS = len(BOUNDS) - 1
_STEP = 3600.0  # seconds between two evaluations of a node's features
_LEAST = 20  # failures below which trees are not learned
_CHUNK = 200_000  # rows that are scored at a time
_MOST = 20_000_000  # largest number of anchors of a compiled predictor: 1.5 GB


@dataclass(frozen=True, eq=False, slots=True)
class Learned:
    """A learned model: trees on top of a survival model.

    Attributes:
        trees: boosted trees over ``COLUMNS`` and the number of the part of the time ahead.
        base: the survival model whose hazard the trees multiply.
        typical: the median of each column in training, shape (columns,); NaN for mostly unknown columns.
        step: interval between two evaluations of a node's features, in seconds; a node's own failures and
            recoveries cause further ones.
    """

    trees: Trees
    base: Fitted
    typical: NDArray[np.float64]
    step: float


class LearnedPredictor(ArrayPredictor):
    """A learned model over a history.

    Args:
        model: see ``fit``.
        history: the failures from which features are computed.
        threshold: probability from which ``will_fail`` is true.
    """

    def __init__(self, model: Learned, history: History, threshold: float = 0.5) -> None:
        super().__init__("learned", history.nodes, threshold)
        self.model = model
        self.history = history

    @cached_property
    def _base(self) -> Survival:
        return survival.Survival("base", self.model.base, self.history)

    @cached_property
    def _features(self) -> Features:
        return Features(self.history)

    def probability(
        self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None
    ) -> Floats:
        node, start, duration, known = self.checked(node, start, duration, known)
        shape = node.shape
        node, start, duration = node.ravel().astype(np.int64), start.ravel(), duration.ravel()
        known = np.minimum(known.ravel(), start)
        asked = self._moment(node, known)
        unique, which = np.unique(np.stack([node.astype(np.float64), asked]), axis=1, return_inverse=True)
        hazard = self._hazard(unique[0].astype(np.int64), unique[1])[which.reshape(-1)]
        more = _at(hazard, start - asked + duration) - _at(hazard, start - asked)
        return np.asarray(np.where(duration > 0, 1.0 - np.exp(-more), 0.0).reshape(shape))

    def _moment(self, node: Nodes, known: Floats) -> Floats:
        """Return each node's last evaluation time: a multiple of the step, or its last status change."""
        step = self.model.step
        changed = self._features.last_change(node, known)
        return np.minimum(known, np.maximum(changed, np.floor(known / step) * step))

    def _hazard(self, node: NDArray[np.int64], time: Floats) -> Floats:
        """Return the cumulative hazard at ``BOUNDS`` after each time, shape (questions, bounds)."""
        hazard = np.zeros((len(node), len(BOUNDS)))
        for first in range(0, len(node), _CHUNK // PARTS):
            part = slice(first, first + _CHUNK // PARTS)
            rows = _rows(self._features.table(node[part], time[part]))
            factor = np.exp(tree_scoring.score(self.model.trees, rows)).reshape(-1, PARTS)
            expected = _expected(self._base, node[part], time[part], BOUNDS)
            np.cumsum(factor * np.diff(expected), axis=1, out=hazard[part, 1:])
        return hazard

    def as_arrays(self) -> Compiled:
        node, time = self._anchors()
        order, offsets = by_node(self.nodes, node, time)
        node, time = node[order], time[order]
        return blank(self.nodes, self.threshold)._replace(
            ages=BOUNDS,
            hazard=self._hazard(node, time),
            anchor_offsets=offsets,
            anchors=time,
            age=np.zeros(len(node)),
            curve=np.arange(len(node), dtype=np.int64),
            scale=np.ones(len(node)),
        )

    def _anchors(self) -> tuple[NDArray[np.int64], Floats]:
        """Return nodes and times of all evaluations: at each status change and each ``step`` of service."""
        history, step = self.history, self.model.step
        entry, leave = history.service()
        first, last = np.floor(entry / step) + 1, np.floor(leave / step)
        count = np.maximum(last - first + 1, 0).astype(np.int64)
        if count.sum() > _MOST:
            raise UsageError(
                f"{count.sum()} answers to tabulate, one for each node every {span(step)}",
                hint="take a shorter history, or a longer step",
            )
        each = np.repeat(np.arange(history.nodes), count)
        number = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
        back = np.isfinite(history.end)
        node = np.concatenate([np.arange(history.nodes), each, history.node, history.node[back]])
        time = np.concatenate([entry, (first[each] + number) * step, history.start, history.end[back]])
        return node.astype(np.int64), time

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        # The two features that change the rate most are named, with their effects.
        asked = self._moment(np.array([node]), np.array([known]))
        row = self._features.table(np.array([node]), asked)
        changed = np.repeat(row, len(COLUMNS) + 1, axis=0)
        own = np.arange(len(COLUMNS))
        changed[own, own] = self.model.typical
        rate = np.exp(tree_scoring.score(self.model.trees, _rows(changed))).reshape(-1, PARTS)
        ahead = int(np.clip(np.searchsorted(BOUNDS, duration, side="left") - 1, 0, PARTS - 1))
        effect = rate[-1, ahead] / np.maximum(rate[:-1, ahead], 1e-300)
        effect = np.where(np.isnan(row[0]) & np.isnan(self.model.typical), 1.0, effect)
        strength = np.abs(np.log(np.maximum(effect, 1e-300)))
        reasons = [
            f"{COLUMNS[column]} ({_shown(column, row[0, column])}, typically "
            f"{_shown(column, self.model.typical[column])}; {effect[column]:.1f} times the rate)"
            for column in np.argsort(-strength)[:2]
            if strength[column] > 0.05
        ]
        why = f"mostly for {' and '.join(reasons)}" if reasons else "nothing in its past stands out"
        plain = self._base.probability(np.array([node]), np.array([start]), np.array([duration]), asked)[0]
        return (
            f"{self.history.called(node)} fails within {span(duration)} with probability {value:.2g}, where "
            f"survival alone would say {plain:.2g}; {why}"
        )

    def observe(self, failures: History) -> LearnedPredictor:
        return LearnedPredictor(self.model, failures, self.threshold)


def fit(
    history: History,
    *,
    seed: int,
    samples: int = 40_000,
    rounds: int = 200,
    threshold: float = 0.5,
) -> LearnedPredictor:
    """Learn from a history.

    The number of rounds is chosen by the likelihood of the last fifth of the time under trees of the first
    four fifths; then trees are fitted to the whole history with that number. With fewer than twenty failures
    no trees are fitted, and the prediction equals the survival model's.

    Args:
        history: the failures known so far.
        seed: seed of the sampled times and of the trees.
        samples: number of random moments of nodes to learn from, beside the moments of recovery.
        rounds: largest number of trees.
        threshold: probability from which ``will_fail`` is true.

    Raises:
        UsageError: a history in which no node was ever up.
    """
    by: By = "kind" if len(history.kind) else "machine"
    base = survival.fit(history, ("weibull",), by=by, frailty=True)
    if len(history) < _LEAST:
        model = Learned(tree_scoring.none(), base.fitted, np.full(len(COLUMNS), np.nan), _STEP)
        return LearnedPredictor(model, history, threshold)
    generator = np.random.default_rng(seed)
    node, time = _sampled(history, generator, samples)
    features = Features(history).table(node, time)
    split = history.begin + 0.8 * (history.finish - history.begin)
    early = time < split
    best = rounds
    past, future = (
        _training(history.until(split), base, node[early], time[early], features[early]),
        _training(history, base, node[~early], time[~early], features[~early]),
    )
    if past.failed.sum() >= 10 and future.failed.sum() >= 10:
        best = max(1, _boosted(past, rounds, seed, future).best_iteration + 1)
    booster = _boosted(_training(history, base, node, time, features), best, seed)
    with np.errstate(all="ignore"):
        unknown = np.isnan(features).mean(axis=0) > 0.5
        known = np.where(np.isnan(features), np.inf, features)
    typical = np.where(unknown, np.nan, np.median(known, axis=0))
    model = Learned(tree_scoring.of_booster(booster), base.fitted, typical, _STEP)
    return LearnedPredictor(model, history, threshold)


@dataclass(frozen=True, eq=False, slots=True)
class _Training:
    """Rows of a person-period table: failures in a part of the time ahead, and the hazard expected in it.

    Neighbouring moments of a node look ahead to the same failures; weights make these failures count once.
    """

    rows: Rows
    failed: NDArray[np.bool_]
    expected: Floats
    weight: Floats


def _sampled(
    history: History, generator: np.random.Generator, samples: int
) -> tuple[NDArray[np.int64], Floats]:
    """Return nodes and times at which the nodes were up: random moments, and moments of recovery."""
    lives = history.lifetimes()
    length = lives.end - lives.begin
    at = np.sort(generator.random(samples)) * length.sum()
    of = np.minimum(np.searchsorted(np.cumsum(length), at, side="right"), len(length) - 1)
    time = lives.begin[of] + (at - (np.cumsum(length) - length)[of])
    back = np.flatnonzero(lives.begin > history.service()[0][lives.node])
    back = np.sort(generator.permutation(back)[:samples])
    node = np.concatenate([lives.node[of], lives.node[back]]).astype(np.int64)
    return node, np.concatenate([time, lives.begin[back]])


def _training(
    history: History, base: Survival, node: NDArray[np.int64], time: Floats, features: Rows
) -> _Training:
    """Return the training rows of sampled moments, each observed until the node fails or leaves service."""
    _, leave = history.service()
    order, offsets = by_node(history.nodes, history.node, history.start)
    start = history.start[order]
    index = rank(offsets, start, node, time, inclusive=True)
    there = index < offsets[node + 1]
    fails = np.where(there, start[np.where(there, index, 0)], np.inf) - time
    seen = np.minimum(fails, np.maximum(leave[node] - time, 0.0))
    expected = np.diff(_expected(base, node, time, np.minimum(BOUNDS, seen[:, None])))
    failed = (fails[:, None] >= BOUNDS[:-1]) & (fails[:, None] < BOUNDS[1:]) & (fails <= seen)[:, None]
    some = expected > 0
    rows = _rows(features).reshape(len(node), PARTS, -1)[some]
    spacing = (history.lifetimes().end - history.lifetimes().begin).sum() / max(len(node), 1)
    weight = np.broadcast_to(np.minimum(1.0, spacing / np.diff(BOUNDS)), some.shape)
    return _Training(rows, failed[some], expected[some], weight[some])


def _rows(features: Rows) -> Rows:
    """Return one row for each part of the time ahead, with the number of the part as last column."""
    rows = np.repeat(features, PARTS, axis=0)
    part = np.tile(np.arange(PARTS, dtype=np.float32), len(features))
    return np.concatenate([rows, part[:, None]], axis=1)


def _boosted(past: _Training, rounds: int, seed: int, future: _Training | None = None) -> Any:
    import xgboost

    def matrix(data: _Training) -> Any:
        margin = np.log(data.expected)
        return xgboost.DMatrix(
            data.rows, label=data.failed, weight=data.weight, base_margin=margin, nthread=1
        )

    # One thread on every machine: the number of threads changes sums of floats.
    settings = {
        "objective": "count:poisson",
        "tree_method": "hist",
        "max_depth": 4,
        "eta": 0.1,
        "min_child_weight": 1.0,
        "subsample": 0.7,
        "colsample_bytree": 0.6,
        "lambda": 5.0,
        "max_delta_step": 1.0,
        "max_bin": 64,
        "seed": seed,
        "nthread": 1,
        "verbosity": 0,
    }
    watched = [(matrix(future), "future")] if future is not None else []
    return xgboost.train(
        settings,
        matrix(past),
        rounds,
        evals=watched,
        early_stopping_rounds=25 if watched else None,
        verbose_eval=False,
    )


def _expected(base: Survival, node: NDArray[np.int64], time: Floats, ahead: Floats) -> Floats:
    """Return the survival model's cumulative hazard over the times ``ahead``, shape (questions, bounds)."""
    said = base.probability(node[:, None], time[:, None], ahead, time[:, None])
    return np.asarray(-np.log1p(-np.minimum(said, 1.0 - 1e-12)))


def _at(hazard: Floats, age: Floats) -> Floats:
    """Return cumulative hazards at ages, interpolated linearly between ``BOUNDS`` and extrapolated beyond."""
    index = np.clip(np.searchsorted(BOUNDS, age, side="right") - 1, 0, PARTS - 1)
    row = np.arange(len(hazard))
    low, high = hazard[row, index], hazard[row, index + 1]
    return np.asarray(low + (high - low) / (BOUNDS[index + 1] - BOUNDS[index]) * (age - BOUNDS[index]))


def _shown(column: int, value: float) -> str:
    if np.isnan(value):
        return "unknown"
    if "time" in COLUMNS[column]:
        return span(max(float(np.exp(value)) - 60.0, 0.0))
    return f"{value:.3g}"
