"""List scheduling: tasks of workflows start in the order of rank or arrival, each on its best node.

RANK_HYBD, FLAW, FIFO and failure-aware FIFO are one rule with two options: the order of the ready tasks, and
whether a predictor is asked about each node (Figure 3 of "FLAW: FaiLure-Aware Workflow scheduling"). The rule
takes the node that ends the task first and is not predicted to fail. ``RELIABLE`` takes the node with the
least sum of duration and expected loss, including failures of the nodes that hold the task's input, or waits
if that costs less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.reliable import expected_loss, worth_waiting
from whesl.prediction.failures.compiled_predictor import Compiled, probability
from whesl.prediction.numba_jit import jit


class Ready(NamedTuple):
    """Ready tasks, whose parents are done, in no order; arrays of shape (ready,) if not stated otherwise.

    Attributes:
        task: identifiers of the tasks.
        workflow: identifier of each task's workflow.
        rank: upward rank of each task, in seconds.
        since: when each task became ready, in seconds.
        duration: duration of each task on each node with its transfers, in seconds; ``inf`` on nodes that are
            not free, and on all nodes while the task's input is out of reach, shape (ready, nodes).
        exposed: probability that a node from which the task reads fails meanwhile, shape (ready, nodes).
        wait: seconds until the next running task ends; ``inf`` if no task runs. A scalar.
    """

    task: NDArray[np.int64]
    workflow: NDArray[np.int64]
    rank: NDArray[np.float64]
    since: NDArray[np.float64]
    duration: NDArray[np.float64]
    exposed: NDArray[np.float64]
    wait: float


class Dispatch(NamedTuple):
    """Tasks to start now; arrays of shape (started,), in the order of the decisions.

    Attributes:
        task: identifiers of the tasks.
        node: index of each task's node.
    """

    task: NDArray[np.int64]
    node: NDArray[np.int64]


class TaskPolicy(Protocol):
    """Decides which ready tasks of workflows start now, and where."""

    @property
    def name(self) -> str:
        """The policy's name, as in tables of results."""

    def decide(self, view: Ready, predictor: Compiled, now: float) -> Dispatch:
        """Return the tasks to start, each on a free node of its own.

        Args:
            view: the ready tasks and their durations.
            predictor: gives the failure probabilities of nodes.
            now: the current time, in seconds.
        """


@jit
def earliest_safe(
    duration: NDArray[np.float64], compiled: Compiled, now: float, answers: NDArray[np.int8]
) -> int:
    """Return the node that ends a task first and is not predicted to fail meanwhile, or -1.

    Args:
        duration: duration of the task on each node in seconds; ``inf`` if it cannot run, shape (nodes,).
        compiled: the predictor.
        now: the current time, in seconds.
        answers: array that receives the predictor's answer for each node: 1 for a failure, 0 for none, -1 if
            not asked.
    """
    answers[:] = -1
    while True:
        best = -1
        least = np.inf
        for node in range(len(duration)):
            if answers[node] < 0 and duration[node] < least:
                best = node
                least = duration[node]
        if best < 0:
            return -1
        if probability(compiled, best, now, least, now) < compiled.threshold:
            answers[best] = 0
            return best
        answers[best] = 1


@jit
def least_expected(
    duration: NDArray[np.float64],
    exposed: NDArray[np.float64],
    compiled: Compiled,
    now: float,
    wait: float,
    answers: NDArray[np.int8],
) -> int:
    """Return the node with the least sum of duration and expected loss, or -1 if waiting costs less.

    Args:
        duration: duration of the task on each node in seconds; ``inf`` if it cannot run, shape (nodes,).
        exposed: the probability that a node from which the task reads fails meanwhile, shape (nodes,).
        compiled: the predictor.
        now: the current time, in seconds.
        wait: seconds until the next running task ends.
        answers: array that receives the predictor's answer for each node: 1 for a failure, 0 for none, -1 if
            not asked.
    """
    answers[:] = -1
    best = -1
    least = np.inf
    lost = 0.0
    for node in range(len(duration)):
        if duration[node] < np.inf:
            failing = probability(compiled, node, now, duration[node], now)
            answers[node] = failing >= compiled.threshold
            chance = 1.0 - (1.0 - failing) * (1.0 - exposed[node])
            loss = expected_loss(chance, 1, duration[node], np.inf)
            if duration[node] + loss < least:
                best = node
                least = duration[node] + loss
                lost = loss
    if best >= 0 and worth_waiting(lost, 0.0, wait, 1):
        return -1
    return best


@dataclass(frozen=True, slots=True)
class Ranked:
    """A task policy: ready tasks in a certain order, each on its best node.

    Attributes:
        name: the name in tables of results.
        arrival: whether tasks are ordered by arrival (FIFO) instead of by rank.
        aware: whether the predictor is asked.
        hybrid: whether the rank ascends while tasks of several workflows are ready; otherwise it descends.
        weighs: whether a task gets the node with the least sum of duration and expected loss, instead of the
            first node to end it that is not predicted to fail.
    """

    name: str
    arrival: bool = False
    aware: bool = False
    hybrid: bool = False
    weighs: bool = False

    def order(self, view: Ready) -> NDArray[np.intp]:
        """Return the indices of the ready tasks in the order in which they get nodes."""
        if self.arrival:
            return np.lexsort((view.task, view.since))
        descending = np.lexsort((view.task, -view.rank))
        several = self.hybrid and len(np.unique(view.workflow)) > 1
        return descending[::-1] if several else descending

    def decide(self, view: Ready, predictor: Compiled, now: float) -> Dispatch:
        """Return the tasks to start, each on a free node of its own.

        Args:
            view: the ready tasks and their durations.
            predictor: gives the failure probabilities of nodes.
            now: the current time, in seconds.
        """
        duration = view.duration.copy()
        answers = np.empty(duration.shape[1], dtype=np.int8)
        started: list[tuple[int, int]] = []
        for position in self.order(view):
            if self.weighs:
                exposed = view.exposed[position]
                node = least_expected(duration[position], exposed, predictor, now, view.wait, answers)
            else:
                node = earliest_safe(duration[position], predictor, now, answers)
            if node >= 0:
                started.append((int(view.task[position]), node))
                duration[:, node] = np.inf
        pairs = np.array(started, dtype=np.int64).reshape(-1, 2)
        return Dispatch(pairs[:, 0], pairs[:, 1])


RANK_HYBD = Ranked("RANK_HYBD")
FLAW = Ranked("FLAW", aware=True)
FIFO = Ranked("FIFO", arrival=True)
AWARE_FIFO = Ranked("FIFO, failure-aware", arrival=True, aware=True)
RELIABLE = Ranked("reliable", aware=True, weighs=True)
POLICIES = {
    "rank_hybd": RANK_HYBD,
    "flaw": FLAW,
    "fifo": FIFO,
    "aware-fifo": AWARE_FIFO,
    "reliable": RELIABLE,
}
