"""Transfer of another machine's failure records to a torus: folded, thinned, and stretched over a log's time.

Records with equal times are taken or left out together, which keeps the bursts of failures.
"""

from __future__ import annotations

import numpy as np

from whesl.model.errors import UsageError
from whesl.prediction.failures.failure_history import History

DAY = 86400.0


def thinned(history: History, nodes: int, begin: float, finish: float, count: int, seed: int) -> History:
    """Return a number of transient failures, mapped to other nodes and another time.

    Node n becomes n modulo ``nodes``, so neighbours stay neighbours; times are mapped linearly. Groups of
    records with equal times are drawn without replacement; the last group is cut to reach ``count``.

    Args:
        history: the failure records.
        nodes: number of nodes of the torus.
        begin: new begin of the observed time, in seconds.
        finish: new end of the observed time, in seconds.
        count: number of failures.
        seed: random seed of the draw; with equal seeds, a smaller draw is a subset of a larger draw.

    Raises:
        UsageError: there are fewer than ``count`` records.
    """
    if not 0 <= count <= len(history):
        raise UsageError(
            f"{count} failures are asked for, the records hold {len(history)}",
            hint="name more systems, or ask for fewer",
        )
    _, group = np.unique(history.start, return_inverse=True)
    order = np.random.default_rng(seed).permutation(int(group.max()) + 1 if len(group) else 0)
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order))
    picked = np.sort(np.argsort(turn[group], kind="stable")[:count])
    span = history.finish - history.begin
    scale = (finish - begin) / span if span > 0 else 0.0
    start = begin + (history.start[picked] - history.begin) * scale
    node = (history.node[picked] % nodes).astype(np.int32)
    return History(nodes, begin, finish, node, start, start.copy(), history.cause[picked], history.causes)


def within(history: History, begin: float, finish: float) -> History:
    """Return the records of a part of the observed time, as a history of that part alone.

    Args:
        history: the failure records.
        begin: begin of the part, in seconds.
        finish: end of the part (exclusive), in seconds.
    """
    part = (history.start >= begin) & (history.start < finish)
    return History(
        history.nodes,
        begin,
        finish,
        history.node[part],
        history.start[part],
        history.end[part],
        history.cause[part],
        history.causes,
    )


def rate(history: History, begin: float, finish: float) -> float:
    """Return the mean number of failures per node and day.

    Args:
        history: the failure records.
        begin: begin of the counted time, in seconds.
        finish: end of the counted time (inclusive), in seconds.
    """
    inside = (history.start >= begin) & (history.start <= finish)
    return float(inside.sum()) / (history.nodes * max(finish - begin, 1.0) / DAY)
