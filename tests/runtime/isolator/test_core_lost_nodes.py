"""The core on a virtual clock: a node in use is lost, and no rule acts on it."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.runtime.isolator.conftest import World, detect, exception, found, make_setup, node_exception, step
from whesl.language.spec import ExceptionSpec, ResourceKind
from whesl.model.states import NodeState, TaskState
from whesl.runtime.isolator.core.events_and_commands import KillAttempt, NodeSeen, Signalled
from whesl.runtime.journal.records.isolator_records import RESOURCE_MANAGER

FAILED, COMPLETED = TaskState.FAILED, TaskState.COMPLETED


def begun(*rules: ExceptionSpec, **changes: Any) -> World:
    values = {"nodes": ("n1", "n2", "n3"), "active": 2, "rjms": "slurm", **changes}
    return World(make_setup(*rules, **values)).start()


def seen(world: World, node: str, state: NodeState = NodeState.DOWN, source: str = RESOURCE_MANAGER) -> World:
    return world.feed(NodeSeen(node=node, state=state, reason="said", source=source))


def ended(world: World) -> tuple[int, TaskState]:
    assert world.finished is not None
    assert world.last("finished")["state"] == world.finished.state.value
    return world.finished.code, world.finished.state


@pytest.mark.parametrize("observe", [False, True])
@pytest.mark.parametrize("rules", [(), (exception(),)], ids=["no rules", "a rule on something else"])
def test_a_task_that_lost_a_node_has_not_completed(rules: tuple[ExceptionSpec, ...], observe: bool) -> None:
    """srun ended with 0 when the ranks on the other nodes had, and the task was told as completed."""
    world = seen(begun(*rules, observe=observe), "n2").exits(0)
    assert ended(world) == (0, FAILED), (
        "the job outlives that by its user's wish; so its status is the task's own"
    )
    assert world.finished is not None
    assert "n2 was lost while it ran" in world.finished.reason
    assert "recovered" not in world.kinds()


@pytest.mark.parametrize("agent_first", [False, True])
def test_who_said_it_first_is_no_matter(agent_first: bool) -> None:
    world = begun()
    if agent_first:
        seen(world, "n2", source="agent")
    seen(world, "n2")
    assert ended(world.exits(0)) == (0, FAILED)


def test_the_silence_of_an_agent_alone_is_no_loss() -> None:
    assert ended(seen(begun(), "n2", source="agent").exits(0)) == (0, COMPLETED)


@pytest.mark.parametrize("source", ["agent", RESOURCE_MANAGER])
def test_what_a_script_gives_back_itself_is_no_loss(source: str) -> None:
    """It had shrunk its own job (scontrol update NumNodes=), and was told as failed."""
    world = seen(begun(node_exception()), "n2", NodeState.RELEASED, source)
    assert world.state.down == ("n2",), "nothing of the task can start there any more"
    assert ended(world.exits(0)) == (0, COMPLETED)
    assert "raised" not in world.kinds()


def test_a_node_that_is_back_was_lost_all_the_same() -> None:
    """It has booted: what ran there is gone."""
    world = seen(seen(begun(), "n2"), "n2", NodeState.UP)
    assert ended(world.exits(0)) == (0, FAILED)


def test_a_spare_that_is_lost_concerns_nobody() -> None:
    assert ended(seen(begun(), "n3").exits(0)) == (0, COMPLETED)


def test_what_a_drained_node_runs_counts() -> None:
    assert ended(seen(begun(), "n2", NodeState.DRAINED).exits(0)) == (0, COMPLETED)


def test_a_status_of_its_own_stays_and_the_loss_is_named() -> None:
    world = seen(begun(), "n2").exits(9)
    assert ended(world) == (9, FAILED)
    assert world.finished is not None
    assert world.finished.reason.startswith("n2 was lost while it ran; ")


def test_the_loss_of_an_earlier_attempt_is_over() -> None:
    world = seen(begun(exception()), "n2")
    seen(world, "n2", NodeState.UP)
    detect(world, "CRASH")
    assert ended(world.exits(0)) == (0, COMPLETED)


def test_a_restart_on_a_node_that_is_still_lost_does_not_complete() -> None:
    world = seen(begun(exception(), nodes=("n1", "n2"), active=2), "n2", source=RESOURCE_MANAGER)
    detect(world, "CRASH")
    assert world.finished is not None, "no spare takes its place, so that nothing is started"
    assert world.finished.state is FAILED


def test_an_observed_rule_for_it_changes_nothing() -> None:
    word = found("NODEDOWN", kind="node", node="n2")
    world = begun(node_exception(), observe=True)
    world.feed(
        NodeSeen(node="n2", state=NodeState.DOWN, reason="said", source=RESOURCE_MANAGER, found=(word,))
    )
    assert world.kinds().count("observed") == 1
    assert ended(world.exits(0)) == (0, FAILED)


def test_an_isolator_that_was_restarted_knows_it() -> None:
    world = seen(begun(), "n2")
    assert ended(world.restart().exits(0)) == (0, FAILED)


# A job that outlives losses only since rules may act on them -------------------------------------------


def test_an_attempt_is_ended_as_its_job_would_have_been() -> None:
    """Its ranks on the other nodes may wait for the lost ones until the time limit."""
    world = seen(begun(exception(), kept=True), "n2")
    assert len(world.asked(KillAttempt)) == 1
    assert ended(world) == (1, FAILED)
    assert world.finished is not None
    assert world.finished.reason == "n2 was lost while it ran (NODE_FAIL)"


def test_a_rule_that_may_change_the_nodes_is_given_its_time() -> None:
    """A hang that the loss brings about is recovered from with a spare."""
    rules = exception(steps=(step(ResourceKind.NODE),))
    world = seen(begun(rules, kept=True), "n2")
    assert world.asked(KillAttempt) == []
    assert ended(world.exits(0)) == (1, FAILED), "the job's end without WHESL"
    again = seen(begun(rules, kept=True), "n2")
    detect(again, "CRASH")
    assert ended(again.exits(0)) == (0, COMPLETED)


# The resource manager ends the job -----------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 143])
def test_a_job_that_is_ended_for_a_lost_node_was_not_cancelled(code: int) -> None:
    world = seen(begun(), "n2")
    world.feed(Signalled(signum=signal.SIGTERM))
    assert ended(world.exits(code)) == (code or 1, FAILED)


def test_the_word_on_the_node_may_come_after_the_signal() -> None:
    world = begun()
    world.feed(Signalled(signum=signal.SIGTERM))
    assert ended(seen(world, "n2").exits(143)) == (143, FAILED)


def test_what_a_person_has_interrupted_is_cancelled_and_not_completed() -> None:
    for code, became in ((130, TaskState.CANCELLED), (0, FAILED)):
        world = seen(begun(), "n2")
        world.feed(Signalled(signum=signal.SIGINT))
        assert ended(world.exits(code)) == (code, became)
