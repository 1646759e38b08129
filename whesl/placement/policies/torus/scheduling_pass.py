"""One scheduling pass on a torus: first come, first served, with migration and backfilling.

Rules that the sources do not give: running jobs are packed anew, the largest first, only if the head does not
fit although enough nodes are free. The packing is kept only if the head then fits, and migration costs
nothing. The head's reservation is, of the boxes that are free at the earliest possible time, the one with the
fewest nodes that are free now. A job may overtake the head if it ends by that time or takes no node of that
box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.hash_based_random_numbers import draw
from whesl.placement.policies.reliable import worth_waiting
from whesl.placement.policies.torus.boxes import Torus, fill
from whesl.placement.policies.torus.choice import MFP, RELIABLE, TIE_BREAKING, choose, penalty
from whesl.placement.policies.torus.finder import count, fits, partitions, projection, sizes, summed
from whesl.prediction.failures.compiled_predictor import Compiled, probability
from whesl.prediction.numba_jit import jit


class Settings(NamedTuple):
    """Settings of a scheduling pass.

    Attributes:
        rule: one of ``whesl.placement.policies.torus.choice.RULES``.
        backfill: whether jobs may overtake the head.
        seed: seed of random draws that, for each question, take each predicted failure as certain with its
            own probability; -1 for the predictor's probabilities.
    """

    rule: int
    backfill: bool
    seed: int


class Pass(NamedTuple):
    """What holds during one pass.

    Attributes:
        geometry: the torus.
        settings: settings of the pass.
        predictor: the predictor as arrays.
        now: the current time, in seconds.
    """

    geometry: Torus
    settings: Settings
    predictor: Compiled
    now: float


class Running(NamedTuple):
    """Running jobs.

    Attributes:
        boxes: boxes of the jobs, shape (running, 6).
        ends: ends of the jobs, in seconds, shape (running,).
    """

    boxes: NDArray[np.int64]
    ends: NDArray[np.float64]


class Plan(NamedTuple):
    """The decisions of a scheduling pass.

    Attributes:
        position: jobs to start, as indices of the queue, in order, shape (started,).
        boxes: partitions of the running jobs, then of the started jobs, shape (running + started, 6).
        moved: whether running jobs migrate to these partitions.
        refused: whether packing was tried and did not make room for the head.
        shadow: begin of the head's reservation, in seconds; ``inf`` if no reservation was made.
        reserved: box of the head's reservation, shape (1, 6), or (0, 6) if no reservation was made.
    """

    position: NDArray[np.int64]
    boxes: NDArray[np.int64]
    moved: bool
    refused: bool
    shadow: float
    reserved: NDArray[np.int64]


@jit
def likely(during: Pass, start: float, duration: float) -> NDArray[np.float64]:
    """Return each node's failure probability in the form that the rule uses.

    Zeros for plain MFP; tie-breaking gets 1 or 0 for "will fail" by the predictor's threshold, other rules
    probabilities. A failure at ``start`` has already happened, and a failure at the job's end does not affect
    the job.

    Args:
        during: the pass.
        start: start of the job, in seconds.
        duration: duration of the job, in seconds.
    """
    settings, predictor = during.settings, during.predictor
    nodes = len(predictor.event_offsets) - 1
    found = np.zeros(nodes)
    if settings.rule == MFP:
        return found
    after = np.nextafter(start, np.inf)
    for node in range(nodes):
        if settings.seed < 0:
            p = probability(predictor, node, after, duration, start)
        else:
            p = 0.0
            first, last = predictor.event_offsets[node], predictor.event_offsets[node + 1]
            event = first + np.searchsorted(predictor.events[first:last], after, side="left")
            while event < last and predictor.events[event] < start + duration and p == 0.0:
                if draw(settings.seed, int(start), int(duration), event) < predictor.event_probability[event]:
                    p = 1.0
                event += 1
        if settings.rule == TIE_BREAKING:
            p = 1.0 if p > 0.0 and p >= predictor.threshold else 0.0
        found[node] = p
    return found


@jit
def ascending(keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the stable ascending order of keys (numba's own sort is slow to compile)."""
    order = np.arange(len(keys))
    for i in range(1, len(keys)):
        job = order[i]
        j = i
        while j > 0 and keys[order[j - 1]] > keys[job]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = job
    return order


