"""Predictors of a given accuracy, made from the actual failures, to find what a prediction would be worth.

These predictors see the future by definition: each holds the whole failure trace, and ``observe`` changes
nothing.
Definitions: FLAW (accuracy of a prediction, AOA = Hit / (Hit + Fn + Fp)) and fault-aware scheduling for
BlueGene/L (confidence of the balancing algorithm, accuracy of the tie-breaking one).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from whesl.model.errors import UsageError
from whesl.prediction.failures.compiled_predictor import Compiled, blank, by_node
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.predictor_base import ArrayPredictor, span


class Given(ArrayPredictor):
    """Predicted failures at given times.

    Args:
        name: the name in tables of results.
        nodes: number of nodes.
        node: the node of each prediction.
        time: time of each predicted failure, in seconds.
        probability: the probability of each predicted failure, or one for all.
        threshold: probability from which ``will_fail`` is true.

    Raises:
        UsageError: a node that does not exist, a time that is not a number, or a probability outside 0 to 1.
    """

    def __init__(
        self,
        name: str,
        nodes: int,
        node: ArrayLike,
        time: ArrayLike,
        probability: ArrayLike = 1.0,
        threshold: float = 0.5,
    ) -> None:
        super().__init__(name, nodes, threshold)
        self.node, self.time, self.chance = np.broadcast_arrays(
            np.asarray(node, dtype=np.int64),
            np.asarray(time, dtype=np.float64),
            np.asarray(probability, dtype=np.float64),
        )
        if self.node.size and not (self.node.min() >= 0 and self.node.max() < nodes):
            raise UsageError(f"{name}: a prediction for a node that is not one of {nodes}")
        if not np.isfinite(self.time).all():
            raise UsageError(f"{name}: predicted times have to be finite numbers of seconds")
        if not ((self.chance >= 0) & (self.chance <= 1)).all():
            raise UsageError(f"{name}: probabilities have to be from 0 to 1")

    def as_arrays(self) -> Compiled:
        order, offsets = by_node(self.nodes, self.node, self.time)
        return blank(self.nodes, self.threshold)._replace(
            event_offsets=offsets, events=self.time[order], event_probability=self.chance[order]
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        # The reason is the first predicted failure in the interval.
        inside = (self.node == node) & (self.time >= start) & (self.time < start + duration)
        if not inside.any():
            return f"no failure of node {node} is predicted for the next {span(duration)}"
        return f"node {node} is predicted to fail in {span(float(self.time[inside].min()) - start)}"

    def observe(self, failures: History) -> Given:
        """Return this predictor: its predictions were made from the whole failure trace."""
        return self


def none(nodes: int) -> Given:
    """Return the predictor that never expects a failure.

    Args:
        nodes: number of nodes.
    """
    return Given("none", nodes, np.zeros(0, dtype=np.int64), np.zeros(0))


def exact(truth: History) -> Given:
    """Return the predictor that knows each failure's start.

    Args:
        truth: the whole failure trace.
    """
    return Given("exact", truth.nodes, truth.node, truth.start)


def confidence(truth: History, level: float) -> Given:
    """Return the balancing algorithm's predictor: ``level`` for intervals with a failure, else 0.

    Args:
        truth: the whole failure trace.
        level: the source's ``a``, from 0 to 1.

    Raises:
        UsageError: ``level`` outside 0 to 1.
    """
    _fraction("confidence", level)
    return Given(f"confidence({level:g})", truth.nodes, truth.node, truth.start, level, level or 0.5)


def tie_breaking(truth: History, level: float, seed: int) -> Given:
    """Return the tie-breaking algorithm's predictor: it predicts a random share of the failures only.

    There is one draw for each failure, so that all questions about it get the same answer. A failure that is
    predicted at one level is also predicted at each higher level with the same seed.

    Args:
        truth: the whole failure trace.
        level: the source's ``a``, the share of failures that are predicted, from 0 to 1.
        seed: seed of the random draws.

    Raises:
        UsageError: ``level`` outside 0 to 1.
    """
    _fraction("accuracy", level)
    said = np.random.default_rng(seed).random(len(truth)) < level
    name = f"tie-breaking({level:g}, seed {seed})"
    return Given(name, truth.nodes, truth.node[said], truth.start[said])


def counts(failures: int, aoa: float, mix: float) -> tuple[int, int, int]:
    """Return hits, false negatives and false positives of predictions of a given accuracy.

    With F failures, accuracy A and mix m = Fp / (Fp + Fn): ``H = F A / (A + (1 - m)(1 - A))``,
    ``Fn = F - H``, ``Fp = m F (1 - A) / (A + (1 - m)(1 - A))``, rounded.

    Args:
        failures: F, the number of failures.
        aoa: A, from 0 to 1.
        mix: m, from 0 (only false negatives) to 1 (only false positives).

    Raises:
        UsageError: a fraction outside 0 to 1, or accuracy 0 with mix 1, which no set of predictions can have.
    """
    _fraction("AOA", aoa)
    _fraction("mix", mix)
    parts = aoa + (1.0 - mix) * (1.0 - aoa)
    if parts == 0.0:
        raise UsageError(
            "AOA 0 with mix 1: with every failure predicted the accuracy is above 0",
            hint="take a mix below 1, or an AOA above 0",
        )
    hits = round(failures * aoa / parts)
    return hits, failures - hits, round(mix * failures * (1.0 - aoa) / parts)


def of_accuracy(truth: History, aoa: float, mix: float, seed: int) -> Given:
    """Return predictions of a given AOA and mix.

    Hits are at random moments of down times, false positives at random moments of up times.

    Args:
        truth: the whole failure trace.
        aoa: the accuracy, from 0 to 1; it is rounded to what the number of failures allows.
        mix: share of false positives among false positives and false negatives, from 0 to 1.
        seed: seed of the random draws.

    Raises:
        UsageError: see ``counts``, or false positives are needed but no node is ever up.
    """
    hits, _, wrong = counts(len(truth), aoa, mix)
    generator = np.random.default_rng(seed)
    chosen = np.sort(generator.permutation(len(truth))[:hits])
    finish = np.minimum(truth.end, max(truth.finish, truth.begin))
    length = np.maximum(finish - truth.start, 0.0)
    hit_time = truth.start[chosen] + generator.random(hits) * length[chosen]
    up = truth.lifetimes()
    lengths = up.end - up.begin
    if wrong and not len(lengths):
        raise UsageError("no node of the trace is ever up: there is no place for a false positive")
    cumulated = np.cumsum(lengths)
    at = generator.random(wrong) * (cumulated[-1] if len(cumulated) else 0.0)
    place = np.searchsorted(cumulated, at, side="right")
    false_time = up.begin[place] + (at - (cumulated[place] - lengths[place]))
    name = f"AOA({aoa:g}, mix {mix:g}, seed {seed})"
    node = np.concatenate([truth.node[chosen], up.node[place]])
    return Given(name, truth.nodes, node, np.concatenate([hit_time, false_time]))


def _fraction(what: str, value: float) -> None:
    if not (0.0 <= value <= 1.0) or math.isnan(value):
        raise UsageError(f"{what} {value} is not from 0 to 1")
