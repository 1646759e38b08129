"""Simulates courses of a plan: free nodes and run times are drawn at random, the scaler's rules apply.

Stages progress by fractions of tasks; each task feeds the next stage when it is done. The delay that
indivisible tasks add at the end is drawn at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.cloud.core.cost import data_cost
from whesl.cloud.core.plan_records import PriceList
from whesl.cloud.core.scaler import LATE
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.core.stage_speed import SLACK, Pace, executor_tasks, request_hours
from whesl.cloud.core.uncertainty import LOCAL, Draws, last_task
from whesl.prediction.numba_jit import jit_inner

_STEP = 300.0
_MANY = 30.0  # a Poisson distribution with a mean above this is replaced by its mean
_GOLDEN = 0.6180339887498949  # the golden ratio spreads one random draw over all stages
_DONE = 1 - 1e-9  # share of a stage's tasks at which the stage counts as done
_executor_tasks, _request_hours = jit_inner(executor_tasks), jit_inner(request_hours)
# Row numbers of the array ``now``, the state of each stage within one course and one hour.
SHARE, FINISHED, OWN, SPARE, ASKED, GRANTED, FRESH, REACHED, BUSY, IDLE, HOURS = range(11)
# Column numbers of the array of each course's sums.
COST, BACKUP, CLUSTER, CLOUDY, LAST = range(5)


class Courses(NamedTuple):
    """The result of a plan in each simulated course.

    Attributes:
        finished: end of the last task, seconds after the start; infinite where it misses the deadline.
        cost: cost of the instances, files and transfers.
        backup: the part of ``cost`` that backup instances cause.
        cluster_hours, cloud_hours: node-hours.
    """

    finished: NDArray[np.float64]
    cost: NDArray[np.float64]
    backup: NDArray[np.float64]
    cluster_hours: NDArray[np.float64]
    cloud_hours: NDArray[np.float64]


class _Stages(NamedTuple):
    """The tables of a scaler's state as arrays.

    Attributes:
        tasks: number of each stage's tasks, shape (stages,).
        hpc, cloud: seconds of a task on either side, infinite where it cannot run there.
        price: price of an instance's hour.
        end: planned end of the stage, seconds after the schedule's start.
        delay: seconds from an instance's request until its first input is copied.
        kept: share of a node's hour that remains beside the checkpoints at its begin and end.
        revoked: share of the instances that the provider revokes in an hour.
        limit: largest number of instances.
        nodes, instances, planned, hours: the scaler's tables by hour, shape (stages, hours).
        whole: whether an interrupted task starts again from its beginning.
        longest: hours of the longest request.
        parents: row numbers of the parents, filled up with -1, shape (stages, most parents).
        barrier: whether each parent is a barrier, shape (stages, most parents).
    """

    tasks: NDArray[np.float64]
    hpc: NDArray[np.float64]
    cloud: NDArray[np.float64]
    price: NDArray[np.float64]
    end: NDArray[np.float64]
    delay: NDArray[np.float64]
    kept: NDArray[np.float64]
    revoked: NDArray[np.float64]
    limit: NDArray[np.float64]
    nodes: NDArray[np.float64]
    instances: NDArray[np.float64]
    planned: NDArray[np.float64]
    hours: NDArray[np.int64]
    whole: NDArray[np.bool_]
    longest: NDArray[np.int64]
    parents: NDArray[np.int64]
    barrier: NDArray[np.bool_]


def _stages(state: ScalerState, paces: tuple[Pace, ...], wide: float) -> _Stages:
    tables = state.tables
    inputs = np.array([pace.stage.input_bytes for pace in paces])
    starts = np.array([pace.platform.start if pace.platform else 0.0 for pace in paces])
    most = max(1, *(len(table.parents) for table in tables))
    parents = np.full((len(tables), most), -1, np.int64)
    barrier = np.zeros((len(tables), most), np.bool_)
    for at, table in enumerate(tables):
        for number, (parent, whole) in enumerate(table.parents):
            parents[at, number], barrier[at, number] = parent, whole
    return _Stages(
        np.array([table.tasks for table in tables], dtype=np.float64),
        np.array([table.hpc or np.inf for table in tables]),
        np.array([table.cloud or np.inf for table in tables]),
        np.array([pace.platform.price if pace.platform else 0.0 for pace in paces]),
        np.array([table.end - state.start for table in tables]),
        starts + inputs / wide,
        np.maximum(0.5, 1 - 2 * inputs / LOCAL / 3600.0),
        np.array([pace.platform.losses if pace.platform else 0.0 for pace in paces]),
        np.array([float(table.limit) for table in tables]),
        np.array([table.nodes for table in tables], dtype=np.float64),
        np.array([table.instances for table in tables], dtype=np.float64),
        np.array([table.planned for table in tables], dtype=np.float64),
        np.array([table.hours for table in tables], dtype=np.int64),
        np.array([table.whole for table in tables]),
        np.array([table.longest for table in tables], dtype=np.int64),
        parents,
        barrier,
    )


def follow(
    state: ScalerState,
    paces: tuple[Pace, ...],
    prices: PriceList,
    free: NDArray[np.float64],
    drawn: Draws,
) -> Courses:
    """Return the result of a plan in each course.

    Args:
        state: the scaler's state before its first event.
        paces: the stages' speeds.
        prices: the cloud's prices of files and transfers.
        free: number of free nodes, shape (courses, hours).
        drawn: the random run times and delays of the courses.
    """
    stages, settings = _stages(state, paces, drawn.wide), state.settings
    count, length = len(free), state.deadline - state.start
    sums, clouded = np.zeros((count, 5)), np.zeros((count, len(paces)))
    _all(
        stages,
        drawn.factors,
        drawn.losses,
        free,
        length,
        settings.short,
        settings.backup,
        settings.rebalance,
        np.zeros((11, len(paces))),
        np.zeros((len(paces), int(length / _STEP) + 3)),
        np.zeros((2, len(paces), int(length / 3600.0) + 2)),
        sums,
        clouded,
    )
    cost = sums[:, COST] + data_cost(paces, prices, clouded)
    last = sums[:, LAST] + last_task(paces, drawn, length, clouded)
    return Courses(last, cost, sums[:, BACKUP], sums[:, CLUSTER], sums[:, CLOUDY])


@jit_inner
def _all(
    stages: _Stages,
    factors: NDArray[np.float64],
    losses: NDArray[np.float64],
    free: NDArray[np.float64],
    length: float,
    short: float,
    backup: float,
    rebalance: bool,
    now: NDArray[np.float64],
    past: NDArray[np.float64],
    requests: NDArray[np.float64],
    sums: NDArray[np.float64],
    clouded: NDArray[np.float64],
) -> None:
    """Simulate all courses; fill in their sums and the number of tasks that each stage does in the cloud.

    ``past`` has the share of each stage that was done at the beginning of each step, shape (stages, steps);
    ``requests`` the nodes that were granted in each hour, and for how many hours, shape (2, stages, hours).
    """
    for course in range(len(free)):
        now[:] = 0.0
        now[FINISHED] = np.inf
        requests[:] = 0.0
        for hour in range(int(np.ceil(length / 3600.0 - 1e-9))):
            begin = hour * 3600.0
            room = min(3600.0, length - begin)
            _ask(stages, factors[course], hour, room, short, backup, rebalance, requests, now)
            # The smaller number of free nodes of this hour and the last one holds at the begin of this hour.
            idle = max(free[course, hour], free[course, max(0, hour - 1)])
            for stage in range(len(stages.tasks)):
                idle -= _staying(requests, stage, hour)
            for stage in range(len(stages.tasks)):
                granted = min(now[ASKED, stage], max(0.0, idle))
                idle -= now[ASKED, stage]
                requests[0, stage, hour], requests[1, stage, hour] = granted, now[HOURS, stage]
                stays = _staying(requests, stage, hour)
                now[GRANTED, stage] = granted + stays
                now[ASKED, stage] += stays
                now[IDLE, stage] = min(now[IDLE, stage], stays)
            moment = begin
            while moment < begin + room - 1e-6:
                span = min(_STEP, begin + room - moment)
                first = moment == begin
                loss = losses[course, int(moment / _STEP + 0.5) % losses.shape[1]]
                _advance(
                    stages,
                    factors[course],
                    loss,
                    short,
                    course,
                    moment,
                    span,
                    first,
                    now,
                    past,
                    requests,
                    sums,
                    clouded,
                )
                for stage in range(len(stages.tasks)):
                    missing = now[ASKED, stage] - now[GRANTED, stage]
                    now[SPARE, stage] = min(now[SPARE, stage], np.ceil(backup * missing))
                moment += span
            sums[course, LAST] = 0.0
            for stage in range(len(stages.tasks)):
                sums[course, LAST] = max(sums[course, LAST], now[FINISHED, stage])
            if sums[course, LAST] < np.inf:
                break


@jit_inner
def _reached(stages: _Stages, stage: int, share: NDArray[np.float64]) -> float:
    """Return the share of a stage's tasks whose inputs exist, given the share of each stage that is done."""
    found = 1.0
    for number in range(stages.parents.shape[1]):
        parent = stages.parents[stage, number]
        if parent < 0:
            break
        there = share[parent]
        if stages.barrier[stage, number]:
            there = 1.0 if there >= _DONE else 0.0
        found = min(found, there)
    return found


