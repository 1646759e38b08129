"""Ownership of tasks: a task has exactly one owner, and a rule decides between two claims.

A claim is one start of a job's script: ``<job id>.<restart count>`` under a resource manager. A newer start
of the same job replaces the older one, which is fenced for ever. Another job's claim is refused while the
task's owner lives (``contested_claims`` finds out), and admitted once the task has ended: then its workflow
manager runs it again.
"""

from __future__ import annotations

from collections.abc import Sequence

from whesl.model.outcomes import OrderStatus, ToldBy
from whesl.model.states import TaskState
from whesl.runtime.coordinator.core import clock_offset, contested_claims
from whesl.runtime.coordinator.core.dependents_and_names import identify
from whesl.runtime.coordinator.core.recovery import requeue_orders, silent_tasks, workflow_recovery_sequence
from whesl.runtime.coordinator.core.state import TaskEntry, request_of
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import Register, Welcome

NAME = "coordinator"


def on_register(transition: Transition, peer: str, message: Register) -> None:
    """Admit or refuse an isolator that has started or is in reach again; send it the messages it missed.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the registration.
    """
    task = identify(transition.state, message)
    entry = transition.state.tasks.get(task)
    reason = _why_not(transition, entry, message)
    if reason and entry is not None:
        if contested_claims.held(transition, entry, message):
            contested_claims.wait(transition, peer, message, reason)
        else:
            _refuse(transition, entry, peer, message, reason)
        return
    contested_claims.over(transition, task)
    again = entry is not None and not entry.of_another_run(message.claim, message.run)
    if not again:
        clock_offset.forget(transition, task)
    moved = message.moves and entry is not None and entry.nodes != message.nodes
    if entry is None or not again or entry.peer != peer or entry.told_by is ToldBy.SCHEDULER or moved:
        _admit(transition, entry, task, peer, message)
    heard(transition, (task,))
    welcome(transition, transition.state.tasks[task])


def _why_not(transition: Transition, entry: TaskEntry | None, message: Register) -> str:
    """Return the reason to refuse a claim on a task, an empty string to admit the claim."""
    if entry is None:
        return ""
    if entry.cancelled and not entry.claim:
        return "the task was cancelled before it started"
    if message.claim in entry.fenced:
        return f"claim {message.claim} was replaced by {entry.claim}"
    if not entry.claim or entry.claim == message.claim:
        return ""
    if message.job_id == entry.job_id:
        order = _order(message.claim, entry.claim, message.job_id)
        return f"claim {entry.claim} is newer" if order < 0 else ""
    return "" if entry.state.final else contested_claims.why(transition, entry)


def _order(one: str, other: str, job_id: str) -> int:
    """Compare two claims of one job by restart counts; without counts, the registering claim is newer."""
    counts = [claim.removeprefix(f"{job_id}.") for claim in (one, other)]
    if job_id and all(count.isascii() and count.isdigit() for count in counts):
        return int(counts[0]) - int(counts[1])
    return 1


def _refuse(transition: Transition, entry: TaskEntry, peer: str, message: Register, reason: str) -> None:
    if message.claim not in entry.fenced and message.job_id == entry.job_id:
        transition.record(records.Fenced(task=entry.id, claim=message.claim, peer=peer))
    transition.record(
        records.Refused(task=entry.id, claim=message.claim, job_id=message.job_id, reason=reason)
    )
    transition.say(f"{entry.id}: claim {message.claim} refused: {reason}")
    transition.send(peer, Welcome(task=message.task, admitted=False, reason=reason, coordinator=NAME))
    if entry.state is TaskState.UNOBSERVED:
        silent_tasks.look(transition, entry)


def _admit(transition: Transition, entry: TaskEntry | None, task: str, peer: str, message: Register) -> None:
    new = entry is not None and bool(entry.claim) and entry.claim != message.claim
    if entry is not None and new and entry.job_id == message.job_id:
        entry = _requeued(transition, entry)
    revived = entry is not None and entry.told_by is ToldBy.SCHEDULER
    another = entry is not None and bool(entry.claim) and entry.of_another_run(message.claim, message.run)
    # An isolator whose registration was lost reported its end; the present message is another isolator's.
    unregistered = entry is not None and not entry.claim and entry.peer not in ("", peer)
    if entry is not None and new:
        transition.record(records.Fenced(task=task, claim=entry.claim, peer=entry.peer))
        if entry.live and entry.peer != peer:
            reason = f"claim {message.claim} is newer"
            old = Welcome(task=entry.alias or task, admitted=False, reason=reason, coordinator=NAME)
            transition.send(entry.peer, old)
        for other in transition.state.recoveries_of(task):
            if not other.closed and other.peer != peer:
                transition.record(records.Closed(recovery=other.id, task=task, outcome="replaced"))
    flow = transition.state.workflows.get(message.workflow)
    said = message.registration()
    if flow is not None and flow.rjms == message.rjms:
        said["cluster"] = {}
    transition.record(
        records.Registered(
            task=task,
            alias=message.task if message.task != task else "",
            declared=() if flow is not None else message.exceptions,
            peer=peer,
            fresh=entry is not None and entry.state.final and (another or revived or unregistered),
            **said,
        )
    )


def _requeued(transition: Transition, entry: TaskEntry) -> TaskEntry:
    """Take a job's new start as the outcome of a requeue order; the scheduler may answer later or never.

    The requeue ends here so that the new run's first attempt gets the configuration that the recovery
    changed.
    """
    order = requeue_orders.pending_requeue(transition, entry)
    if order is not None:
        done = records.RequeueDone(token=order.token, task=entry.id, outcome=OrderStatus.DONE)
        workflow_recovery_sequence.on_requeue_ended(transition, done)
    return transition.state.tasks[entry.id]


def welcome(transition: Transition, entry: TaskEntry) -> None:
    """Send a task's owner its configuration, grants, decisions and controls; a repetition is harmless.

    Args:
        transition: the present transition.
        entry: the task.
    """
    transition.send(
        entry.peer,
        Welcome(
            task=entry.alias or entry.id,
            admitted=True,
            configuration=entry.configuration,
            signal=entry.signal,
            bad_nodes=transition.bad_nodes(),
            coordinator=NAME,
            heartbeat=transition.state.settings.heartbeat,
        ),
    )
    for known in transition.state.recoveries_of(entry.id):
        if known.closed:
            continue
        if known.granted:
            workflow_recovery_sequence.send_grant(transition, known, entry.peer)
        elif known.decision:
            requeue_orders.send_decision(transition, known, entry.peer)
    for control in transition.state.controls.values():
        if control.task == entry.id:
            transition.send(entry.peer, request_of(control, entry.alias or entry.id, transition.now))


def heard(transition: Transition, tasks: Sequence[str]) -> None:
    """Note that the isolators of tasks have sent a message.

    Args:
        transition: the present transition.
        tasks: ids of the tasks.
    """
    for task in tasks:
        entry = transition.state.tasks[task]
        if entry.quiet or entry.over:
            transition.record(records.Heard(task=task))
    transition.volatile(heard=transition.state.volatile.heard.with_all(dict.fromkeys(tasks, transition.now)))
