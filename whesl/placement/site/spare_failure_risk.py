"""The failure probability of each spare node in a job's remaining time, from the published table.

The isolator calls this module for a few nodes when it replaces a node; it loads no numerical library.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.risk_table import NodeRisk, Table

_CERTAIN = 1e-9  # survival probability for a failure probability of 1, as in ``flux.table_predictor``


def risks(path: Path, nodes: Iterable[str], now: float, seconds: float) -> dict[str, float]:
    """Return the probability that each node fails in [now, now + seconds); the median for an unknown node.

    Args:
        path: path of the table.
        nodes: names of nodes, with or without domain.
        now: the current time, in seconds since the epoch.
        seconds: the job's remaining time.

    Returns:
        The probabilities by name; empty if the table knows none of the nodes or has expired.

    Raises:
        CouldNotObserveError: the table is missing or invalid.
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
    """Return the probability that a running node fails in [now, now + seconds).

    The cumulative hazard is linear between the table's horizons, and continues with the last slope.

    Args:
        published: the table.
        row: the node's row.
        now: the current time, in seconds since the epoch.
        seconds: length of the interval.
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
