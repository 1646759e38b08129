"""The nodes of a task that uses a part of its job's nodes: those on which the task's steps run. Pure."""

from __future__ import annotations

from whesl.model.allocation_nodes import NodeSet
from whesl.runtime.isolator.core.events_and_commands import ClaimNodes, StepsSeen
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.task_setup import split
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records


def on_steps_seen(transition: Transition, event: StepsSeen) -> None:
    """Restrict the task to the nodes of its own steps; nodes without any task's steps become its spares.

    The task's nodes stay the same where nothing is known of its own steps.

    Args:
        transition: the present transition.
        event: names of the nodes with steps of this task, and of those with steps of the job's other tasks.
    """
    state = transition.state
    whole = split(state.setup).active
    own = tuple(node for node in whole if node in event.own)
    runs = state.phase in (Phase.LAUNCHING, Phase.RUNNING)
    if not runs or state.setup.active or state.nodes.active != whole:
        return
    if own in ((), whole):
        return
    rest = (*whole, *state.nodes.spares)
    spares = tuple(node for node in rest if node not in (*own, *event.others))
    nodes = NodeSet(active=own, spares=spares, components=state.nodes.components)
    transition.record(records.Nodes(nodes=nodes))
    others = f", steps of other tasks on {', '.join(event.others)}" if event.others else ""
    transition.say(f"its steps run on {', '.join(own)}{others}")
    transition.do(ClaimNodes(nodes=own, shared=own))
