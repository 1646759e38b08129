"""EASY backfilling on counted nodes (D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995), compiled.

Jobs start in their order. The first job that does not fit, the head, gets a reservation at its shadow time:
the earliest time at which the running jobs' estimates free enough nodes. Each pass computes the reservation
anew. A later job may overtake the head if it ends by the shadow time, or takes none of the nodes that the
head will need.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.numba_jit import jit


@jit
def reservation(
    ends: NDArray[np.float64],
    sizes: NDArray[Any],
    count: int,
    free: float,
    need: float,
    together: bool = True,
) -> tuple[float, Any]:
    """Return the head's shadow time, and the number of extra nodes left over then.

    Args:
        ends: latest ends of the running jobs in seconds, ascending.
        sizes: number of nodes of each running job.
        count: number of running jobs.
        free: number of nodes that are free now.
        need: number of nodes that the head asks for.
        together: whether all jobs that end at the shadow time release nodes, and not just enough of them.

    Returns:
        The shadow time, and the number of extra nodes. The time is ``inf``, and the number negative, if the
        running jobs free too few nodes (when nodes are down); the time is ``-inf`` if enough are free now.
    """
    at = 0
    while at < count and free < need:
        free += sizes[at]
        at += 1
    if free < need:
        return np.inf, free - need
    shadow = ends[at - 1] if at else -np.inf
    while together and at < count and ends[at] == shadow:
        free += sizes[at]
        at += 1
    return shadow, free - need


@jit
def may_overtake(size: float, estimate: float, now: float, free: float, shadow: float, extra: float) -> bool:
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
