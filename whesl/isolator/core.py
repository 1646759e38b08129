"""The isolator's core: ``step(state, event, now) -> (state, commands)``, without any I/O.

``rebuild`` gives the state that a journal describes; the first event of a shell is ``Started``, whose
commands take up whatever was under way.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from typing import Any

from whesl.isolator import announce, escalation, placing, recovered, recovery, registering, startup, stepping
from whesl.isolator.events import (
    AdoptAttempt,
    AttemptExited,
    AttemptNotStarted,
    AttemptStarted,
    Command,
    ConfigurationRead,
    CoordinatorFound,
    CoordinatorLost,
    CoordinatorMessage,
    Detections,
    Event,
    EvidenceCollected,
    ForbidRequeue,
    JobExceptionRaised,
    JobExceptionSeen,
    JournalTroubled,
    KillConfirmed,
    KillUnconfirmed,
    LeaseEnded,
    NodeSeen,
    ProgramSeen,
    Reached,
    ReadConfiguration,
    RunStep,
    SignalAttempt,
    Signalled,
    Started,
    StepDone,
    Stopped,
    Tick,
    WriteReconfigure,
)
from whesl.isolator.setup import Setup, token_prefix
from whesl.isolator.state import Phase, State, apply
from whesl.isolator.turn import Turn, merged
from whesl.model.states import NodeState, TaskState
from whesl.wire.messages import (
    Control,
    EscalationDecision,
    Heartbeat,
    Reconfigure,
    RecoveryGrant,
    Report,
    Welcome,
)

__all__ = ["rebuild", "step"]

EXIT_NOT_STARTED = 126  # a shell's word for a command that could not be executed
REPEATED_SIGNAL = 2.0
_STOPPED_BY = {signal.SIGTERM: "terminated, as at the time limit", signal.SIGINT: "interrupted"}


def rebuild(setup: Setup, records: Iterable[tuple[str, dict[str, Any], float]]) -> State:
    """Return the state that a journal's records describe.

    Args:
        setup: what the isolator was told.
        records: kind, data and time of each record, in order.
    """
    state = State(setup=setup)
    for kind, data, time in records:
        state = apply(state, kind, data, time)
    return state


def step(state: State, event: Event, now: float) -> tuple[State, list[Command]]:
    """Return the state after an event, and what has to be done, in order.

    Args:
        state: the present state.
        event: what happened.
        now: seconds since the epoch; never goes back by more than the clock of the machine does.
    """
    turn = Turn(state, now)
    if state.phase is not Phase.FINISHED or isinstance(event, Started):
        _HANDLERS[type(event)](turn, event)
    return turn.state, turn.commands


def _on_started(turn: Turn, event: Started) -> None:
    state = turn.state
    setup = state.setup
    if state.claim != setup.claim:
        turn.record("begun", claim=setup.claim, rjms=setup.rjms, job_id=setup.job_id, observe=setup.observe)
    elif state.phase is Phase.FINISHED:
        _tell_again(turn)
        turn.send_finished()
        return
    else:
        turn.record("resumed-isolator", phase=state.phase, attempt=state.attempt)
        announce.again(turn)
    _tell_again(turn)
    phase = turn.state.phase
    if phase is Phase.NEW:
        registering.register(turn)
        if setup.coordinator:
            turn.volatile(welcome_deadline=turn.now + setup.welcome_wait, waits_for_welcome=True)
            turn.wake(turn.now + setup.welcome_wait)
        else:
            _begin(turn)
        return
    registering.register(turn)
    if phase is Phase.LAUNCHING and event.alive is None:
        recovery.start_attempt(turn, state.attempt)
    elif phase in (Phase.LAUNCHING, Phase.RUNNING):
        turn.do(AdoptAttempt(attempt=state.attempt))
        recovered.judge(turn)
        if phase is Phase.RUNNING:
            startup.probe(turn)
    elif phase is Phase.STOPPING or (phase is Phase.PAUSED and state.alive):
        turn.volatile(killed=True)
        turn.do(recovery.kill_command(state))
    elif phase is Phase.FENCING:
        if state.recovery is not None and state.recovery.request and not state.recovery.granted:
            recovery.request_grant(turn)
        recovery.fence(turn)
    elif phase is Phase.GRANT:
        recovery.request_grant(turn)
        recovery.check_grant(turn)
    elif phase is Phase.STEPS:
        under_way = turn.recovery()
        if under_way.done < len(under_way.steps):
            turn.do(RunStep(ordinal=under_way.ordinal, index=under_way.done))
        else:
            recovery.proceed(turn)
    elif phase is Phase.BACKOFF:
        recovery.launch_when_due(turn)
    elif phase is Phase.ESCALATED:
        escalation.send(turn)


def _tell_again(turn: Turn) -> None:
    """Say again how recoveries ended: what an isolator before this one said may have died with it, unsent.

    Dependents find their files by these words alone; the coordinator recognises repeats.
    """
    state = turn.state
    for done in (*state.told, *(state.pending if state.phase is Phase.RUNNING else ())):
        turn.report_recovery(done, "relaunched")


def _begin(turn: Turn) -> None:
    """Start the first attempt under this claim."""
    turn.volatile(welcome_deadline=None, waits_for_welcome=False)
    if turn.state.configuration.skip:
        turn.finish(0, TaskState.SKIPPED, "skipped by the workflow's configuration")
        return
    placing.choose_first(turn)
    if not recovery.raise_lost(turn):
        recovery.start_attempt(turn, turn.state.attempt + 1)


def _on_message(turn: Turn, event: CoordinatorMessage) -> None:
    message = event.message
    if isinstance(message, Welcome):
        _on_welcome(turn, message)
    elif isinstance(message, RecoveryGrant):
        recovery.on_grant(turn, message)
    elif isinstance(message, EscalationDecision):
        escalation.on_decision(turn, message)
    elif isinstance(message, Reconfigure):
        _reconfigure(turn, message)
    elif isinstance(message, Control):
        _on_control(turn, message)


def _on_welcome(turn: Turn, welcome: Welcome) -> None:
    if welcome.again:
        registering.wait(turn, welcome)
        return
    turn.volatile(connected=True, said_waiting=False, heartbeat=welcome.heartbeat, register_at=None)
    turn.volatile(next_heartbeat=turn.now + welcome.heartbeat)
    turn.wake(turn.now + welcome.heartbeat)
    if not welcome.admitted:
        turn.say(f"not admitted by the coordinator: {welcome.reason}")
        _stop(turn, escalation.EXIT_TEMPORARY, f"another run owns this task: {welcome.reason}")
        return
    _take(turn, welcome)
    if turn.state.phase is Phase.NEW and turn.state.waits_for_welcome:
        if turn.state.setup.requeue_allowed:
            # Never later: the coordinator may have allowed it again for a reason.
            turn.do(ForbidRequeue())
        _begin(turn)
    else:
        _ask_again(turn)


def _ask_again(turn: Turn) -> None:
    """Ask again what is still open: a question that overtook the registration was nobody's, and is lost."""
    state = turn.state
    under_way = state.recovery
    waits = state.phase in (Phase.FENCING, Phase.GRANT)
    if state.phase is Phase.ESCALATED:
        escalation.send(turn)
    elif waits and under_way is not None and under_way.requested is not None and not under_way.granted:
        recovery.request_grant(turn)


