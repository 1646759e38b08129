"""Predictors as arrays: one form that compiled loops and plain Python evaluate alike.

A node's probability of failing in [start, start + duration) is made of three independent parts: a cumulative
hazard since the node's last known anchor, periodic failures, and predicted failures at given times.
``probability`` serves loops that numba compiles, and ``whesl/lab/native/predictor.h`` is the same in C;
``probabilities`` computes the same for whole NumPy arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.numba_jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Compiled(NamedTuple):
    """Arrays of one predictor; offsets delimit each node's part, shape (nodes + 1,).

    Attributes:
        threshold: probability from which ``will_fail`` is true.
        ages: ascending ages in seconds at which cumulative hazards are tabulated, shape (ages,).
        hazard: cumulative hazards at ``ages``, shape (curves, ages); extrapolated with the last slope.
        anchor_offsets: offsets of each node's part of ``anchors``, ``age``, ``curve`` and ``scale``.
        anchors: times in seconds from which a hazard counts, ascending within a node: for survival, the begin
            of service and the start and end of each failure; for a learned predictor, each time at which the
            trees were evaluated.
        age: the node's age at each anchor, in seconds.
        curve: the row of ``hazard`` that applies from each anchor on.
        scale: the factor on the hazard from each anchor on.
        cycle_offsets: offsets of each node's part of ``period`` and ``width``, its cycles of periodic
            failures.
        period: the period of each cycle, in seconds.
        width: how far a periodic failure may be from its predicted time, in seconds.
        patience: number of periods without a failure after which a cycle predicts no more failures.
        phase_offsets: offsets of each cycle's part of ``phases``, shape (cycles + 1,).
        phases: times of observed periodic failures, in seconds, ascending within a cycle.
        event_offsets: offsets of each node's part of ``events`` and ``event_probability``.
        events: times of predicted failures, ascending within a node.
        event_probability: the probability of each predicted failure; an interval takes the highest of its
            failures.
    """

    threshold: float
    ages: Floats
    hazard: Floats
    anchor_offsets: Integers
    anchors: Floats
    age: Floats
    curve: Integers
    scale: Floats
    cycle_offsets: Integers
    period: Floats
    width: Floats
    patience: float
    phase_offsets: Integers
    phases: Floats
    event_offsets: Integers
    events: Floats
    event_probability: Floats


def blank(nodes: int, threshold: float = 0.5) -> Compiled:
    """Return a predictor that expects no failure; callers fill it by ``_replace``.

    Args:
        nodes: number of nodes.
        threshold: probability from which ``will_fail`` is true.
    """
    none = np.zeros(0)
    whole = np.zeros(0, dtype=np.int64)
    offsets = np.zeros(nodes + 1, dtype=np.int64)
    return Compiled(
        threshold=threshold,
        ages=none,
        hazard=np.zeros((0, 0)),
        anchor_offsets=offsets,
        anchors=none,
        age=none,
        curve=whole,
        scale=none,
        cycle_offsets=offsets,
        period=none,
        width=none,
        patience=4.0,
        phase_offsets=np.zeros(1, dtype=np.int64),
        phases=none,
        event_offsets=offsets,
        events=none,
        event_probability=none,
    )


def by_node(nodes: int, node: NDArray[Any], time: Floats) -> tuple[Integers, Integers]:
    """Return the order that sorts entries by node and then time, and the offsets of each node's entries.

    Args:
        nodes: number of nodes.
        node: the node of each entry.
        time: the time of each entry.
    """
    order = np.lexsort((time, node))
    return order, np.searchsorted(node[order], np.arange(nodes + 1)).astype(np.int64)


@jit
def cumulative(ages: Floats, hazard: Floats, age: float) -> float:
    """Return the cumulative hazard at an age, interpolated linearly and extrapolated with the last slope.

    Args:
        ages: ascending ages in seconds, shape (ages,).
        hazard: cumulative hazards at those ages, shape (ages,).
        age: the age in seconds.
    """
    last = len(ages) - 1
    index = int(np.searchsorted(ages, age, side="right")) - 1
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
        start: start of the interval, in seconds.
        duration: length of the interval, in seconds.
        known: failures after this time are not used, in seconds.
    """
    if duration <= 0.0:
        return 0.0
    known = min(known, start)
    for cycle in range(compiled.cycle_offsets[node], compiled.cycle_offsets[node + 1]):
        first = compiled.phase_offsets[cycle]
        last = compiled.phase_offsets[cycle + 1]
        index = first + np.searchsorted(compiled.phases[first:last], known, side="right") - 1
        if index < first:
            continue
        period, width, phase = compiled.period[cycle], compiled.width[cycle], compiled.phases[index]
        if known - phase > compiled.patience * period:
            continue
        times = max(1.0, np.floor((start - width - phase) / period) + 1.0)
        if phase + times * period - width < start + duration:
            return 1.0
    survival = 1.0
    first = compiled.anchor_offsets[node]
    last = compiled.anchor_offsets[node + 1]
    if last > first:
        index = first + np.searchsorted(compiled.anchors[first:last], known, side="right") - 1
        age = start - compiled.anchors[index] if index >= first else 0.0
        index = max(index, first)
        age += compiled.age[index]
        hazard = compiled.hazard[compiled.curve[index]]
        more = cumulative(compiled.ages, hazard, age + duration) - cumulative(compiled.ages, hazard, age)
        survival = np.exp(-more * compiled.scale[index])
    highest = 0.0
    last = compiled.event_offsets[node + 1]
    index = compiled.event_offsets[node]
    index += np.searchsorted(compiled.events[index:last], start, side="left")
    while index < last and compiled.events[index] < start + duration:
        highest = max(highest, compiled.event_probability[index])
        index += 1
    return float(1.0 - survival * (1.0 - highest))


