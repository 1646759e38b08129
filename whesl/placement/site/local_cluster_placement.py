"""The embedded manager's server with placement of jobs by predictions.

``python -m whesl.placement.site.local_cluster_placement DIRECTORY``

Jobs take the free nodes of least risk, in the order of the policy ``reliable``. The predictions come from a
model of ``whesl placement learn`` or a published table, which is read again when it changes. Without valid
predictions, nodes are taken in their own order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from whesl.managers.resource.embedded import server
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.placement.policies.reliable import least_risk
from whesl.placement.site.flux.prediction_source import Source

_UNLIMITED = 86400.0  # assumed duration of a job without a limit, in seconds
_KEPT = 1.0  # seconds for which an order of nodes is cached


class Ranks:
    """The order in which jobs take nodes.

    Args:
        source: the source of the predictions.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kept: dict[tuple[tuple[str, ...], float], Sequence[str]] = {}
        self._time = 0.0

    def __call__(self, now: float, nodes: Sequence[str], limit: float | None) -> Sequence[str]:
        """Return nodes in the order of their risk, the least first.

        Args:
            now: the current time, in seconds since the epoch.
            nodes: names of the nodes.
            limit: time limit of the job, in seconds; None for no limit.
        """
        if not self._time <= now < self._time + _KEPT:
            self._source.refresh()
            self._kept, self._time = {}, now
        key = tuple(nodes), _UNLIMITED if limit is None else limit
        if key not in self._kept:
            self._kept[key] = self._order(now, *key)
        return self._kept[key]

    def _order(self, now: float, nodes: tuple[str, ...], limit: float) -> Sequence[str]:
        if self._source.predictor is None:
            return nodes
        place = {name: at for at, name in enumerate(self._source.names)}
        known = [at for at, name in enumerate(nodes) if name in place]
        index = np.array([place[nodes[at]] for at in known], dtype=np.int64)
        chances = np.zeros((2, len(nodes)))
        for row, start in enumerate((now, now + limit)):
            chances[row, known] = self._source.predictor.probability(
                index, np.full(len(index), start), np.full(len(index), limit), np.full(len(index), now)
            )
        return tuple(nodes[at] for at in least_risk(chances[0], chances[1]).tolist())


def main(arguments: list[str]) -> int:
    """Run the server of a directory, like ``whesl.managers.resource.embedded.server``."""
    predictions = Cluster(arguments[0]).settings().placement
    return server.main(arguments, Ranks(Source(Path(predictions))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