def _take(turn: Turn, welcome: Welcome, *, anyway: bool = False) -> None:
    """Take over what a welcome says of bad nodes and the configuration, if that is newer, or ``anyway``."""
    state = turn.state
    newer = anyway or welcome.configuration.version > state.coordinator_version
    if newer or welcome.bad_nodes != state.bad_nodes:
        turn.record(
            "reconfigured",
            configuration=merged(state.configuration, welcome.configuration)
            if newer
            else state.configuration,
            coordinator_version=max(state.coordinator_version, welcome.configuration.version),
            bad_nodes=welcome.bad_nodes,
        )
    if newer and state.alive:
        turn.do(WriteReconfigure(configuration=turn.state.configuration))


def _on_configuration_read(turn: Turn, event: ConfigurationRead) -> None:
    """Nobody answered, but what would have been answered is known, or cannot be known: start."""
    state = turn.state
    if state.phase is not Phase.NEW or not state.waits_for_welcome:
        return
    if event.welcome is None:
        turn.say(f"the coordinator did not answer, and its files do not say more: {event.reason}")
        turn.say("started without what the coordinator may have decided for this task")
    else:
        version = event.welcome.configuration.version
        turn.say(f"the coordinator did not answer; its journal was read instead (configuration {version})")
        _take(turn, event.welcome, anyway=True)
    _begin(turn)