def rank(offsets: Integers, values: Floats, row: Integers, at: Floats, *, inclusive: bool) -> Integers:
    """Return for each query the index of its row's first value above ``at`` (at or above if not inclusive).

    Args:
        offsets: offsets of each row's values, shape (rows + 1,).
        values: ascending within each row.
        row: the row of each query.
        at: the value of each query.
        inclusive: whether values equal to ``at`` are skipped.
    """
    low, high = offsets[row], offsets[row + 1]
    active = low < high
    while active.any():
        middle = (low + high) // 2
        value = values[np.where(active, middle, 0)]
        passed = active & ((value <= at) if inclusive else (value < at))
        low = np.where(passed, middle + 1, low)
        high = np.where(active & ~passed, middle, high)
        active = low < high
    return low


def probabilities(
    compiled: Compiled, node: NDArray[Any], start: Floats, duration: Floats, known: Floats
) -> Floats:
    """Return the probabilities that nodes fail in [start, start + duration), for arrays of one shape.

    Args:
        compiled: the predictor.
        node: indices of nodes.
        start: start of the interval, in seconds.
        duration: length of the interval, in seconds.
        known: failures after this time are not used, in seconds.
    """
    node = node.astype(np.int64)
    known = np.minimum(known, start)
    survival = np.ones(node.shape)
    first, last = compiled.anchor_offsets[node], compiled.anchor_offsets[node + 1]
    if len(compiled.anchors):
        index = rank(compiled.anchor_offsets, compiled.anchors, node, known, inclusive=True) - 1
        there, before = last > first, index < first
        index = np.where(there, np.maximum(index, first), 0)
        age = np.where(before, 0.0, start - compiled.anchors[index]) + compiled.age[index]
        row = compiled.curve[index]
        more = _cumulative(compiled, row, age + duration) - _cumulative(compiled, row, age)
        survival = np.where(there, np.exp(-more * compiled.scale[index]), 1.0)
    if len(compiled.events):
        highest = np.zeros(node.shape)
        index = rank(compiled.event_offsets, compiled.events, node, start, inclusive=False)
        last = rank(compiled.event_offsets, compiled.events, node, start + duration, inclusive=False)
        while (inside := index < last).any():
            value = compiled.event_probability[np.where(inside, index, 0)]
            highest = np.where(inside, np.maximum(highest, value), highest)
            index = index + 1
        survival = survival * (1.0 - highest)
    if len(compiled.period):
        survival = np.where(_periodic(compiled, node, start, duration, known), 0.0, survival)
    return np.where(duration <= 0.0, 0.0, 1.0 - survival)


def _cumulative(compiled: Compiled, row: Integers, age: Floats) -> Floats:
    ages, hazard = compiled.ages, compiled.hazard
    index = np.clip(np.searchsorted(ages, age, side="right") - 1, 0, len(ages) - 2)
    slope = (hazard[row, index + 1] - hazard[row, index]) / (ages[index + 1] - ages[index])
    return np.where(age < ages[0], hazard[row, 0], hazard[row, index] + slope * (age - ages[index]))


def _periodic(
    compiled: Compiled, node: Integers, start: Floats, duration: Floats, known: Floats
) -> NDArray[np.bool_]:
    """Return whether an interval spans a predicted periodic failure."""
    spans = np.zeros(node.shape, dtype=np.bool_)
    cycle, last = compiled.cycle_offsets[node], compiled.cycle_offsets[node + 1]
    while (inside := cycle < last).any():
        at = np.where(inside, cycle, 0)
        index = rank(compiled.phase_offsets, compiled.phases, at, known, inclusive=True) - 1
        seen = inside & (index >= compiled.phase_offsets[at])
        phase = compiled.phases[np.where(seen, index, 0)]
        period, width = compiled.period[at], compiled.width[at]
        times = np.maximum(1.0, np.floor((start - width - phase) / period) + 1.0)
        expected = seen & (known - phase <= compiled.patience * period)
        spans |= expected & (phase + times * period - width < start + duration)
        cycle = cycle + 1
    return spans
