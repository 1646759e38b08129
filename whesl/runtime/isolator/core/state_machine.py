"""The isolator's core: ``step(state, event, now) -> (state, commands)``, without any I/O.

``rebuild`` gives the state that a journal describes; the first event of a shell is ``Started``, whose
commands resume the interrupted work.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from typing import Any

from whesl.model.outcomes import Action, RecoveryOutcome, RequeueSaid
from whesl.model.states import NodeState, TaskState
from whesl.runtime.isolator.core import (
    controls,
    lost_nodes,
    predictions,
    registration,
    resource_manager_exceptions,
    running_task_reconfiguration,
    shared_job_nodes,
)
from whesl.runtime.isolator.core.apply_record import apply
from whesl.runtime.isolator.core.events_and_commands import (
    AdoptAttempt,
    AttemptExited,
    AttemptNotStarted,
    Command,
    ConfigurationRead,
    CoordinatorFound,
    CoordinatorLost,
    CoordinatorMessage,
    Detections,
    Event,
    ForbidRequeue,
    JobEnded,
    JobExceptionSeen,
    LeaseEnded,
    NodesClaimed,
    NodeSeen,
    ProgramSeen,
    Reached,
    ReadConfiguration,
    RunStep,
    Signalled,
    Started,
    StepsSeen,
    Tick,
)
from whesl.runtime.isolator.core.recovery import (
    checkpoint_first,
    escalation_to_coordinator,
    kill_results,
    node_selection,
    recovery_confirmation,
    recovery_step_results,
    task_recovery_sequence,
)
from whesl.runtime.isolator.core.state import Phase, State
from whesl.runtime.isolator.core.task_setup import Setup, token_prefix
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import (
    Control,
    EscalationDecision,
    Heartbeat,
    PredictFailure,
    RaiseException,
    Reconfigure,
    RecoveryGrant,
    Welcome,
)

__all__ = ["rebuild", "step"]

EXIT_NOT_STARTED = 126  # a shell's status for a command that could not be executed


def rebuild(setup: Setup, written: Iterable[tuple[records.AnyRecord, float]]) -> State:
    """Return the state that a journal's records describe.

    Args:
        setup: the task's setup.
        written: the records, each with its time, in order.
    """
    state = State(setup=setup)
    for record, time in written:
        state = apply(state, record, time)
    return state


def step(state: State, event: Event, now: float) -> tuple[State, list[Command]]:
    """Return the state after an event, and the commands to carry out, in order.

    Args:
        state: the present state.
        event: the event to handle.
        now: seconds since the epoch; goes back no further than the machine's clock does.
    """
    transition = Transition(state, now)
    if state.phase is not Phase.FINISHED or isinstance(event, Started):
        _HANDLERS[type(event)](transition, event)
    return transition.state, transition.commands


def _on_started(transition: Transition, event: Started) -> None:
    state = transition.state
    setup = state.setup
    if state.claim != setup.claim:
        transition.record(
            records.Begun(claim=setup.claim, rjms=setup.rjms, job_id=setup.job_id, observe=setup.observe)
        )
    elif state.phase is Phase.FINISHED:
        _tell_again(transition)
        transition.send_finished()
        return
    else:
        transition.record(records.IsolatorResumed(phase=state.phase.value, attempt=state.attempt))
        resource_manager_exceptions.again(transition)
    _tell_again(transition)
    phase = transition.state.phase
    if phase is Phase.NEW:
        registration.register(transition)
        if setup.coordinator:
            transition.volatile(welcome_deadline=transition.now + setup.welcome_wait, waits_for_welcome=True)
            transition.wake(transition.now + setup.welcome_wait)
        else:
            _begin(transition)
        return
    registration.register(transition)
    if phase is Phase.LAUNCHING and event.alive is None:
        task_recovery_sequence.start_attempt(transition, state.attempt)
    elif phase in (Phase.LAUNCHING, Phase.RUNNING):
        transition.do(AdoptAttempt(attempt=state.attempt))
        recovery_confirmation.judge(transition)
        if phase is Phase.RUNNING:
            running_task_reconfiguration.tell(transition)
            recovery_confirmation.probe(transition)
            checkpoint_first.again(transition)
    elif phase is Phase.STOPPING and state.patient:
        transition.do(AdoptAttempt(attempt=state.attempt))
    elif phase is Phase.STOPPING or (phase is Phase.PAUSED and state.alive):
        transition.volatile(killed=True)
        transition.end_attempt()
    elif phase is Phase.FENCING:
        if state.recovery is not None and state.recovery.request and not state.recovery.granted:
            task_recovery_sequence.request_grant(transition)
        task_recovery_sequence.fence(transition)
    elif phase is Phase.GRANT:
        task_recovery_sequence.request_grant(transition)
        task_recovery_sequence.check_grant(transition)
    elif phase is Phase.STEPS:
        under_way = transition.recovery()
        if under_way.done < len(under_way.steps):
            transition.do(RunStep(ordinal=under_way.ordinal, index=under_way.done))
        else:
            task_recovery_sequence.proceed(transition)
    elif phase is Phase.BACKOFF:
        task_recovery_sequence.launch_when_due(transition)
    elif phase is Phase.ESCALATED:
        escalation_to_coordinator.send(transition)


def _tell_again(transition: Transition) -> None:
    """Report again how recoveries ended: an earlier isolator may have died before it sent its reports.

    Dependent tasks find their files by these reports alone; the coordinator recognises repeats.
    """
    state = transition.state
    for done in (*state.told, *(state.pending if state.phase is Phase.RUNNING else ())):
        transition.report_recovery(done, RecoveryOutcome.RELAUNCHED)


def _begin(transition: Transition) -> None:
    """Start the first attempt under this claim."""
    transition.volatile(welcome_deadline=None, waits_for_welcome=False)
    if transition.state.configuration.skip:
        transition.finish(0, TaskState.SKIPPED, "skipped by the workflow's configuration")
        return
    if not node_selection.choose_first(transition):
        return
    if not task_recovery_sequence.raise_lost(transition) and not task_recovery_sequence.raise_queued(
        transition
    ):
        task_recovery_sequence.start_attempt(transition, transition.state.attempt + 1)


def _on_nodes_claimed(transition: Transition, event: NodesClaimed) -> None:
    """Continue a start that has waited for its nodes."""
    transition.volatile(claimed=() if event.refused else event.nodes, busy=event.used)
    if transition.state.phase is Phase.BACKOFF:
        task_recovery_sequence.launch_when_due(transition)
    elif transition.state.phase is Phase.NEW and not transition.state.waits_for_welcome:
        _begin(transition)
    transition.volatile(claimed=())


def _on_message(transition: Transition, event: CoordinatorMessage) -> None:
    if (handler := _MESSAGES.get(type(event.message))) is not None:
        handler(transition, event.message)


def _on_welcome(transition: Transition, welcome: Welcome) -> None:
    if welcome.again:
        registration.wait(transition, welcome)
        return
    transition.volatile(connected=True, said_waiting=False, heartbeat=welcome.heartbeat, register_at=None)
    transition.volatile(next_heartbeat=transition.now + welcome.heartbeat)
    transition.wake(transition.now + welcome.heartbeat)
    if not welcome.admitted:
        transition.say(f"not admitted by the coordinator: {welcome.reason}")
        controls.stop(
            transition,
            escalation_to_coordinator.EXIT_TEMPORARY,
            f"another run owns this task: {welcome.reason}",
        )
        return
    running_task_reconfiguration.on_welcome(transition, welcome)
    if transition.state.phase is Phase.NEW and transition.state.waits_for_welcome:
        if transition.state.setup.requeue is RequeueSaid.NOTHING:
            # Forbidden only at the start: later, the coordinator may have allowed a requeue again.
            transition.do(ForbidRequeue())
        _begin(transition)
    else:
        _ask_again(transition)


def _ask_again(transition: Transition) -> None:
    """Repeat open requests: the coordinator dropped any request that arrived before the registration."""
    state = transition.state
    under_way = state.recovery
    waits = state.phase in (Phase.FENCING, Phase.GRANT)
    if state.phase is Phase.ESCALATED:
        escalation_to_coordinator.send(transition)
    elif waits and under_way is not None and under_way.requested is not None and not under_way.granted:
        task_recovery_sequence.request_grant(transition)


def _on_configuration_read(transition: Transition, event: ConfigurationRead) -> None:
    """Start the task by the coordinator's files, or without them, since the coordinator did not answer."""
    state = transition.state
    if state.phase is not Phase.NEW or not state.waits_for_welcome:
        return
    if event.welcome is None:
        transition.say(f"the coordinator did not answer, and its files do not say more: {event.reason}")
        transition.say("started without what the coordinator may have decided for this task")
    else:
        version = event.welcome.configuration.version
        transition.say(
            f"the coordinator did not answer; its journal was read instead (configuration {version})"
        )
        running_task_reconfiguration.on_welcome(transition, event.welcome, anyway=True)
    _begin(transition)


