"""What people and the resource manager ask of a task: pause, resume, cancel, signals. Pure."""

from __future__ import annotations

import signal

from whesl.isolator.core import (
    recovery,
)
from whesl.isolator.core.events import (
    SignalAttempt,
    Signalled,
)
from whesl.isolator.core.state import Phase
from whesl.isolator.core.transition import Transition
from whesl.model.outcomes import Action, ControlAction
from whesl.model.states import TaskState
from whesl.records import isolator as records
from whesl.wire.messages import (
    Control,
)

REPEATED_SIGNAL = 2.0
_STOPPED_BY = {signal.SIGTERM: "terminated, as at the time limit", signal.SIGINT: "interrupted"}


def on_control(transition: Transition, control: Control) -> None:
    if control.id in transition.state.controls:
        return
    transition.record(records.Control(id=control.id, action=control.action))
    phase = transition.state.phase
    if control.action is ControlAction.CANCEL:
        stop(transition, 128 + signal.SIGTERM, "cancelled by a person")
    elif control.action is ControlAction.RESUME and phase is Phase.PAUSED:
        under_way = transition.state.recovery
        again = under_way is not None and under_way.action is Action.PAUSE
        transition.record(records.Resumed(by=control.id, request=again and _needs_grant(transition)))
        recovery.fence(transition)
    elif control.action is ControlAction.PAUSE and phase in (
        Phase.RUNNING,
        Phase.LAUNCHING,
        Phase.BACKOFF,
        Phase.NEW,
    ):
        transition.record(records.Paused(ordinal=0, reason="paused by a person"))
        if transition.state.alive or phase is Phase.LAUNCHING:
            transition.do(recovery.kill_command(transition.state))
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
        transition.do(recovery.kill_command(state))


def on_signal(transition: Transition, event: Signalled) -> None:
    """A signal is the task's own; TERM, INT and HUP also end all recovery."""
    state = transition.state
    signum = signal.Signals(event.signum)
    running = state.phase in (Phase.RUNNING, Phase.LAUNCHING)
    transition.record(records.Signal(signal=signum.name))
    if signum not in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if running:
            transition.do(SignalAttempt(attempt=state.attempt, signum=event.signum, whom="main"))
        return
    reason = _STOPPED_BY.get(signum, "hung up")
    if running:
        transition.record(records.Stopping(code=128 + signum, reason=reason))
        transition.do(SignalAttempt(attempt=state.attempt, signum=event.signum, whom="group"))
        transition.wake(transition.now + state.setup.term_grace)
    elif state.phase is Phase.STOPPING:
        # At the time limit the resource manager signals keeper and isolator alike: that is one word, not two.
        if transition.now > state.since + REPEATED_SIGNAL:
            transition.do(SignalAttempt(attempt=state.attempt, signum=event.signum, whom="group"))
    else:
        stop(transition, 128 + signum, reason)
