"""Exclude lists: the nodes that a job is kept off, for schedulers that choose a job's nodes themselves.

Nodes are ordered by risk as in the policy ``reliable``. Only nodes at risk are excluded, and never more than
a budget for each partition, so that the job can run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.reliable import least_risk

CLEARLY = 2.0  # factor on the machine's mean hazard from which a node is at risk (chosen)
NOBODY = 2.0  # a threshold that no probability reaches
_CERTAIN = 1e-6  # smallest probability that the tables' six decimals show


def thresholds(mean: NDArray[np.float64], fitted: float, usual: float) -> NDArray[np.float64]:
    """Return the probability from which a node is at risk within each horizon.

    A node is at risk if its hazard within a horizon is a certain factor above the machine's mean. The factor
    is that of the predictor's threshold in the horizon that the threshold was fitted for, and at least
    ``CLEARLY``. So nodes with equal hazards are never at risk, however long a job runs.

    Args:
        mean: the machine's mean probability of a failure within each horizon, shape (horizons,).
        fitted: the predictor's threshold.
        usual: the machine's mean probability within the horizon that the threshold was fitted for.

    Returns:
        A probability for each horizon: ``fitted`` if no node is expected to fail, ``NOBODY`` if all nodes
            are.
    """
    times = CLEARLY
    if 0.0 < usual < 1.0 and fitted < 1.0:
        times = max(times, float(np.log1p(-fitted) / np.log1p(-usual)))
    elif fitted >= 1.0:
        times = np.inf
    with np.errstate(divide="ignore"):
        found = -np.expm1(times * np.log1p(-np.minimum(mean, 1.0)))
    alone = max(fitted, _CERTAIN)  # a threshold of 0 would put every node at risk
    return np.where(mean <= 0.0, alone, np.where(mean >= 1.0 - _CERTAIN, NOBODY, found))


def at_risk(
    during: NDArray[np.float64], afterwards: NDArray[np.float64], threshold: float
) -> NDArray[np.int64]:
    """Return the nodes at risk, those of most risk first.

    Args:
        during: the probability that each node fails while a job runs, shape (nodes,).
        afterwards: the probability that each node fails in an equally long time after the job, shape
            (nodes,).
        threshold: probability ``during`` from which a node is at risk.
    """
    order = least_risk(during, afterwards)[::-1]
    return order[during[order] >= threshold]


def exclude(
    order: NDArray[np.int64], member: NDArray[np.bool_], budget: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the nodes that a job is kept off, ascending.

    Args:
        order: the nodes at risk, those of most risk first.
        member: whether a node may run the job in each of its partitions, shape (nodes, partitions).
        budget: number of nodes of each partition that may be excluded, shape (partitions,).
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
    """Return the number of nodes of a partition that may be excluded for a job.

    Args:
        suitable: number of usable nodes of the partition that the job can run on.
        unusable: number of nodes of the partition that are drained for their risk already.
        need: number of nodes that the job needs.
        share: largest share of the nodes that may be excluded, from 0 to 1.
    """
    return max(0, min(int(share * (suitable + unusable)) - unusable, suitable - need))