def _on_attempt_not_started(transition: Transition, event: AttemptNotStarted) -> None:
    if event.attempt == transition.state.attempt and transition.state.phase is Phase.LAUNCHING:
        transition.finish(EXIT_NOT_STARTED, TaskState.FAILED, event.reason)


def _on_detections(transition: Transition, event: Detections) -> None:
    state = transition.state
    if event.attempt == state.attempt:
        transition.volatile(cause=event.cause or state.cause)  # the exceptions that are raised here carry it
        task_recovery_sequence.consider(transition, event.found)
        if transition.state.attempt == event.attempt:
            transition.volatile(cause=state.cause)


def _on_attempt_exited(transition: Transition, event: AttemptExited) -> None:
    state = transition.state
    phase = state.phase
    judged = phase not in (Phase.RUNNING, Phase.LAUNCHING)
    if event.attempt != state.attempt or (judged and not state.alive):
        return
    last = event.last if event.last.clearest else None
    transition.record(
        records.Exited(
            attempt=event.attempt,
            code=event.code,
            signal=event.signal,
            last=last,
            unseen=event.unseen,
            cause=event.cause,
        )
    )
    if event.cause is not None:
        transition.say(f"what it died of: {event.cause.told()}")
    checkpoint_first.drop(transition, "the program has ended")
    if phase is Phase.FENCING and state.recovery is not None and state.recovery.action is Action.FAIL:
        task_recovery_sequence.fence(transition)
    if not judged and recovery_confirmation.refused(transition, event):
        return
    if phase is Phase.RUNNING and event.code:
        # A queued loss of a node is the cause of the exit, so it is raised before the exit's detections.
        task_recovery_sequence.raise_queued(transition)
    task_recovery_sequence.consider(transition, event.found)
    if phase is Phase.STOPPING and state.killed:
        # The isolator has killed the attempt, so the exit status is not the program's own.
        return
    if phase is Phase.STOPPING:
        transition.finish(*lost_nodes.stopped(transition.state, event.code))
    elif phase in (Phase.RUNNING, Phase.LAUNCHING) and transition.state.phase is phase:
        if event.code == 0:
            code, became, reason = lost_nodes.completed(transition.state)
            if became is TaskState.COMPLETED:
                recovery_confirmation.on_program_seen(transition, ProgramSeen(attempt=event.attempt))
                recovery_confirmation.completed(transition)
            transition.finish(code, became, reason)
        else:
            seen = ", ".join(transition.state.observed)
            why = f"only observed: {seen}" if seen else "no exception of the specification covers this exit"
            if event.cause is not None:
                why += f"; it died of {event.cause.cause.value}: {event.cause.sentence.rstrip('.')}"
            if line := event.last.clearest:
                why += f"; the last line: {line}"
            lost = lost_nodes.why(transition.state)
            why = "; ".join((*([lost] if lost else []), *transition.state.leases_ended, why))
            transition.finish(event.code, TaskState.FAILED, why)


