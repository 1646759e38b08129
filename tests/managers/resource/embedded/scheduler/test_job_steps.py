"""The state machine's rules for the steps of a job, on a virtual clock."""

from __future__ import annotations

import pytest

from tests.managers.resource.embedded.scheduler.simulation import Simulation
from whesl.managers.resource.embedded.scheduler.actions import (
    SignalTasks,
    StepChanged,
    StepDelayed,
    StepRefused,
)
from whesl.managers.resource.embedded.scheduler.job_and_node_records import StepWish
from whesl.model.errors import RefusedError


def test_steps_share_the_job_s_cpus() -> None:
    simulation = Simulation(2)
    job = simulation.submit(1000, nodes=2, tasks=4)
    core = simulation.core
    core.request_step(1, StepWish(job=job, tasks=3), simulation.now)
    core.request_step(2, StepWish(job=job, tasks=1, nodes=1), simulation.now)
    core.request_step(3, StepWish(job=job, tasks=2), simulation.now)
    core.request_step(4, StepWish(job=job, tasks=2, overlap=True), simulation.now)
    simulation.settle()
    shares = {a.request: [(s.node, s.tasks) for s in a.step.shares] for a in simulation.granted()}
    assert shares == {
        1: [("n01", (0, 1)), ("n02", (2,))],
        2: [("n02", (0,))],
        4: [("n01", (0,)), ("n02", (1,))],
    }
    assert StepDelayed(3) in simulation.actions
    core.step_ended("n02", job, 0, 0, 3, simulation.now)
    core.step_ended("n01", job, 0, 0, 0, simulation.now)
    simulation.settle()
    step = core.steps.get(job, 0, 0)
    assert step is not None
    assert (step.code, bool(step.ended)) == (3, True)
    assert simulation.granted()[-1].request == 3


def test_a_lost_node_s_step_holds_on_until_the_loss_is_known() -> None:
    simulation = Simulation(3)
    job = simulation.submit(1000, nodes=3, no_kill=True, requeue=False)
    core = simulation.core
    core.request_step(1, StepWish(job=job, nodelist=("n01", "n02")), simulation.now)
    simulation.kill("n02")
    core.step_ended("n01", job, 0, 0, 0, simulation.now)
    core.request_step(2, StepWish(job=job, nodes=3), simulation.now)
    simulation.run(5)
    assert StepDelayed(2) in simulation.actions
    simulation.run(15)
    last = [a.step for a in simulation.actions if isinstance(a, StepChanged)][-1]
    assert (last.lost, last.open_nodes, last.code) == (("n02",), (), 137)


def test_a_step_can_be_cancelled() -> None:
    simulation = Simulation(2)
    job = simulation.submit(1000, nodes=2)
    simulation.core.request_step(1, StepWish(job=job), simulation.now)
    simulation.core.cancel_step(job, 0)
    simulation.settle()
    kills = [(node, a.number, a.step) for node, a in simulation.sent(SignalTasks)]
    assert kills == [("n01", 9, 0), ("n02", 9, 0)]
    with pytest.raises(RefusedError):
        simulation.core.cancel_step(job, 5)


def test_waiting_steps_end_with_their_job() -> None:
    simulation = Simulation(1)
    job = simulation.submit(5, nodes=1)
    simulation.core.request_step(1, StepWish(job=job), simulation.now)
    simulation.core.request_step(2, StepWish(job=job), simulation.now)
    simulation.run(10)
    refused = [a.request for a in simulation.actions if isinstance(a, StepRefused)]
    assert refused == [2]


# A new life ---------------------------------------------------------------------------------------------
