"""How likely each spare fails in the time that a job has left, from the published table.

For the isolator, which has no numerical library: a few nodes, read when a node is to be replaced.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.risk_table import NodeRisk, Table

_CERTAIN = (
    1e-9  # the survival that a probability of 1 stands for, as in whesl.placement.site.flux.table_predictor
)


def risks(path: Path, nodes: Iterable[str], now: float, seconds: float) -> dict[str, float]:
    """Return the probability that each node fails in [now, now + seconds); the median for an unknown one.

    Args:
        path: of the table.
        nodes: names, short or whole.
        now: the current time, in seconds since the epoch.
        seconds: the time that is left.

    Returns:
        Nothing where the table knows none of them, or has expired.

    Raises:
        CouldNotObserveError: there is no table, or it cannot be used.
    """
    published = risk_table.read(path)
    if not risk_table.fresh(published, now):
        return {}
    wanted = {node: (node, node.partition(".")[0]) for node in nodes}
    rows = {row.node: row for row in published.nodes}
    found = {node: rows.get(whole) or rows.get(short) for node, (whole, short) in wanted.items()}
    known = {node: chance(published, row, now, seconds) for node, row in found.items() if row is not None}
    if not known:
        return {}
    usual = statistics.median(known.values())
    return {node: known.get(node, usual) for node in wanted}


def chance(published: Table, row: NodeRisk, now: float, seconds: float) -> float:
    """Return the probability that a node which lives fails in [now, now + seconds).

    The cumulative hazard is linear between the table's horizons, and goes on with the last slope.
    """
    age = max(now - published.written, 0.0)
    more = _hazard(published, row, age + seconds) - _hazard(published, row, age)
    return -math.expm1(-more)


def _hazard(published: Table, row: NodeRisk, age: float) -> float:
    points, highest = [(0.0, 0.0)], 0.0
    for horizon, probability in zip(published.horizons, row.probability, strict=True):
        highest = max(highest, probability)
        points.append((horizon, -math.log(max(1.0 - highest, _CERTAIN))))
    parts = list(pairwise(points))
    (left, below), (right, above) = next((part for part in parts if age < part[1][0]), parts[-1])
    return below + (above - below) / (right - left) * (age - left)
