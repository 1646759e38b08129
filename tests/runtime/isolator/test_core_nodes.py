"""The core on a virtual clock: lost nodes, spares, and nodes that are known to be bad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tests.runtime.isolator.conftest import (
    World,
    detect,
    exception,
    found,
    make_setup,
    node_exception,
    step,
    welcome,
)
from whesl.language.spec import Operation, Otherwise, ResourceKind
from whesl.model.outcomes import StepOutcome
from whesl.model.states import NodeState
from whesl.model.workflow import BadNode
from whesl.runtime.isolator.core.events_and_commands import LeaseEnded, NodeSeen, RunStep, Say, StartAttempt
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import Escalate, NodeSuspect

Make = Callable[..., World]


def four(**changes: Any) -> dict[str, Any]:
    return {"nodes": ("n1", "n2", "n3", "n4"), "active": 2, **changes}


def lost(world: World, node: str, *names: str) -> World:
    words = tuple(found(name, kind="node", node=node) for name in names)
    return world.feed(NodeSeen(node=node, state=NodeState.DOWN, reason="silent", source="agent", found=words))


def replaces(world: World) -> None:
    """Let NODE steps do to the node set what operations do."""

    def run(command: RunStep) -> records.StepDone:
        recovery = world.state.recovery
        assert recovery is not None
        suspect = recovery.steps[command.index].suspect
        nodes = world.state.nodes.replace(suspect) if suspect else None
        return records.StepDone(
            ordinal=command.ordinal, index=command.index, outcome=StepOutcome.CONTINUE, nodes=nodes
        )

    world.step_result = run


def test_a_lost_node_is_replaced_by_a_spare(world: Make) -> None:
    made = world(node_exception(), **four())
    replaces(made)
    lost(made, "n2", "NODEDOWN")
    assert made.asked(StartAttempt)[-1].nodes.active == ("n1", "n3")


def test_a_lost_spare_raises_nothing_and_is_never_used(world: Make) -> None:
    made = world(exception(), node_exception(), **four())
    replaces(made)
    lost(made, "n3", "NODEDOWN")
    assert "raised" not in made.kinds()
    lost(made, "n2", "NODEDOWN")
    assert made.state.nodes.active == ("n1", "n4") or "n3" in made.state.down


def test_a_node_that_dies_during_a_recovery_waits_for_its_turn(world: Make) -> None:
    made = world(exception(backoff=10.0), node_exception(), **four())
    detect(made, "CRASH")
    replaces(made)
    lost(made, "n2", "NODEDOWN")
    made.advance(11)
    assert made.asked(StartAttempt)[-1].nodes.active == ("n1", "n3")
    assert made.state.attempt == 2
    assert made.last("confirmed")["ordinals"] == [1, 2]


def test_the_fence_tells_which_node_was_the_cause(world: Make) -> None:
    crash = exception(steps=(step(ResourceKind.NODE),))
    made = world(crash, **four())
    replaces(made)
    made.unreachable = ("n2",)
    detect(made, "CRASH")
    assert made.asked(StartAttempt)[-1].nodes.active == ("n1", "n3")


def test_where_nobody_could_be_asked_an_earlier_step_may_linger(world: Make) -> None:
    """A node crashed and came back before its agent was ever heard: Slurm's next step would wait for it."""
    made = world(exception(limit=3), **four())
    made.unasked = ("n2",)
    detect(made, "CRASH")
    made.unasked = ()
    detect(made, "CRASH")
    assert [start.lingering for start in made.asked(StartAttempt)] == [(), ("n2",), ("n2",)]
    made.running = None
    made.restart(make_setup(exception(limit=3), claim="c2", **four()))
    assert made.asked(StartAttempt)[-1].lingering == ()


def test_where_a_launcher_had_to_be_killed_its_step_may_linger(world: Make) -> None:
    """It waited for a part of its step that had gone with a node; the node is back, its agent is heard."""
    made = world(exception(limit=3), **four())
    made.lingering = ("n1", "n2")
    detect(made, "CRASH")
    made.lingering = ()
    detect(made, "CRASH")
    assert [start.lingering for start in made.asked(StartAttempt)] == [(), ("n1", "n2"), ("n1", "n2")]


