"""Jobs with a required reliability: machines are chosen until their aggregate reliability reaches it.

The condition is ``1 - prod(1 - r_s) >= r`` over the machines s of a job, where r_s is a machine's predicted
reliability. Machines that are certain to fail during the job are not chosen. Copies of a job run at once
(replication in space) or one after the other (in time); Algorithm 1 of "Effective scheduling of grid
resources using failure prediction". The policy is called FFP with the filtered predictor, NFFP with a
predictor that does not know periods, and Random without a predictor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.hash_based_random_numbers import mix
from whesl.placement.policies.reliable import AFTERWARDS
from whesl.prediction.failures.compiled_predictor import Compiled, probability
from whesl.prediction.numba_jit import jit


@jit
def key_of(seed: int, job: int, attempt: int) -> int:
    """Return the key of the random draws for one attempt of one job, independent of other draws.

    Args:
        seed: the run's seed.
        job: the job's number.
        attempt: the attempt's number.
    """
    return mix(mix(mix(0, seed), job), attempt)


@jit
def select(
    free: NDArray[np.int64],
    compiled: Compiled,
    now: float,
    duration: float,
    required: float,
    risk: float,
    key: int,
    surest: bool,
    chosen: NDArray[np.int64],
) -> tuple[int, float]:
    """Choose machines, one after the other, until a job's required reliability is reached.

    Args:
        free: indices of machines that are up and idle.
        compiled: the predictor.
        now: the current time, in seconds.
        duration: duration of the job, in seconds.
        required: the required reliability, from 0 to 1.
        risk: the probability that all earlier attempts fail; 1 without earlier attempts.
        key: key of the random draws; see ``key_of``.
        surest: whether machines are taken in the order of their reliability instead of at random; among
            equally reliable machines, those more likely to fail after the job come first.
        chosen: array that receives the indices of the chosen machines, in order.

    Returns:
        The number of chosen machines, 0 if all together do not reach the required reliability; and the
        probability that all earlier attempts and the first chosen machine fail.
    """
    order = free.copy()
    if surest:
        usable = 0
        weight = np.empty(len(free))
        for node in free:
            failing = probability(compiled, node, now, duration, now)
            if failing < 1.0:
                later = probability(compiled, node, now + duration, duration, now)
                weight[usable] = failing - AFTERWARDS * later
                order[usable] = node
                usable += 1
        order = order[:usable][np.argsort(weight[:usable], kind="mergesort")]
    first = risk
    count = 0
    # A rounding error must not cause another machine.
    allowed = (1.0 - required) * (1.0 + 1e-12)
    for position in range(len(order)):
        if not surest:
            other = position + mix(key, position) % (len(order) - position)
            order[position], order[other] = order[other], order[position]
        node = order[position]
        failing = probability(compiled, node, now, duration, now)
        if failing >= 1.0:
            continue
        chosen[count] = node
        count += 1
        risk *= failing
        if count == 1:
            first = risk
        if risk <= allowed:
            return count, first
    return 0, first
