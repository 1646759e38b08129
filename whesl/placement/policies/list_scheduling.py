"""Tasks of workflows in the order of their rank or arrival, each on the node that suits it best.

RANK_HYBD, FLAW, FIFO and failure-aware FIFO are one rule with two choices: the order of the ready tasks, and
whether a predictor is asked about each node (Figure 3 of "FLAW: FaiLure-Aware Workflow scheduling"): the node
that ends the task first and is not said to fail. ``RELIABLE`` weighs instead: the node with the least sum of
duration and expected loss, the sources of the task's input included, or none while waiting costs less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from whesl.placement.policies.reliable import expected_loss, worth_waiting
from whesl.prediction.failures.compiled_predictor import probability
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.prediction.failures.compiled_predictor import Compiled


class Ready(NamedTuple):
    """Tasks whose parents are done, in no order; arrays of shape (ready,) but ``duration``.

    Attributes:
        task: identifiers.
        workflow: the workflow of each.
        rank: the upward rank, in seconds.
        since: when it came into the pool, in seconds.
        duration: seconds that it would take on each node, with its transfers; ``inf`` on nodes that are not
            free, and on all of them while its input is out of reach, shape (ready, nodes).
        exposed: the probability that a node which it reads from fails meanwhile, shape (ready, nodes).
        wait: seconds until the next running task ends; ``inf`` where none runs.
    """

    task: NDArray[np.int64]
    workflow: NDArray[np.int64]
    rank: NDArray[np.float64]
    since: NDArray[np.float64]
    duration: NDArray[np.float64]
    exposed: NDArray[np.float64]
    wait: float


class Dispatch(NamedTuple):
    """Tasks to start now: each array of shape (started,), in the order of the decisions.

    Attributes:
        task: identifiers.
        node: the node of each element.
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
            view: the ready tasks and what they would take.
            predictor: gives the failure probabilities of nodes.
            now: the current time, in seconds.
        """


@jit
def earliest_safe(
    duration: NDArray[np.float64], compiled: Compiled, now: float, answers: NDArray[np.int8]
) -> int:
    """Return the node that ends a task first and is not said to fail meanwhile, or -1.

    Args:
        duration: seconds on each node; ``inf`` where it cannot run, shape (nodes,).
        compiled: the predictor.
        now: the current time, in seconds.
        answers: is filled: 1 where the predictor said yes, 0 where no, -1 where it was not asked.
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
    """Return the node with the least sum of duration and expected loss, or -1 where waiting costs less.

    Args:
        duration: seconds on each node; ``inf`` where it cannot run, shape (nodes,).
        exposed: the probability that a source of the task's input fails meanwhile, shape (nodes,).
        compiled: the predictor.
        now: the current time, in seconds.
        wait: seconds until the next running task ends.
        answers: is filled: 1 where the predictor said yes, 0 where no, -1 where it was not asked.
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
    """Ready tasks in order, each on the node that suits it best.

    Attributes:
        name: the name in tables of results.
        arrival: in the order of arrival in the pool (FIFO), not by rank.
        aware: asks the predictor.
        hybrid: by descending rank within one workflow, by ascending rank while the pool holds several.
        weighs: takes the node with the least duration and expected loss, not the first that is safe.
    """

    name: str
    arrival: bool = False
    aware: bool = False
    hybrid: bool = False
    weighs: bool = False

    def order(self, view: Ready) -> NDArray[np.intp]:
        """Return the positions of the ready tasks in the order in which nodes are sought for them."""
        if self.arrival:
            return np.lexsort((view.task, view.since))
        descending = np.lexsort((view.task, -view.rank))
        several = self.hybrid and len(np.unique(view.workflow)) > 1
        return descending[::-1] if several else descending

    def decide(self, view: Ready, predictor: Compiled, now: float) -> Dispatch:
        """Return the tasks to start. Arguments: see ``TaskPolicy.decide``."""
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
