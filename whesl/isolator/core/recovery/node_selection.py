"""Which nodes of the allocation an attempt uses: no dead one, no suspected one while others are free."""

from __future__ import annotations

from collections.abc import Sequence

from whesl.isolator.core.state import State
from whesl.isolator.core.task_setup import split
from whesl.isolator.core.transition_context import Transition
from whesl.model.bad_node_expiry import SECONDS, told
from whesl.model.workflow import BadNode, Grade
from whesl.records import isolator as records
from whesl.wire.messages import NodeSuspect


def choose_first(transition: Transition) -> None:
    """Split the allocation for the first attempt under a claim, and write the split down."""
    state = transition.state
    setup = state.setup
    bad = {item.node for item in state.bad_nodes if item.expires > transition.now}
    avoid = frozenset(bad | set(state.configuration.excluded_nodes) | set(state.down))
    nodes = split(setup, wanted=state.configuration.nodes, avoid=avoid)
    avoided = tuple(sorted(avoid & set(nodes.spares)))
    transition.record(records.Nodes(nodes=nodes, avoided=avoided))
    if avoided:
        transition.say(f"not used while others are free: {_why(state, avoided, transition.now)}")
    used = sorted(avoid & set(nodes.active))
    if shared := [node for node in nodes.active if node in setup.taken]:
        transition.say(f"shared with other tasks, since no more nodes are free: {', '.join(shared)}")
    if used:
        transition.say(
            f"used although avoided, because there are no others: {_why(state, used, transition.now)}"
        )


def _why(state: State, nodes: Sequence[str], now: float) -> str:
    known = {bad.node: told(bad, now) for bad in state.bad_nodes if bad.expires > now}
    others = {node: f"{node} (down)" for node in state.down}
    return ", ".join(
        known.get(node) or others.get(node) or f"{node} (excluded by a recovery)" for node in nodes
    )


def dead(state: State) -> tuple[str, ...]:
    """Return the nodes in use that are known as dead."""
    return tuple(node for node in state.nodes.active if node in state.down)


def too_few(state: State) -> str:
    """Return how many nodes the next attempt would need, and which there are."""
    nodes = state.nodes
    gone = dead(state)
    living = [node for node in nodes.active if node not in gone]
    lost = ", ".join(gone) or "none is left in use"
    there = ", ".join(living) or "none"
    return f"no spare is left for {lost}: {len(nodes.active)} needed, alive: {there}"


def place(transition: Transition) -> bool:
    """Make sure that the next attempt starts on living nodes: spares take the places of dead ones.

    Returns False when a dead node is left in use and there is no spare for it.
    """
    nodes = transition.state.nodes
    replaced = dead(transition.state)
    if not nodes.active:
        return False
    for node in replaced:
        try:
            nodes = nodes.replace(node, avoid=frozenset(transition.state.down))
        except LookupError:
            return False
    if replaced:
        transition.record(records.Nodes(nodes=nodes, replaced=replaced))
        transition.say(f"dead and replaced by spares before the start: {', '.join(replaced)}")
        for node in replaced:
            transition.send(NodeSuspect(bad_node=_lost(transition, node)))
    return True


def _lost(transition: Transition, node: str) -> BadNode:
    """Return what other tasks are told of a node that no exception of its own was raised for."""
    task = transition.state.setup.task.id
    return BadNode(
        node=node,
        reason="lost under a task",
        task=task,
        time=transition.now,
        expires=transition.now + SECONDS[Grade.LOST],
    )
