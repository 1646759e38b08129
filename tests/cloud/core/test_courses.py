"""Courses beside a plain simulation of single tasks."""

from __future__ import annotations

import heapq
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.cloud.samples import CLUSTER, PRICES, complete, stage, workflow
from whesl.cloud.core import scaler, schedule, stage_speed
from whesl.cloud.core.plan_records import HOUR, Cost, Plan, Schedule, Settings, Workflow
from whesl.cloud.core.plan_simulation import follow
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.core.uncertainty import Draws, last_task
from whesl.model.errors import UsageError

LENGTH = 3300.0
GRAIN = 300.0  # seconds: a course moves by as much at a time, and may be early by as much


def course(flow: Workflow, free: float) -> tuple[float, ScalerState]:
    """Return the end of a plan's course in which all is as foreseen, without what whole tasks add to it."""
    paces = stage_speed.paces(flow, complete(flow), PRICES, CLUSTER)
    made = schedule.build(paces, PRICES, [free], 0.0, LENGTH, end=LENGTH - 600)
    state = scaler.begin(_plan(made, Settings(rebalance=False, backup=0.0)), paces)
    none = np.zeros(1)
    drawn = Draws(none[:, None], np.ones((1, len(paces), 2)), np.zeros(len(paces)), none, np.zeros((1, 12)))
    found = follow(state, paces, PRICES, np.full((1, 1), free), drawn)
    return float(found.finished[0] - last_task(paces, drawn, LENGTH, np.zeros((1, len(paces))))[0]), state


def _plan(made: Schedule, settings: Settings) -> Plan:
    return Plan(
        schedule=made,
        cost=Cost(),
        expected_cost=0.0,
        probability=None,
        cluster_hours=0.0,
        cloud_hours=0.0,
        settings=settings,
    )


def counted(state: ScalerState, seconds: list[float], *, barrier: bool) -> float:
    """Return when the last task ends, task by task; each waits for the one of its number, or for all."""
    done = [0.0] * state.tables[0].tasks
    for table, each in zip(state.tables, seconds, strict=True):
        executors = [120.0] * table.instances[0] + [0.0] * table.nodes[0]
        heapq.heapify(executors)
        ready = [max(done)] * table.tasks if barrier else done
        done = []
        for when in ready:
            done.append(max(when, heapq.heappop(executors)) + each)
            heapq.heappush(executors, done[-1])
    return max(done)


@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("free", [0.0, 12.0])
@pytest.mark.parametrize(
    "seconds", [[25.0] * 8, [20.0, 150.0, 30.0], [200.0, 20.0, 20.0, 20.0], [10.0, 10.0, 300.0]]
)
def test_a_course_ends_when_its_last_task_does(seconds: list[float], free: float, barrier: bool) -> None:
    """Each stage had begun five minutes after the one before it, whatever a task takes."""
    names = [f"s{number}" for number in range(len(seconds))]
    flow = workflow(
        *(
            stage(name, 120, names[number - 1 : number] if number else [], seconds[number], barrier=barrier)
            for number, name in enumerate(names)
        )
    )
    found, state = course(flow, free)
    # Tasks as a whole are late by one of the longest at most; behind a barrier in each stage.
    late = counted(state, seconds, barrier=barrier) - found
    assert -1 <= late <= max(seconds) * (len(seconds) if barrier else 1)


@settings(max_examples=examples(25), deadline=None)
@given(
    seconds=st.floats(200, 9000),
    tasks=st.integers(1, 12),
    free=st.lists(st.integers(0, 6), min_size=7, max_size=7),
)
def test_a_task_counts_only_where_an_executor_lives_long_enough(
    seconds: float, tasks: int, free: list[int]
) -> None:
    """Tasks of 40 minutes were planned as 1.5 an hour, and tasks of two hours into hours of the cluster.

    A second stage feeds on shares of tasks, so this holds for one stage (docs/cloud/evaluation.md).
    """
    flow = workflow(stage("a", tasks, [], seconds))
    paces = stage_speed.paces(flow, complete(flow), PRICES, CLUSTER)
    alone = tuple(msgspec.structs.replace(pace, cloud=None, platform=None) for pace in paces)
    deadline = 7 * HOUR
    try:
        made = schedule.build(alone, PRICES, [float(one) for one in free], 0.0, deadline)
    except UsageError:
        return  # too few nodes, or too little time on each
    for one in made.assignments:
        assert one.nodes <= free[one.hour]
    state = scaler.begin(_plan(made, Settings(rebalance=False, backup=0.0)), alone)
    none = np.zeros(1)
    drawn = Draws(none[:, None], np.ones((1, len(alone), 2)), np.zeros(len(alone)), none, np.zeros((1, 84)))
    idle = np.array([free], dtype=np.float64)
    found = follow(state, alone, PRICES, idle, drawn).finished[0]
    if np.isfinite(found):
        late = last_task(alone, drawn, deadline, np.zeros((1, len(alone))))[0]
        assert found - late >= _requested(state, free) - GRAIN - 1


def _requested(state: ScalerState, free: list[int]) -> float:
    """Return when the last task ends where each node takes a task only if it ends within its request.

    Requests are granted as the course grants them: what is free in an hour or in the one before.
    """
    nodes: list[tuple[int, float, float]] = []  # the stage, and from when until when
    for hour in range(len(free)):
        idle = max(free[hour], free[max(0, hour - 1)])
        idle -= sum(over > hour * HOUR for _, _, over in nodes)
        for number, table in enumerate(state.tables):
            asked = table.nodes[hour] if hour < len(table.nodes) else 0
            assert table.hpc is not None
            granted = max(0, min(asked, idle))
            idle -= asked
            length = max(table.hours[hour], stage_speed.request_hours(table.hpc)) if asked else 0
            nodes += [(number, hour * HOUR, (hour + length) * HOUR)] * granted
    done = [0.0] * state.tables[0].tasks
    for number, table in enumerate(state.tables):
        assert table.hpc is not None
        mine = [[begin, over] for at, begin, over in nodes if at == number]
        ready, done = sorted(done), []
        for when in ready:
            able = [
                (max(when, one[0]), one)
                for one in mine
                if max(when, one[0]) + stage_speed.SLACK * table.hpc < one[1] + GRAIN
            ]
            if not able:
                return math.inf
            begin, chosen = min(able, key=lambda pair: pair[0])
            chosen[0] = begin + table.hpc
            done.append(chosen[0])
    return max(done)


def test_a_single_task_takes_its_time() -> None:
    flow = workflow(stage("a", 1, [], 40), stage("b", 1, ["a"], 700, barrier=True), stage("c", 1, ["b"], 40))
    found, _ = course(flow, 3.0)
    assert found == pytest.approx(780, abs=1)
