"""Courses that a plan may take: free nodes and run times are drawn, the scaler's rules are followed.

Tasks are divisible here, and reach the next stage at once when they are done. What tasks as a whole add to
the end is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.cloud.core.pace import critical_path
from whesl.cloud.core.records import PriceList
from whesl.cloud.core.scaler import LATE
from whesl.predict.jit import jit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.cloud.core.events import ScalerState
    from whesl.cloud.core.outlook import Draws
    from whesl.cloud.core.pace import Pace

# What tasks as a whole add to the end of a flow, in units of the pipeline's length: mean, standard deviation.
# Measured once on simulated cases; docs/cloud/evaluation.md says how far the probabilities then hold.
BIAS, SPREAD = -0.35, 0.35
_STEP = 300.0
_DONE = 1 - 1e-9  # of a stage, from which on it is taken for done
# Rows of ``_Scratch.now``: what is known of a stage within one course and one hour.
SHARE, FINISHED, OWN, SPARE, ASKED, GRANTED, FRESH, REACHED = range(8)
# Columns of the sums of a course.
COST, BACKUP, CLUSTER, CLOUDY, LAST = range(5)


class Courses(NamedTuple):
    """What became of a plan in each course.

    Attributes:
        finished: when the last task was done, seconds after the start; infinite if not by the deadline.
        cost: of the instances, files and transfers.
        backup: the backup's part of it.
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
        tasks: of each stage, shape (stages,).
        hpc, cloud: seconds of a task, infinite where it cannot run there.
        price: of an instance's hour.
        end: of the stage by the schedule, seconds after its start.
        delay: seconds until an instance works.
        limit: most instances.
        nodes, instances, planned: by hour, shape (stages, hours).
        parents: places, -1 for none, shape (stages, most parents).
        barrier: likewise.
    """

    tasks: NDArray[np.float64]
    hpc: NDArray[np.float64]
    cloud: NDArray[np.float64]
    price: NDArray[np.float64]
    end: NDArray[np.float64]
    delay: NDArray[np.float64]
    limit: NDArray[np.float64]
    nodes: NDArray[np.float64]
    instances: NDArray[np.float64]
    planned: NDArray[np.float64]
    parents: NDArray[np.int64]
    barrier: NDArray[np.bool_]


def _stages(state: ScalerState, paces: tuple[Pace, ...]) -> _Stages:
    tables = state.tables
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
        np.array([pace.platform.start if pace.platform else 0.0 for pace in paces]),
        np.array([float(table.limit) for table in tables]),
        np.array([table.nodes for table in tables], dtype=np.float64),
        np.array([table.instances for table in tables], dtype=np.float64),
        np.array([table.planned for table in tables], dtype=np.float64),
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
    """Return what becomes of a plan in each course.

    Args:
        state: the scaler's, before its first event.
        paces: of the stages.
        prices: of the cloud's files and transfers.
        free: nodes of each course and hour.
        drawn: run times and lateness.
    """
    stages, settings = _stages(state, paces), state.settings
    count = len(free)
    sums, clouded = np.zeros((count, 5)), np.zeros((count, len(paces)))
    _all(
        stages,
        drawn.factors,
        free,
        state.deadline - state.start,
        settings.short,
        settings.backup,
        settings.rebalance,
        np.zeros((8, len(paces))),
        sums,
        clouded,
    )
    pipeline = critical_path(paces)[0] + settings.short
    last = sums[:, LAST] + pipeline * (BIAS + SPREAD * drawn.lateness)
    cost = sums[:, COST] + _data(stages, paces, prices, clouded)
    return Courses(last, cost, sums[:, BACKUP], sums[:, CLUSTER], sums[:, CLOUDY])


@jit_inner
def _all(
    stages: _Stages,
    factors: NDArray[np.float64],
    free: NDArray[np.float64],
    length: float,
    short: float,
    backup: float,
    rebalance: bool,
    now: NDArray[np.float64],
    sums: NDArray[np.float64],
    clouded: NDArray[np.float64],
) -> None:
    """Follow all courses; fill in their sums and the tasks that each stage does in the cloud."""
    for course in range(len(free)):
        now[:] = 0.0
        now[FINISHED] = np.inf
        for hour in range(int(np.ceil(length / 3600.0 - 1e-9))):
            begin = hour * 3600.0
            room = min(3600.0, length - begin)
            _ask(stages, factors[course], hour, room, short, backup, rebalance, now)
            idle = free[course, hour]
            for stage in range(len(stages.tasks)):
                now[GRANTED, stage] = min(now[ASKED, stage], max(0.0, idle))
                idle -= now[ASKED, stage]
            moment = begin
            while moment < begin + room - 1e-6:
                span = min(_STEP, begin + room - moment)
                _advance(stages, factors, course, moment, span, moment == begin, now, sums, clouded)
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
def _fed(stages: _Stages, stage: int, share: NDArray[np.float64]) -> float:
    """Return the share of a stage that its parents feed, from the share of each stage that is done."""
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
def _ask(
    stages: _Stages,
    factors: NDArray[np.float64],
    hour: int,
    room: float,
    short: float,
    backup: float,
    rebalance: bool,
    now: NDArray[np.float64],
) -> None:
    """What the scaler asks for in an hour: nodes, instances by the schedule, instances as backup."""
    hours = stages.nodes.shape[1]
    for stage in range(len(stages.tasks)):
        tasks = stages.tasks[stage]
        # After the first hour the scaler counts on the run times that it has seen.
        known = factors[stage] if hour else 1.0
        hpc, cloud = stages.hpc[stage] * known, stages.cloud[stage] * known
        late = max(stages.end[stage] - hour * 3600.0, LATE * short)
        seconds = max(60.0, min(room, late))
        done = now[SHARE, stage] * tasks
        planned = stages.planned[stage, hour] if hour < hours else tasks
        before = stages.planned[stage, min(hour, hours) - 1] if hour and hours else 0.0
        need = planned - (done if rebalance else before)
        now[REACHED, stage] = now[SHARE, stage]
        most = max(0.0, _fed(stages, stage, now[REACHED]) * tasks - done)
        need = min(max(need, 0.0), most)
        now[REACHED, stage] += need / tasks
        asked = stages.nodes[stage, hour] if hour < hours else 0.0
        asked = min(asked, np.ceil(max(0.0, tasks - done) - 1e-6))
        alone = stages.cloud[stage] == np.inf
        if stages.hpc[stage] == np.inf:
            asked = 0.0
        elif alone and rebalance:
            asked = max(asked, np.ceil(need * hpc / seconds - 1e-6))
        instances, spare = 0.0, 0.0
        if not alone:
            if rebalance:
                instances = np.ceil((need - asked * seconds / hpc) * cloud / seconds - 1e-9)
            elif hour < hours:
                instances = stages.instances[stage, hour]
            instances = min(max(instances, 0.0), stages.limit[stage])
            spare = min(np.ceil(backup * asked - 1e-9), stages.limit[stage] - instances)
        now[ASKED, stage] = asked
        now[FRESH, stage] = max(0.0, instances - now[OWN, stage])
        now[OWN, stage] = instances
        now[SPARE, stage] = spare


@jit_inner
def _advance(
    stages: _Stages,
    factors: NDArray[np.float64],
    course: int,
    moment: float,
    span: float,
    first: bool,
    now: NDArray[np.float64],
    sums: NDArray[np.float64],
    clouded: NDArray[np.float64],
) -> None:
    """Five minutes of a course; children go first, so that they are fed by what was done before."""
    for stage in range(len(stages.tasks) - 1, -1, -1):
        tasks, share, granted = stages.tasks[stage], now[SHARE, stage], now[GRANTED, stage]
        left = (1 - share) * tasks
        # What is idle at the end of a stage is given back, the backup first.
        useful = max(0.0, np.ceil(left - 1e-6) - granted)
        own = min(now[OWN, stage], useful)
        spare = min(now[SPARE, stage], max(0.0, useful - own))
        # New instances and the backup start late.
        lost = min(stages.delay[stage], span) if first else 0.0
        fresh = min(now[FRESH, stage], own)
        factor = factors[course, stage]
        there = ((own - fresh) * span + (fresh + spare) * (span - lost)) / (stages.cloud[stage] * factor)
        done = granted * span / (stages.hpc[stage] * factor) + there
        step = min(done, max(0.0, _fed(stages, stage, now[SHARE]) - share) * tasks)
        if done > 0:
            clouded[course, stage] += step * there / done
        share = min(1.0, share + step / tasks)
        now[SHARE, stage] = share
        if share >= _DONE and now[FINISHED, stage] == np.inf:
            now[FINISHED, stage] = moment + span * (step / done if done > 0 else 1.0)
        paid = (own + spare) * span / 3600.0
        sums[course, COST] += paid * stages.price[stage]
        sums[course, BACKUP] += spare * stages.price[stage] * span / 3600.0
        sums[course, CLOUDY] += paid
        if left > 0:
            sums[course, CLUSTER] += granted * span / 3600.0


def _data(
    stages: _Stages, paces: tuple[Pace, ...], prices: PriceList, clouded: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what files and transfers cost in each course, from its tasks in the cloud of each stage."""
    read = np.array([pace.stage.input_bytes for pace in paces]) / 1e9
    written = np.array([pace.stage.output_bytes for pace in paces]) / 1e9
    out = prices.leaving + prices.read
    found = clouded @ (read * prices.read + written * prices.write)
    fed = set(stages.parents.ravel().tolist())
    share = clouded / stages.tasks
    for at, pace in enumerate(paces):
        if at not in fed:
            found += clouded[:, at] * written[at] * out
        parents = [parent for parent in stages.parents[at].tolist() if parent >= 0]
        for parent in parents or [-1]:
            before = share[:, parent] if parent >= 0 else 0.0
            there = (share[:, at] - before) * pace.stage.tasks * read[at] / max(1, len(parents))
            found += np.where(there > 0, there * prices.write, -there * out)
    return np.asarray(found, dtype=np.float64)
