"""Which nodes a job is kept off where a scheduler chooses its nodes, and takes a list of those to leave out.

The nodes that are left are those that ``reliable`` would choose first: the order is the same. Only nodes said
to fail are left out, and never more than a budget for each partition, so that the job can run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.placement.policies.reliable import least_risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLEARLY = 2.0  # times the machine's mean hazard: less is no difference that one acts on (chosen)
NOBODY = 2.0  # a threshold that no probability reaches
_CERTAIN = 1e-6  # tables have six decimals


def thresholds(mean: NDArray[np.float64], fitted: float, usual: float) -> NDArray[np.float64]:
    """Return the probability from which a node is at risk within each horizon.

    At risk is who is clearly worse than the machine's own mean for that horizon. How many times worse is what
    the predictor's threshold says for the horizon that it was fitted for, and at least ``CLEARLY``. Nodes
    that are alike are never at risk, however long a job runs.

    Args:
        mean: the machine's mean probability of a failure within each horizon, shape (horizons,).
        fitted: the predictor's threshold.
        usual: the machine's mean probability within the horizon that the threshold was fitted for.

    Returns:
        ``fitted`` for a horizon within which no node is expected to fail, ``NOBODY`` where all are.
    """
    times = CLEARLY
    if 0.0 < usual < 1.0 and fitted < 1.0:
        times = max(times, float(np.log1p(-fitted) / np.log1p(-usual)))
    elif fitted >= 1.0:
        times = np.inf
    with np.errstate(divide="ignore"):
        found = -np.expm1(times * np.log1p(-np.minimum(mean, 1.0)))
    alone = max(fitted, _CERTAIN)  # a threshold of 0 says nothing
    return np.where(mean <= 0.0, alone, np.where(mean >= 1.0 - _CERTAIN, NOBODY, found))


def at_risk(
    during: NDArray[np.float64], afterwards: NDArray[np.float64], threshold: float
) -> NDArray[np.int64]:
    """Return the nodes that are said to fail, those of most risk first.

    Args:
        during: the probability that each node fails while a job runs, shape (nodes,).
        afterwards: the probability that it fails as long after it, shape (nodes,).
        threshold: a node is said to fail at or above this probability.
    """
    order = least_risk(during, afterwards)[::-1]
    return order[during[order] >= threshold]


def exclude(
    order: NDArray[np.int64], member: NDArray[np.bool_], budget: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the nodes that a job is kept off, ascending.

    Args:
        order: candidates, those of most risk first.
        member: whether a node may run the job in each of its partitions, shape (nodes, partitions).
        budget: how many nodes of each partition may be left out, shape (partitions,).
    """
    left = budget.copy()
    chosen = []
    for node in order.tolist():
        mine = member[node]
        if mine.any() and (left[mine] > 0).all():
            left[mine] -= 1
            chosen.append(node)
    return np.array(sorted(chosen), dtype=np.int64)


def budget(suitable: int, unusable: int, need: int, share: float) -> int:
    """Return how many nodes of a partition a job may be kept off.

    Args:
        suitable: usable nodes of the partition that the job can run on.
        unusable: nodes of the partition that are kept from all jobs already for the same reason.
        need: how many nodes the job needs.
        share: the largest share of the nodes that may be kept from it, from 0 to 1.
    """
    return max(0, min(int(share * (suitable + unusable)) - unusable, suitable - need))
