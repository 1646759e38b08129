"""Recency: a table of failure rates by the hours since a node's last failure; all nodes share the table.

The table is a piecewise exponential model of the time to failure (Friedman, Piecewise exponential models for
survival data with covariates, Annals of Statistics 10, 1982): in each part of the time since the last failure
the rate is the number of observed failures over the observed node-seconds. Nodes that have not failed since
the records began have one rate of their own. A site could keep this table on paper, so a learned predictor
has to beat it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction.failures.compiled_predictor import Compiled, blank, by_node
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.port import Floats
from whesl.prediction.failures.predictor_base import ArrayPredictor, span

# Begins of the parts of the time since the last failure, in hours; the last part has no end.
_HOURS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 48.0, 96.0, 168.0, 336.0, 720.0, 1440.0, 2880.0)
BOUNDS = np.array(_HOURS) * 3600.0


class Recency(ArrayPredictor):
    """A recency table applied to a failure history.

    Args:
        rates: failures per second in each part of the time since the last failure, shape of ``BOUNDS``.
        never: failures per second of a node that has not failed.
        history: the failures, from which the time since the last failure counts.
        threshold: probability from which ``will_fail`` is true.

    Raises:
        UsageError: rates of the wrong shape, negative, or not finite.
    """

    def __init__(self, rates: Floats, never: float, history: History, threshold: float = 0.5) -> None:
        super().__init__("recency", history.nodes, threshold)
        every = np.append(rates, never)
        if rates.shape != BOUNDS.shape or not np.isfinite(every).all() or (every < 0).any():
            raise UsageError(f"recency has {len(BOUNDS)} rates from 0 on, and one of nodes that never failed")
        self.rates, self.never, self.history = rates, never, history

    def as_arrays(self) -> Compiled:
        # One more age gives the last part a slope, with which the hazard is extrapolated.
        ages = np.append(BOUNDS, BOUNDS[-1] * 2)
        after = np.concatenate([[0.0], np.cumsum(self.rates * np.diff(ages))])
        entry, _ = self.history.service()
        back = np.isfinite(self.history.end)
        node = np.concatenate([np.arange(self.nodes), self.history.node, self.history.node[back]])
        time = np.concatenate([entry, self.history.start, self.history.end[back]])
        curve = np.zeros(len(node), dtype=np.int64)
        curve[: self.nodes] = 1
        order, offsets = by_node(self.nodes, node, time)
        return blank(self.nodes, self.threshold)._replace(
            ages=ages,
            hazard=np.stack([after, self.never * ages]),
            anchor_offsets=offsets,
            anchors=time[order],
            age=np.zeros(len(node)),
            curve=curve[order],
            scale=np.ones(len(node)),
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        # The reason is how long ago the node last failed or came back.
        mine = self.history.node == node
        told = [*self.history.start[mine & (self.history.start <= known)].tolist()]
        told += self.history.end[mine & (self.history.end <= known)].tolist()
        called = self.history.called(node)
        last = f"failed last {span(max(start - max(told), 0.0))} ago" if told else "has not failed yet"
        chance = f"fail within {span(duration)} with probability {value:.2g}"
        return f"{called} {last}; nodes of which that is so {chance}"

    def observe(self, failures: History) -> Recency:
        return Recency(self.rates, self.never, failures, self.threshold)


def fit(history: History, threshold: float = 0.5) -> Recency:
    """Fit the table to a history.

    One extra failure at the machine's mean rate is added to each part, so that no rate is 0 or extreme.

    Args:
        history: the failures known so far.
        threshold: probability from which ``will_fail`` is true.

    Raises:
        UsageError: no node of the history was ever up.
    """
    lives = history.lifetimes()
    length = lives.end - lives.begin
    if not length.sum() > 0:
        raise UsageError("no node of the history was ever up: there is nothing to fit to")
    entry, _ = history.service()
    first = lives.begin == entry[lives.node]
    mean = float((lives.failed.sum() + 0.5) / length.sum())
    rates = _rates(length[~first], lives.failed[~first], np.append(BOUNDS, np.inf), mean)
    never = _rates(length[first], lives.failed[first], np.array([0.0, np.inf]), mean)
    return Recency(rates, float(never[0]), history, threshold)


def _rates(length: Floats, failed: NDArray[np.bool_], bounds: Floats, mean: float) -> Floats:
    failures = np.histogram(length[failed], bounds)[0]
    upper = np.minimum(length[:, None], bounds[None, 1:])
    exposure = np.maximum(upper - bounds[None, :-1], 0.0).sum(axis=0)
    return np.asarray((failures + 1.0) / (exposure + 1.0 / mean))
