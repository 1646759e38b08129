"""Jobs with a required reliability: machines are taken until their aggregate reliability reaches it.

``1 - prod(1 - r_s) >= r`` over the machines s of a job, r_s the reliability that the predictor gives each;
one that is certain to fail during the job is not taken. In space the copies run at once; in time one after
the other (Algorithm 1 of "Effective scheduling of grid resources using failure prediction"). With the
filtered predictor this is FFP, with one that does not know periods NFFP, with none Random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.placement.policies.draws import mix
from whesl.placement.policies.reliable import AFTERWARDS
from whesl.prediction.failures.compiled_predictor import probability
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.prediction.failures.compiled_predictor import Compiled


@jit
def key_of(seed: int, job: int, attempt: int) -> int:
    """Return the key of the draws for one attempt of one job, whatever was drawn before."""
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
    """Choose machines, one after the other, until a job's reliability is what it has to be.

    Args:
        free: indices of machines that are up and idle.
        compiled: the predictor.
        now: the current time, in seconds.
        duration: of the job, in seconds.
        required: the reliability, from 0 to 1.
        risk: that all attempts before fail: 1 for none.
        key: of the draws.
        surest: takes machines in the order of their reliability, not at random; among equal ones, first those
            that are more likely to fail afterwards.
        chosen: is filled with indices of machines, in the order in which they were taken.

    Returns:
        How many were chosen, 0 where all together do not reach it; and the risk that the first one fails too.
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
    # What rounding leaves over is no reason for another machine.
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
