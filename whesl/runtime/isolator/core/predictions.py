"""Predicted failures of nodes: from the message to the exceptions of the rules. Pure."""

from __future__ import annotations

import msgspec

from whesl.model.evidence import Detected, Evidence, PredictedFailure
from whesl.model.outcomes import ControlAction
from whesl.runtime.isolator.core.controls import take, unused
from whesl.runtime.isolator.core.events_and_commands import AskCheckpoint, TellLost, TellPrediction
from whesl.runtime.isolator.core.recovery import checkpoint_first, task_recovery_sequence
from whesl.runtime.isolator.core.state import Phase, State
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import PredictFailure


def on_predict(transition: Transition, message: PredictFailure) -> None:
    """Take a prediction, once per id: raise its exceptions, or tell the checkpoint coordinator.

    Args:
        transition: the present transition.
        message: the prediction; its lead, in seconds, counts from now, since its time is by another clock.
    """
    state = transition.state
    prediction = msgspec.structs.replace(message.prediction, time=transition.now)
    request = records.Control(
        id=message.id, action=ControlAction.PREDICT, node=prediction.node, prediction=prediction
    )
    if not take(transition, request):
        return
    reason = _why_not(transition, prediction)
    if reason:
        transition.say(f"{prediction}, to no effect: {reason}")
        return
    transition.say(str(prediction))
    task_recovery_sequence.consider(transition, detected(state, prediction), node=prediction.node, waits=True)
    asked = any(isinstance(command, AskCheckpoint) for command in transition.commands)
    if transition.state.phase is Phase.RUNNING and not state.setup.observe and not asked:
        transition.do(TellPrediction(prediction=prediction))


def on_checkpoint_done(transition: Transition, event: records.CheckpointEnded) -> None:
    """After a checkpoint, begin the recovery that asked for it, or raise exceptions that waited for it.

    Args:
        transition: the present transition.
        event: the checkpoint's result, with the ordinal of the exception that asked for it.
    """
    raised = checkpoint_first.ended(transition, event)
    if raised is not None:
        checkpoint_first.together(transition, event)
        task_recovery_sequence.decide(transition, transition.rule(raised.exception), raised)
    elif not transition.state.asked and transition.state.phase is Phase.RUNNING:
        task_recovery_sequence.raise_queued(transition)


def waits(transition: Transition, node: str, found: tuple[Detected, ...]) -> bool:
    """Whether a node's loss waits for the end of the checkpoint that was requested because of the node.

    The node's own part may be durable while the other nodes still write, so the checkpoint is worth the wait.
    The end of a checkpoint that cannot become complete any more is reported at once.

    Args:
        node: the lost node.
        found: the detections of the loss; they are queued when the loss waits.
    """
    if transition.state.phase is not Phase.RUNNING or not checkpoint_first.about(transition.state, node):
        return False
    for item in found:
        transition.record(records.Queued(found=item, node=node))
    transition.do(TellLost(node=node))
    return True


def _why_not(transition: Transition, prediction: PredictedFailure) -> str:
    if transition.state.phase is Phase.STOPPING:
        return "the task is being ended"
    if prediction.lead <= 0:
        return "the time that it was for is over"
    return unused(transition, prediction.node)


def detected(state: State, prediction: PredictedFailure) -> tuple[Detected, ...]:
    """Return the exceptions that a prediction raises, in the order of the rules.

    Args:
        state: the task's state.
        prediction: the predicted failure.
    """
    evidence = Evidence(
        kind="predicted",
        time=prediction.time,
        node=prediction.node,
        detail=str(prediction),
        captures={
            "lead": f"{prediction.lead:g}",
            "confidence": f"{prediction.confidence:g}",
            "evidence": prediction.evidence or prediction.source,
        },
    )
    return tuple(
        Detected(exception=exception.name, evidence=(evidence,))
        for exception in state.setup.exceptions()
        if any(detection.foresees(prediction) for detection in exception.detections)
    )
