"""Survival: the probability that a node fails, given how long it has been up.

A distribution of the time to failure (``failure_time_distributions``) is fitted to a history, with
right-censored times. Of several distributions, each is fitted to the first four fifths of the failures, and
the one with the highest likelihood on the last fifth is taken. An answer is conditional on the node's uptime:
``1 - S(age + duration) / S(age)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction.failures import failure_time_distributions
from whesl.prediction.failures.compiled_predictor import Compiled, blank, by_node
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.failure_time_distributions import AGES, Law
from whesl.prediction.failures.port import Floats
from whesl.prediction.failures.predictor_base import ArrayPredictor, span

By = Literal["machine", "kind", "node"]
_LEAST = 5  # least number of failures for a distribution of a node's or a node type's own
_CURVE = 40  # least number of failures for a Kaplan-Meier curve of a class's own; fewer give a Weibull
_FEWEST = 2  # least number of different times to failure for a fit
_LOOK = 30 * 86400.0  # seconds without a failure after which a node's frailty is updated


@dataclass(frozen=True, eq=False, slots=True)
class Fitted:
    """The fitted parameters of a survival model.

    Attributes:
        laws: the fitted distributions.
        law: each node's index into ``laws``, shape (nodes,).
        frailty: weight in failures of the prior of a node's own rate; ``inf`` when nodes are alike.
        held_out: mean log-likelihood of a held-out failure, by distribution; empty for a single candidate.
    """

    laws: tuple[Law, ...]
    law: NDArray[np.int64]
    frailty: float
    held_out: dict[str, float]


class Survival(ArrayPredictor):
    """A fitted survival model over a history.

    Args:
        name: the name in tables of results.
        fitted: the fitted parameters; see ``fit``.
        history: the failures, from which a node's age counts.
        threshold: probability from which ``will_fail`` is true.
    """

    def __init__(self, name: str, fitted: Fitted, history: History, threshold: float = 0.5) -> None:
        super().__init__(name, history.nodes, threshold)
        if len(fitted.law) != history.nodes:
            raise UsageError(f"{name} was fitted to {len(fitted.law)} nodes; the history has {history.nodes}")
        self.fitted = fitted
        self.history = history

    def as_arrays(self) -> Compiled:
        hazard = np.stack([law.cumulative(AGES) for law in self.fitted.laws])
        anchors = _anchors(self.history)
        if np.isfinite(self.fitted.frailty):
            anchors = _with_looks(self.history, anchors)
        node, time, age, failures = anchors
        order, offsets = by_node(self.nodes, node, time)
        node, time, age, failures = node[order], time[order], age[order], failures[order]
        curve = self.fitted.law[node]
        scale = np.ones(len(node))
        if np.isfinite(self.fitted.frailty):
            scale = _frailty(self.fitted, hazard, offsets, node, time, age, failures)
        return blank(self.nodes, self.threshold)._replace(
            ages=AGES, hazard=hazard, anchor_offsets=offsets, anchors=time, age=age, curve=curve, scale=scale
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        # The node's uptime, its number of failures and its law are told.
        law = self.fitted.laws[self.fitted.law[node]]
        mine = self.history.node == node
        past = self.history.start[mine & (self.history.start <= known)]
        back = self.history.end[mine & (self.history.end <= known)]
        since = max([*past.tolist()[-1:], *back.tolist()[-1:], float(self.history.service()[0][node])])
        times = "once" if len(past) == 1 else f"{len(past)} times"
        return (
            f"{self.history.called(node)} has been up for {span(max(start - since, 0.0))} and has failed "
            f"{times}; under the {_described(law)} a node of that age fails within "
            f"{span(duration)} with probability {value:.2g}"
        )

    def observe(self, failures: History) -> Survival:
        return Survival(self.name, self.fitted, failures, self.threshold)


def fit(
    history: History,
    among: Sequence[str] = tuple(failure_time_distributions.LAWS),
    *,
    by: By = "machine",
    frailty: bool = False,
    threshold: float = 0.5,
) -> Survival:
    """Fit a survival model to a history.

    With fewer than two different times to failure the model is exponential, with half a failure added.

    Args:
        history: the failures known so far.
        among: candidate distributions; of several, the one with the highest held-out likelihood is taken.
        by: whether to fit one distribution for the machine, for each type of node, or for each node; a type
            or node with fewer than five failures takes the machine's, and below 40 failures a Weibull
            replaces a Kaplan-Meier curve.
        frailty: whether each node has its own rate: a gamma prior with the maximum-likelihood weight, updated
            by each node's failures and uptime.
        threshold: probability from which ``will_fail`` is true.

    Raises:
        UsageError: an unknown distribution, or a history in which no node was ever up.
    """
    lives = history.lifetimes()
    name, held_out = _choose(history, among) if len(among) > 1 else (among[0], {})
    duration = lives.end - lives.begin
    if len(np.unique(duration[lives.failed])) >= _FEWEST:
        whole = failure_time_distributions.fit(name, duration, lives.failed)
    elif duration.sum() > 0:
        name = "exponential"
        whole = Law(name, (float(duration.sum() / (lives.failed.sum() + 0.5)),))
    else:
        raise UsageError("no node of the history was ever up: there is nothing to fit to")
    found, law = [whole], np.zeros(history.nodes, dtype=np.int64)
    if by != "machine":
        kind = history.kind if by == "kind" else np.arange(history.nodes, dtype=np.int32)
        if len(kind) != history.nodes:
            raise UsageError("the history tells no types of nodes", hint="fit by machine or by node")
        found += _by_class(name, kind, lives.node, duration, lives.failed, law)
    weight = float("inf")
    if frailty:
        expected = np.zeros(history.nodes)
        for number, one in enumerate(found):
            mine = law[lives.node] == number
            expected += np.bincount(lives.node[mine], one.cumulative(duration[mine]), history.nodes)
        weight = _weight(np.bincount(lives.node[lives.failed], minlength=history.nodes), expected)
    title = f"{'frailty' if frailty else 'survival'}({name}{'' if by == 'machine' else f' by {by}'})"
    return Survival(title, Fitted(tuple(found), law, weight, held_out), history, threshold)


def _choose(history: History, among: Sequence[str]) -> tuple[str, dict[str, float]]:
    """Return the likeliest distribution on the last fifth of the failures, and all likelihoods."""
    split = float(np.quantile(history.start, 0.8)) if len(history) else history.begin
    past, lives = history.until(split).lifetimes(), history.lifetimes()
    after = lives.end > split
    leave = (lives.end - lives.begin)[after]
    entry = np.maximum(split - lives.begin[after], 0.0)
    failed = lives.failed[after]
    held_out: dict[str, float] = {}
    if len(np.unique((past.end - past.begin)[past.failed])) < _FEWEST:
        return among[0], held_out
    for name in among:
        law = failure_time_distributions.fit(name, past.end - past.begin, past.failed)
        held_out[name] = failure_time_distributions.likelihood(law, entry, leave, failed) / max(
            int(failed.sum()), 1
        )
    return max(held_out, key=held_out.__getitem__), held_out


def _by_class(
    name: str,
    kind: NDArray[np.int32],
    node: NDArray[np.int32],
    duration: Floats,
    failed: NDArray[np.bool_],
    law: NDArray[np.int64],
) -> list[Law]:
    """Return a distribution for each class with enough failures, and write its index into ``law``."""
    found: list[Law] = []
    order = np.argsort(kind[node], kind="stable")
    bounds = np.searchsorted(kind[node][order], np.arange(int(kind.max(initial=-1)) + 2))
    for number, (first, last) in enumerate(pairwise(bounds)):
        mine = order[first:last]
        seen = len(np.unique(duration[mine][failed[mine]]))
        if seen >= _LEAST:
            own = "weibull" if name == "kaplan-meier" and seen < _CURVE else name
            found.append(failure_time_distributions.fit(own, duration[mine], failed[mine]))
            law[kind == number] = len(found)
    return found


def _weight(failures: NDArray[np.int64], expected: Floats) -> float:
    """Return the gamma prior's maximum-likelihood weight for the numbers of failures (negative binomial)."""
    from scipy.special import gammaln

    weights = np.geomspace(0.05, 200.0, 60)[:, None]
    likely = (
        gammaln(failures + weights)
        - gammaln(weights)
        + weights * np.log(weights)
        - (failures + weights) * np.log(weights + expected)
    ).sum(axis=1)
    return float(weights[int(np.argmax(likely)), 0])


