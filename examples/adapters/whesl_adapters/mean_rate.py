"""A failure predictor: each node fails at the mean rate that it had up to now."""

from __future__ import annotations

import numpy as np

from whesl.api.failure_predictor import ArrayPredictor, Compiled, History, blank, by_node

DAY = 86400.0


class MeanRate(ArrayPredictor):
    """A node with k failures in t seconds fails with probability 1 - exp(-(k + 1/2) / t * duration).

    Half a failure more than was seen, so that no rate is 0 (Jeffreys' prior of a Poisson rate).

    Args:
        history: the failures that are counted.
        threshold: ``will_fail`` is a probability at or above it.
    """

    def __init__(self, history: History, threshold: float = 0.5) -> None:
        super().__init__("mean-rate", history.nodes, threshold)
        self.history = history

    def observe(self, failures: History) -> MeanRate:
        """Return the same predictor with a longer history."""
        return MeanRate(failures, self.threshold)

    def as_arrays(self) -> Compiled:
        """Return a hazard of slope 1, scaled by the node's rate, which changes with each of its failures."""
        past = self.history
        order, _ = by_node(self.nodes, past.node, past.start)
        node = np.concatenate([np.arange(self.nodes), past.node[order]])
        time = np.concatenate([np.full(self.nodes, past.begin), past.start[order]])
        order, offsets = by_node(self.nodes, node, time)
        count = np.arange(len(node)) - offsets[node[order]]
        seconds = np.maximum(time[order] - past.begin, DAY)  # a failure in the first second is no rate
        return blank(self.nodes, self.threshold)._replace(
            ages=np.array([0.0, 1.0]),
            hazard=np.array([[0.0, 1.0]]),
            anchor_offsets=offsets,
            anchors=time[order],
            age=np.zeros(len(node)),
            curve=np.zeros(len(node), dtype=np.int64),
            scale=(count + 0.5) / seconds,
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        """Return how often the node has failed until then."""
        times = int(((self.history.node == node) & (self.history.start <= known)).sum())
        days = (known - self.history.begin) / DAY
        return f"{self.history.called(node)} has failed {times} times in {days:.0f} days"
