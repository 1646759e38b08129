"""Workflows as graphs of tasks: the output of the readers and the input of the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import WheslError


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A directed acyclic graph of tasks.

    Attributes:
        name: the workflow's name, for people.
        tasks: the name of each task.
        runtime: run time of each task on a node of speed 1, in seconds, shape (tasks,).
        parent: index of the task at the beginning of each edge, shape (edges,).
        child: index of the task at the end of each edge, shape (edges,).
        size: bytes that the child reads from the parent's node, shape (edges,).
    """

    name: str
    tasks: tuple[str, ...]
    runtime: NDArray[np.float64]
    parent: NDArray[np.int64]
    child: NDArray[np.int64]
    size: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)


def grouped(
    owner: NDArray[np.int64], count: int, *columns: NDArray[np.generic]
) -> tuple[NDArray[np.int64], list[NDArray[np.generic]]]:
    """Sort columns by owner, stably: the rows of owner i stand at ``offsets[i]:offsets[i + 1]``.

    Args:
        owner: index of each row's owner, shape (rows,).
        count: number of owners.
        columns: columns to sort, each of shape (rows,).
    """
    order = np.argsort(owner, kind="stable")
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=count), out=offsets[1:])
    return offsets, [column[order] for column in columns]


def topological(
    tasks: Sequence[str], parent: NDArray[np.int64], child: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the tasks in an order in which each comes after its parents.

    Args:
        tasks: the name of each task.
        parent: index of the task at the beginning of each edge.
        child: index of the task at the end of each edge.

    Raises:
        WheslError: the graph has a cycle; the message names the cycle's tasks.
    """
    count = len(tasks)
    offsets, [children] = grouped(parent, count, child)
    missing = np.bincount(child, minlength=count)
    order = [int(task) for task in np.flatnonzero(missing == 0)]
    for task in order:
        for below in children[offsets[task] : offsets[task + 1]]:
            missing[below] -= 1
            if missing[below] == 0:
                order.append(int(below))
    if len(order) < count:
        raise WheslError(f"a cycle: {' -> '.join(_cycle(tasks, parent, child, missing > 0))}")
    return np.array(order, dtype=np.int64)


def _cycle(
    tasks: Sequence[str], parent: NDArray[np.int64], child: NDArray[np.int64], left: NDArray[np.bool_]
) -> list[str]:
    """Return the names of the tasks along one cycle; each of the given tasks has a parent among them."""
    above = {
        int(below): int(one) for one, below in zip(parent, child, strict=True) if left[one] and left[below]
    }
    seen: dict[int, None] = {}
    task = next(iter(above))
    while task not in seen:
        seen[task] = None
        task = above[task]
    around = list(seen)[list(seen).index(task) :]
    return [tasks[one] for one in reversed([*around, around[0]])]


def graph(
    name: str,
    tasks: Sequence[str],
    runtime: Sequence[float],
    edges: Sequence[tuple[int, int, float]],
) -> Graph:
    """Make a graph and check it.

    Args:
        name: the workflow's name.
        tasks: the name of each task.
        runtime: run time of each task, in seconds.
        edges: (parent, child, bytes) of each edge, with indices of tasks.

    Raises:
        WheslError: a run time is negative or no number, or the graph has a cycle.
    """
    for task, seconds in zip(tasks, runtime, strict=True):
        if not 0 <= seconds < np.inf:
            raise WheslError(
                f"task {task}: its run time is {seconds} s; a number of seconds from 0 is needed"
            )
    parent = np.array([edge[0] for edge in edges], dtype=np.int64)
    child = np.array([edge[1] for edge in edges], dtype=np.int64)
    topological(tasks, parent, child)
    return Graph(
        name,
        tuple(tasks),
        np.array(runtime, dtype=np.float64),
        parent,
        child,
        np.array([edge[2] for edge in edges], dtype=np.float64),
    )
