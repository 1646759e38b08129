"""Requests of users and the resource manager: pause, resume, cancel, signals, exceptions. Pure.

An exception raised from outside is then handled like a detected one: counted, transformed, limited, recovered
and reported.
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
    """Record that a request is accepted; return False for a repeated request, which is only reported again.

    An earlier isolator may have died before it reported the request: without a report, the coordinator would
    send the request to the job's next run.

    Args:
        transition: the present transition.
        request: the request; repeated requests have the same id.
    """
    if request.id in transition.state.controls:
        transition.report(request)
        return False
    transition.record(request)
    return True


def on_control(transition: Transition, control: Control) -> None:
    """Cancel, pause or resume the task, once per id; what its phase does not allow is only logged.

    Args:
        transition: the present transition.
        control: the request as the coordinator passes it on.
    """
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
    """End the task now, after all its processes are killed.

    Args:
        transition: the present transition.
        code: the task's exit status.
        reason: why the task ends, for the report.
    """
    state = transition.state
    transition.record(records.Stopping(code=code, reason=reason))
    if state.attempt == 0 or (state.recovery is not None and state.recovery.fenced):
        transition.finish(code, TaskState.CANCELLED, reason)
    else:
        transition.volatile(killed=True)
        transition.end_attempt()


def on_job_ended(transition: Transition, _event: JobEnded) -> None:
    """End the task with its job: no further attempt is started.

    The isolator cannot know why the job ended: its node may be shutting down, batch shell first.

    Args:
        transition: the present transition.
        _event: has no content; every handler takes its event.
    """
    if transition.state.phase is Phase.FINISHED:
        return
    if stopped := transition.state.stop_reason:
        transition.finish(KILLED, TaskState.CANCELLED, stopped)
    else:
        reason = "its batch shell was killed, and its job ended"
        transition.finish(KILLED, TaskState.FAILED, reason, with_job=True)


def on_signal(transition: Transition, event: Signalled) -> None:
    """End all recovery after a signal to the job; the keeper passes the signal to the task's program.

    A signal sent to the program alone (``sbatch --signal=B:TERM@300``) sets the program no time limit: it may
    run as long as its job.

    Args:
        transition: the present transition.
        event: the signal, and whether it went to the program alone.
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
    """Take an exception, once per id; during a recovery, the exception waits until the recovery is done.

    Args:
        transition: the present transition.
        message: the exception, the node that it is about ('' for none) and a line of evidence.
    """
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
    """Return why the task ignores a node; an empty string when the node is in use or none is named.

    Args:
        transition: the present transition.
        node: name of the node that a request is about; '' for none.
    """
    known = (*transition.state.nodes.active, *_not_chosen(transition))
    return f"node {node} is in use no more" if node and node not in known else ""


def _not_chosen(transition: Transition) -> tuple[str, ...]:
    """Return all nodes of the allocation until the task's nodes are chosen, then nothing."""
    return transition.state.setup.nodes if transition.state.phase is Phase.NEW else ()