@jit
def packed(during: Pass, running: Running, size: int) -> tuple[bool, NDArray[np.int64], NDArray[np.bool_]]:
    """Place the running jobs anew on an empty torus, the largest first.

    Args:
        during: the pass.
        running: the running jobs.
        size: number of nodes of one more job.

    Returns:
        Whether the running jobs and the one more job fit; the new boxes; whether each node holds a job then.
    """
    geometry, boxes = during.geometry, running.boxes
    busy = np.zeros(len(during.predictor.event_offsets) - 1, dtype=np.bool_)
    placed = np.empty_like(boxes)
    smallness = np.empty(len(boxes))
    for i in range(len(boxes)):
        smallness[i] = -boxes[i, 3] * boxes[i, 4] * boxes[i, 5]
    for job in ascending(smallness):
        chance = likely(during, during.now, running.ends[job] - during.now)
        box = choose(geometry, busy, busy, int(-smallness[job]), chance, during.settings.rule)
        if len(box) == 0:
            return False, placed, busy
        placed[job] = box[0]
        fill(geometry.dims, box[0], busy, True)
    return fits(geometry, projection(geometry.dims, busy)[1], size), placed, busy


@jit
def reservation(
    geometry: Torus, busy: NDArray[np.bool_], running: Running, size: int
) -> tuple[float, NDArray[np.int64]]:
    """Return the earliest time at which a box is free, and the free box with fewest nodes that are free now.

    Args:
        geometry: the torus.
        busy: whether each node holds a job.
        running: the running jobs.
        size: number of nodes of the box.
    """
    boxes, ends = running
    order = ascending(ends)
    low, high = 0, len(order) - 1  # bounds of the index in ``order`` of the last job whose end is needed
    while low < high:
        middle = (low + high) // 2
        later = busy.copy()
        for job in order[: middle + 1]:
            fill(geometry.dims, boxes[job], later, False)
        if fits(geometry, projection(geometry.dims, later)[1], size):
            high = middle
        else:
            low = middle + 1
    time = ends[order[low]]
    later = busy.copy()
    for job in order:
        if ends[job] <= time:
            fill(geometry.dims, boxes[job], later, False)
    found = partitions(geometry, later, size)
    table = summed(geometry.dims, busy)
    best, most = 0, -1
    for i in range(len(found)):
        x, y, z, a, b, c = found[i]
        held = count(table, x, y, z, a, b, c)
        if held > most:
            best, most = i, held
    return time, found[best : best + 1]


@jit
def held_back(
    during: Pass,
    box: NDArray[np.int64],
    chance: NDArray[np.float64],
    time: float,
    latest: float,
    busy: NDArray[np.bool_],
    running: Running,
) -> tuple[float, NDArray[np.int64]]:
    """Return when and where a job should start instead of now; ``inf`` if it should start now.

    The job waits for the next job's end, never beyond ``latest``, if the box that is free then reduces the
    expected loss by more node-seconds than the job's nodes wait. Source:
    ``whesl.placement.policies.reliable``.

    Args:
        during: the pass.
        box: the job's box if it starts now, shape (1, 6).
        chance: probability that each node fails while the job runs, if it starts now.
        time: run time of the job, in seconds.
        latest: latest time until which the job may be held back, in seconds.
        busy: whether each node holds a job.
        running: the running jobs.
    """
    geometry, now = during.geometry, during.now
    boxes, ends = running
    loss = penalty(geometry.dims, box[0], chance, RELIABLE) * time
    if loss == 0.0 or len(ends) == 0:
        return np.inf, box
    next_ = ends.min()
    if not now < next_ <= latest:
        return np.inf, box
    later = busy.copy()
    for job in range(len(ends)):
        if ends[job] <= next_:
            fill(geometry.dims, boxes[job], later, False)
    size = int(box[0, 3] * box[0, 4] * box[0, 5])
    risk = likely(during, next_, time)
    best = choose(geometry, later, later, size, risk, RELIABLE)
    left = penalty(geometry.dims, best[0], risk, RELIABLE) * time
    return (next_ if worth_waiting(loss, left, next_ - now, size) else np.inf), best