@jit_inner
def _fed(
    stages: _Stages,
    stage: int,
    now: NDArray[np.float64],
    past: NDArray[np.float64],
    until: float,
    length: float,
) -> float:
    """Return the share of a stage's tasks whose inputs are there early enough to be done by ``until``.

    A task takes ``length``. Within a step of time, the parents' progress counts as linear.
    """
    moment = until - length
    found = 1.0
    for number in range(stages.parents.shape[1]):
        parent = stages.parents[stage, number]
        if parent < 0:
            break
        end = now[FINISHED, parent]
        if moment >= end or (stages.barrier[stage, number] and until > end):
            continue
        if stages.barrier[stage, number] or moment <= 0:
            return 0.0
        step = int(moment / _STEP)
        begin = step * _STEP
        low, high = past[parent, step], past[parent, step + 1]
        found = min(found, low + (high - low) * (moment - begin) / (min(begin + _STEP, end) - begin))
    return found


@jit_inner
def _open(stages: _Stages, stage: int, now: NDArray[np.float64]) -> float:
    """Return the time at which all barrier parents of a stage are done; 0 for a stage without barriers."""
    found = 0.0
    for number in range(stages.parents.shape[1]):
        parent = stages.parents[stage, number]
        if parent >= 0 and stages.barrier[stage, number]:
            found = max(found, now[FINISHED, parent])
    return found