_Anchors = tuple["NDArray[np.int64]", "Floats", "Floats", "NDArray[np.int64]"]


def _anchors(history: History) -> _Anchors:
    """Return node, time, age, and 1 for a failure, of each anchor: each time from which an age counts."""
    entry, _ = history.service()
    back = np.isfinite(history.end)
    node = np.concatenate([np.arange(history.nodes), history.node, history.node[back]]).astype(np.int64)
    time = np.concatenate([entry, history.start, history.end[back]])
    failure = np.zeros(len(node), dtype=np.int64)
    failure[history.nodes : history.nodes + len(history)] = 1
    return node, time, np.zeros(len(node)), failure


def _with_looks(history: History, anchors: _Anchors) -> _Anchors:
    """Add an anchor for each month that a node was up without a failure."""
    lives = history.lifetimes()
    looks = np.floor((lives.end - lives.begin) / _LOOK).astype(np.int64)
    of = np.repeat(np.arange(len(looks)), looks)
    age = (np.arange(len(of)) - np.repeat(np.cumsum(looks) - looks, looks) + 1) * _LOOK
    node, time, ages, failure = anchors
    return (
        np.concatenate([node, lives.node[of].astype(np.int64)]),
        np.concatenate([time, lives.begin[of] + age]),
        np.concatenate([ages, age]),
        np.concatenate([failure, np.zeros(len(of), dtype=np.int64)]),
    )


def _frailty(
    fitted: Fitted,
    hazard: Floats,
    offsets: NDArray[np.int64],
    node: NDArray[np.int64],
    time: Floats,
    age: Floats,
    failures: NDArray[np.int64],
) -> Floats:
    """Return each anchor's factor: (weight + failures so far) / (weight + failures expected so far)."""
    curve = fitted.law[node]
    passed = np.append(np.diff(time), 0.0)
    more = np.zeros(len(node))
    for number in np.unique(curve):
        mine = curve == number
        end = np.interp(age[mine] + passed[mine], AGES, hazard[number])
        more[mine] = end - np.interp(age[mine], AGES, hazard[number])
    more[offsets[1:] - 1] = 0.0
    more[failures > 0] = 0.0  # a node is down between a failure and its next anchor
    # Failures expected between two anchors count from the second anchor on; running sums within each node.
    expected = np.concatenate([[0.0], np.cumsum(more)[:-1]])
    seen = np.cumsum(failures)
    expected = expected - expected[offsets[node]]
    seen = seen - (seen - failures)[offsets[node]]
    return np.asarray((fitted.frailty + seen) / (fitted.frailty + expected))


def _described(law: Law) -> str:
    if law.name == "weibull":
        return f"Weibull distribution of shape {law.parameters[0]:.3g} and scale {span(law.parameters[1])}"
    if law.name == "exponential":
        return f"exponential distribution of mean {span(law.parameters[0])}"
    if law.name == "log-normal":
        return f"log-normal distribution of median {span(float(np.exp(law.parameters[0])))}"
    return "Kaplan-Meier curve"
