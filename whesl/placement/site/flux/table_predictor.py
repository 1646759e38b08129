"""The published table as a predictor, so that policies use it like a fitted predictor."""

from __future__ import annotations

import numpy as np

from whesl.placement.site.publish.risk_table import Table
from whesl.prediction.failures.compiled_predictor import Compiled, blank
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.predictor_base import ArrayPredictor, span

_DAY = 86400.0
_CERTAIN = 1e-9  # survival probability for a failure probability of 1 in the table


class Published(ArrayPredictor):
    """A table as a predictor: cumulative hazards since it was written, linear between its horizons.

    Args:
        table: the table.
        threshold: probability from which ``will_fail`` is true; None for the table's threshold for a day.
    """

    def __init__(self, table: Table, threshold: float | None = None) -> None:
        usual = table.thresholds[table.horizon(_DAY)] if threshold is None else threshold
        super().__init__(f"table of {table.source}", len(table.nodes), min(usual, 1.0))
        self.table = table

    def as_arrays(self) -> Compiled:
        table, nodes = self.table, self.nodes
        chances = np.array([row.probability for row in table.nodes]).reshape(nodes, len(table.horizons))
        chances = np.maximum.accumulate(chances, axis=1)
        hazard = np.zeros((nodes, len(table.horizons) + 1))
        hazard[:, 1:] = -np.log(np.maximum(1.0 - chances, _CERTAIN))
        return blank(nodes, self.threshold)._replace(
            ages=np.array([0.0, *table.horizons]),
            hazard=hazard,
            anchor_offsets=np.arange(nodes + 1, dtype=np.int64),
            anchors=np.full(nodes, table.written),
            age=np.zeros(nodes),
            curve=np.arange(nodes, dtype=np.int64),
            scale=np.ones(nodes),
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        # The reason is the text in the node's row of the table, or the probability.
        row = self.table.nodes[node]
        return (
            row.reason
            or f"the table has {row.node} fail within {span(duration)} with probability {value:.2g}"
        )

    def observe(self, failures: History) -> Published:
        """Return this predictor, which only a new table can replace."""
        return self

    def at_threshold(self, threshold: float) -> Published:
        return Published(self.table, threshold)
