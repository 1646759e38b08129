"""Executors that pull tasks of their stage one at a time, compiled; time goes on in steps.

What the document says of them: an executor on the cluster ends after its hour, and what its task had done
is kept (a checkpoint of the size of the input); one in the cloud ends after its task. A task's input that
lies on the other side is copied first, or beforehand where inputs are preloaded. A task that is done feeds
its children at the end of the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.prediction.numba_jit import jit, jit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

HPC, CLOUD = 0, 1
SCHEDULED, BACKUP = 0, 1
# Columns of an executor. AT: seconds when it is free next; ENDS: when it takes no more tasks.
STAGE, SIDE, PURPOSE, ASKED, AT, ENDS, BUSY, STOP, GONE, FINISHED = range(10)
_COLUMNS = 10
# Rows of ``Work.done`` and ``Work.queue``, and places in ``Work.tally`` by side.
COST, BACKUP_COST, BACKUP_HOURS, BACKUP_COUNT, BACKUP_TASKS, MOVED, READ, WRITTEN, HOURS, COPIES, LAST = (
    range(11)
)


class Shape(NamedTuple):
    """What a workflow is to its executors.

    Attributes:
        tasks: of each stage, shape (stages,).
        parent: (stages, most parents), -1 for none.
        barrier: likewise.
        seconds: mean run time by stage and side, shape (stages, 2).
        price: of an hour of the instance that the stage uses, shape (stages,).
        input, output: bytes of one task, shape (stages,).
        leaf: whether a stage has no child, shape (stages,).
        factors: drawn run times' factors, to be used one after the other.
        wide: bytes a second between the sides, for one task.
        local: bytes a second of the cloud's file system, for one task.
        least: seconds that an instance is billed for at least.
        needs: seconds that an executor on the cluster has to have left to begin a task; 0 where a task that
            is broken off goes on where it was, shape (stages,).
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
    """All that changes.

    Attributes:
        done: tasks by stage and side, shape (stages, 2).
        released: tasks whose parents are done, shape (stages,).
        origin: of those not yet mapped, by the side of their input, shape (stages, 2).
        queue: mapped tasks by stage, side of the queue, and whether their input is there (1) or not (0).
        coming: inputs under way by stage and side, shape (stages, 2, steps ahead).
        parts: seconds left of tasks that an executor's hour ended, shape (stages, most), a stack.
        depth: of each stack, shape (stages,).
        rows: executors, shape (most, 10).
        numbers: executors, and the place in the factors, shape (2,).
        tally: sums by the names above, and when the last task that is done ended (LAST), shape (11,).
        spent: seconds of run time and tasks by stage and side, shape (stages, 2, 2).
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
    """Return the work before it begins: stages without parents are ready, their inputs on the cluster.

    Args:
        shape: of the workflow.
        most: executors that will ever be.
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
    """Take executors that have gone out of the rows; the others keep their order."""
    kept = 0
    for row in range(work.numbers[0]):
        if work.rows[row, GONE] == 0:
            if kept < row:
                for column in range(_COLUMNS):  # a row as a whole would be copied through new memory
                    work.rows[kept, column] = work.rows[row, column]
            kept += 1
    work.numbers[0] = kept


@jit
def add(
    work: Work, stage: int, side: int, purpose: int, count: int, asked: float, at: float, ends: float
) -> None:
    """Add executors that were asked for at ``asked``, work from ``at``, and take no task after ``ends``."""
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
    """End cloud executors of a stage after their tasks: idle ones first, then those that are free soonest."""
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
    """End the cluster's executors of a stage whose tasks are all done; return how many."""
    found = 0
    for row in range(work.numbers[0]):
        one = work.rows[row]
        if not one[GONE] and one[SIDE] == HPC and one[STAGE] == stage and not one[BUSY]:
            one[GONE] = 1
            found += 1
    return found


@jit
def counted(work: Work, now: float, counts: NDArray[np.int64]) -> None:
    """Count executors by stage: of the cluster, cloud scheduled, cloud backup, busy, and staying.

    Those that stay are the cluster's whose time goes on for half an hour and more.
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
    """An executor has gone."""
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
    """Bill all that is left, at the end of a run."""
    for row in range(work.numbers[0]):
        if not work.rows[row, GONE]:
            idle = work.rows[row, STOP] > 0 and work.rows[row, BUSY] == 0
            _bill(work, shape, row, max(work.rows[row, AT], work.rows[row, ASKED]) if idle else now)


@jit_inner
def _map(
    work: Work, shape: Shape, stage: int, executors: NDArray[np.int64], preload: bool, step: float
) -> None:
    """Map tasks to queues while a queue has a load below 2: the cloud's first, whose idle time costs money.

    A load below 1 is the document's rule for one task; the second task of each executor is the one whose
    input is copied meanwhile.
    """
    for side in (CLOUD, HPC):
        have = work.queue[stage, side, 0] + work.queue[stage, side, 1]
        for ahead in range(_AHEAD):
            have += work.coming[stage, side, ahead]
        room = 2 * executors[side] - have
        # Inputs of the same side first.
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
    """Take a task; return how long it occupies the executor, -1 for none."""
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
            # The other domain's load exceeds 1. An input that was to be copied there may already be here.
            if work.queue[stage, other, 0] > 0:
                work.queue[stage, other, 0] -= 1
            else:
                work.queue[stage, other, 1] -= 1
                copy = shape.input[stage] / shape.wide
                _moved(work, shape, stage, side, 1)
        elif side == CLOUD and work.depth[stage] > executors[HPC]:
            # A task that an hour's end interrupted: its checkpoint is on the cluster.
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
    """Go on until a moment.

    Args:
        work: changed in place.
        shape: of the workflow.
        now: where it stands.
        until: the moment.
        step: seconds of a step.
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
    """One executor's step: ends of tasks, and new ones."""
    one = work.rows[row]
    stage, side = int(one[STAGE]), int(one[SIDE])
    while one[AT] < end:
        if one[BUSY]:
            if one[BUSY] == 2:  # its hour ended within a task
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
            return  # idle: its AT stays in the past
        last = free + took
        if side == HPC and last > one[ENDS]:
            left = last - one[ENDS] + shape.input[stage] / shape.local
            if shape.needs[stage] > 0:
                left = took  # it begins anew
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
    """Tasks whose parents are done wait for their mapping, where their parents' output lies."""
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
