"""What a placement policy sees and answers: arrays of nodes and jobs in, decisions out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whesl.prediction.failures.port import Predictor


class Nodes(NamedTuple):
    """The machine's nodes, each array of shape (nodes,).

    Attributes:
        up: whether a node is in service.
        free: whether it is in service and holds no job.
    """

    up: NDArray[np.bool_]
    free: NDArray[np.bool_]


class Queue(NamedTuple):
    """Waiting jobs in the queue's order, each array of shape (waiting,).

    Attributes:
        job: identifiers.
        submit: when they were submitted, in seconds.
        size: nodes that they ask for.
        estimate: the longest that they may run, in seconds.
        checkpoint: their own interval between checkpoints, in seconds; ``inf`` where they write none.
    """

    job: NDArray[np.int64]
    submit: NDArray[np.float64]
    size: NDArray[np.int64]
    estimate: NDArray[np.float64]
    checkpoint: NDArray[np.float64]


class Running(NamedTuple):
    """Running jobs, each array of shape (running,) but ``nodes``.

    Attributes:
        job: identifiers.
        start: when they started, in seconds.
        end: the latest time at which they end, start + estimate, in seconds.
        offsets: job i holds ``nodes[offsets[i]:offsets[i + 1]]``, shape (running + 1,).
        nodes: indices of nodes.
    """

    job: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    offsets: NDArray[np.int64]
    nodes: NDArray[np.int64]


class View(NamedTuple):
    """All that a policy may know at a time, besides what its predictor says."""

    nodes: Nodes
    queue: Queue
    running: Running


class Decisions(NamedTuple):
    """Jobs to start now, in order, each on nodes of its own.

    Attributes:
        job: identifiers, shape (started,).
        offsets: job i starts on ``nodes[offsets[i]:offsets[i + 1]]``, shape (started + 1,).
        nodes: indices of free nodes.
        again: when to ask again at the latest, in seconds, whether anything happens until then or not.
    """

    job: NDArray[np.int64]
    offsets: NDArray[np.int64]
    nodes: NDArray[np.int64]
    again: float = float("inf")


class Policy(Protocol):
    """Decides which waiting jobs start now, and where. It holds no state of its own between two calls."""

    @property
    def name(self) -> str:
        """The policy's name with its parameters, as in tables of results."""

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        """Return the jobs to start.

        Args:
            view: the machine and its jobs.
            predictor: gives the failure probabilities of nodes; None where nothing is predicted.
            now: the current time, in seconds.
        """
