"""The nodes of an attempt: no dead nodes, and no suspected nodes while others are free."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from whesl.model.bad_node_expiry import SECONDS, told
from whesl.model.workflow import BadNode, Grade
from whesl.runtime.isolator.core.events_and_commands import ClaimNodes
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.task_setup import split
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import NodeSuspect


class Places(enum.Enum):
    """Whether an attempt can start on its nodes."""

    READY = "ready"
    CLAIMING = "claiming"  # the allocation's account of nodes is asked; ``NodesClaimed`` follows
    TOO_FEW = "too-few"


def choose_first(transition: Transition) -> bool:
    """Split the allocation for the first attempt under a claim, and record the split.

    Returns False while the attempt waits for its nodes to be claimed.
    """
    state = transition.state
    setup = state.setup
    bad = {item.node for item in state.bad_nodes if item.expires > transition.now}
    avoid = frozenset(bad | set(state.configuration.excluded_nodes) | set(state.down))
    taken = frozenset((*setup.taken, *state.busy))
    nodes = split(setup, wanted=state.configuration.nodes, avoid=avoid, taken=taken)
    if not _own(transition, nodes.active, split(setup).active, taken):
        return False
    avoided = tuple(sorted(avoid & set(nodes.spares)))
    transition.record(records.Nodes(nodes=nodes, avoided=avoided))
    if avoided:
        transition.say(f"not used while others are free: {_why(state, avoided, transition.now)}")
    used = sorted(avoid & set(nodes.active))
    if shared := [node for node in nodes.active if node in taken]:
        transition.say(f"shared with other tasks, since no more nodes are free: {', '.join(shared)}")
    if used:
        transition.say(
            f"used although avoided, because there are no others: {_why(state, used, transition.now)}"
        )
    return True


def _own(
    transition: Transition, active: tuple[str, ...], before: tuple[str, ...], shared: frozenset[str]
) -> bool:
    """Whether the task has claimed the nodes of its next attempt; if not, begin to claim them.

    Args:
        transition: the present transition.
        active: the nodes of the next attempt.
        before: the nodes that the task has already claimed.
        shared: the nodes that other tasks may use, too.
    """
    state = transition.state
    if not state.setup.account or active in (before, state.claimed):
        return True
    transition.do(ClaimNodes(nodes=active, shared=tuple(node for node in active if node in shared)))
    return False


def _why(state: State, nodes: Sequence[str], now: float) -> str:
    known = {bad.node: told(bad, now) for bad in state.bad_nodes if bad.expires > now}
    others = {node: f"{node} (down)" for node in state.down}
    return ", ".join(
        known.get(node) or others.get(node) or f"{node} (excluded by a recovery)" for node in nodes
    )


def dead(state: State) -> tuple[str, ...]:
    """Return the nodes in use that are known to be dead."""
    return tuple(node for node in state.nodes.active if node in state.down)


def too_few(state: State) -> str:
    """Return why the next attempt has too few nodes: the number it needs, and the nodes that are left."""
    nodes = state.nodes
    gone = dead(state)
    living = [node for node in nodes.active if node not in gone]
    lost = ", ".join(gone) or "none is left in use"
    there = ", ".join(living) or "none"
    busy = [node for node in nodes.spares if node in state.busy]
    others = f"; used by other tasks: {', '.join(busy)}" if busy else ""
    return f"no spare is left for {lost}: {len(nodes.active)} needed, alive: {there}{others}"


def place(transition: Transition) -> Places:
    """Replace dead nodes by spares before the next attempt starts.

    A spare that another task of the allocation uses stays with that task.
    """
    state = transition.state
    nodes = state.nodes
    replaced = dead(state)
    if not nodes.active:
        return Places.TOO_FEW
    for node in replaced:
        try:
            nodes = nodes.replace(node, avoid=frozenset((*state.down, *state.busy)))
        except LookupError:
            return Places.TOO_FEW
    if not _own(transition, nodes.active, state.nodes.active, frozenset()):
        return Places.CLAIMING
    if replaced:
        transition.record(records.Nodes(nodes=nodes, replaced=replaced))
        transition.say(f"dead and replaced by spares before the start: {', '.join(replaced)}")
        for node in replaced:
            transition.send(NodeSuspect(bad_node=_lost(transition, node)))
    return Places.READY


def _lost(transition: Transition, node: str) -> BadNode:
    """Return the report to other tasks on a lost node about which this task has raised no exception."""
    task = transition.state.setup.task.id
    return BadNode(
        node=node,
        reason="lost under a task",
        task=task,
        time=transition.now,
        expires=transition.now + SECONDS[Grade.LOST],
    )
