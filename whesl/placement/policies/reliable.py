"""Failure-aware node selection on EASY: expected loss against waiting.

A job of ``s`` nodes that fails with probability ``P`` while it runs loses on average half of its time at
risk: its interval between checkpoints, or its whole duration without checkpoints. The expected loss is ``P x
risk / 2 x s`` node-seconds.

- A job gets the free nodes with the least probability of failing while it runs. Among equal nodes it gets
those
  more likely to fail soon after it, and the others are left for longer jobs.
- A job is held back until the next job's latest end if the nodes that are free then save more node-seconds
  than ``s`` nodes wait, and never for longer than its own estimate after its submission.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.placement.policies.port import Decisions, Policy, View
from whesl.prediction.easy_backfilling import may_overtake, reservation
from whesl.prediction.failures.compiled_predictor import Compiled, probabilities
from whesl.prediction.failures.port import Predictor
from whesl.prediction.numba_jit import jit

AFTERWARDS = 1e-6
CERTAIN = 1e-12


class Choice(NamedTuple):
    """Nodes for one job.

    Attributes:
        nodes: indices of the nodes, ascending.
        probability: probability that one of the nodes fails while the job runs.
        loss: expected loss by a failure, in node-seconds.
    """

    nodes: NDArray[np.int64]
    probability: float
    loss: float


@jit
def expected_loss(chance: float, nodes: int, duration: float, checkpoint: float) -> float:
    """Return the expected loss by a job's failure, in node-seconds.

    Args:
        chance: the probability that one of the job's nodes fails while the job runs.
        nodes: number of nodes of the job.
        duration: run time of the job, in seconds.
        checkpoint: the job's interval between checkpoints, in seconds; ``inf`` without checkpoints.
    """
    return chance * 0.5 * min(duration, checkpoint) * nodes


@jit
def worth_waiting(loss: float, later: float, wait: float, nodes: int) -> bool:
    """Return whether a later start saves more node-seconds than it costs.

    Args:
        loss: expected loss of a start now, in node-seconds.
        later: expected loss of the later start, in node-seconds.
        wait: time until the later start, in seconds.
        nodes: number of nodes of the job.
    """
    return loss - later > wait * nodes


def least_risk(during: NDArray[np.float64], afterwards: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order in which a job takes nodes, the best first.

    Args:
        during: the probability that each node fails while the job runs.
        afterwards: the probability that each node fails in an equally long time after the job.
    """
    hazard = -np.log(np.maximum(1.0 - during, CERTAIN))
    return np.argsort(hazard - AFTERWARDS * afterwards, kind="mergesort")


def risks(
    compiled: Compiled, pool: NDArray[np.int64], start: float, duration: float, known: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each candidate's cumulative hazard while a job runs, and the key by which a job takes nodes.

    Args:
        compiled: the predictor.
        pool: indices of candidate nodes.
        start: start of the job, in seconds.
        duration: duration of the job, in seconds.
        known: failures after this time are not used, in seconds.
    """
    shape = pool.shape
    length, latest = np.full(shape, duration), np.full(shape, known)
    during = probabilities(compiled, pool, np.full(shape, start), length, latest)
    afterwards = probabilities(compiled, pool, np.full(shape, start + duration), length, latest)
    hazard = -np.log(np.maximum(1.0 - during, CERTAIN))
    return hazard, hazard - AFTERWARDS * afterwards


def choose(
    predictor: Predictor, free: NDArray[np.int64], size: int, now: float, duration: float, checkpoint: float
) -> Choice:
    """Return the free nodes of least risk for one job, for any simulator or resource manager.

    Args:
        predictor: gives the failure probabilities of nodes.
        free: indices of the free nodes, ascending; ``size`` or more.
        size: number of nodes that the job needs.
        now: start of the job, in seconds.
        duration: longest run time of the job, in seconds.
        checkpoint: the job's interval between checkpoints, in seconds; ``inf`` without checkpoints.
    """
    return _least_risk(predictor, free, size, now, duration, checkpoint, now)


def _least_risk(
    predictor: Predictor,
    pool: NDArray[np.int64],
    size: int,
    start: float,
    duration: float,
    checkpoint: float,
    known: float,
) -> Choice:
    hazard, key = risks(predictor.compiled(), pool, start, duration, known)
    order = np.sort(np.argsort(key, kind="mergesort")[:size])
    chance = float(1.0 - np.exp(-hazard[order].sum()))
    return Choice(pool[order], chance, expected_loss(chance, size, duration, checkpoint))


class Reliable(Policy):
    """The policy EASY backfilling with failure-aware node selection."""

    name = "reliable"

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        # Raises UsageError without a predictor.
        if predictor is None:
            raise UsageError("the policy reliable needs a predictor")
        queue = view.queue
        free = np.flatnonzero(view.nodes.free)
        order = np.argsort(view.running.end, kind="stable")
        ends, held = view.running.end[order].tolist(), np.diff(view.running.offsets)[order].tolist()
        parts = [view.running.nodes[view.running.offsets[at] : view.running.offsets[at + 1]] for at in order]
        started: list[int] = []
        nodes: list[NDArray[np.int64]] = []
        shadow, extra, head, again = np.inf, 0, False, np.inf
        for at in range(len(queue.job)):
            if not len(free):
                break
            size, estimate = int(queue.size[at]), float(queue.estimate[at])
            checkpoint = float(queue.checkpoint[at])
            if head and not may_overtake(size, estimate, now, len(free), shadow, extra):
                continue
            if not head and size > len(free):
                shadow, extra = reservation(
                    np.array(ends), np.array(held, dtype=np.int64), len(ends), len(free), size
                )
                head = True
                continue
            choice = choose(predictor, free, size, now, estimate, checkpoint)
            if choice.loss > 0 and ends and now < ends[0] <= queue.submit[at] + estimate:
                pool = np.sort(np.concatenate([free, parts[0]]))
                later = _least_risk(predictor, pool, size, ends[0], estimate, checkpoint, now)
                if worth_waiting(choice.loss, later.loss, ends[0] - now, size):
                    again = min(again, ends[0])
                    if not head:
                        shadow, extra, head = ends[0], len(pool) - size, True
                    continue
            if head and now + estimate > shadow:
                extra -= size
            started.append(at)
            nodes.append(choice.nodes)
            free = np.setdiff1d(free, choice.nodes, assume_unique=True)
            place = int(np.searchsorted(ends, now + estimate, side="right"))
            ends.insert(place, now + estimate)
            held.insert(place, size)
            parts.insert(place, choice.nodes)
        return Decisions(
            queue.job[np.array(started, dtype=np.int64)],
            np.cumsum([0, *map(len, nodes)]),
            np.concatenate(nodes) if nodes else np.zeros(0, dtype=np.int64),
            again,
        )
