"""The coordinator's core: ``step(state, event, now) -> (state, commands)``, without any I/O.

``journal_replay.rebuild`` returns the state that a journal describes. The first event of a daemon is
``Started``, whose commands continue unfinished work. Every message may be sent again: receivers recognise
repeated messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol, TypeVar

import msgspec

from whesl.model.outcomes import ToldBy
from whesl.model.states import NodeState, TaskState
from whesl.runtime.coordinator.core import clock_offset, registration_and_ownership, user_commands
from whesl.runtime.coordinator.core.events_and_commands import (
    Arrived,
    CancelJob,
    Command,
    Event,
    HeartbeatsArrived,
    JobCancelled,
    JobSeen,
    Journal,
    RequeueAllowed,
    Started,
    StepEnded,
    Tick,
)
from whesl.runtime.coordinator.core.persistent_map import Map
from whesl.runtime.coordinator.core.recovery import (
    dependent_reconfiguration,
    requeue_orders,
    silent_tasks,
    terminated_with_job,
    workflow_recovery_sequence,
)
from whesl.runtime.coordinator.core.state import State, TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.records import isolator_records
from whesl.runtime.journal.records.coordinator_records import AnyRecord
from whesl.runtime.wire.messages import (
    AnyMessage,
    Escalate,
    Finished,
    Heartbeat,
    NodeSuspect,
    PredictFailure,
    RaiseException,
    RecoveryDone,
    RecoveryRequest,
    Register,
    RegisterWorkflow,
    Report,
)
from whesl.runtime.wire.messages import Command as PersonsCommand

__all__ = ["step"]


class Delivered(Protocol):
    """A message and its sender."""

    @property
    def peer(self) -> str:
        """The sender: one start of one client."""

    @property
    def message(self) -> AnyMessage:
        """The message's content."""


D = TypeVar("D", bound=Delivered)


def events_of(deliveries: Iterable[D]) -> Iterator[tuple[Event, tuple[D, ...]]]:
    """Yield events with their messages: one event for each message, but a single event for all heartbeats.

    A step of the core costs more than a heartbeat's change, and most messages are heartbeats.
    """
    for beats, some in groupby(deliveries, key=lambda delivery: type(delivery.message) is Heartbeat):
        if beats:
            together = tuple(some)
            yield _heartbeats(together), together
            continue
        for delivery in some:
            yield Arrived(peer=delivery.peer, message=delivery.message), (delivery,)


def recorded_step(
    state: State, event: Event, origins: Sequence[Any], now: float
) -> tuple[State, list[AnyRecord], list[Command]]:
    """Return an event's effects: the next state, the records to write first, the commands to perform then.

    Args:
        state: the present state.
        event: the event.
        origins: origins of the messages that the event stands for. The first record contains the origin of
            a single message, so a restarted coordinator knows that the message was taken.
        now: seconds since the epoch.
    """
    state, commands = step(state, event, now)
    records = [command.record for command in commands if isinstance(command, Journal)]
    if records and len(origins) == 1 and origins[0] is not None:
        records[0] = msgspec.structs.replace(records[0], message=origins[0])
    return state, records, [command for command in commands if not isinstance(command, Journal)]


def step(state: State, event: Event, now: float) -> tuple[State, list[Command]]:
    """Return the state after an event, and what has to be done, in order.

    Args:
        state: the present state.
        event: what happened.
        now: seconds since the epoch.
    """
    transition = Transition(state, now)
    _HANDLERS[type(event)](transition, event)
    return transition.state, transition.commands


def _on_started(transition: Transition, _event: Started) -> None:
    """Continue the unfinished work of an earlier coordinator; all decisions stay."""
    transition.volatile(started=transition.now)
    live = [transition.state.tasks[task] for task in transition.state.live]
    dependent_reconfiguration.tell_again(transition, live)
    for entry in live:
        registration_and_ownership.welcome(transition, entry)
    for known in list(transition.state.recoveries.values()):
        # An order of an older claim may have the same name, since each claim numbers its exceptions from 1.
        order = requeue_orders.pending_requeue(transition, transition.state.tasks[known.task])
        if order is None or order.recovery != known.id:
            workflow_recovery_sequence.advance(transition, known.id)
    for order in list(transition.state.requeues.values()):
        requeue_orders.pursue(transition, order)
    for job_id in transition.state.cancels:
        _cancel(transition, job_id)


