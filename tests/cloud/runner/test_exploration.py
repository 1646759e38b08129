"""Runs in which anything may come at any moment, on a virtual clock; and mistakes that they have to find."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from tests.cloud.runner.test_state_machine import World
from tests.cloud.runner.worlds import PLATFORM
from whesl.cloud.core import scaler
from whesl.cloud.core.plan_records import Domain
from whesl.cloud.core.scaler_events import ScalerState, StageTable
from whesl.cloud.core.stage_speed import SLACK
from whesl.cloud.runner import scaling, state_machine
from whesl.cloud.runner.assigning import Queues
from whesl.cloud.runner.events_and_commands import Refused, Send, Start, Tick
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.runner.state import Executor

SEEDS = 40
STEPS = 40


class Explored:
    """One run with what a seed says, each step of which is judged."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # of a test
        draw = self.draw
        self.instead = draw.random() < 0.5
        self.minutes = draw.choice((1, 20, 40, 70))
        self.budget = draw.choice((None, 1.0, 4.0, 20.0))
        self.world = World(
            nodes=draw.choice((0, 1, 2)),
            instances=draw.choice((0, 1, 2, 6)),
            seconds=60.0 * self.minutes,
            cloud_instead=self.instead,
            budget=self.budget,
        )
        self.stopped = False
        self.given: set[tuple[str, int]] = set()
        self.sent: list[Send] = []

    def go(self) -> None:
        """Take steps, each with what it may bring."""
        for _ in range(STEPS):
            if self.world.core.over:
                return
            self.step()
            self.judge()

    def step(self) -> None:
        """Take one step."""
        draw, world = self.draw, self.world
        executors = [one for one in world.core.state.executors.values() if one.alive]
        kind = draw.choice(("tick", "grant", "grant", "said", "said", "gone", "refuse", "restart", "stop"))
        one = draw.choice(executors) if executors else None
        if kind == "restart":
            world.restart(stop="it was stopped" if self.stopped else "")
        elif kind == "stop" and draw.random() < 0.1:
            self.stopped = True
            world.take(world.core.stop("it was stopped", world.now))
        elif kind == "grant" and one is not None and one.state is ExecutorState.ASKED:
            world.up(one.id)
        elif kind == "gone" and one is not None:
            world.seen(one.id, ExecutorState.GONE)
        elif kind == "refuse" and one is not None and one.state is ExecutorState.ASKED:
            world.tell(Refused(id=one.id, why="Invalid account"))
        elif kind == "said":
            self._said()
        else:
            world.tell(Tick(), after=draw.choice((1.0, 60.0, 300.0, 1800.0)))
        world.copy()

    def _said(self) -> None:
        sent, self.sent = self.sent, []
        for one in sent:
            executor = self.world.core.state.executors[one.executor]
            if executor.alive and executor.task == one.assignment.task:
                self.world.now += 60.0 * self.minutes
                self.world.said(one)

    def _given(self) -> None:
        """Judge what was given in this step, and keep it."""
        for one in self.world.taken(Send):
            assert isinstance(one, Send)
            executor = self.world.core.state.executors[one.executor]
            given = one.executor, one.assignment.number
            if given not in self.given and one.domain is Domain.HPC and executor.alive:
                ends = self.world.now + SLACK * 60.0 * self.minutes
                assert ends < executor.ends + 200.0, "it cannot end"  # a step takes some seconds
            self.given.add(given)
            self.sent.append(one)

    def judge(self) -> None:
        """Say what must never be."""
        self._given()
        state, world = self.world.core.state, self.world
        started = [one.asked for one in world.taken(Start) if isinstance(one, Start)]
        if self.stopped:
            assert not started, "something was started although the run is to end"
        forbidden = bool(state.refusal) and not self.instead
        if forbidden:
            assert not any(one.domain is Domain.CLOUD and self._new(one.id) for one in started), "bought"
        for stage in state.workflow.stages:
            there = [one for one in state.executors.values() if one.stage == stage.name and one.alive]
            paid = sum(one.domain is Domain.CLOUD and not one.told for one in there)
            assert paid <= PLATFORM.limit or self._moved(there), "more instances than are allowed"
        if self.budget is not None:
            most = sum(
                one.asked.hourly * max(60.0, min(one.gone or one.ends_at, one.ends_at) - one.since) / 3600
                for one in map(_Paid, state.executors.values())
            )
            assert most <= self.budget + 1e-6, "beyond the budget"
        for task in state.tasks.values():
            assert task.attempt <= 1 + task.lost + task.failed, "done twice"

    def _moved(self, executors: list[Executor]) -> bool:
        """Whether one of them was started for another stage, whose limit it counted for."""
        return any(one.stage != one.asked.stage for one in executors)

    def _new(self, known_as: str) -> bool:
        return self.world.core.state.executors[known_as].since == self.world.now


class _Paid:
    """What an executor costs at most."""

    def __init__(self, one: Executor) -> None:
        self.asked, self.since, self.gone = one.asked, one.since, one.gone
        self.ends_at = one.asked.ends if one.asked.hourly else one.since


def explored() -> None:
    """Explore all seeds."""
    for seed in range(SEEDS):
        Explored(seed).go()


def test_whatever_comes() -> None:
    explored()


def _bought(self: scaling.Scaling, now: float) -> bool:
    return False


def _spent(self: scaling.Scaling, hourly: float, seconds: float, now: float) -> bool:
    budget = self._context.limits.budget
    return budget is None or self._context.state.cost(now) <= budget


def _begun(self: Queues, executor: Executor, stage: str, now: float) -> bool:
    return True


_resume = state_machine.Core.resume


def _started_again(self: state_machine.Core, now: float, stop: str = "") -> state_machine.Outcome:
    return _resume(self, now)


def _planned(state: ScalerState, table: StageTable, rest: float, hour: int, room: float) -> int:
    return table.instances[hour] if hour < len(table.instances) else 0


FAULTS: list[tuple[object, str, Callable[..., object]]] = [
    (scaler, "_instances", _planned),  # more instances are started than are allowed
    (scaling.Scaling, "_refused", _bought),  # the cloud is bought although the cluster refuses its part
    (scaling.Scaling, "_affordable", _spent),  # what runs already is not counted to its end
    (Queues, "_fits", _begun),  # a task is begun that cannot end
    (state_machine.Core, "resume", _started_again),  # a stop after a killed runner starts what was asked for
]


@pytest.fixture(params=FAULTS, ids=[name for _, name, _ in FAULTS])
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    owner, name, wrong = request.param
    monkeypatch.setattr(owner, name, wrong)
    yield


@pytest.mark.usefixtures("fault")
def test_a_mistake_is_found() -> None:
    with pytest.raises(AssertionError):
        explored()