@jit_inner
def _staying(requests: NDArray[np.float64], stage: int, hour: int) -> float:
    """Return the number of nodes that were requested in earlier hours and are still held."""
    found = 0.0
    for begun in range(hour):
        if begun + requests[1, stage, begun] > hour:
            found += requests[0, stage, begun]
    return found


@jit_inner
def _ask(
    stages: _Stages,
    factors: NDArray[np.float64],
    hour: int,
    room: float,
    short: float,
    backup: float,
    rebalance: bool,
    requests: NDArray[np.float64],
    now: NDArray[np.float64],
) -> None:
    """Request nodes, scheduled instances and backup instances for an hour, by the scaler's rules."""
    known = stages.nodes.shape[1]
    for stage in range(len(stages.tasks)):
        tasks = stages.tasks[stage]
        # After the first hour the scaler uses measured run times.
        hpc = stages.hpc[stage] * (factors[stage, 0] if hour else 1.0)
        cloud = stages.cloud[stage] * (factors[stage, 1] if hour else 1.0)
        late = max(stages.end[stage] - hour * 3600.0, LATE * short)
        seconds = max(60.0, min(room, late))
        done = now[SHARE, stage] * tasks
        planned = stages.planned[stage, hour] if hour < known else tasks
        before = stages.planned[stage, min(hour, known) - 1] if hour and known else 0.0
        need = planned - (done if rebalance else before)
        now[REACHED, stage] = now[SHARE, stage]
        most = max(0.0, _reached(stages, stage, now[REACHED]) * tasks - done)
        need = min(max(need, 0.0), most)
        now[REACHED, stage] += need / tasks
        # each: tasks of a node during its whole request; soon: tasks of a node within this hour or the stage.
        each, soon, hours = 0.0, 0.0, 1
        if hpc < np.inf and not stages.whole[stage]:
            each = soon = seconds / hpc
        elif hpc < np.inf:
            hours = max(stages.hours[stage, hour] if hour < known else 1, _request_hours(hpc, 3600.0))
            if hours <= stages.longest[stage]:
                life = hours * 3600.0
                each = float(_executor_tasks(life, hpc, hpc, life))
                soon = float(_executor_tasks(life, hpc, hpc, seconds if hours == 1 else max(seconds, late)))
        stays = _staying(requests, stage, hour) if hours > 1 else 0.0
        need = max(0.0, need - stays * soon)
        alone = stages.cloud[stage] == np.inf
        asked = 0.0
        if each > 0:
            asked = stages.nodes[stage, hour] if hour < known else 0.0
            asked = min(asked, np.ceil(max(0.0, tasks - done - stays) - 1e-6))
            if alone and rebalance:
                asked = max(asked, np.ceil(need * min(1.0, 1 / each) - 1e-6))
        instances, spare = 0.0, 0.0
        if not alone:
            if rebalance:
                instances = np.ceil((need - asked * soon) * cloud / seconds - 1e-9)
            elif hour < known:
                instances = stages.instances[stage, hour]
            instances = min(max(instances, 0.0), stages.limit[stage])
            spare = min(np.ceil(backup * asked - 1e-9), stages.limit[stage] - instances)
        now[ASKED, stage] = asked
        now[HOURS, stage] = hours
        now[FRESH, stage] = max(0.0, instances - now[OWN, stage])
        now[OWN, stage] = instances
        now[SPARE, stage] = spare


