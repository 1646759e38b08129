"""EASY backfilling (D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995).

Jobs start in their order. The first job that does not fit, the head, gets a reservation at its shadow time:
the earliest time at which the running jobs' estimates free enough nodes. Each pass computes the reservation
anew. A later job may overtake the head if it ends by the shadow time, or takes none of the nodes that the
head will need.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.first_free import NONE, first_free
from whesl.placement.policies.port import Decisions, View
from whesl.prediction.failures.port import Predictor
from whesl.prediction.numba_jit import jit


@jit
def reservation(
    ends: NDArray[np.float64], sizes: NDArray[np.int64], count: int, free: int, need: int
) -> tuple[float, int]:
    """Return the head's shadow time, and the number of extra nodes left over then.

    Args:
        ends: latest ends of the running jobs in seconds, ascending.
        sizes: number of nodes of each running job.
        count: number of running jobs.
        free: number of nodes that are free now.
        need: number of nodes that the head asks for.

    Returns:
        The shadow time, ``inf`` if the running jobs free too few nodes (when nodes are down), and the number
        of extra nodes, with all nodes released at the shadow time.
    """
    at = 0
    while at < count and free < need:
        free += sizes[at]
        at += 1
    if free < need:
        return np.inf, 0
    shadow = ends[at - 1]
    while at < count and ends[at] == shadow:
        free += sizes[at]
        at += 1
    return shadow, free - need


@jit
def may_overtake(size: int, estimate: float, now: float, free: int, shadow: float, extra: int) -> bool:
    """Return whether a job may start before the head.

    Args:
        size: number of nodes of the job.
        estimate: longest run time of the job, in seconds.
        now: the current time, in seconds.
        free: number of nodes that are free now.
        shadow: the head's shadow time, in seconds.
        extra: number of nodes that the head leaves over at the shadow time.
    """
    return size <= free and (size <= extra or now + estimate <= shadow)


class Easy:
    """The policy EASY backfilling."""

    name = "easy"

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        """Return the jobs to start. Arguments: see ``Policy.decide``."""
        queue = view.queue
        free = int(np.count_nonzero(view.nodes.free))
        fits = (queue.size <= free).nonzero()[0]
        if not len(fits):
            return NONE
        started: list[int] = []
        head = 0
        while head < len(queue.job) and queue.size[head] <= free:
            started.append(head)
            free -= int(queue.size[head])
            head += 1
        behind = fits[fits.searchsorted(head) :] if free else fits[:0]
        if len(behind):
            ends, offsets = view.running.end, view.running.offsets
            sizes = offsets[1:] - offsets[:-1]
            if head:
                ends = np.concatenate([ends, now + queue.estimate[:head]])
                sizes = np.concatenate([sizes, queue.size[:head]])
            order = ends.argsort(kind="stable")
            shadow, extra = reservation(ends[order], sizes[order], len(order), free, int(queue.size[head]))
            rows = zip(
                behind.tolist(), queue.size[behind].tolist(), queue.estimate[behind].tolist(), strict=True
            )
            for at, size, estimate in rows:
                if may_overtake(size, estimate, now, free, shadow, extra):
                    started.append(at)
                    free -= size
                    if now + estimate > shadow:
                        extra -= size
        return first_free(view, started)
