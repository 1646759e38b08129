"""Killed at any write, told everything twice and late: the same end, and nothing done a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.journals import rebuild, report
from tests.runtime.coordinator.world import FULL, World, raised
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.pathmap import PathMap, PathRule
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode
from whesl.runtime.wire.messages import (
    Command,
    Escalate,
    EscalationDecision,
    Finished,
    NodeSuspect,
    RecoveryDone,
    RecoveryGrant,
    RecoveryRequest,
    Welcome,
)

PATIENCE = 400


def until(world: World, condition: Callable[[], object], *alive: str) -> None:
    for _ in range(PATIENCE):
        if condition():
            return
        world.wait(1, *alive)
    raise AssertionError("the world stands still")


def play(world: World) -> None:
    """A workflow's life: a recovery, an escalation, a lost batch host, a pause, and the ends."""
    world.workflow()
    a, b, x = world.register("a"), world.register("b"), world.register("x")
    until(world, lambda: all(world.told(peer, Welcome) for peer in (a, b, x)))
    # A workflow-level recovery, with a manager that is busy at first.
    world.ports.wms.transient = 1
    exception = raised(FULL, "a")
    world.tell(
        a, report(task="w/a", kind="raised", time=world.now, data={"raised": msgspec.to_builtins(exception)})
    )
    world.tell(a, RecoveryRequest(raised=exception))
    until(world, lambda: world.told(a, RecoveryGrant), a, b, x)
    moved = Configuration(path_map=PathMap((PathRule("/old/x", "/new/x"),)))
    world.tell(
        a,
        RecoveryDone(
            task="w/a",
            ordinal=1,
            exception=FULL,
            outcome=RecoveryOutcome.RELAUNCHED,
            dependents_map=moved,
            signal=10,
        ),
    )
    # Spares exhausted: the same job again.
    world.tell(x, Escalate(raised=raised("DEAD", "x"), reason="spares-exhausted"))
    until(world, lambda: world.told(x, EscalationDecision), a, b, x)
    world.tell(x, Finished(task="w/x", state=TaskState.ESCALATED, exit_code=75, attempts=1))
    x = world.register("x", restarts=1, attempt=1)
    world.ports.fake.put("job-x", restarts=1)
    # A node that dies under a task, the batch host, and everybody else lives on.
    bad = BadNode(node="n4", reason="dead", task="w/a", time=world.now, expires=world.now + 1e6)
    world.tell(a, NodeSuspect(bad_node=bad))
    world.ports.fake.put("job-b", batch_host="n1", batch_host_lost=True)
    until(world, lambda: "job-b" in world.ports.fake.requeued, a, x)
    world.ports.fake.put("job-b", restarts=1)
    until(world, lambda: all(r.status == "done" for r in world.state.requeues.values()), a, x)
    b = world.register("b", restarts=1, attempt=1)
    # A person's word.
    world.tell(a, report(task="w/a", kind="paused", time=world.now, data={"reason": "enough"}))
    world.tell("cli-2", Command(id="go", action="resume", target="a"))
    world.tell(a, report(task="w/a", kind="control", time=world.now, data={"id": "go"}))
    world.tell(a, report(task="w/a", kind="resumed", time=world.now, data={}))
    for peer, name in ((a, "a"), (b, "b"), (x, "x")):
        world.tell(peer, Finished(task=f"w/{name}", state=TaskState.COMPLETED, exit_code=0, attempts=2))
    world.wait(60)


def outline(world: World) -> dict[str, Any]:
    """The end, without the times."""
    state = world.state
    return {
        "tasks": {
            task.id: (
                task.state,
                task.claim,
                task.configuration,
                task.outcomes,
                task.exit_code,
                task.told_by,
                task.peer,
            )
            for task in state.tasks.values()
        },
        "recoveries": {r.id: (r.closed, r.decision, r.done, r.granted) for r in state.recoveries.values()},
        "requeues": {r.token: r.status for r in state.requeues.values()},
        "bad": sorted(state.bad_nodes),
        "controls": sorted(state.controls),
        "requeued": world.ports.fake.requeued,
        "cancelled": world.ports.fake.cancelled,
    }


def check(world: World) -> None:
    assert outline(world) == WANTED
    assert rebuild(world.journal, world.settings) == world.state.durable()
    steps = Counter((data["recovery"], data["index"]) for data in world.kinds("step-done"))
    assert set(steps.values()) == {1}, steps
    for word in ("requeue-decided", "requeue-begun", "requeue-done"):
        tokens = Counter(data["token"] for data in world.kinds(word))
        assert set(tokens.values()) == {1}, (word, tokens)
    ended = Counter((data["task"], data["ordinal"]) for data in world.kinds("recovery-done"))
    assert set(ended.values()) == {1}, ended
    configured = Counter(task for data in world.kinds("configured") for task in data["tasks"])
    assert configured["w/d"] == WANTED_CONFIGURED


_calm = World()
play(_calm)
WANTED = outline(_calm)
WANTED_CONFIGURED = sum("w/d" in data["tasks"] for data in _calm.kinds("configured"))
WRITES = _calm.writes


def test_the_calm_world_ends_as_it_should() -> None:
    assert WANTED["requeued"] == ["job-x", "job-b"] and not WANTED["cancelled"]
    assert {task[0] for name, task in WANTED["tasks"].items() if name[-1] in "abx"} == {TaskState.COMPLETED}
    assert WRITES > 20


def test_a_kill_at_every_single_write_changes_nothing() -> None:
    for number in range(1, WRITES + 1):
        for torn in (frozenset[int](), frozenset({number})):
            world = World(crash_at=frozenset({number}), torn=torn)
            play(world)
            assert world.crashes == 1, (number, torn)
            check(world)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.data_too_large])
@given(
    crashes=st.frozensets(st.integers(1, WRITES + 20), max_size=12),
    torn=st.frozensets(st.integers(1, WRITES + 20), max_size=12),
)
def test_many_kills_change_nothing(crashes: frozenset[int], torn: frozenset[int]) -> None:
    world = World(crash_at=crashes, torn=torn)
    play(world)
    check(world)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_late_repeats_move_nothing_backwards(data: st.DataObject) -> None:
    """After every message any earlier ones may come again, in any order."""
    choices = iter(data.draw(st.lists(st.one_of(st.none(), st.integers(0, 60)), max_size=120)))
    crash = data.draw(st.frozensets(st.integers(1, WRITES), max_size=3))
    world = World(crash_at=crash)
    world.again = lambda: next(choices, None)
    play(world)
    check(world)
