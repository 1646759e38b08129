"""The core on a virtual clock: the nodes of an attempt are claimed where other tasks use the allocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.runtime.isolator.conftest import World, make_setup, node_exception, welcome
from tests.runtime.isolator.test_core_nodes import lost
from whesl.model.outcomes import StepOutcome
from whesl.model.workflow import BadNode
from whesl.runtime.isolator.core.events_and_commands import ClaimNodes, NodesClaimed, RunStep, StartAttempt
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.journal.records import isolator_records as records

Make = Callable[..., World]


def pilot(**changes: Any) -> dict[str, Any]:
    """Return the setup of a task that uses n1 and n2 of an allocation; n3 to n5 are spares."""
    return {"nodes": ("n1", "n2", "n3", "n4", "n5"), "active": 2, "account": "/home/account", **changes}


def claims(world: World) -> list[ClaimNodes]:
    return [each for each in world.commands if isinstance(each, ClaimNodes)]


def starts(world: World) -> list[tuple[str, ...]]:
    return [each.nodes.active for each in world.commands if isinstance(each, StartAttempt)]


def before_a_start(make: Make, **changes: Any) -> World:
    """Lose n2, and n3 that took its place, before the attempt on it starts."""
    world = make(node_exception(), **pilot(**changes))
    world.hold = (RunStep,)
    lost(world, "n2", "NODEDOWN")
    lost(world, "n3")
    world.hold = ()
    (step,) = (each for each in world.commands if isinstance(each, RunStep))
    nodes = world.state.nodes.replace("n2")
    assert nodes.active == ("n1", "n3")
    done = records.StepDone(ordinal=step.ordinal, index=0, outcome=StepOutcome.CONTINUE, nodes=nodes)
    return world.feed(done)


def test_a_spare_for_a_node_that_dies_before_a_start_is_claimed_first(world: Make) -> None:
    """Two tasks took the same spare: each replaced a dead node by it just before its start."""
    made = before_a_start(world)
    assert [(each.nodes, each.shared) for each in claims(made)] == [(("n1", "n4"), ())]
    assert len(starts(made)) == 1, "it has not waited"
    made.feed(NodesClaimed(nodes=("n1", "n4"), refused=("n4",), used=("n4",)))
    assert claims(made)[-1].nodes == ("n1", "n5")
    assert len(starts(made)) == 1
    made.feed(NodesClaimed(nodes=("n1", "n5"), used=("n4",)))
    assert starts(made)[-1] == ("n1", "n5")
    made.feed(NodesClaimed(nodes=("n1", "n5"), used=("n4",)))
    assert len(starts(made)) == 2, "a repeated answer started it again"


def test_without_a_spare_of_its_own_nothing_is_shared(world: Make) -> None:
    made = before_a_start(world)
    made.feed(NodesClaimed(nodes=("n1", "n4"), refused=("n4",), used=("n4", "n5")))
    assert len(starts(made)) == 1
    assert made.state.phase is not Phase.BACKOFF, "it waits for ever"
    assert "used by other tasks: n4, n5" in str(made.state.raised)


def test_where_one_task_has_the_allocation_nothing_is_asked(world: Make) -> None:
    made = before_a_start(world, account="")
    assert claims(made) == []
    assert starts(made)[-1] == ("n1", "n4")


def test_nodes_taken_instead_of_avoided_ones_are_claimed_before_the_first_start() -> None:
    """The claim of ``whesl exec`` does not know what the coordinator avoids."""
    made = World(make_setup(node_exception(), **pilot(coordinator=True))).start()
    bad = BadNode(node="n2", reason="lost", task="wf/x", time=made.now, expires=made.now + 3600)
    welcome(made, bad_nodes=(bad,))
    assert claims(made)[-1].nodes == ("n1", "n3")
    assert starts(made) == []
    made.feed(NodesClaimed(nodes=("n1", "n3"), refused=("n3",), used=("n3", "n4", "n5")))
    # Nothing else is free: it shares, knowingly.
    last = claims(made)[-1]
    assert set(last.shared) <= set(last.nodes)
    made.feed(NodesClaimed(nodes=last.nodes, used=("n3", "n4", "n5")))
    assert starts(made) == [last.nodes]
