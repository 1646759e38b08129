"""The predictions for each node and one job, which ``choice`` uses.

Balancing uses probabilities, tie-breaking yes or no. A failure at ``now`` has already happened, and a failure
at the job's end does not affect the job.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.draws import draw
from whesl.prediction.failures.compiled_predictor import Compiled, probability
from whesl.prediction.numba_jit import jit


@jit
def forecast(
    predictor: Compiled, now: float, duration: float, decided: bool, seed: int
) -> NDArray[np.float64]:
    """Return each node's probability of failing after ``now`` and before now + duration.

    Args:
        predictor: the predictor as arrays.
        now: the current time, in seconds.
        duration: duration of the job, in seconds.
        decided: whether to return 1 or 0 for "will fail" by the predictor's threshold, instead of
            probabilities.
        seed: -1 for the predictor's probabilities; otherwise the seed of random draws that, for each
            question, take each predicted failure as certain with its own probability.
    """
    nodes = len(predictor.event_offsets) - 1
    found = np.zeros(nodes)
    start = np.nextafter(now, np.inf)
    for node in range(nodes):
        if seed < 0:
            p = probability(predictor, node, start, duration, now)
        else:
            p = 0.0
            first, last = predictor.event_offsets[node], predictor.event_offsets[node + 1]
            event = first + np.searchsorted(predictor.events[first:last], start, side="left")
            while event < last and predictor.events[event] < now + duration and p == 0.0:
                if draw(seed, int(now), int(duration), event) < predictor.event_probability[event]:
                    p = 1.0
                event += 1
        if decided:
            p = 1.0 if p > 0.0 and p >= predictor.threshold else 0.0
        found[node] = p
    return found