@jit
def plan(
    during: Pass,
    migrate: bool,
    running: Running,
    volumes: NDArray[np.int64],
    times: NDArray[np.float64],
    latest: NDArray[np.float64],
) -> Plan:
    """Decide which waiting jobs start now, and where.

    Args:
        during: the pass.
        migrate: whether running jobs may be moved.
        running: the running jobs.
        volumes: box volumes of the waiting jobs (``Torus.fitting``), in order, shape (waiting,).
        times: run times of the waiting jobs, in seconds, shape (waiting,).
        latest: latest time until which "reliable" may hold each waiting job back, in seconds, shape
            (waiting,).
    """
    geometry, now, rule = during.geometry, during.now, during.settings.rule
    nodes = len(during.predictor.event_offsets) - 1
    waiting = len(volumes)
    held = len(running.ends)
    boxes = np.empty((held + min(waiting, nodes), 6), dtype=np.int64)
    boxes[:held] = running.boxes
    until = np.empty(len(boxes))
    until[:held] = running.ends
    position = np.empty(len(boxes) - held, dtype=np.int64)
    busy = np.zeros(nodes, dtype=np.bool_)
    for i in range(held):
        fill(geometry.dims, boxes[i], busy, True)
    free = nodes - int(busy.sum())
    most = projection(geometry.dims, busy)[1]
    started = 0
    moved = False
    refused = False
    shadow = np.inf
    reserved = np.empty((0, 6), dtype=np.int64)
    head = 0
    while head < waiting and volumes[head] <= free:
        size = volumes[head]
        if not fits(geometry, most, size):
            if not migrate:
                break
            present = Running(boxes[: held + started], until[: held + started])
            done, placed, taken = packed(during, present, size)
            if not done:
                refused = True
                break
            boxes[: held + started] = placed
            busy = taken
            moved = True
        chance = likely(during, now, times[head])
        box = choose(geometry, busy, busy, size, chance, rule)
        if rule == RELIABLE:
            present = Running(boxes[: held + started], until[: held + started])
            shadow, reserved = held_back(during, box, chance, times[head], latest[head], busy, present)
            if shadow < np.inf:
                break
        boxes[held + started] = box[0]
        until[held + started] = now + times[head]
        position[started] = head
        started += 1
        free -= size
        fill(geometry.dims, box[0], busy, True)
        most = projection(geometry.dims, busy)[1]
        head += 1
    able = sizes(geometry, most)
    hopeful = False  # whether any job behind the head has a free box
    for job in range(head + 1, waiting):
        hopeful = hopeful or able[volumes[job]]
    if during.settings.backfill and hopeful:
        if shadow == np.inf:
            present = Running(boxes[: held + started], until[: held + started])
            shadow, reserved = reservation(geometry, busy, present, volumes[head])
        barred = busy.copy()
        fill(geometry.dims, reserved[0], barred, True)
        beside = sizes(geometry, projection(geometry.dims, barred)[1])
        for job in range(head + 1, waiting):
            size = volumes[job]
            if not able[size]:
                continue
            brief = now + times[job] <= shadow
            if not brief and not beside[size]:
                continue
            chance = likely(during, now, times[job])
            box = choose(geometry, busy, busy if brief else barred, size, chance, rule)
            boxes[held + started] = box[0]
            position[started] = job
            started += 1
            fill(geometry.dims, box[0], busy, True)
            fill(geometry.dims, box[0], barred, True)
            able = sizes(geometry, projection(geometry.dims, busy)[1])
            beside = sizes(geometry, projection(geometry.dims, barred)[1])
    return Plan(position[:started], boxes[: held + started], moved, refused, shadow, reserved)
