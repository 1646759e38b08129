"""Predictors as arrays: one form that compiled loops and plain Python evaluate alike.

A node's probability of failing in [start, start + duration) is made of two independent parts: a cumulative
hazard of the node's age since its last known failure, scaled, and predicted failures at given times, each
with a probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.predict.jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Compiled(NamedTuple):
    """Arrays of one predictor; offsets delimit each node's part, shape (nodes + 1,).

    Attributes:
        threshold: ``will_fail`` is a probability at or above it.
        ages: ascending ages in seconds at which the cumulative hazard is tabulated, shape (ages,).
        hazard: the cumulative hazard at those ages, shape (ages,); its last slope goes on beyond them.
        scale: a factor on the hazard for each node, shape (nodes,).
        renewal_offsets: into ``renewals``.
        renewals: when a node's age began anew (its observation's begin, the ends of its failures), ascending.
        event_offsets: into ``events`` and ``event_probability``.
        events: times of predicted failures, ascending within a node.
        event_probability: the probability that is given to each.
    """

    threshold: float
    ages: NDArray[np.float64]
    hazard: NDArray[np.float64]
    scale: NDArray[np.float64]
    renewal_offsets: NDArray[np.int64]
    renewals: NDArray[np.float64]
    event_offsets: NDArray[np.int64]
    events: NDArray[np.float64]
    event_probability: NDArray[np.float64]


@jit
def cumulative(ages: NDArray[np.float64], hazard: NDArray[np.float64], age: float) -> float:
    """Return the cumulative hazard at an age: linear between tabulated ones, and beyond the last."""
    last = len(ages) - 1
    index = int(np.searchsorted(ages, age, side="right")) - 1
    if index < 0:
        return float(hazard[0])
    if index >= last:
        index = last - 1
    if index < 0:
        return float(hazard[0])
    slope = (hazard[index + 1] - hazard[index]) / (ages[index + 1] - ages[index])
    return float(hazard[index] + slope * (age - ages[index]))


@jit
def probability(compiled: Compiled, node: int, start: float, duration: float, known: float) -> float:
    """Return the probability that one node fails in [start, start + duration).

    Args:
        compiled: the predictor.
        node: the node's index.
        start: in seconds.
        duration: in seconds.
        known: the time of the last failure that may be used, in seconds.
    """
    survival = 1.0
    if len(compiled.ages) > 1:
        first = compiled.renewal_offsets[node]
        last = compiled.renewal_offsets[node + 1]
        index = first + np.searchsorted(compiled.renewals[first:last], min(known, start), side="right") - 1
        begun = compiled.renewals[index] if index >= first else start
        age = start - begun
        more = cumulative(compiled.ages, compiled.hazard, age + duration) - cumulative(
            compiled.ages, compiled.hazard, age
        )
        survival = np.exp(-more * compiled.scale[node])
    first = compiled.event_offsets[node]
    last = compiled.event_offsets[node + 1]
    index = first + np.searchsorted(compiled.events[first:last], start, side="left")
    while index < last and compiled.events[index] < start + duration:
        survival *= 1.0 - compiled.event_probability[index]
        index += 1
    return float(1.0 - survival)