def test_no_attempt_starts_on_a_node_that_is_dead() -> None:
    made = welcome(World(make_setup(exception(), coordinator=True, **four())).start())
    lost(made, "n1")
    detect(made, "CRASH")
    assert made.asked(StartAttempt)[-1].nodes.active == ("n2", "n3")
    assert [told.bad_node.node for told in made.sent(NodeSuspect)] == ["n1"], "other tasks avoid it too"


def test_without_a_spare_for_a_dead_node_what_else_says_is_done(world: Make) -> None:
    """It ended with 75, which asks for another run of the job, whatever ELSE said."""
    made = world(exception(), **four(active=4))
    lost(made, "n4")
    detect(made, "CRASH")
    assert made.finished is not None
    assert (made.finished.code, made.finished.reason) == (
        1,
        "CRASH: spares-exhausted: no spare is left for n4: 4 needed, alive: n1, n2, n3",
    )
    paused = world(exception(otherwise=Otherwise.PAUSE), **four(active=4))
    lost(paused, "n4")
    detect(paused, "CRASH")
    assert paused.finished is None and paused.state.phase is Phase.PAUSED
    again = world(exception(otherwise=Otherwise.ESCALATE), **four(active=4))
    lost(again, "n4")
    detect(again, "CRASH")
    assert again.finished is not None and again.finished.code == 75


def test_what_is_lost_and_cannot_be_replaced_is_counted() -> None:
    made = World(make_setup(exception(), **four(active=3))).start()
    for node in ("n2", "n3"):
        lost(made, node)
    detect(made, "CRASH")
    assert made.finished is not None
    assert made.finished.reason.endswith("no spare is left for n2, n3: 3 needed, alive: n1")


def test_a_node_that_is_lost_before_the_first_attempt_is_an_exception_of_its_own() -> None:
    made = World(make_setup(node_exception(), coordinator=True, **four(active=4))).start()
    lost(made, "n4")  # nothing is watched yet, so nothing is found
    made.feed(NodeSeen(node="n4", state=NodeState.DRAINED, reason="resource manager", source="rjms"))
    made.step_result = lambda run: records.StepDone(
        ordinal=run.ordinal, index=run.index, outcome=StepOutcome.FAIL, reason="spares-exhausted"
    )
    welcome(made)
    assert made.asked(StartAttempt) == [], "nothing starts on a node that is dead"
    assert made.last("raised")["raised"]["exception"] == "NODEDOWN"
    assert made.last("otherwise")["action"] == "fail"
    assert made.finished is not None
    reason = "NODEDOWN: spares-exhausted (node: no spare is left for n4: 4 needed, alive: n1, n2, n3)"
    assert (made.finished.code, made.finished.reason) == (1, reason)


def test_a_node_that_is_lost_before_the_first_attempt_may_be_done_without() -> None:
    removes = (step(ResourceKind.NODE, Operation.REMOVE, min_nodes=1),)
    fewer = msgspec.structs.replace(node_exception(), steps=removes)
    made = World(make_setup(fewer, coordinator=True, **four(active=4))).start()

    def removed(command: RunStep) -> records.StepDone:
        nodes = made.state.nodes.remove("n4")
        return records.StepDone(
            ordinal=command.ordinal, index=command.index, outcome=StepOutcome.CONTINUE, nodes=nodes
        )

    made.step_result = removed
    lost(made, "n4")
    welcome(made)
    assert [(start.attempt, start.nodes.active) for start in made.asked(StartAttempt)] == [
        (1, ("n1", "n2", "n3"))
    ]
    assert made.last("confirmed")["ordinals"] == [1]


