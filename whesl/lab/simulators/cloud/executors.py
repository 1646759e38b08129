"""Executors that pull tasks of their stage one at a time, compiled; time advances in steps.

The document's model: an executor on the cluster ends after its hour, and a checkpoint of the input's size
keeps the progress of its task. An executor in the cloud ends after its task. A task's input on the other side
is copied when the task starts, or earlier if inputs are preloaded. A finished task releases its children at
the end of the step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.numba_jit import jit, jit_inner

HPC, CLOUD = 0, 1
SCHEDULED, BACKUP = 0, 1
# Columns of an executor. AT: time in seconds when the executor is next free. ENDS: time after which it takes
# no task.
STAGE, SIDE, PURPOSE, ASKED, AT, ENDS, BUSY, STOP, GONE, FINISHED = range(10)
_COLUMNS = 10
# Indices into ``Work.tally``.
COST, BACKUP_COST, BACKUP_HOURS, BACKUP_COUNT, BACKUP_TASKS, MOVED, READ, WRITTEN, HOURS, COPIES, LAST = (
    range(11)
)


class Shape(NamedTuple):
    """A workflow's stages as arrays for the executors.

    Attributes:
        tasks: number of tasks of each stage, shape (stages,).
        parent: indices of each stage's parents, -1 for none, shape (stages, most parents).
        barrier: whether a stage waits for the whole parent stage, shape (stages, most parents).
        seconds: mean run time of a task by stage and side, in seconds, shape (stages, 2).
        price: price of an hour of the stage's instance type, shape (stages,).
        input, output: bytes that one task reads and writes, shape (stages,).
        leaf: whether a stage has no child, shape (stages,).
        factors: random factors of the run times, used one after the other.
        wide: bandwidth between cluster and cloud for one task, in bytes a second.
        local: bandwidth of the local file system for one task, in bytes a second.
        least: least time that an instance is billed for, in seconds.
        needs: least remaining time of a cluster's executor to begin a task, in seconds; 0 if an interrupted
            task resumes from its checkpoint, shape (stages,).
    """

    tasks: NDArray[np.int64]
    parent: NDArray[np.int64]
    barrier: NDArray[np.bool_]
    seconds: NDArray[np.float64]
    price: NDArray[np.float64]
    input: NDArray[np.float64]
    output: NDArray[np.float64]
    leaf: NDArray[np.bool_]
    factors: NDArray[np.float64]
    wide: float
    local: float
    least: float
    needs: NDArray[np.float64]


class Work(NamedTuple):
    """The state of a simulated workflow.

    Attributes:
        done: number of finished tasks by stage and side, shape (stages, 2).
        released: number of tasks whose parents are done, shape (stages,).
        origin: number of released tasks not yet mapped, by stage and side of their input, shape (stages, 2).
        queue: number of mapped tasks by stage, side of the queue, and whether the input is on that side (1)
            or not (0), shape (stages, 2, 2).
        coming: number of inputs being copied, by stage, target side and remaining steps, shape (stages, 2,
            steps ahead).
        parts: remaining seconds of tasks that an executor's end interrupted, a stack per stage, shape
            (stages, most).
        depth: depth of each stack of ``parts``, shape (stages,).
        rows: one row per executor, with the columns STAGE to FINISHED, shape (most, 10).
        numbers: number of executors, and index of the next factor, shape (2,).
        tally: sums COST to COPIES, and the end of the last finished task (LAST), shape (11,).
        spent: seconds of run time, and number of tasks, by stage and side, shape (stages, 2, 2).
    """

    done: NDArray[np.int64]
    released: NDArray[np.int64]
    origin: NDArray[np.int64]
    queue: NDArray[np.int64]
    coming: NDArray[np.int64]
    parts: NDArray[np.float64]
    depth: NDArray[np.int64]
    rows: NDArray[np.float64]
    numbers: NDArray[np.int64]
    tally: NDArray[np.float64]
    spent: NDArray[np.float64]


_AHEAD = 64
_PARTS = 4096


def begun(shape: Shape, most: int) -> Work:
    """Return the state before the first task: stages without parents are ready, their inputs on the cluster.

    Args:
        shape: the workflow.
        most: largest number of executors at a time.
    """
    stages = len(shape.tasks)
    work = Work(
        np.zeros((stages, 2), np.int64),
        np.zeros(stages, np.int64),
        np.zeros((stages, 2), np.int64),
        np.zeros((stages, 2, 2), np.int64),
        np.zeros((stages, 2, _AHEAD), np.int64),
        np.zeros((stages, _PARTS)),
        np.zeros(stages, np.int64),
        np.zeros((most, _COLUMNS)),
        np.zeros(2, np.int64),
        np.zeros(11),
        np.zeros((stages, 2, 2)),
    )
    for stage in range(stages):
        if shape.parent[stage, 0] < 0:
            work.released[stage] = shape.tasks[stage]
            work.origin[stage, HPC] = shape.tasks[stage]
    return work


@jit_inner
def _compact(work: Work) -> None:
    """Remove ended executors from the rows; the other executors keep their order."""
    kept = 0
    for row in range(work.numbers[0]):
        if work.rows[row, GONE] == 0:
            if kept < row:
                for column in range(_COLUMNS):  # copying a whole row would allocate memory
                    work.rows[kept, column] = work.rows[row, column]
            kept += 1
    work.numbers[0] = kept


@jit
def add(
    work: Work, stage: int, side: int, purpose: int, count: int, asked: float, at: float, ends: float
) -> None:
    """Add executors.

    Args:
        work: the state, changed in place.
        stage: index of the executors' stage.
        side: HPC or CLOUD.
        purpose: SCHEDULED or BACKUP.
        count: number of executors.
        asked: time of the request, in seconds.
        at: time from which the executors work, in seconds.
        ends: time after which the executors take no task, in seconds.
    """
    for _ in range(count):
        if work.numbers[0] == len(work.rows):
            _compact(work)
            if work.numbers[0] == len(work.rows):
                return
        row = work.numbers[0]
        work.rows[row] = 0
        work.rows[row, STAGE] = stage
        work.rows[row, SIDE] = side
        work.rows[row, PURPOSE] = purpose
        work.rows[row, ASKED] = asked
        work.rows[row, AT] = at
        work.rows[row, ENDS] = ends
        work.numbers[0] += 1


@jit
def stop(work: Work, stage: int, purpose: int, count: int) -> None:
    """Mark cloud executors of a stage to end after their tasks: idle ones first, then the next free ones.

    Args:
        work: the state, changed in place.
        stage: index of the executors' stage.
        purpose: SCHEDULED or BACKUP.
        count: number of executors.
    """
    rows = work.rows
    for busy in (0.0, 1.0):
        if count <= 0:
            return
        own = np.empty(work.numbers[0], np.int64)
        found = 0
        for row in range(work.numbers[0]):
            if (
                rows[row, STAGE] == stage
                and rows[row, SIDE] == CLOUD
                and rows[row, PURPOSE] == purpose
                and rows[row, BUSY] == busy
                and not rows[row, STOP]
                and not rows[row, GONE]
            ):
                own[found] = row
                found += 1
        free = np.empty(found)
        for place in range(found):
            free[place] = rows[own[place], AT]
        for place in np.argsort(free, kind="mergesort")[:count]:
            rows[own[place], STOP] = 1
        count -= found


@jit
def end_idle(work: Work, stage: int) -> int:
    """End the cluster's idle executors of a finished stage; return their number.

    Args:
        work: the state, changed in place.
        stage: index of the stage.
    """
    found = 0
    for row in range(work.numbers[0]):
        one = work.rows[row]
        if not one[GONE] and one[SIDE] == HPC and one[STAGE] == stage and not one[BUSY]:
            one[GONE] = 1
            found += 1
    return found


@jit
def counted(work: Work, now: float, counts: NDArray[np.int64]) -> None:
    """Count executors by stage: cluster, cloud scheduled, cloud backup, busy, and staying.

    Staying executors are the cluster's executors with more than half an hour left.

    Args:
        work: the state.
        now: present time, in seconds.
        counts: filled with the counts, shape (stages, 5).
    """
    counts[:] = 0
    for row in range(work.numbers[0]):
        one = work.rows[row]
        if one[GONE]:
            continue
        stage = int(one[STAGE])
        if one[BUSY]:
            counts[stage, 3] += 1
        if one[STOP] or one[ENDS] <= now:
            continue
        if one[SIDE] == HPC:
            counts[stage, 0] += 1
            counts[stage, 4] += one[ENDS] > now + 1800.0
        else:
            counts[stage, 1 + int(one[PURPOSE])] += 1


@jit_inner
def _bill(work: Work, shape: Shape, row: int, end: float) -> None:
    """Mark an executor as ended at ``end``, and bill it if it is a cloud instance."""
    one = work.rows[row]
    one[GONE] = 1
    if one[SIDE] == HPC:
        return
    hours = max(shape.least, end - one[ASKED]) / 3600.0
    price = hours * shape.price[int(one[STAGE])]
    work.tally[COST] += price
    work.tally[HOURS] += hours
    if one[PURPOSE] == BACKUP:
        work.tally[BACKUP_COST] += price
        work.tally[BACKUP_HOURS] += hours
        work.tally[BACKUP_COUNT] += 1


@jit
def finish(work: Work, shape: Shape, now: float) -> None:
    """Bill all remaining executors at the end of a run.

    Args:
        work: the state, changed in place.
        shape: the workflow.
        now: end of the run, in seconds.
    """
    for row in range(work.numbers[0]):
        if not work.rows[row, GONE]:
            idle = work.rows[row, STOP] > 0 and work.rows[row, BUSY] == 0
            _bill(work, shape, row, max(work.rows[row, AT], work.rows[row, ASKED]) if idle else now)


@jit_inner
def _map(
    work: Work, shape: Shape, stage: int, executors: NDArray[np.int64], preload: bool, step: float
) -> None:
    """Map tasks to queues with a load below 2: the cloud's first, since its idle time costs money.

    The document's rule is a load below 1, one task per executor; the second task is one whose input is copied
    meanwhile.
    """
    for side in (CLOUD, HPC):
        have = work.queue[stage, side, 0] + work.queue[stage, side, 1]
        for ahead in range(_AHEAD):
            have += work.coming[stage, side, ahead]
        room = 2 * executors[side] - have
        # Tasks with their input on the same side come first.
        for source in (side, 1 - side):
            taken = min(room, work.origin[stage, source])
            if taken <= 0:
                continue
            room -= taken
            work.origin[stage, source] -= taken
            if source == side:
                work.queue[stage, side, 1] += taken
            elif preload:
                late = min(_AHEAD - 1, 1 + int(shape.input[stage] / shape.wide / step))
                work.coming[stage, side, late] += taken
                _moved(work, shape, stage, side, taken)
            else:
                work.queue[stage, side, 0] += taken


@jit_inner
def _moved(work: Work, shape: Shape, stage: int, side: int, count: int) -> None:
    size = count * shape.input[stage]
    work.tally[COPIES] += count
    if side == HPC:
        work.tally[MOVED] += size
        work.tally[READ] += size
    else:
        work.tally[WRITTEN] += size


@jit_inner
def _take(work: Work, shape: Shape, stage: int, side: int, executors: NDArray[np.int64]) -> float:
    """Take a task; return the seconds that the task occupies the executor, or -1 if there is no task."""
    copy = 0.0
    if side == HPC and work.depth[stage] > 0:
        work.depth[stage] -= 1
        return float(work.parts[stage, work.depth[stage]] + shape.input[stage] / shape.local)
    if work.queue[stage, side, 1] > 0:
        work.queue[stage, side, 1] -= 1
    elif work.queue[stage, side, 0] > 0:
        work.queue[stage, side, 0] -= 1
        copy = shape.input[stage] / shape.wide
        _moved(work, shape, stage, side, 1)
    else:
        other = 1 - side
        queued = work.queue[stage, other, 0] + work.queue[stage, other, 1]
        if queued > executors[other]:
            # The other side's load exceeds 1. A task whose input is still to be copied there has its input
            # here.
            if work.queue[stage, other, 0] > 0:
                work.queue[stage, other, 0] -= 1
            else:
                work.queue[stage, other, 1] -= 1
                copy = shape.input[stage] / shape.wide
                _moved(work, shape, stage, side, 1)
        elif side == CLOUD and work.depth[stage] > executors[HPC]:
            # The cloud takes over an interrupted task, whose checkpoint is on the cluster.
            work.depth[stage] -= 1
            _moved(work, shape, stage, side, 1)
            return float(work.parts[stage, work.depth[stage]] + shape.input[stage] / shape.wide)
        elif work.origin[stage, side] > 0:
            work.origin[stage, side] -= 1
        elif work.origin[stage, other] > 0:
            work.origin[stage, other] -= 1
            copy = shape.input[stage] / shape.wide
            _moved(work, shape, stage, side, 1)
        else:
            return -1.0
    place = work.numbers[1] % len(shape.factors)
    work.numbers[1] += 1
    run = shape.seconds[stage, side] * shape.factors[place]
    work.spent[stage, side, 0] += run
    work.spent[stage, side, 1] += 1
    return float(run + copy)


def advance(work: Work, shape: Shape, now: float, until: float, step: float, preload: bool) -> None:
    """Simulate the executors up to a moment.

    Args:
        work: the state, changed in place.
        shape: the workflow.
        now: present time of the state, in seconds.
        until: the moment, in seconds.
        step: length of a step, in seconds.
        preload: whether inputs are copied as soon as a task is mapped.
    """
    _advance(work, shape, now, until, step, preload, np.zeros((len(shape.tasks), 2), np.int64))


@jit_inner
def _advance(
    work: Work,
    shape: Shape,
    now: float,
    until: float,
    step: float,
    preload: bool,
    executors: NDArray[np.int64],
) -> None:
    stages, rows = len(shape.tasks), work.rows
    _compact(work)
    while now < until - 1e-6:
        end = min(until, now + step)
        executors[:] = 0
        for row in range(work.numbers[0]):
            if rows[row, AT] < end and not rows[row, GONE] and not rows[row, STOP]:
                executors[int(rows[row, STAGE]), int(rows[row, SIDE])] += 1
        for stage in range(stages):
            for side in range(2):
                work.queue[stage, side, 1] += work.coming[stage, side, 0]
                for ahead in range(_AHEAD - 1):
                    work.coming[stage, side, ahead] = work.coming[stage, side, ahead + 1]
                work.coming[stage, side, _AHEAD - 1] = 0
            _map(work, shape, stage, executors[stage], preload, step)
        for row in range(work.numbers[0]):
            if rows[row, AT] < end and not rows[row, GONE]:
                _run(work, shape, row, now, end, executors)
        _release(work, shape)
        now = end


@jit_inner
def _run(work: Work, shape: Shape, row: int, now: float, end: float, executors: NDArray[np.int64]) -> None:
    """Simulate one executor for one step: its tasks end, and it takes new tasks."""
    one = work.rows[row]
    stage, side = int(one[STAGE]), int(one[SIDE])
    while one[AT] < end:
        if one[BUSY]:
            if one[BUSY] == 2:  # the executor's hour ended during a task
                _bill(work, shape, row, one[AT])
                return
            one[BUSY] = 0
            work.done[stage, side] += 1
            work.tally[LAST] = max(work.tally[LAST], one[AT])
            if side == CLOUD:
                work.tally[READ] += shape.input[stage]
                work.tally[WRITTEN] += shape.output[stage]
                if one[PURPOSE] == BACKUP:
                    work.tally[BACKUP_TASKS] += 1
                if shape.leaf[stage]:
                    work.tally[MOVED] += shape.output[stage]
                    work.tally[READ] += shape.output[stage]
        free = max(one[AT], now)
        if one[STOP] or free >= one[ENDS]:
            _bill(work, shape, row, free)
            return
        if side == HPC and shape.needs[stage] > 0 and free + shape.needs[stage] >= one[ENDS]:
            return
        took = _take(work, shape, stage, side, executors[stage])
        if took < 0:
            return  # an idle executor's AT stays in the past
        last = free + took
        if side == HPC and last > one[ENDS]:
            left = last - one[ENDS] + shape.input[stage] / shape.local
            if shape.needs[stage] > 0:
                left = took  # the task starts over
            if work.depth[stage] < len(work.parts[stage]):
                work.parts[stage, work.depth[stage]] = min(left, took)
                work.depth[stage] += 1
            one[AT] = one[ENDS]
            one[BUSY] = 2
            continue
        one[AT] = last
        one[BUSY] = 1


@jit_inner
def _release(work: Work, shape: Shape) -> None:
    """Release tasks whose parents are done for mapping, on the side of their parents' output."""
    for stage in range(len(shape.tasks)):
        if shape.parent[stage, 0] < 0:
            continue
        ready, hpc, total = float(shape.tasks[stage]), 0.0, 0.0
        for number in range(shape.parent.shape[1]):
            parent = shape.parent[stage, number]
            if parent < 0:
                break
            done = work.done[parent, HPC] + work.done[parent, CLOUD]
            share = done / shape.tasks[parent]
            if shape.barrier[stage, number] and done < shape.tasks[parent]:
                share = 0.0
            ready = min(ready, share * shape.tasks[stage])
            hpc += work.done[parent, HPC]
            total += done
        fresh = int(ready + 1e-9) - work.released[stage]
        if fresh <= 0:
            continue
        work.released[stage] += fresh
        here = min(fresh, int(fresh * hpc / max(1.0, total) + 0.5))
        work.origin[stage, HPC] += here
        work.origin[stage, CLOUD] += fresh - here