def _reconfigure(turn: Turn, message: Reconfigure) -> None:
    state = turn.state
    if message.configuration.version <= state.coordinator_version:
        return
    turn.record(
        "reconfigured",
        configuration=merged(state.configuration, message.configuration),
        coordinator_version=message.configuration.version,
        signal=message.signal,
    )
    if turn.state.phase is not Phase.NEW:
        turn.do(WriteReconfigure(configuration=turn.state.configuration))
    if message.signal and turn.state.phase is Phase.RUNNING:
        turn.do(SignalAttempt(attempt=state.attempt, signum=message.signal, whom="catching"))


def _on_control(turn: Turn, control: Control) -> None:
    if control.id in turn.state.controls:
        return
    turn.record("control", id=control.id, action=control.action)
    phase = turn.state.phase
    if control.action == "cancel":
        _stop(turn, 128 + signal.SIGTERM, "cancelled by a person")
    elif control.action == "resume" and phase is Phase.PAUSED:
        under_way = turn.state.recovery
        again = under_way is not None and under_way.action == "pause"
        turn.record("resumed", by=control.id, request=again and _needs_grant(turn))
        recovery.fence(turn)
    elif control.action == "pause" and phase in (Phase.RUNNING, Phase.LAUNCHING, Phase.BACKOFF, Phase.NEW):
        turn.record("paused", ordinal=0, reason="paused by a person")
        if turn.state.alive or phase is Phase.LAUNCHING:
            turn.do(recovery.kill_command(turn.state))
    elif control.action in ("pause", "resume"):
        turn.say(f"{control.action} has no meaning while the task is {turn.state.task_state.value}")


def _needs_grant(turn: Turn) -> bool:
    under_way = turn.recovery()
    return under_way.level == "WORKFLOW_LEVEL" and turn.state.setup.coordinator and not under_way.granted


def _stop(turn: Turn, code: int, reason: str) -> None:
    """End the task now: everything is killed first."""
    state = turn.state
    turn.record("stopping", code=code, reason=reason)
    if state.attempt == 0 or (state.recovery is not None and state.recovery.fenced):
        turn.finish(code, TaskState.CANCELLED, reason)
    else:
        turn.volatile(killed=True)
        turn.do(recovery.kill_command(state))


def _on_signal(turn: Turn, event: Signalled) -> None:
    """A signal is the task's own; TERM, INT and HUP also end all recovery."""
    state = turn.state
    signum = signal.Signals(event.signum)
    running = state.phase in (Phase.RUNNING, Phase.LAUNCHING)
    turn.record("signal", signal=signum.name)
    if signum not in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if running:
            turn.do(SignalAttempt(attempt=state.attempt, signum=event.signum, whom="main"))
        return
    reason = _STOPPED_BY.get(signum, "hung up")
    if running:
        turn.record("stopping", code=128 + signum, reason=reason)
        turn.do(SignalAttempt(attempt=state.attempt, signum=event.signum, whom="group"))
        turn.wake(turn.now + state.setup.term_grace)
    elif state.phase is Phase.STOPPING:
        # At the time limit the resource manager signals keeper and isolator alike: that is one word, not two.
        if turn.now > state.since + REPEATED_SIGNAL:
            turn.do(SignalAttempt(attempt=state.attempt, signum=event.signum, whom="group"))
    else:
        _stop(turn, 128 + signum, reason)