@jit_inner
def _ended(
    stages: _Stages,
    stage: int,
    factors: NDArray[np.float64],
    requests: NDArray[np.float64],
    opened: float,
    moment: float,
    until: float,
) -> tuple[float, float, float]:
    """Return the tasks that end on the cluster, the last one's end, and the latest possible begin."""
    found, last, latest = 0.0, 0.0, 0.0
    for hour in range(int(moment / 3600.0 + 1e-9) + 1):
        over = (hour + requests[1, stage, hour]) * 3600.0
        if requests[0, stage, hour] <= 0 or over <= moment:
            continue
        hpc = stages.hpc[stage] * factors[stage, 0]
        expected = stages.hpc[stage] * (factors[stage, 0] if hour else 1.0)
        latest = max(latest, over - SLACK * expected)
        begin = max(hour * 3600.0, opened)
        if begin >= min(until, over):
            continue
        most = float(_executor_tasks(over - begin, hpc, expected, over - begin))
        low, high = max(0.0, moment - begin) / hpc, (min(until, over) - begin) / hpc
        if hpc > _STEP:  # several shorter tasks end within a step
            low, high = np.floor(low + 1e-6), np.floor(high + 1e-6)
        low, high = min(low, most), min(high, most)
        if high > low:
            found += requests[0, stage, hour] * (high - low)
            last = max(last, min(until, begin + high * hpc))
    return found, last if found > 0 else until, latest


@jit_inner
def _poisson(mean: float, rank: float) -> float:
    """Return a quantile of a Poisson distribution; the mean where the mean is above ``_MANY``."""
    if mean > _MANY:
        return mean
    found, part = 0.0, np.exp(-mean)
    reached = part
    while reached < rank and found < 4 * _MANY:
        found += 1
        part *= mean / found
        reached += part
    return found


