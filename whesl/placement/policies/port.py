"""The interface of placement policies: arrays of nodes and jobs as input, decisions as output."""

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
        job: identifiers of the jobs.
        submit: submission time of each job, in seconds.
        size: number of nodes that each job asks for.
        estimate: longest run time of each job, in seconds.
        checkpoint: each job's interval between checkpoints, in seconds; ``inf`` for jobs without checkpoints.
    """

    job: NDArray[np.int64]
    submit: NDArray[np.float64]
    size: NDArray[np.int64]
    estimate: NDArray[np.float64]
    checkpoint: NDArray[np.float64]


class Running(NamedTuple):
    """Running jobs, each array of shape (running,) but ``nodes``.

    Attributes:
        job: identifiers of the jobs.
        start: start of each job, in seconds.
        end: latest end of each job, start + estimate, in seconds.
        offsets: job i holds ``nodes[offsets[i]:offsets[i + 1]]``, shape (running + 1,).
        nodes: indices of nodes.
    """

    job: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    offsets: NDArray[np.int64]
    nodes: NDArray[np.int64]


class View(NamedTuple):
    """Everything that a policy may use at a time, besides its predictor."""

    nodes: Nodes
    queue: Queue
    running: Running


class Decisions(NamedTuple):
    """Jobs to start now, in order, each on its own nodes.

    Attributes:
        job: identifiers of the jobs, shape (started,).
        offsets: job i starts on ``nodes[offsets[i]:offsets[i + 1]]``, shape (started + 1,).
        nodes: indices of free nodes.
        again: latest time of the next call of the policy, in seconds, even if nothing happens before.
    """

    job: NDArray[np.int64]
    offsets: NDArray[np.int64]
    nodes: NDArray[np.int64]
    again: float = float("inf")


class Policy(Protocol):
    """Decides which waiting jobs start now, and where. A policy holds no state between two calls."""

    @property
    def name(self) -> str:
        """The policy's name with its parameters, as in tables of results."""

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        """Return the jobs to start.

        Args:
            view: the machine and its jobs.
            predictor: gives the failure probabilities of nodes; None without predictions.
            now: the current time, in seconds.
        """