def _on_attempt_not_started(turn: Turn, event: AttemptNotStarted) -> None:
    if event.attempt == turn.state.attempt and turn.state.phase is Phase.LAUNCHING:
        turn.finish(EXIT_NOT_STARTED, TaskState.FAILED, event.reason)


def _on_detections(turn: Turn, event: Detections) -> None:
    if event.attempt == turn.state.attempt:
        recovery.consider(turn, event.found)


def _on_attempt_exited(turn: Turn, event: AttemptExited) -> None:
    state = turn.state
    phase = state.phase
    judged = phase not in (Phase.RUNNING, Phase.LAUNCHING)
    if event.attempt != state.attempt or (judged and not state.alive):
        return
    last = {"last": event.last} if event.last.telling else {}
    turn.record("exited", attempt=event.attempt, code=event.code, signal=event.signal, **last)
    if phase is Phase.FENCING and state.recovery is not None and state.recovery.action == "fail":
        recovery.fence(turn)
    if not judged and startup.refused(turn, event):
        return
    recovery.consider(turn, event.found)
    if phase is Phase.STOPPING and state.killed:
        # It is we who ended it: what the kill leaves as a status is not the task's own.
        return
    if phase is Phase.STOPPING:
        own = TaskState.COMPLETED if event.code == 0 else TaskState.CANCELLED
        turn.finish(event.code, own, state.stop_reason if event.code else "")
    elif phase in (Phase.RUNNING, Phase.LAUNCHING) and turn.state.phase is phase:
        if event.code == 0:
            startup.on_program_seen(turn, ProgramSeen(attempt=event.attempt))
            recovered.completed(turn)
            turn.finish(0, TaskState.COMPLETED, "")
        else:
            seen = ", ".join(turn.state.observed)
            why = f"only observed: {seen}" if seen else "no exception of the specification covers this exit"
            if line := event.last.telling:
                why += f"; the last line: {line}"
            why = "; ".join((*turn.state.leases_ended, why))
            turn.finish(event.code, TaskState.FAILED, why)


def _on_reached(turn: Turn, event: Reached) -> None:
    turn.volatile(reached=event.reach)
    recovered.judge(turn)


def _on_evidence(turn: Turn, event: EvidenceCollected) -> None:
    if event.attempt == turn.state.attempt:
        recovery.take_evidence(turn, event)


def _on_node(turn: Turn, event: NodeSeen) -> None:
    known = event.node in turn.state.down
    if event.state is NodeState.UNKNOWN:
        return
    if event.source == "agent" and event.state is NodeState.UP:
        turn.record("agent", node=event.node)
    if (event.state is NodeState.DOWN) != known or event.found:
        turn.record("node", node=event.node, state=event.state, reason=event.reason, source=event.source)
    if event.found and event.node in turn.state.nodes.active:
        recovery.consider(turn, event.found, node=event.node)


def _on_lease_ended(turn: Turn, event: LeaseEnded) -> None:
    turn.record("lease-ended", node=event.node, attempt=turn.state.attempt, reason=event.reason)
    turn.say(event.reason)
    if turn.state.attempt in event.attempts and event.node in turn.state.nodes.active:
        # The others may wait for the killed ones for ever, and their launcher with them.
        recovery.consider(turn, event.found, node=event.node)


def _on_stopped(turn: Turn, event: Stopped) -> None:
    """Time in which nobody ran is in no limit and in no back-off."""
    state = turn.state
    if state.welcome_deadline is not None:
        turn.volatile(welcome_deadline=state.welcome_deadline + event.seconds)
    if state.phase not in (Phase.NEW, Phase.RUNNING, Phase.FINISHED):
        turn.record("stopped", seconds=event.seconds)