@jit_inner
def _advance(
    stages: _Stages,
    factors: NDArray[np.float64],
    loss: float,
    short: float,
    course: int,
    moment: float,
    span: float,
    first: bool,
    now: NDArray[np.float64],
    past: NDArray[np.float64],
    requests: NDArray[np.float64],
    sums: NDArray[np.float64],
    clouded: NDArray[np.float64],
) -> None:
    """Advance a course by five minutes, parents before children."""
    step = int(moment / _STEP + 0.5)
    until = moment + span
    for stage in range(len(stages.tasks)):
        tasks, share = stages.tasks[stage], now[SHARE, stage]
        past[stage, step] = share
        left = (1 - share) * tasks
        # Executors with a task finish it even where few tasks are left; idle executors are released, backup
        # instances first.
        most = max(now[BUSY, stage], np.ceil(left - 1e-6)) if left > 0 else 0.0
        granted = min(now[GRANTED, stage], most)
        own = min(now[OWN, stage], most - granted)
        spare = min(now[SPARE, stage], most - granted - own)
        now[BUSY, stage] = granted + own + spare
        hpc = stages.hpc[stage] * factors[stage, 0]
        cloud = stages.cloud[stage] * factors[stage, 1]
        # New scheduled instances and backup instances work only after their start-up delay.
        lost = min(stages.delay[stage], span) if first else 0.0
        fresh = min(now[FRESH, stage], own)
        there = ((own - fresh) * span + (fresh + spare) * (span - lost)) / cloud
        if stages.revoked[stage] > 0:
            # A revoked instance loses half a task on average, and the next short interval replaces it.
            mean = stages.revoked[stage] * (own + spare) * span / 3600.0
            gone = _poisson(mean, (loss + _GOLDEN * stage) % 1.0)
            there -= min(there, gone * (0.5 + (stages.delay[stage] + short / 2) / cloud))
        opened = _open(stages, stage, now)
        begin = max(moment, opened)
        ended, last, latest = granted * span / hpc, 0.0, until
        if stages.whole[stage]:
            ended, last, latest = _ended(stages, stage, factors, requests, opened, moment, until)
            # Cluster nodes that found no task in this step take one in a later step.
            ended += now[IDLE, stage]
        elif hpc < np.inf:
            ended *= stages.kept[stage] * max(0.0, until - begin) / span
        there *= max(0.0, until - begin) / span
        worked = ended + there
        if worked > 0 and now[BUSY, stage] > 0:
            rate = granted / hpc + (own + spare) / cloud
            length = (granted + own + spare) / rate  # mean seconds of a task over both sides
            fed = _fed(stages, stage, now, past, until, length)
            if stages.whole[stage] and there == 0.0:
                fed = min(fed, _fed(stages, stage, now, past, min(until, latest + length), length))
            change = min(worked, max(0.0, fed - share) * tasks)
            clouded[course, stage] += change * there / worked
            now[IDLE, stage] = min(ended * (1 - change / worked), granted) if stages.whole[stage] else 0.0
            share = min(1.0, share + change / tasks)
            now[SHARE, stage] = share
            if share >= _DONE and now[FINISHED, stage] == np.inf:
                end = begin + (until - begin) * (change / worked)
                if stages.whole[stage] and hpc > span and ended > 0:
                    end = max(last, end) if there > 0 else last
                for number in range(stages.parents.shape[1]):
                    parent = stages.parents[stage, number]
                    if parent >= 0:
                        end = max(end, now[FINISHED, parent] + length)
                now[FINISHED, stage] = min(end, until)
        past[stage, step + 1] = share
        paid = (own + spare) * span / 3600.0
        sums[course, COST] += paid * stages.price[stage]
        sums[course, BACKUP] += spare * stages.price[stage] * span / 3600.0
        sums[course, CLOUDY] += paid
        if left > 0:
            sums[course, CLUSTER] += granted * span / 3600.0
