"""The history of a machine's node failures, which is the input of every predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import WheslError


class Lifetimes(NamedTuple):
    """Intervals in which nodes were up, each array of shape (lifetimes,).

    Attributes:
        node: the node of each interval.
        begin: when the node came into service or recovered from a failure, in seconds.
        end: when the node failed or its service ended, in seconds.
        failed: whether a failure ended the interval.
    """

    node: NDArray[np.int32]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    failed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """Failures of the nodes of one machine, in order of their start.

    Attributes:
        nodes: number of nodes; a node is an index below it.
        begin: when the observation began, in seconds; all times of a history share one arbitrary epoch.
        finish: when the observation ended, in seconds.
        node: the node of each failure, shape (failures,).
        start: when each failure began, in seconds, shape (failures,), ascending.
        end: when the node recovered, in seconds; ``inf`` while it is down, shape (failures,).
        cause: each failure's index into ``causes``, shape (failures,); -1 for an unknown cause.
        causes: names of causes.
        names: the nodes' names, for evidence; empty when nodes have only an index.
        kind: each node's type, an index into ``kinds``, shape (nodes,); empty when types are unknown.
        kinds: names of node types.
        group: each node's group of neighbours, such as its rack, shape (nodes,); empty when unknown.
        entry: when each node came into service, in seconds, shape (nodes,); empty when all did at ``begin``.
        exit: when each node left service, in seconds, shape (nodes,); empty when all stayed until ``finish``.
    """

    nodes: int
    begin: float
    finish: float
    node: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    cause: NDArray[np.int32]
    causes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    kind: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    kinds: tuple[str, ...] = ()
    group: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    entry: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    exit: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        """Return how many failures there are."""
        return len(self.start)

    def until(self, time: float) -> History:
        """Return the history as it was known at a time, without later failures and later recoveries.

        Args:
            time: the time in seconds.
        """
        count = int(np.searchsorted(self.start, time, side="right"))
        end = np.where(self.end[:count] <= time, self.end[:count], np.inf)
        return replace(
            self,
            finish=min(self.finish, time),
            node=self.node[:count],
            start=self.start[:count],
            end=end,
            cause=self.cause[:count],
            exit=np.minimum(self.exit, time),
        )

    def service(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return when each node came into service and when it went out, shape (nodes,) each."""
        entry = self.entry if len(self.entry) else np.full(self.nodes, self.begin)
        leave = self.exit if len(self.exit) else np.full(self.nodes, self.finish)
        return np.minimum(entry, leave), leave

    def lifetimes(self) -> Lifetimes:
        """Return all intervals in which a node was in service and up."""
        first = np.arange(self.nodes, dtype=np.int32)
        entry, leave = self.service()
        order = np.lexsort((self.start, self.node))
        offsets = np.searchsorted(self.node[order], np.arange(self.nodes + 1))
        some = offsets[:-1] < offsets[1:]
        # A node's first interval begins with its service; the interval after a failure ends at its next
        # failure.
        follows = np.append(self.start[order], np.inf)
        heads = np.where(some, follows[offsets[:-1]], np.inf)
        tails = follows[1:].copy()
        tails[offsets[1:][some] - 1] = np.inf
        node = np.concatenate([first, self.node[order]])
        begin = np.concatenate([entry, self.end[order]])
        end = np.concatenate([heads, tails])
        failed = end <= leave[node]
        end = np.where(failed, end, leave[node])
        real = end > begin
        return Lifetimes(node[real], begin[real], end[real], failed[real])

    def called(self, node: int) -> str:
        """Return a node's name, or ``node 7`` where it has none."""
        return self.names[node] if self.names else f"node {node}"


def merged(
    nodes: int,
    begin: float,
    finish: float,
    failures: Sequence[tuple[int, float, float]],
    causes: Sequence[str] = (),
) -> History:
    """Return a history of failures given in any order.

    Overlapping failures of a node become one failure with the cause of the first.

    Args:
        nodes: number of nodes.
        begin: when the observation began, in seconds.
        finish: when it ended, in seconds.
        failures: (node, start, end), times in seconds; an unknown recovery is ``inf``.
        causes: the cause of each failure; empty when causes are unknown.

    Raises:
        WheslError: a failure of a node that does not exist, or a failure that ends before it starts.
    """
    names = tuple(dict.fromkeys(causes))
    codes = {name: code for code, name in enumerate(names)}
    kept: list[tuple[float, float, int, int]] = []
    last: dict[int, int] = {}
    order = sorted(range(len(failures)), key=lambda index: (failures[index][1], failures[index][0]))
    for index in order:
        node, start, end = failures[index]
        if not 0 <= node < nodes:
            raise WheslError(f"failure {index + 1}: node {node} is not one of {nodes}")
        if not end >= start:
            raise WheslError(
                f"failure {index + 1} of node {node}: it ends at {end}, before it starts at {start}"
            )
        before = last.get(node)
        if before is not None and kept[before][1] >= start:
            first, over, _, cause = kept[before]
            kept[before] = (first, max(over, end), node, cause)
            continue
        last[node] = len(kept)
        kept.append((start, end, node, codes[causes[index]] if causes else -1))
    return History(
        nodes,
        begin,
        finish,
        np.array([row[2] for row in kept], dtype=np.int32),
        np.array([row[0] for row in kept], dtype=np.float64),
        np.array([row[1] for row in kept], dtype=np.float64),
        np.array([row[3] for row in kept], dtype=np.int32),
        names,
    )


def bursts(history: History, apart: float) -> History:
    """Return a history in which a node's failures in quick succession are merged into one.

    The merged failure has the cause of the first.

    Args:
        history: the failures.
        apart: a failure that starts less than this after the end of the previous one is merged into it, in
            seconds.
    """
    rows = [
        (int(node), start, end + apart)
        for node, start, end in zip(history.node, history.start, history.end, strict=True)
    ]
    causes = [history.causes[code] for code in history.cause] if history.causes else []
    longer = merged(history.nodes, history.begin, history.finish, rows, causes)
    return replace(
        history,
        node=longer.node,
        start=longer.start,
        end=longer.end - apart,
        cause=longer.cause,
        causes=longer.causes,
    )
