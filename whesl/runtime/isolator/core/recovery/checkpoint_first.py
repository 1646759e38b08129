"""Checkpoints at the beginning of a recovery, while the program still runs. Pure.

An exception whose rules have ``JOB.CHECKPOINT`` or ``NODE.REPLACE BEFORE FAILURE`` does not end the attempt
when it is raised: the program is asked for a checkpoint, whose result decides what follows.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.language.compiler.operation_signatures import JobCheckpoint
from whesl.language.spec import ExceptionSpec, Operation, ResourceKind
from whesl.model.evidence import Detected, PredictedFailure, Raised
from whesl.model.outcomes import Action
from whesl.runtime.detect.exception_transformation import Transformed
from whesl.runtime.isolator.core.events_and_commands import AskCheckpoint
from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.state import Asked, Phase, State
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records.recovery_plan_step import PlanStep

GRACE = 10.0  # seconds after a checkpoint's timeout in which the shell has to report the result
_NAME = (ResourceKind.JOB.value, Operation.CHECKPOINT.value)
_REPLACE = (ResourceKind.NODE.value, Operation.REPLACE.value)


def ask(transition: Transition, found: Detected, became: Transformed) -> bool:
    """Ask the running program for a checkpoint, if the rules have one for an exception.

    Args:
        transition: the present transition.
        found: the detection.
        became: the exception to which counting transformed the detected one.

    Returns:
        Whether nothing else is done about the exception now, since a checkpoint is under way or refused.
    """
    state = transition.state
    spec = transition.rule(became.exception)
    if state.phase is not Phase.RUNNING or not state.alive or not _wants(state, spec):
        return False
    raised = recovery_decision.raised(state, found, became, transition.now)
    planned = recovery_decision.planned(state, raised)
    if planned.error:
        return False
    nodes = {item.node for item in found.evidence if item.node}
    for asked in state.asked:
        known = {item.node for item in asked.raised.evidence if item.node}
        if asked.raised.exception == raised.exception and nodes <= known:
            transition.drop(found, asked.raised.ordinal)
            return True
    if not _goes_on(spec):
        # The checkpoint is the whole recovery, so the exception's limit counts checkpoints.
        decision = recovery_decision.decide(state, spec, raised, transition.now)
        if decision.action is not Action.RECOVER:
            transition.drop(found)
            transition.say(f"{raised.exception}: no checkpoint is asked for: {decision.reason}")
            return True
    transition.record(records.Raised(raised=raised, history=became.history, goes_on=True))
    steps = [step.arguments for step in planned.steps if (step.resource, step.operation) == _NAME]
    arguments: dict[str, Any] = steps[0] if steps else {}
    until = transition.now + float(arguments.get("timeout") or JobCheckpoint().timeout) + GRACE
    transition.record(
        records.CheckpointAsked(
            ordinal=raised.ordinal, until=until, arguments=arguments, counted=not _goes_on(spec)
        )
    )
    choice = _choice(state, raised) if _goes_on(spec) else ""
    transition.say(
        f"raised {raised.exception} ({recovery_decision.why(raised)}): a checkpoint is asked for{choice}"
    )
    _do(transition, transition.state.asked[-1])
    return True


def _choice(state: State, raised: Raised) -> str:
    """Return a phrase on how long the last move to a spare (checkpoint and restart) took.

    The failing node always writes first: that order costs nothing where the move fits into the lead time, and
    saves the node's part of the checkpoint where it does not.
    """
    prediction = predicted(raised)
    if prediction is None or not state.theta:
        return ""
    fits = "which fits into the lead time" if state.theta <= prediction.lead else "longer than the lead time"
    return f" (moving to a spare took {state.theta:.1f} s the last time, {fits}: the node writes first)"


def stays(transition: Transition, found: Detected, raised: Raised) -> bool:
    """Whether nothing is done about a predicted failure, since the node cannot be replaced before it.

    A prediction harms nothing by itself: the program goes on, or is started, on the node.

    Args:
        found: the detection; it is dropped when nothing is done.
        raised: the exception of the prediction.
    """
    why = _why_it_stays(transition, transition.rule(raised.exception), raised, "")
    if why:
        transition.drop(found)
        transition.say(f"{found.exception}: {why}; the task goes on")
    return bool(why)


def again(transition: Transition) -> None:
    """Ask again for the checkpoints that an earlier isolator had asked for."""
    for asked in transition.state.asked:
        _do(transition, asked)


def _do(transition: Transition, asked: Asked) -> None:
    transition.do(
        AskCheckpoint(
            ordinal=asked.raised.ordinal,
            attempt=transition.state.attempt,
            arguments=asked.arguments,
            prediction=predicted(asked.raised),
            move=transition.state.theta if _moves(transition, asked.raised) else None,
        )
    )
    transition.wake(asked.until)


def predicted(raised: Raised) -> PredictedFailure | None:
    """Return the prediction that an exception was raised for, None for another cause."""
    item = next((item for item in raised.evidence if item.kind == "predicted"), None)
    if item is None:
        return None
    lead, confidence = float(item.captures["lead"]), float(item.captures["confidence"])
    why = item.captures["evidence"]
    return PredictedFailure(node=item.node, time=item.time, lead=lead, confidence=confidence, evidence=why)


def after(steps: tuple[PlanStep, ...]) -> tuple[PlanStep, ...]:
    """Return the steps after the program's end: all but the checkpoint."""
    return tuple(
        step for step in steps if step.handler is not None or (step.resource, step.operation) != _NAME
    )