def test_a_node_that_only_the_fence_finds_lost_is_escalated_when_there_is_no_spare() -> None:
    rules = (exception(), node_exception(otherwise=Otherwise.ESCALATE))
    made = welcome(World(make_setup(*rules, coordinator=True, **four(active=4))).start())
    made.unreachable = ("n4",)
    detect(made, "CRASH")
    assert made.finished is None
    assert [(word.raised.exception, word.reason) for word in made.sent(Escalate)] == [
        ("NODEDOWN", "spares-exhausted")
    ]


def test_what_was_done_about_a_lost_node_in_vain_is_not_done_again() -> None:
    restart = node_exception(otherwise=Otherwise.FAIL, limit=30)
    restart = msgspec.structs.replace(restart, steps=(step(),))
    made = World(make_setup(restart, coordinator=True, **four(active=4))).start()
    lost(made, "n4")
    welcome(made)
    assert [data["action"] for kind, data, _ in made.records if kind == "decided"] == ["recover", "fail"]
    assert made.finished is not None


def test_who_observes_starts_on_a_dead_node_and_says_what_would_be_done() -> None:
    made = World(make_setup(node_exception(), observe=True, coordinator=True, **four(active=4))).start()
    lost(made, "n4")
    welcome(made)
    assert made.last("observed")["exception"] == "NODEDOWN"
    assert len(made.asked(StartAttempt)) == 1


def test_a_drained_node_is_not_alive_for_that() -> None:
    made = World(make_setup(coordinator=True, **four())).start()
    lost(made, "n1")
    made.feed(NodeSeen(node="n1", state=NodeState.DRAINED, reason="", source="rjms"))
    welcome(made)
    assert made.asked(StartAttempt)[0].nodes.active == ("n2", "n3")
    assert "n1" in made.state.down
    made.feed(NodeSeen(node="n1", state=NodeState.UP, reason="", source="agent"))
    assert made.state.down == ()


def test_known_bad_nodes_are_not_used_while_others_are_free(world: Make) -> None:
    made = World(make_setup(**four(coordinator=True))).start()
    bad = BadNode(node="n1", reason="flaky", task="x", time=made.now, expires=made.now + 60)
    welcome(made, bad_nodes=(bad,))
    assert made.state.nodes.active == ("n2", "n3")
    assert made.state.nodes.spares[-1] == "n1"
    assert made.last("nodes")["avoided"] == ["n1"]


def test_the_isolator_s_own_node_stays_out_on_request(world: Make) -> None:
    made = world(**four(use_own_node=False))
    assert made.state.nodes.active == ("n2", "n3")


def killed(world: World, node: str, *attempts: int) -> World:
    """An agent says what it has done; what detectors make of it is the loss of its node."""
    words = (found("LOST", kind="node", node=node),)
    return world.feed(LeaseEnded(node=node, reason="silent for 4 s", attempts=attempts, found=words))


def test_what_an_agent_has_killed_is_the_loss_of_its_node(world: Make) -> None:
    """No hang rule, and the launcher waits: the others would stay in their next collective call for ever."""
    made = world(node_exception("LOST"), **four())
    replaces(made)
    killed(made, "n2", 1)
    assert made.state.attempt == 2 and made.state.nodes.active == ("n1", "n3")
    assert "lease-ended" in made.kinds()


def test_what_an_agent_has_killed_of_an_earlier_attempt_or_on_a_spare_ends_nothing(world: Make) -> None:
    made = world(node_exception("LOST"), **four())
    replaces(made)
    killed(made, "n2", 1)
    killed(made, "n3", 1)
    killed(made, "n4", 2)
    assert made.state.attempt == 2


def test_nodes_of_other_tasks_are_taken_last_and_that_is_told() -> None:
    alone = World(make_setup(exception(), **four(taken=("n1", "n3")))).start()
    assert alone.state.nodes.active == ("n2", "n4")
    shared = World(make_setup(exception(), **four(taken=("n1", "n2", "n3")))).start()
    assert shared.state.nodes.active == ("n1", "n4")
    said = [command.text for command in shared.asked(Say)]
    assert said == ["shared with other tasks, since no more nodes are free: n1"]
    assert alone.asked(Say) == []
