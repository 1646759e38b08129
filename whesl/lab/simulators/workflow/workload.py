"""Workflows on the nodes of one machine as arrays: run times, transfers, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.readers.workflow_graph import Graph, grouped, topological
from whesl.model.errors import WheslError
from whesl.prediction.failures.failure_history import History


class Workload(NamedTuple):
    """The tasks of one or several workflows; offsets, of shape (tasks + 1,), delimit each task's edges.

    Attributes:
        cost: computing time of each task on each node, in seconds, shape (tasks, nodes).
        workflow: index of each task's workflow, shape (tasks,).
        arrival: arrival of each workflow, in seconds, shape (workflows,).
        rank: each task's upward rank, in seconds, shape (tasks,).
        parent_offsets: each task's offset into ``parents`` and ``transfer``.
        parents: tasks that a task reads from, shape (edges,).
        transfer: time to read from a parent on another node, in seconds; 0 on the same node; shape (edges,).
        child_offsets: each task's offset into ``children``.
        children: tasks that read from a task, shape (edges,).
    """

    cost: NDArray[np.float64]
    workflow: NDArray[np.int64]
    arrival: NDArray[np.float64]
    rank: NDArray[np.float64]
    parent_offsets: NDArray[np.int64]
    parents: NDArray[np.int64]
    transfer: NDArray[np.float64]
    child_offsets: NDArray[np.int64]
    children: NDArray[np.int64]


class Failures(NamedTuple):
    """Down times of the nodes; the down times of node i stand at ``offsets[i]:offsets[i + 1]``, ascending.

    Attributes:
        offsets: offset of each node's down times, shape (nodes + 1,).
        start: times of the failures, in seconds.
        end: times of the repairs, in seconds.
    """

    offsets: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


def failures(history: History | None, nodes: int) -> Failures:
    """Return a history's failures by node.

    Args:
        history: the failures; None for nodes that never fail.
        nodes: number of nodes of the machine.

    Raises:
        WheslError: the history has another number of nodes.
    """
    if history is None:
        return Failures(np.zeros(nodes + 1, dtype=np.int64), np.zeros(0), np.zeros(0))
    if history.nodes != nodes:
        raise WheslError(f"the failures are those of {history.nodes} nodes, and the machine has {nodes}")
    offsets, [start, end] = grouped(history.node.astype(np.int64), nodes, history.start, history.end)
    return Failures(offsets, np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64))


def ranks(
    cost: NDArray[np.float64],
    parent: NDArray[np.int64],
    child: NDArray[np.int64],
    transfer: NDArray[np.float64],
    tasks: Sequence[str],
) -> NDArray[np.float64]:
    """Return each task's upward rank: the mean length of the longest path to the workflow's end.

    ``rank(t) = mean(cost(t)) + max over children(mean(transfer) + rank(child))``; the mean transfer is over
    all pairs of nodes, with 0 on the same node (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002).

    Args:
        cost: computing time of each task on each node, in seconds, shape (tasks, nodes).
        parent: index of the task at the beginning of each edge, shape (edges,).
        child: index of the task at the end of each edge, shape (edges,).
        transfer: transfer time of each edge between different nodes, in seconds, shape (edges,).
        tasks: names of the tasks, for messages.
    """
    rank: NDArray[np.float64] = cost.mean(axis=1)
    nodes = cost.shape[1]
    mean = transfer * (1.0 - 1.0 / nodes)
    offsets, [below, over] = grouped(parent, len(tasks), child, mean)
    for task in topological(tasks, parent, child)[::-1]:
        first, last = offsets[task], offsets[task + 1]
        if last > first:
            rank[task] += np.max(over[first:last] + rank[below[first:last]])
    return rank


def workload(
    graphs: Sequence[Graph],
    speed: NDArray[np.float64],
    bandwidth: float,
    arrival: Sequence[float],
    costs: Sequence[NDArray[np.float64]] | None = None,
) -> Workload:
    """Put workflows on a machine.

    Args:
        graphs: the workflows.
        speed: relative speed of each node, shape (nodes,); a task takes its run time / speed.
        bandwidth: bandwidth between two nodes, in bytes a second.
        arrival: arrival of each workflow, in seconds.
        costs: computing time of each task on each node in seconds, in place of run time / speed.

    Raises:
        WheslError: there is no node, or a speed or the bandwidth is not positive.
    """
    if not len(speed) or not np.all(speed > 0) or not bandwidth > 0:
        raise WheslError("a machine has at least one node; speeds and the bandwidth are above 0")
    parts = []
    base = 0
    for number, one in enumerate(graphs):
        cost = one.runtime[:, None] / speed[None, :] if costs is None else costs[number].copy()
        transfer = one.size / bandwidth
        rank = ranks(cost, one.parent, one.child, transfer, one.tasks)
        owner = np.full(len(one), number, dtype=np.int64)
        parts.append((cost, owner, rank, one.parent + base, one.child + base, transfer))
        base += len(one)
    if not base:
        raise WheslError("there is no task in it")
    cost, owner, rank, parent, child, transfer = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    parent_offsets, [parents, over] = grouped(child, base, parent, transfer)
    child_offsets, [children] = grouped(parent, base, child)
    return Workload(
        np.ascontiguousarray(cost, dtype=np.float64),
        owner,
        np.asarray(arrival, dtype=np.float64),
        rank,
        parent_offsets,
        np.asarray(parents, dtype=np.int64),
        np.asarray(over, dtype=np.float64),
        child_offsets,
        np.asarray(children, dtype=np.int64),
    )