def ended(transition: Transition, event: records.CheckpointEnded) -> Raised | None:
    """Take a checkpoint's result; return the exception whose recovery follows, None for none.

    Args:
        transition: the present transition.
        event: the checkpoint's result; one that no open request of this attempt waits for changes nothing.
    """
    asked = next((each for each in transition.state.asked if each.raised.ordinal == event.ordinal), None)
    if asked is None:
        return None
    spec = transition.rule(asked.raised.exception)
    stays = _why_it_stays(transition, spec, asked.raised, event.why)
    recovers = not stays and _goes_on(spec)
    _record(transition, event, stays if stays != event.why else "")
    name = asked.raised.exception
    if recovers:
        transition.say(f"{name}: {event.checkpoint or event.why} after {event.seconds:.1f} s")
        return asked.raised
    said = f"{event.checkpoint} is whole" if event.checkpoint else f"no checkpoint: {event.why}"
    why = f", {stays}" if stays and stays != event.why else ""
    transition.say(f"{name}: {said} after {event.seconds:.1f} s{why}; the program goes on")
    return None


def together(transition: Transition, event: records.CheckpointEnded) -> None:
    """Queue the other predicted failures after a checkpoint: one restart replaces all these nodes.

    Args:
        transition: the present transition.
        event: the checkpoint's result, which is recorded for each of the other exceptions, too.
    """
    for asked in transition.state.asked:
        if predicted(asked.raised) is None or not _goes_on(transition.rule(asked.raised.exception)):
            continue
        told = {"ordinal": asked.raised.ordinal, "checkpoint": event.checkpoint, "why": event.why}
        _record(transition, msgspec.structs.replace(event, **told), "")
        found = Detected(exception=asked.raised.exception, evidence=asked.raised.evidence)
        node = recovery_decision.nodes_of(found.evidence)[0]
        transition.record(records.Queued(found=found, node=node))


def overdue(transition: Transition) -> records.CheckpointEnded | None:
    """Return the failure of a checkpoint whose result is overdue, None when there is none."""
    for asked in transition.state.asked:
        if transition.now >= asked.until:
            return records.CheckpointEnded(
                ordinal=asked.raised.ordinal, seconds=0.0, why="nothing was heard of it"
            )
    return None


def drop(transition: Transition, why: str) -> None:
    """Record checkpoints under way as failed, since the attempt ends.

    Args:
        transition: the present transition.
        why: why the attempt ends, the reason of each failed checkpoint.
    """
    for asked in transition.state.asked:
        _record(transition, records.CheckpointEnded(ordinal=asked.raised.ordinal, seconds=0.0, why=why), "")


def about(state: State, node: str) -> bool:
    """Whether a checkpoint is under way that was requested because of a node.

    Args:
        state: the task's state.
        node: the node's name.
    """
    return any(item.node == node for asked in state.asked for item in asked.raised.evidence)


def _record(transition: Transition, event: records.CheckpointEnded, stays: str) -> None:
    transition.record(msgspec.structs.replace(event, stays=stays))


def _is_checkpoint(state: State, step: Any) -> bool:
    assert state.setup.spec is not None
    built_in = state.setup.spec.handler(step.resource, step.operation) is None
    return built_in and (step.resource, step.operation) == _NAME


def _wants(state: State, spec: ExceptionSpec) -> bool:
    return any(step.before_failure or _is_checkpoint(state, step) for step in spec.steps)


def _goes_on(spec: ExceptionSpec) -> bool:
    """Whether an exception's rule has steps besides the checkpoint."""
    return any((step.resource, step.operation) != _NAME for step in spec.steps)


def _moves(transition: Transition, raised: Raised) -> bool:
    """Whether a spare takes the failing node's place after the checkpoint."""
    spec = transition.rule(raised.exception)
    replaces = any((step.resource, step.operation) == _REPLACE for step in spec.steps)
    return replaces and not _why_it_stays(transition, spec, raised, "")


def _why_it_stays(transition: Transition, spec: ExceptionSpec, raised: Raised, failed: str) -> str:
    """Return why a node is not replaced before its failure; an empty string when it is."""
    if not any(step.before_failure for step in spec.steps):
        return ""
    if failed:
        return failed
    state = transition.state
    decision = recovery_decision.decide(state, spec, raised, transition.now)
    if decision.action is not Action.RECOVER:
        return decision.reason
    usable = [node for node in state.nodes.spares if node not in state.down]
    return "" if usable else "no spare is left"