def _on_reached(transition: Transition, event: Reached) -> None:
    transition.volatile(reached=event.reach)
    recovery_confirmation.on_reached(transition, event.reach)


def _on_node(transition: Transition, event: NodeSeen) -> None:
    known = event.node in transition.state.down
    if event.state is NodeState.UNKNOWN:
        return
    if event.source == "agent" and event.state is NodeState.UP:
        transition.record(records.Agent(node=event.node))
    if event.state.unusable != known or event.found or lost_nodes.news(transition.state, event):
        transition.record(
            records.Node(node=event.node, state=event.state, reason=event.reason, source=event.source)
        )
    used = event.script or event.node in transition.state.nodes.active
    if event.found and used and not predictions.waits(transition, event.node, event.found):
        task_recovery_sequence.consider(transition, event.found, node=event.node)
    if not event.found:
        lost_nodes.end(transition)


def _on_lease_ended(transition: Transition, event: LeaseEnded) -> None:
    transition.record(
        records.LeaseEnded(node=event.node, attempt=transition.state.attempt, reason=event.reason)
    )
    transition.say(event.reason)
    if transition.state.attempt in event.attempts and event.node in transition.state.nodes.active:
        # The other ranks and their launcher may wait for the killed ranks for ever.
        task_recovery_sequence.consider(transition, event.found, node=event.node)


def _on_stopped(transition: Transition, event: records.TimeStopped) -> None:
    """Extend all limits and back-offs by the time in which the isolator did not run."""
    state = transition.state
    if state.welcome_deadline is not None:
        transition.volatile(welcome_deadline=state.welcome_deadline + event.seconds)
    if state.phase not in (Phase.NEW, Phase.RUNNING, Phase.FINISHED):
        transition.record(event)


def _on_job_exception(transition: Transition, event: JobExceptionSeen) -> None:
    """Take an exception of the resource manager, unless the rules raised it themselves.

    An exception on a step of an earlier attempt was already recovered from: a launcher's job outlives the
    launcher by a while. Where the step's owner is unknown, an exception counts as an earlier one if it was
    raised before the present attempt began, or names only nodes that this attempt does not use.
    """
    state = transition.state
    stranger = event.attempt is not None and not event.attempt.startswith(token_prefix(state.setup))
    if resource_manager_exceptions.is_ours(state, event) or stranger:
        return
    transition.record(
        records.JobException(
            job_id=event.job_id,
            exception_type=event.exception_type,
            severity=event.severity,
            note=event.note,
            nodes=event.nodes,
        )
    )
    if event.attempt is not None:
        past = event.attempt != state.token
    else:
        elsewhere = bool(event.nodes) and not set(event.nodes) & set(state.nodes.active)
        past = elsewhere or 0 < event.time < state.attempt_started
    if past:
        for item in event.found:
            transition.drop(item)
    else:
        task_recovery_sequence.consider(transition, event.found)


