"""What is known of a machine's failures: the input of every predictor."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.model.errors import WheslError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Lifetimes(NamedTuple):
    """Times in which nodes were up, each array of shape (lifetimes,).

    Attributes:
        node: the node of each.
        begin: when it came into service or was back from a failure, in seconds.
        end: when it failed, or the observation ended, in seconds.
        failed: whether it ended by a failure.
    """

    node: NDArray[np.int32]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    failed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """Failures of the nodes of one machine, in order of their start.

    Attributes:
        nodes: how many nodes there are; a node is an index below it.
        begin: when the observation began, in seconds (of any epoch, the same for all times here).
        finish: when it ended, in seconds.
        node: the node of each failure, shape (failures,).
        start: when it failed, in seconds, shape (failures,), ascending.
        end: when it was back, in seconds; ``inf`` while it is down, shape (failures,).
        cause: an index into ``causes``, shape (failures,); -1 where nothing is known.
        causes: names of causes.
        names: the nodes' names, for evidence; empty where an index is all there is.
        kind: each node's type, an index into ``kinds``, shape (nodes,); empty where nothing is known.
        kinds: names of types.
        group: each node's rack or the like, shape (nodes,): nodes of a group are neighbours; empty likewise.
        entry: when each came into service, in seconds, shape (nodes,); empty where all did at ``begin``.
        exit: when each went out of it, in seconds, shape (nodes,); empty where all stayed to ``finish``.
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
        """Return what was known at a time: no later failure, and no end that was still to come.

        Args:
            time: in seconds.
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
        """Return each time that a node was up, within its service."""
        first = np.arange(self.nodes, dtype=np.int32)
        entry, leave = self.service()
        order = np.lexsort((self.start, self.node))
        offsets = np.searchsorted(self.node[order], np.arange(self.nodes + 1))
        some = offsets[:-1] < offsets[1:]
        # A node's first time begins with its service; the one after a failure ends at the node's next.
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
    """Make a history of failures in any order; those of a node that overlap become one, of the first's cause.

    Args:
        nodes: how many nodes there are.
        begin: when the observation began, in seconds.
        finish: when it ended, in seconds.
        failures: (node, start, end), times in seconds; an unknown end is ``inf``.
        causes: the cause of each failure; empty where none is known.

    Raises:
        WheslError: a failure of a node that there is not, or one that ends before it starts.
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
    """Return a history in which failures of a node that follow one another closely are one.

    It has the first's cause.

    Args:
        history: the failures.
        apart: one that starts less than so long after the end of the one before belongs to it, in seconds.
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
