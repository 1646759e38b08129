"""Courses beside a plain simulation of single tasks."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from tests.cloud.samples import CLUSTER, PRICES, complete, stage, workflow
from whesl.cloud.core import scaler, schedule, stage_speed
from whesl.cloud.core.plan_simulation import follow
from whesl.cloud.core.records import Cost, Plan, Settings, Workflow
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.core.uncertainty import Draws, last_task

LENGTH = 3300.0


def course(flow: Workflow, free: float) -> tuple[float, ScalerState]:
    """Return the end of a plan's course in which all is as foreseen, without what whole tasks add to it."""
    paces = stage_speed.paces(flow, complete(flow), PRICES, CLUSTER)
    made = schedule.build(paces, PRICES, [free], 0.0, LENGTH, end=LENGTH - 600)
    plan = Plan(
        schedule=made,
        cost=Cost(),
        expected_cost=0.0,
        probability=None,
        cluster_hours=0.0,
        cloud_hours=0.0,
        settings=Settings(rebalance=False, backup=0.0),
    )
    state = scaler.begin(plan, paces)
    none = np.zeros(1)
    drawn = Draws(none[:, None], np.ones((1, len(paces), 2)), np.zeros(len(paces)), none, np.zeros((1, 12)))
    found = follow(state, paces, PRICES, np.full((1, 1), free), drawn)
    return float(found.finished[0] - last_task(paces, drawn.deviations, LENGTH, none)[0]), state


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


def test_a_single_task_takes_its_time() -> None:
    flow = workflow(stage("a", 1, [], 40), stage("b", 1, ["a"], 700, barrier=True), stage("c", 1, ["b"], 40))
    found, _ = course(flow, 3.0)
    assert found == pytest.approx(780, abs=1)