def _on_job_exception(turn: Turn, event: JobExceptionSeen) -> None:
    """An exception of the resource manager's, unless it is our own that comes back.

    One on a step of an earlier attempt is the trouble that was recovered from already: a launcher's job
    outlives its launcher by a while. Where it is not known whose step it was, that goes for one that was
    raised before the present attempt began, or that names only nodes that this attempt does not use.
    """
    state = turn.state
    stranger = event.attempt is not None and not event.attempt.startswith(token_prefix(state.setup))
    if announce.is_ours(state, event) or stranger:
        return
    turn.record(
        "job-exception",
        job_id=event.job_id,
        exception_type=event.exception_type,
        severity=event.severity,
        note=event.note,
        nodes=event.nodes,
    )
    if event.attempt is not None:
        past = event.attempt != state.token
    else:
        elsewhere = bool(event.nodes) and not set(event.nodes) & set(state.nodes.active)
        past = elsewhere or 0 < event.time < state.attempt_started
    if past:
        for item in event.found:
            turn.record("dropped", exception=item.exception, of=state.ordinal, evidence=item.evidence)
    else:
        recovery.consider(turn, event.found)


def _on_tick(turn: Turn, _event: Event) -> None:
    state = turn.state
    if state.setup.coordinator and state.connected and turn.now >= state.next_heartbeat:
        own = state.setup.task.id
        turn.send(Heartbeat(task=own, state=state.task_state, attempt=state.attempt, time=turn.now))
        turn.volatile(next_heartbeat=turn.now + state.heartbeat)
    if state.connected:
        turn.wake(turn.state.next_heartbeat)
    registering.when_due(turn)
    if state.phase is Phase.NEW and state.welcome_deadline is not None:
        if turn.now >= state.welcome_deadline:
            turn.volatile(welcome_deadline=None)
            turn.do(ReadConfiguration(register=registering.registration(turn)))
        else:
            turn.wake(state.welcome_deadline)
    elif state.unconfirmed:
        turn.do(recovery.kill_command(state))
    elif state.phase is Phase.RUNNING:
        recovered.judge(turn)
    elif state.phase is Phase.FENCING:
        recovery.fence_when_due(turn)
    elif state.phase is Phase.GRANT:
        recovery.check_grant(turn)
    elif state.phase is Phase.BACKOFF:
        recovery.launch_when_due(turn)
    elif state.phase is Phase.ESCALATED:
        escalation.check(turn)
    elif state.phase is Phase.STOPPING and state.stop_code == 128 + signal.SIGTERM:
        deadline = state.since + state.setup.term_grace
        if turn.now >= deadline:
            turn.volatile(killed=True)
            turn.do(recovery.kill_command(state))
        else:
            turn.wake(deadline)


def _on_journal(turn: Turn, event: JournalTroubled) -> None:
    """Tell the coordinator. It is no record: where would it be written?"""
    data = {"trouble": event.trouble}
    turn.send(Report(task=turn.state.setup.task.id, kind="journal", time=turn.now, data=data))


def _on_found(turn: Turn, _event: CoordinatorFound) -> None:
    registering.register(turn)


def _on_lost(turn: Turn, _event: CoordinatorLost) -> None:
    if turn.state.connected:
        turn.volatile(connected=False)
        turn.say("the coordinator is silent; job-level recovery goes on without it")
        recovery.say_waiting(turn)


_HANDLERS: dict[type[Event], Callable[[Turn, Any], None]] = {
    Started: _on_started,
    CoordinatorMessage: _on_message,
    ConfigurationRead: _on_configuration_read,
    CoordinatorFound: _on_found,
    CoordinatorLost: _on_lost,
    AttemptStarted: startup.on_attempt_started,
    ProgramSeen: startup.on_program_seen,
    AttemptNotStarted: _on_attempt_not_started,
    Detections: _on_detections,
    AttemptExited: _on_attempt_exited,
    Reached: _on_reached,
    EvidenceCollected: _on_evidence,
    NodeSeen: _on_node,
    LeaseEnded: _on_lease_ended,
    Stopped: _on_stopped,
    JournalTroubled: _on_journal,
    JobExceptionSeen: _on_job_exception,
    JobExceptionRaised: announce.on_raised,
    KillConfirmed: recovery.on_kill_confirmed,
    KillUnconfirmed: recovery.on_kill_unconfirmed,
    StepDone: stepping.on_step_done,
    Signalled: _on_signal,
    Tick: _on_tick,
}