def _on_tick(transition: Transition, _event: Event) -> None:
    state = transition.state
    if state.setup.coordinator and state.connected and transition.now >= state.next_heartbeat:
        own = state.setup.task.id
        transition.send(
            Heartbeat(task=own, state=state.task_state, attempt=state.attempt, time=transition.now)
        )
        transition.volatile(next_heartbeat=transition.now + state.heartbeat)
    if state.connected:
        transition.wake(transition.state.next_heartbeat)
    registration.when_due(transition)
    if state.phase is Phase.NEW and state.welcome_deadline is not None:
        if transition.now >= state.welcome_deadline:
            transition.volatile(welcome_deadline=None)
            transition.do(ReadConfiguration(register=registration.registration(transition)))
        else:
            transition.wake(state.welcome_deadline)
    elif state.unconfirmed and state.fence_again is not None:
        if transition.now < state.fence_again:
            transition.wake(state.fence_again)
        else:
            transition.volatile(fence_again=None)
            transition.end_attempt()
    elif state.unconfirmed:
        pass  # fencing is under way, and would never end if each tick restarted it
    elif state.phase is Phase.RUNNING:
        recovery_confirmation.judge(transition)
        if (late := checkpoint_first.overdue(transition)) is not None:
            predictions.on_checkpoint_done(transition, late)
    elif state.phase is Phase.FENCING:
        task_recovery_sequence.fence_when_due(transition)
    elif state.phase is Phase.GRANT:
        task_recovery_sequence.check_grant(transition)
    elif state.phase is Phase.BACKOFF:
        task_recovery_sequence.launch_when_due(transition)
    elif state.phase is Phase.ESCALATED:
        escalation_to_coordinator.check(transition)
    elif state.phase is Phase.STOPPING and state.stop_code == 128 + signal.SIGTERM and not state.patient:
        deadline = state.since + state.setup.term_grace
        if transition.now >= deadline:
            transition.volatile(killed=True)
            transition.end_attempt()
        else:
            transition.wake(deadline)


def _on_journal(transition: Transition, event: records.JournalTroubled) -> None:
    """Tell the coordinator that the journal cannot be written, which no record can say."""
    transition.report(event)


def _on_lost(transition: Transition, _event: CoordinatorLost) -> None:
    if transition.state.connected:
        transition.volatile(connected=False)
        transition.say("the coordinator is silent; job-level recovery goes on without it")
        task_recovery_sequence.say_waiting(transition)


_MESSAGES: dict[type, Callable[[Transition, Any], None]] = {
    Welcome: _on_welcome,
    RecoveryGrant: task_recovery_sequence.on_grant,
    EscalationDecision: escalation_to_coordinator.on_decision,
    Reconfigure: running_task_reconfiguration.on_reconfigure,
    Control: controls.on_control,
    RaiseException: controls.on_raise,
    PredictFailure: predictions.on_predict,
}
_HANDLERS: dict[type[Event], Callable[[Transition, Any], None]] = {
    Started: _on_started,
    CoordinatorMessage: _on_message,
    ConfigurationRead: _on_configuration_read,
    CoordinatorFound: lambda transition, _: registration.register(transition),
    CoordinatorLost: _on_lost,
    records.Launched: recovery_confirmation.on_attempt_started,
    ProgramSeen: recovery_confirmation.on_program_seen,
    AttemptNotStarted: _on_attempt_not_started,
    Detections: _on_detections,
    AttemptExited: _on_attempt_exited,
    Reached: _on_reached,
    records.EvidenceTaken: kill_results.take_evidence,
    NodeSeen: _on_node,
    NodesClaimed: _on_nodes_claimed,
    StepsSeen: shared_job_nodes.on_steps_seen,
    LeaseEnded: _on_lease_ended,
    records.TimeStopped: _on_stopped,
    records.JournalTroubled: _on_journal,
    JobExceptionSeen: _on_job_exception,
    records.JobRaised: resource_manager_exceptions.on_raised,
    records.Fenced: kill_results.on_kill_confirmed,
    records.Unfenced: kill_results.on_kill_unconfirmed,
    records.CheckpointEnded: predictions.on_checkpoint_done,
    records.StepDone: recovery_step_results.on_step_done,
    JobEnded: controls.on_job_ended,
    Signalled: controls.on_signal,
    Tick: _on_tick,
}