def _cancel(transition: Transition, job_id: str) -> None:
    """Repeat the cancellation of a job. The job is named by its id: its task may have another job by now."""
    entry = transition.state.tasks[transition.state.cancels[job_id]]
    transition.do(CancelJob(task=entry.id, rjms=entry.rjms, job_id=job_id))


def _on_arrived(transition: Transition, event: Arrived) -> None:
    message = event.message
    handler = _MESSAGES.get(type(message))
    if handler is None:
        transition.say(f"a message of kind {type(message).__name__} from {event.peer} was not expected")
        return
    entry = _owner(transition, event.peer, message)
    if entry is not None:
        registration_and_ownership.heard(transition, (entry.id,))
    handler(transition, event.peer, message)


def _owner(transition: Transition, peer: str, message: Any) -> TaskEntry | None:
    """Return the task of a message if its sender owns that task, else None."""
    parts = (message, getattr(message, "raised", None), getattr(message, "bad_node", None))
    names = (getattr(part, "task", None) for part in parts)
    name = next((name for name in names if isinstance(name, str)), None)
    entry = transition.task(name) if name is not None else None
    return entry if entry is not None and entry.peer == peer else None


def _on_heartbeats(transition: Transition, event: HeartbeatsArrived) -> None:
    owned = [
        (entry.id, beat)
        for peer, beat in event.beats
        if (entry := transition.task(beat.task)) is not None and entry.peer == peer
    ]
    registration_and_ownership.heard(transition, [task for task, _ in owned])
    for task, beat in owned:
        _on_heartbeat(transition, transition.state.tasks[task], beat)


def _on_heartbeat(transition: Transition, entry: TaskEntry, message: Heartbeat) -> None:
    if not entry.live or message.attempt < entry.attempt:
        return
    clock_offset.note(transition, entry, message.time)
    if requeue_orders.pending_requeue(transition, entry) is not None:
        return
    said = TaskState.RUNNING if message.state is TaskState.REGISTERED else message.state
    if said.final or (said is entry.state and message.attempt == entry.attempt):
        return
    transition.record(records.State(task=entry.id, state=said, attempt=message.attempt, said=message.time))


def _on_report(transition: Transition, peer: str, message: Report) -> None:
    entry = transition.task(message.task)
    current = entry is None or (
        entry.peer == peer and requeue_orders.pending_requeue(transition, entry) is None
    )
    task, told = entry.id if entry else message.task, message.record
    transition.record(records.Reported(task=task, time=message.time, record=told, current=current))
    if entry is None:
        return
    if isinstance(told, isolator_records.Control) and told.id in transition.state.controls:
        transition.record(records.ControlDone(id=told.id, task=entry.id))
    elif isinstance(told, isolator_records.Node) and told.state is NodeState.DOWN and current:
        requeue_orders.prepare(transition, entry)
    elif isinstance(told, isolator_records.Raised):
        workflow_recovery_sequence.on_raised(transition, entry, told.raised, peer)


