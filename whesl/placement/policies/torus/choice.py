"""The choice of a job's partition: the MFP heuristic, balancing and tie-breaking.

The cost of a candidate is ``L_MFP``, the size that the maximal free partition (MFP) loses by it, plus a
penalty for failures that are predicted in the candidate. The cheapest candidate wins, of equal ones the first
by edges and base.

| rule | penalty |
| --- | --- |
| MFP | 0 |
| balancing | the expected loss ``L_PF = P_f * s``; ``P_f = 1 - prod(1 - p_n)``, or ``max p_n`` |
| tie-breaking | a half if any node is predicted to fail, so that it only decides between equal MFPs |
| reliable | the expected loss in nodes over the job's duration, with a failure in its middle |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.reliable import expected_loss
from whesl.placement.policies.torus.boxes import Torus, apart, bases
from whesl.placement.policies.torus.finder import largest, partitions, projection
from whesl.prediction.numba_jit import jit

MFP = 0
BALANCING = 1
BALANCING_MAX = 2
TIE_BREAKING = 3
RELIABLE = 4
RULES = {
    "krevat": MFP,
    "balancing": BALANCING,
    "balancing-max": BALANCING_MAX,
    "tie-breaking": TIE_BREAKING,
    "reliable": RELIABLE,
}


@jit
def penalty(
    dims: tuple[int, int, int], box: NDArray[np.int64], probability: NDArray[np.float64], rule: int
) -> float:
    """Return the penalty of a box, its cost besides ``L_MFP``.

    Args:
        dims: number of nodes along each dimension.
        box: the partition, shape (6,).
        probability: probability that each node fails while the job runs.
        rule: one of ``RULES``.
    """
    x, y, z = dims
    survival = 1.0
    highest = 0.0
    for i in range(box[0], box[0] + box[3]):
        for j in range(box[1], box[1] + box[4]):
            row = ((i % x) * y + j % y) * z
            for k in range(box[2], box[2] + box[5]):
                p = probability[row + k % z]
                survival *= 1.0 - p
                highest = max(highest, p)
    if rule == TIE_BREAKING:
        return 0.5 if highest >= 0.5 else 0.0
    nodes = int(box[3] * box[4] * box[5])
    if rule == RELIABLE:
        return expected_loss(1.0 - survival, nodes, 1.0, np.inf)
    return float((highest if rule == BALANCING_MAX else 1.0 - survival) * nodes)


@jit
def costs(
    geometry: Torus,
    busy: NDArray[np.bool_],
    candidates: NDArray[np.int64],
    probability: NDArray[np.float64],
    rule: int,
    every: bool,
) -> NDArray[np.float64]:
    """Return the cost of each candidate; ``inf`` for candidates that cannot win, unless ``every``.

    Args:
        geometry: the torus.
        busy: whether each node holds a job.
        candidates: free boxes, shape (candidates, 6).
        probability: probability that each node fails while the job runs.
        rule: one of ``RULES``.
        every: whether the costs of candidates that cannot win are computed too.
    """
    dims = geometry.dims
    x, y, z = dims
    number = len(candidates)
    cost = np.full(number, np.inf)
    extra = np.zeros(number)
    if rule != MFP and probability.max() > 0.0:
        for i in range(number):
            extra[i] = penalty(dims, candidates[i], probability, rule)
    reach, most = projection(dims, busy)
    before = largest(most)
    left = number
    best = np.inf
    open_ = np.arange(number)
    for s in range(len(geometry.shapes)):
        a, b, c = geometry.shapes[s]
        volume = a * b * c
        if volume > before or most[a - 1, b - 1] < c:
            continue
        if left == 0 or (not every and before - volume > best):
            break
        u, v, w = bases(dims, geometry.shapes[s])
        for i in range(u):
            for j in range(v):
                for k in range(w):
                    if reach[a - 1, b - 1, i, j, k] < c or left == 0:
                        continue
                    kept = 0
                    for o in range(left):
                        candidate = open_[o]
                        if (
                            apart(z, candidates[candidate, 2], candidates[candidate, 5], k, c)
                            or apart(y, candidates[candidate, 1], candidates[candidate, 4], j, b)
                            or apart(x, candidates[candidate, 0], candidates[candidate, 3], i, a)
                        ):
                            cost[candidate] = before - volume + extra[candidate]
                            best = min(best, cost[candidate])
                        else:
                            open_[kept] = candidate
                            kept += 1
                    left = kept
    for o in range(left):  # no free box is disjoint from these candidates: each takes the whole MFP
        candidate = open_[o]
        if every or before + extra[candidate] <= best:
            cost[candidate] = before + extra[candidate]
            best = min(best, cost[candidate])
    return cost


@jit
def choose(
    geometry: Torus,
    busy: NDArray[np.bool_],
    barred: NDArray[np.bool_],
    size: int,
    probability: NDArray[np.float64],
    rule: int,
) -> NDArray[np.int64]:
    """Return the box for a job, shape (1, 6), or (0, 6) if no box is free.

    Args:
        geometry: the torus.
        busy: whether each node holds a job.
        barred: whether each node is closed to this job, as busy nodes are.
        size: number of nodes of the box, the volume of a possible box.
        probability: probability that each node fails while the job runs.
        rule: one of ``RULES``.
    """
    candidates = partitions(geometry, barred, size)
    if len(candidates) == 0:
        return candidates
    at = 0
    if len(candidates) > 1:
        at = int(np.argmin(costs(geometry, busy, candidates, probability, rule, False)))
    return candidates[at : at + 1]
