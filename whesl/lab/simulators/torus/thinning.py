"""Failure records of another machine on a torus: folded, thinned to a count, stretched over a log's time.

What is kept is that failures come together: records of one instant are taken or left as a whole.
"""

from __future__ import annotations

import numpy as np

from whesl.model.errors import UsageError
from whesl.prediction.failures.failure_history import History

DAY = 86400.0


def thinned(history: History, nodes: int, begin: float, finish: float, count: int, seed: int) -> History:
    """Return a number of transient failures on other nodes and in other time.

    Node n becomes n modulo ``nodes``, so that neighbours stay neighbours; times are mapped linearly. Groups
    of one instant are drawn without return; of the last one only so many are taken as are lacking.

    Args:
        history: the records.
        nodes: those of the torus.
        begin: what the observation's begin becomes, in seconds.
        finish: what its end becomes, in seconds.
        count: how many failures.
        seed: of the draw; a smaller count of the same seed is a part of a larger one.

    Raises:
        UsageError: there are not so many.
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
    """Return the records of a part of the time, [begin, finish) in seconds, as the whole observation."""
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
    """Return the failures for each node and day in [begin, finish], in seconds."""
    inside = (history.start >= begin) & (history.start <= finish)
    return float(inside.sum()) / (history.nodes * max(finish - begin, 1.0) / DAY)
