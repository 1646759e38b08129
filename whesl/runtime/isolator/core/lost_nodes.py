"""A lost node on which no rule acts: the task ends as its resource manager would end it. Pure.

Without WHESL, a job that loses a node has failed, whatever its script's status is (Slurm: NODE_FAIL): its
ranks on the node have not completed. The launcher may still end with 0 (srun does, when the ranks on the
other nodes have ended with 0). Only the resource manager's report counts: a silent agent may be heard again.
"""

from __future__ import annotations

from whesl.managers.resource import manager_table
from whesl.model.states import NodeState, TaskState
from whesl.runtime.isolator.core.events_and_commands import NodeSeen
from whesl.runtime.isolator.core.recovery.escalation_to_coordinator import FAILED_WITHOUT_STATUS
from whesl.runtime.isolator.core.state import TERMINATED, Phase, State
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records


def news(state: State, event: NodeSeen) -> bool:
    """Whether the resource manager reports a node in use as lost for the first time.

    Args:
        state: the state before the report.
        event: the report on the node.
    """
    said = event.state is NodeState.DOWN and event.source == records.RESOURCE_MANAGER
    return said and event.node in state.nodes.active and event.node not in state.lost


def end(transition: Transition) -> None:
    """End an attempt that lost a node, where the job outlives the loss only for the sake of the task's rules.

    Without WHESL, the resource manager would have ended the attempt. The attempt goes on where a recovery may
    still change the nodes (for example from a hang after the loss), and where the user has asked for a job
    that outlives lost nodes.
    """
    state = transition.state
    runs = state.phase in (Phase.RUNNING, Phase.LAUNCHING)
    if state.lost and state.setup.kept and runs and not state.setup.changes_nodes():
        reason = why(state)
        transition.say(f"{reason}: the attempt is ended, as the job would have been")
        code = FAILED_WITHOUT_STATUS
        transition.record(records.Stopping(code=code, reason=reason, state=TaskState.FAILED))
        transition.volatile(killed=True)
        transition.end_attempt()


def why(state: State) -> str:
    """Return a clause on the nodes that the attempt has lost, for the reason of the job's end."""
    lost = [node for node in state.lost if node in state.nodes.active]
    if not lost:
        return ""
    named = f"{', '.join(lost)} {'were' if len(lost) > 1 else 'was'} lost while it ran"
    ends = state.setup.kept or state.stop_reason == TERMINATED
    word = manager_table.manager(state.setup.rjms).node_lost if ends else ""
    return f"{named} ({word})" if word else named


def completed(state: State) -> tuple[int, TaskState, str]:
    """Return status, state and reason of a task whose attempt has ended with status 0.

    The status stays 0 in a job whose user asked it to outlive lost nodes: without WHESL it is 0, too.
    """
    reason = why(state)
    if not reason:
        return 0, TaskState.COMPLETED, ""
    code = FAILED_WITHOUT_STATUS if state.setup.kept else 0
    return code, TaskState.FAILED, f"{reason}, and its command ended with status 0"


def stopped(state: State, code: int) -> tuple[int, TaskState, str]:
    """Return status, state and reason of a task whose program has ended while it was being stopped.

    The resource manager sends SIGTERM to a job that has lost a node, as to a job at its time limit.

    Args:
        state: the present state.
        code: the program's exit status.
    """
    reason = why(state)
    if reason and state.stop_reason == TERMINATED:
        return code or FAILED_WITHOUT_STATUS, TaskState.FAILED, f"{reason}, and the job was ended"
    if code == 0 and state.stop_state is TaskState.CANCELLED:
        return completed(state)
    return code, state.stop_state, state.stop_reason
