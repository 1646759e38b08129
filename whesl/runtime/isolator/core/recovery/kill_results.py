"""The results of an attempt's kill: no process of it is left, one may be left, or what held a hung one."""

from __future__ import annotations

import msgspec

from whesl.model.evidence import Evidence
from whesl.runtime.isolator.core import lost_nodes
from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.recovery.task_recovery_sequence import (
    give_up,
    instead,
    otherwise_of,
    proceed,
)
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records.recovery_plan_step import PlanStep

FENCE_RETRY = 5.0  # seconds between two tries
FENCE_LIMIT = 120.0  # seconds of tries


def on_kill_confirmed(transition: Transition, event: records.Fenced) -> None:
    """Continue the recovery or stop for which the attempt was killed, since no process of it is left.

    Args:
        transition: the step of the state machine, which collects records and commands.
        event: the attempt, and the nodes that did not answer.
    """
    state = transition.state
    if event.attempt != state.attempt or state.phase in (Phase.RUNNING, Phase.LAUNCHING):
        return
    recovery = state.recovery
    known = recovery_decision.nodes_of(recovery.raised.evidence) if recovery else ()
    evidence = tuple(
        Evidence(kind="heartbeat", time=transition.now, node=node, detail="did not answer when it was fenced")
        for node in event.unreachable
        if node not in known
    )
    if state.alive or state.is_refused or (recovery is not None and not recovery.fenced):
        steps = _planned_anew(transition, evidence)
        transition.record(msgspec.structs.replace(event, evidence=evidence, steps=steps))
    transition.volatile(unconfirmed=False, fence_again=None)
    proceed(transition)


def take_evidence(transition: Transition, event: records.EvidenceTaken) -> None:
    """Record the evidence on a hung attempt; a node with processes that cannot run becomes a suspect.

    Args:
        transition: the step of the state machine, which collects records and commands.
        event: the attempt, and what was seen of its processes.
    """
    if event.attempt != transition.state.attempt:
        return
    steps = _planned_anew(transition, event.stuck)
    transition.record(msgspec.structs.replace(event, steps=steps))
    for item in event.stuck:
        transition.say(f"on {item.node}: {item.detail}")


def _planned_anew(transition: Transition, evidence: tuple[Evidence, ...]) -> tuple[PlanStep, ...] | None:
    """Return the steps planned anew with evidence of suspected nodes; None to keep the planned steps."""
    recovery = transition.state.recovery
    if not evidence or recovery is None or recovery.done:
        return None
    raised = recovery.raised
    raised = msgspec.structs.replace(raised, evidence=(*raised.evidence, *evidence))
    planned = recovery_decision.planned(transition.state, raised, silent=recovery_decision.nodes_of(evidence))
    return planned.steps if not planned.error else None


def on_kill_unconfirmed(transition: Transition, event: records.Unfenced) -> None:
    """Retry for a limited time to kill an attempt: no other may start while its processes live.

    Args:
        transition: the step of the state machine, which collects records and commands.
        event: the attempt, and why its end is not known.
    """
    state = transition.state
    if event.attempt != state.attempt:
        return
    if not state.unconfirmed:
        transition.record(event)
        transition.say(f"attempt {event.attempt} could not be ended: {event.reason}; trying again")
    transition.volatile(unconfirmed=True, fence_again=transition.now + FENCE_RETRY)
    if transition.now - state.since < FENCE_LIMIT:
        transition.wake(transition.now + FENCE_RETRY)
    elif state.phase is Phase.STOPPING:
        code, became, reason = lost_nodes.stopped(state, state.stop_code)
        transition.finish(code, became, f"{reason}; {event.reason}")
    elif state.is_refused:
        evidence = Evidence(kind="launcher", time=transition.now, detail=event.reason)
        give_up(transition, evidence, f"what the refused start left could not be ended: {event.reason}")
    elif state.phase is Phase.FENCING:
        reason = f"the attempt could not be ended: {event.reason}"
        if state.recovery is not None:
            instead(transition, otherwise_of(transition, state.recovery), reason)
        else:
            give_up(transition, Evidence(kind="launcher", time=transition.now, detail=event.reason), reason)