def _on_finished(transition: Transition, peer: str, message: Finished) -> None:
    entry = transition.task(message.task)
    if entry is None or entry.state.final or entry.outdated(peer, message.claim):
        return
    order = requeue_orders.pending_requeue(transition, entry)
    if order is not None and message.state not in (TaskState.COMPLETED, TaskState.SKIPPED):
        # During a requeue, only the isolator's first report of its end is kept.
        if not entry.parted:
            transition.record(records.Parted(task=entry.id, state=message.state, exit_code=message.exit_code))
        return
    if message.terminated and entry.job_id and entry.rjms:
        terminated_with_job.part(transition, entry, message)
        return
    if message.with_job and entry.job_id and entry.rjms:
        transition.record(records.Unobserved(task=entry.id, reason="its batch shell was killed"))
        silent_tasks.look(transition, transition.state.tasks[entry.id])
        return
    state = message.state if message.state.final else TaskState.FAILED
    transition.record(
        records.Finished(
            task=entry.id,
            state=state,
            exit_code=message.exit_code,
            attempts=message.attempts,
            reason=entry.reason,
            told_by=ToldBy.ISOLATOR,
            peer=peer,
        )
    )
    transition.close(entry, state)
    transition.say(f"{entry.id}: {state.value}, exit status {message.exit_code}, {message.attempts} attempts")
    dependent_reconfiguration.tell_of_failure(transition, entry)


def _on_node(transition: Transition, _peer: str, message: NodeSuspect) -> None:
    bad = message.bad_node
    entry = transition.task(bad.task)
    if entry is not None and entry.behind:
        moved = {"time": bad.time + entry.behind, "expires": bad.expires + entry.behind}
        bad = msgspec.structs.replace(bad, **moved)
    known = transition.state.bad_nodes.get(bad.node)
    if known is None or known.time < bad.time:
        transition.record(records.BadNodeSeen(bad_node=bad, task=bad.task))
        transition.say(f"node {bad.node} is bad: {bad.reason}")


def _on_tick(transition: Transition, _event: Tick) -> None:
    volatile = transition.state.volatile
    due = [key for key, at in volatile.retry_at.items() if at <= transition.now]
    if due:
        transition.volatile(
            retry_at=Map((key, at) for key, at in volatile.retry_at.items() if at > transition.now)
        )
    for key in due:
        if key in transition.state.recoveries:
            workflow_recovery_sequence.advance(transition, key)
        elif key in transition.state.requeues:
            requeue_orders.pursue(transition, transition.state.requeues[key])
        elif key.removeprefix("allow ") in transition.state.tasks:
            requeue_orders.prepare(transition, transition.state.tasks[key.removeprefix("allow ")])
        elif key.removeprefix("cancel ") in transition.state.cancels:
            _cancel(transition, key.removeprefix("cancel "))
    silent_tasks.watch(transition)


_MESSAGES: dict[type, Callable[[Transition, str, Any], None]] = {
    Register: registration_and_ownership.on_register,
    Heartbeat: lambda transition, peer, beat: _on_heartbeats(
        transition, HeartbeatsArrived(beats=((peer, beat),))
    ),
    Report: _on_report,
    RecoveryRequest: workflow_recovery_sequence.on_request,
    RecoveryDone: workflow_recovery_sequence.on_done,
    Escalate: workflow_recovery_sequence.on_escalate,
    Finished: _on_finished,
    NodeSuspect: _on_node,
    RegisterWorkflow: user_commands.on_register_workflow,
    PersonsCommand: user_commands.on_command,
    RaiseException: user_commands.on_raise,
    PredictFailure: user_commands.on_predict,
}
_HANDLERS: dict[type[Event], Callable[[Transition, Any], None]] = {
    Started: _on_started,
    Arrived: _on_arrived,
    HeartbeatsArrived: _on_heartbeats,
    StepEnded: workflow_recovery_sequence.on_step_ended,
    JobSeen: terminated_with_job.on_job_seen,
    records.RequeueBegun: requeue_orders.on_requeue_asked,
    records.RequeueDone: workflow_recovery_sequence.on_requeue_ended,
    RequeueAllowed: requeue_orders.on_requeue_allowed,
    JobCancelled: requeue_orders.on_job_cancelled,
    Tick: _on_tick,
}


def _heartbeats(deliveries: Iterable[Delivered]) -> HeartbeatsArrived:
    return HeartbeatsArrived(
        beats=tuple((d.peer, d.message) for d in deliveries if isinstance(d.message, Heartbeat))
    )
