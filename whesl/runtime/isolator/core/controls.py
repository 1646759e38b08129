"""What people and the resource manager ask of a task: pause, resume, cancel, signals, exceptions. Pure.

An exception that is raised from outside is from here on what a detector's is: counted, transformed, limited,
recovered and reported.
"""

from __future__ import annotations

import signal

from whesl.model.evidence import Detected, Evidence
from whesl.model.outcomes import Action, ControlAction
from whesl.model.printable import visible
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.events_and_commands import JobEnded, Signalled
from whesl.runtime.isolator.core.recovery import recovery_decision, task_recovery_sequence
from whesl.runtime.isolator.core.state import TERMINATED, Phase
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import Control, RaiseException

MOST_EVIDENCE = 4096
KILLED = 128 + signal.SIGKILL
FROM_OUTSIDE = "raised from outside"
_STOPPED_BY = {signal.SIGTERM: TERMINATED, signal.SIGINT: "interrupted"}


def take(transition: Transition, request: records.Control) -> bool:
    """Write down that a request is taken; False for one that was taken before, which is reported again.

    The report of an isolator before this one may have died with it, unsent: the coordinator would tell the
    job's next run.
    """
    if request.id in transition.state.controls:
        transition.report(request)
        return False
    transition.record(request)
    return True


def on_control(transition: Transition, control: Control) -> None:
    if not take(transition, records.Control(id=control.id, action=control.action)):
        return
    phase = transition.state.phase
    if control.action is ControlAction.CANCEL:
        stop(transition, 128 + signal.SIGTERM, "cancelled by a person")
    elif control.action is ControlAction.RESUME and phase is Phase.PAUSED:
        under_way = transition.state.recovery
        again = under_way is not None and under_way.action is Action.PAUSE
        transition.record(records.Resumed(by=control.id, request=again and _needs_grant(transition)))
        task_recovery_sequence.fence(transition)
    elif control.action is ControlAction.PAUSE and phase in (
        Phase.RUNNING,
        Phase.LAUNCHING,
        Phase.BACKOFF,
        Phase.NEW,
    ):
        transition.record(records.Paused(ordinal=0, reason="paused by a person"))
        if transition.state.alive or phase is Phase.LAUNCHING:
            transition.end_attempt()
    elif control.action in (ControlAction.PAUSE, ControlAction.RESUME):
        transition.say(
            f"{control.action} has no meaning while the task is {transition.state.task_state.value}"
        )


def _needs_grant(transition: Transition) -> bool:
    under_way = transition.recovery()
    return (
        under_way.level == "WORKFLOW_LEVEL" and transition.state.setup.coordinator and not under_way.granted
    )


def stop(transition: Transition, code: int, reason: str) -> None:
    """End the task now: everything is killed first."""
    state = transition.state
    transition.record(records.Stopping(code=code, reason=reason))
    if state.attempt == 0 or (state.recovery is not None and state.recovery.fenced):
        transition.finish(code, TaskState.CANCELLED, reason)
    else:
        transition.volatile(killed=True)
        transition.end_attempt()


def on_job_ended(transition: Transition, _event: JobEnded) -> None:
    """The end of the job is the task's: nothing of it is started again.

    The isolator cannot know why the job ended: its node may be shutting down, the batch shell first.
    """
    if transition.state.phase is Phase.FINISHED:
        return
    if stopped := transition.state.stop_reason:
        transition.finish(KILLED, TaskState.CANCELLED, stopped)
    else:
        reason = "its batch shell was killed, and its job ended"
        transition.finish(KILLED, TaskState.FAILED, reason, with_job=True)


def on_signal(transition: Transition, event: Signalled) -> None:
    """A signal to the job is passed to the task's program, and ends all recovery.

    One that came to the program alone (``sbatch --signal=B:TERM@300``) leaves it all the time that its job
    has.
    """
    state = transition.state
    signum = signal.Signals(event.signum)
    transition.record(records.Signal(signal=signum.name))
    reason = _STOPPED_BY.get(signum, "hung up")
    running = state.phase in (Phase.RUNNING, Phase.LAUNCHING)
    if running or (state.phase is Phase.STOPPING and state.patient and not event.alone):
        transition.record(records.Stopping(code=128 + signum, reason=reason, patient=event.alone))
        if not event.alone:
            transition.wake(transition.now + state.setup.term_grace)
    elif state.phase is not Phase.STOPPING:
        stop(transition, 128 + signum, reason)


def on_raise(transition: Transition, message: RaiseException) -> None:
    """Take an exception, once for its id; what a recovery is under way for is raised when that is done."""
    taken = ControlAction.RAISE
    request = records.Control(id=message.id, action=taken, exception=message.exception, node=message.node)
    if not take(transition, request):
        return
    reason = _why_not(transition, message)
    if reason:
        transition.say(f"{message.exception} was raised from outside to no effect: {reason}")
        return
    why = visible(message.evidence.strip())[:MOST_EVIDENCE]
    evidence = Evidence(
        kind="external",
        time=transition.now,
        node=message.node,
        detail=f"{FROM_OUTSIDE}: {why}" if why else FROM_OUTSIDE,
    )
    found = Detected(exception=message.exception, evidence=(evidence,))
    task_recovery_sequence.consider(transition, (found,), node=message.node, waits=True)


def _why_not(transition: Transition, message: RaiseException) -> str:
    state = transition.state
    if not recovery_decision.covers(state, message.exception):
        return "the rules do not have it for this task"
    if state.phase is Phase.STOPPING:
        return "the task is being ended"
    return unused(transition, message.node)


def unused(transition: Transition, node: str) -> str:
    """Return why a node is of no interest, an empty string when it is used or none is named."""
    known = (*transition.state.nodes.active, *_not_chosen(transition))
    return f"node {node} is in use no more" if node and node not in known else ""


def _not_chosen(transition: Transition) -> tuple[str, ...]:
    """Return all nodes of the allocation while it is not decided yet which of them are used."""
    return transition.state.setup.nodes if transition.state.phase is Phase.NEW else ()
