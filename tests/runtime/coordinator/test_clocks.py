"""Hosts whose clocks differ: times that two daemons say are never compared as they are."""

from __future__ import annotations

import msgspec
import pytest

from tests.equipment.world import START
from tests.journals import rebuild, report
from tests.runtime.coordinator.world import ANY, FULL, RULES, SPAN, World, exception, raised, spec, step
from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.spec import Entity, Level, ResourceKind
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode
from whesl.runtime.coordinator.core.clock_offset import TOLERATED
from whesl.runtime.coordinator.core.state import Settings
from whesl.runtime.wire.messages import Heartbeat, NodeSuspect, RecoveryRequest

HOUR = 3600.0


def beat(world: World, peer: str, name: str, sent: float, state: TaskState = TaskState.RUNNING) -> None:
    world.tell(peer, Heartbeat(task=f"w/{name}", state=state, attempt=1, time=sent))


@pytest.mark.parametrize("skew", [-HOUR, HOUR])
def test_what_a_host_with_a_wrong_clock_reports_is_shown(world: World, skew: float) -> None:
    a = world.register("a")
    for number, (kind, expected) in enumerate(
        [
            ("launched", TaskState.RUNNING),
            ("decided", TaskState.RECOVERING),
            ("paused", TaskState.PAUSED),
            ("resumed", TaskState.RECOVERING),
        ]
    ):
        world.now += 1.0
        world.tell(a, report(task="w/a", kind=kind, time=START + skew + number))
        assert world.task("a").state is expected
        assert world.task("a").state_time <= world.now


def test_an_older_word_that_comes_late_changes_nothing(world: World) -> None:
    a = world.register("a")
    world.now += 10.0
    beat(world, a, "a", START - HOUR + 10.0, TaskState.PAUSED)
    assert world.task("a").state is TaskState.PAUSED
    world.tell(a, report(task="w/a", kind="decided", time=START - HOUR + 9.0))
    assert world.task("a").state is TaskState.PAUSED
    world.tell(a, report(task="w/a", kind="decided", time=START - HOUR + 11.0))
    assert world.task("a").state is TaskState.RECOVERING


def test_a_request_is_newer_than_the_reports_before_it(world: World) -> None:
    a = world.register("a")
    asked = msgspec.structs.replace(raised(FULL, "a"), time=START - HOUR + 5.0)
    world.tell(a, RecoveryRequest(raised=asked))
    assert world.task("a").state is TaskState.RECOVERING
    world.tell(a, report(task="w/a", kind="launched", time=START - HOUR + 4.0))
    assert world.task("a").state is TaskState.RECOVERING


def test_the_quickest_heartbeat_tells_how_far_a_clock_is_behind(world: World) -> None:
    a = world.register("a")
    for delay in (40.0, 8.0, 0.1, 5.0):
        world.now += 5.0
        beat(world, a, "a", world.now - HOUR - delay)
    assert world.task("a").behind == pytest.approx(HOUR + 0.1)
    assert len(world.kinds("clock")) == 3
    assert rebuild(world.journal, Settings()) == world.state.durable()


def test_synchronised_clocks_and_a_slow_network_are_no_difference(world: World) -> None:
    a = world.register("a")
    beat(world, a, "a", world.now - TOLERATED + 0.1)
    beat(world, a, "a", world.now + 0.3)
    beat(world, a, "a", 0.0)
    beat(world, a, "a", float("inf"))
    assert world.task("a").behind == 0.0
    assert not world.kinds("clock")


def test_another_host_has_another_clock(world: World) -> None:
    a = world.register("a")
    beat(world, a, "a", world.now - HOUR)
    assert world.task("a").behind == HOUR
    again = world.register("a", restarts=1)
    assert world.task("a").behind == 0.0
    world.now += 5.0
    beat(world, again, "a", world.now - 60.0)
    assert world.task("a").behind == 60.0


@pytest.mark.parametrize("skew", [-HOUR, HOUR])
def test_exceptions_of_several_hosts_are_counted_by_one_clock(skew: float) -> None:
    rules = spec(
        *(rule for rule in RULES.exceptions if rule.name == "GLITCH"),
        exception(
            "STORM",
            step(Entity.JOB, ResourceKind.JOB),
            level=Level.JOB_LEVEL,
            detections=(CountDetection(exception="GLITCH", times=2, within=30.0, span=SPAN),),
        ),
        exception("OTHER", step(Entity.JOB, ResourceKind.JOB), detections=(ANY,)),
    )
    world = World()
    world.workflow(rules)
    a, x = world.register("a"), world.register("x")
    beat(world, x, "x", world.now + skew)

    def glitch(peer: str, name: str, ordinal: int, clock: float) -> str:
        said = msgspec.structs.replace(raised("GLITCH", name, ordinal), time=clock)
        world.tell(peer, report(task=f"w/{name}", kind="raised", time=clock, data={"raised": said}))
        return str(world.kinds("counted")[-1]["became"])

    world.now += 10.0
    assert glitch(a, "a", 1, world.now) == "GLITCH"
    world.now += 100.0
    assert glitch(x, "x", 1, world.now + skew) == "GLITCH"
    world.now += 5.0
    assert glitch(a, "a", 2, world.now) == "STORM"


def test_a_bad_node_is_remembered_as_long_as_was_meant(world: World) -> None:
    a = world.register("a")
    beat(world, a, "a", world.now - HOUR)
    there = world.now - HOUR
    bad = BadNode(node="n7", reason="lost", task="w/a", time=there, expires=there + 2 * HOUR)
    world.tell(a, NodeSuspect(bad_node=bad))
    known = world.state.bad_nodes["n7"]
    assert (known.time, known.expires) == (world.now, world.now + 2 * HOUR)
