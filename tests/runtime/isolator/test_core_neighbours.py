"""The core on a virtual clock: which nodes a task uses beside others is learned from its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.isolator.conftest import World, make_setup, node_exception
from tests.runtime.isolator.test_core_nodes import lost, replaces
from whesl.runtime.isolator.core.events_and_commands import ClaimNodes, StartAttempt, StepsSeen

Make = Callable[..., World]
ALL = ("n1", "n2", "n3", "n4", "n5", "n6")


def beside(make: Make, own: tuple[str, ...], others: tuple[str, ...], **changes: Any) -> World:
    """Return a task that may use six nodes, with what was learned of steps."""
    made = make(node_exception(), **{"nodes": ALL, "account": "/home/account", **changes})
    return made.feed(StepsSeen(own=own, others=others))


def starts(world: World) -> list[tuple[str, ...]]:
    return [each.nodes.active for each in world.commands if isinstance(each, StartAttempt)]


def test_a_node_of_others_or_of_nobody_is_lost_without_a_restart(world: Make) -> None:
    """All tasks of a job without --nodes ended with a node that one of them used."""
    made = beside(world, ("n1", "n2"), ("n3", "n4"))
    assert made.state.nodes.active == ("n1", "n2")
    assert made.state.nodes.spares == ("n5", "n6")
    assert ClaimNodes(nodes=("n1", "n2"), shared=("n1", "n2")) in made.commands
    lost(made, "n4", "NODEDOWN")
    lost(made, "n5", "NODEDOWN")
    assert (made.state.raised, len(starts(made))) == ((), 1)


def test_a_node_that_its_one_step_does_not_use_is_lost_without_a_restart(world: Make) -> None:
    """The last task of a pilot, and a lone ``whesl exec -- srun -N1``, failed with a node of nobody."""
    made = beside(world, ("n1",), ())
    lost(made, "n4", "NODEDOWN")
    assert (made.state.raised, len(starts(made))) == ((), 1)


def test_a_node_of_its_own_is_replaced_by_one_of_nobody(world: Make) -> None:
    made = beside(world, ("n3", "n4"), ("n1", "n2"))
    replaces(made)
    lost(made, "n4", "NODEDOWN")
    assert starts(made)[1:] == [("n3", "n5")]


@pytest.mark.parametrize(("own", "others"), [((), ("n3",)), ((), ()), (ALL, ("n1",))])
def test_where_too_little_is_known_it_uses_all_nodes(
    world: Make, own: tuple[str, ...], others: tuple[str, ...]
) -> None:
    made = beside(world, own, others)
    assert made.state.nodes.active == ALL
    lost(made, "n6", "NODEDOWN")
    assert made.state.raised


def test_a_task_that_has_said_which_part_it_uses_keeps_it(world: Make) -> None:
    assert beside(world, ("n1",), ("n3",), active=2).state.nodes.active == ("n1", "n2")


@pytest.mark.parametrize(
    ("said", "active", "claims"),
    [(None, ("n2", "n3"), False), (None, ("n2",), True), (2, ("n2", "n3"), True), (3, ("n2", "n3"), False)],
    ids=["all", "learned", "said", "all, said"],
)
def test_a_task_claims_what_is_a_part(said: int | None, active: tuple[str, ...], claims: bool) -> None:
    """Without the isolator's own node, two of three nodes are all that a task may use."""
    setup = make_setup(nodes=("n1", "n2", "n3"), account="/a", active=said, use_own_node=False)
    assert setup.claims(active) is claims
