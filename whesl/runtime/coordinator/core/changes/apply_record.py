"""Apply a record of the journal to the state: tasks, workflows, nodes, commands, recoveries. Pure."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from whesl.files.decode_errors import FOREIGN
from whesl.model.bad_node_expiry import repeated
from whesl.model.errors import WheslError
from whesl.model.evidence import History
from whesl.model.journal_record import Damage, assert_never
from whesl.model.outcomes import ControlAction, OrderStatus, RecoveryOutcome, ToldBy
from whesl.model.states import NodeState, TaskState
from whesl.runtime.coordinator.core.changes import recoveries, state_edits
from whesl.runtime.coordinator.core.persistent_map import Map
from whesl.runtime.coordinator.core.state import (
    KEPT_COMMANDS,
    Outcome,
    State,
    TaskEntry,
    WorkflowEntry,
    numbered,
)
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.records import isolator_records

NOT_UNDERSTOOD = "it was damaged, or written by another version of WHESL"


class RecordError(WheslError):
    """A record has content that this version cannot read."""


def apply(state: State, record: records.AnyRecord, time: float) -> State:
    """Return the state after a record; records for people's eyes alone change nothing.

    Args:
        state: the state before.
        record: what was written down.
        time: when it was, seconds since the epoch.

    Raises RecordError.
    """
    try:
        return _change(state, record, time)
    except FOREIGN as error:
        raise RecordError(
            f"a record of kind '{record.kind}' is not understood ({error!r})", hint=NOT_UNDERSTOOD
        ) from error


def _change(state: State, record: records.AnyRecord, time: float) -> State:
    """Return the state after a record; the most frequent kinds come first.

    Args:
        state: the state before.
        record: what was written down.
        time: when it was, seconds since the epoch.
    """
    match record:
        case records.Registered():
            return _registered(state, record, time)
        case records.Reported():
            return _report(state, record, time)
        case records.State():
            return _state(state, record, time)
        case records.Finished():
            return _finished(state, record, time)
        case records.Clock():
            return state_edits.task_changed(state, record.task, behind=record.behind)
        case records.Heard():
            return state_edits.task_changed(state, record.task, quiet=0.0, over=0.0)
        case records.Quiet():
            return _quiet(state, record)
        case records.RecoveryDone():
            return recoveries.recovery_done(state, record, time)
        case records.Closed():
            return state_edits.recovery_changed(state, record.recovery, closed=record.outcome)
        case records.Configured():
            return recoveries.configured(state, record)
        case records.Workflow():
            return _workflow(state, record, time)
        case records.Fenced():
            return _fenced(state, record)
        case records.Unobserved():
            return state_edits.task_moved(
                state, record.task, TaskState.UNOBSERVED, time, reason=record.reason
            )
        case records.JobWaits():
            return state_edits.task_changed(state, record.task, reason=record.reason)
        case records.Over():
            return state_edits.task_changed(state, record.task, over=record.since)
        case records.Counted():
            return _counted(state, record)
        case records.Requested():
            return recoveries.requested(state, record, time)
        case records.StepBegun():
            return state_edits.recovery_changed(state, record.recovery, begun=record.index + 1)
        case records.StepDone():
            return recoveries.step_done(state, record)
        case records.StepFailed():
            return state_edits.recovery_changed(state, record.recovery, refused=record.note)
        case records.Granted():
            return state_edits.recovery_changed(state, record.recovery, granted=True, refused=record.refused)
        case records.Decided():
            return state_edits.recovery_changed(
                state, record.recovery, decision=record.action, reason=record.reason
            )
        case records.RequeueDecided():
            return recoveries.requeue_decided(state, record, time)
        case records.RequeueBegun():
            return state_edits.requeue_changed(
                state, record.token, status=OrderStatus.BEGUN, restarts=record.restarts
            )
        case records.RequeueDone():
            return state_edits.requeue_changed(state, record.token, status=record.outcome)
        case records.RequeueStarted():
            return state_edits.requeue_changed(
                state, record.token, host=record.host, host_restarts=record.restarts
            )
        case records.JobCancel():
            return msgspec.structs.replace(state, cancels={**state.cancels, record.job_id: record.task})
        case records.JobCancelled():
            return recoveries.job_cancelled(state, record)
        case records.BadNodeSeen():
            return _bad_node(state, record)
        case records.NodeForgotten():
            return _node_forgotten(state, record)
        case records.Control():
            return _control(state, record)
        case records.ControlDone():
            return _control_done(state, record)
        case records.Command():
            return _command(state, record)
        case records.Parted():
            parted = state_edits.kept(record)
            return state_edits.task_changed(_nothing_raised(state, record.task), record.task, parted=parted)
        case (
            records.CoordinatorStarted()
            | records.CoordinatorStopped()
            | records.Refused()
            | records.NotTold()
            | records.CoupledFailed()
            | Damage()
        ):
            return state
        case _:
            return assert_never(record)


def _workflow(state: State, record: records.Workflow, time: float) -> State:
    workflow = record.workflow
    before = state.workflows.get(workflow.id)
    entry = WorkflowEntry(
        workflow=workflow,
        spec=record.spec,
        rjms=record.rjms,
        observe=record.observe,
        environment=record.environment,
        time=time,
        history=before.history if before else History(),
        counted=before.counted if before else Map(),
    )
    tasks = {}
    for task in workflow.tasks:
        known = state.tasks.get(task.id)
        # A task has an entry already when its isolator registered before the workflow, or the workflow runs
        # again.
        tasks[task.id] = msgspec.structs.replace(
            known or TaskEntry(id=task.id, workflow=workflow.id, step=task.step),
            step=task.step,
            instance=task.instance,
            workspace=task.workspace,
            cancelled=False,
        )
    # Running tasks go on: neither claims nor states change.
    return msgspec.structs.replace(
        state, workflows=state.workflows.with_(workflow.id, entry), tasks=state.tasks.with_all(tasks)
    )


def _registered(state: State, record: records.Registered, time: float) -> State:
    """Give an admitted isolator its task."""
    task = record.task
    before = state.tasks.get(task) or TaskEntry(id=task, workflow=record.workflow, step=record.step)
    another = before.of_another_run(record.claim, record.run)
    if record.fresh:
        before = msgspec.structs.replace(
            before,
            state=TaskState.REGISTERED,
            exit_code=None,
            reason="",
            told_by=ToldBy.NOBODY,
            attempt=0,
            started=0.0,
            recoveries={},
        )
    if record.attempt == 0 and another:
        # The new isolator starts with an empty journal and numbers its exceptions from 1.
        before = msgspec.structs.replace(before, outcomes={}, exceptions=0, recovered=0)
        state = _forgotten(state, task, record.peer)
    if another:
        before = msgspec.structs.replace(before, said=0.0, behind=0.0, reason="")
    new = TaskState.RUNNING if record.state is TaskState.REGISTERED else record.state
    changes = record.registration() | {
        "workflow": before.workflow,
        "step": before.step,
        "instance": record.instance or before.instance,
        "workspace": before.workspace or record.workspace,
        "state": new if before.state.may_become(new) else before.state,
        "attempt": max(before.attempt, record.attempt),
    }
    entry = msgspec.structs.replace(
        before,
        alias=record.alias,
        # An isolator that restarts after its task's end does not change the time of that end.
        state_time=before.state_time if before.state.final else max(time, before.state_time),
        started=before.started or time,
        peer=record.peer,
        uses=() if another else before.uses,
        lost=() if another else before.lost,
        declared=tuple(map(sys.intern, record.declared)),
        quiet=0.0,
        over=0.0,
        trouble=before.trouble if record.peer == before.peer else "",
        parted=None,
        **changes,
    )
    aliases = state.aliases.with_(record.alias, task) if record.alias else state.aliases
    return state_edits.with_task(state, entry, aliases=aliases)


def _forgotten(state: State, task: str, peer: str) -> State:
    """Return the state without the recoveries of a task, except those of the isolator that registers.

    A recovery request of that isolator may arrive before its registration.
    """
    recoveries, kept = state.recoveries, []
    for recovery in state.recoveries_of(task):
        if recovery.peer == peer:
            kept.append(recovery.id)
        else:
            recoveries = recoveries.without(recovery.id)
    by_task = state.recoveries_by_task
    if by_task.get(task, ()) != tuple(kept):
        by_task = by_task.with_(task, tuple(kept)) if kept else by_task.without(task)
    return msgspec.structs.replace(state, recoveries=recoveries, recoveries_by_task=by_task)


def _fenced(state: State, record: records.Fenced) -> State:
    entry = state.tasks.get(record.task)
    if entry is None:
        return state
    peers = (record.peer,) if record.peer else ()
    return state_edits.task_changed(
        state,
        entry.id,
        fenced=tuple(dict.fromkeys((*entry.fenced, record.claim))),
        fenced_peers=tuple(dict.fromkeys((*entry.fenced_peers, *peers)))[-16:],
    )


def _report(state: State, record: records.Reported, time: float) -> State:
    """Apply an isolator's record; a record older than the isolator's last message does not change the state.

    Both times are by the isolator's clock, since the clocks of hosts differ.
    """
    entry = state.tasks.get(record.task)
    if entry is None or not record.current:
        return state
    when, told = record.time, record.record
    changes: dict[str, Any] = {}
    match told:
        case isolator_records.Raised():
            if told.raised.ordinal <= entry.exceptions:
                return state
            return state_edits.task_changed(
                state,
                entry.id,
                exception=told.raised.exception,
                exception_time=entry.ours(when, time),
                exceptions=told.raised.ordinal,
            )
        case isolator_records.Recovered():
            return _recovered(state, entry, told)
        case isolator_records.Node() if (
            told.source == isolator_records.RESOURCE_MANAGER and told.state is NodeState.DOWN
        ):
            lost = (*entry.lost, told.node) if told.node in entry.uses else entry.lost
            return state_edits.task_changed(state, entry.id, lost=tuple(dict.fromkeys(lost)))
        case isolator_records.JournalTroubled():
            return state_edits.task_changed(state, entry.id, trouble=told.trouble)
        case isolator_records.Finished():
            return state_edits.task_changed(state, entry.id, reason=told.reason)
        case isolator_records.Attempt():
            new = TaskState.RUNNING
            changes = {"attempt": max(entry.attempt, told.attempt), "uses": told.nodes, "lost": ()}
        case isolator_records.Launched():
            new = TaskState.RUNNING
        case isolator_records.Decided() | isolator_records.Resumed():
            new = TaskState.RECOVERING
        case isolator_records.Paused():
            new, changes = TaskState.PAUSED, {"reason": told.reason}
        case isolator_records.Escalated():
            new = TaskState.ESCALATED
        case _:
            return state
    if when < entry.said or entry.state is TaskState.REGISTERED:
        return state
    return state_edits.task_moved(state, entry.id, new, entry.ours(when, time), said=when, **changes)


def _recovered(state: State, entry: TaskEntry, told: isolator_records.Recovered) -> State:
    """Mark exceptions as recovered: the restarted program got past the failure (``recovery_criterion``)."""
    outcomes = dict(entry.outcomes)
    for ordinal in told.ordinals:
        before = outcomes.get(ordinal)
        outcomes[ordinal] = Outcome(RecoveryOutcome.RECOVERED, before.raised if before else 0.0)
    recovered = sum(outcome.word is RecoveryOutcome.RECOVERED for outcome in outcomes.values())
    return state_edits.task_changed(state, entry.id, outcomes=outcomes, recovered=recovered)


def _state(state: State, record: records.State, time: float) -> State:
    entry = state.tasks[record.task]
    attempt = max(entry.attempt, record.attempt)
    said = max(entry.said, record.said)
    return state_edits.task_moved(state, entry.id, record.state, time, attempt=attempt, said=said)


def _quiet(state: State, record: records.Quiet) -> State:
    entries = ((state.tasks.get(task), since) for task, since in record.tasks.items())
    changed = {
        entry.id: msgspec.structs.replace(entry, quiet=since) for entry, since in entries if entry is not None
    }
    return msgspec.structs.replace(state, tasks=state.tasks.with_all(changed))


def _counted(state: State, record: records.Counted) -> State:
    entry = state.workflows[record.workflow]
    changed = msgspec.structs.replace(
        entry,
        history=record.history,
        counted=entry.counted.with_(numbered(record.task, record.ordinal, record.raised), None),
    )
    return msgspec.structs.replace(state, workflows=state.workflows.with_(record.workflow, changed))


def _bad_node(state: State, record: records.BadNodeSeen) -> State:
    bad = record.bad_node
    bad = repeated(state.bad_nodes.get(bad.node), bad)
    return msgspec.structs.replace(state, bad_nodes={**state.bad_nodes, bad.node: bad})


def _node_forgotten(state: State, record: records.NodeForgotten) -> State:
    left = {node: bad for node, bad in state.bad_nodes.items() if node != record.node}
    return msgspec.structs.replace(state, bad_nodes=left)


def _control(state: State, record: records.Control) -> State:
    controls = {**state.controls, record.id: state_edits.kept(record)}
    state = msgspec.structs.replace(state, controls=controls)
    if record.action is ControlAction.CANCEL:
        state = state_edits.task_changed(state, record.task, cancelled=True)
    return state


def _control_done(state: State, record: records.ControlDone) -> State:
    left = {key: entry for key, entry in state.controls.items() if key != record.id}
    return msgspec.structs.replace(state, controls=left)


def _command(state: State, record: records.Command) -> State:
    commands = dict(list(state.commands.items())[-KEPT_COMMANDS:])
    return msgspec.structs.replace(state, commands={**commands, record.id: state_edits.kept(record)})


def _finished(state: State, record: records.Finished, time: float) -> State:
    entry = state.tasks[record.task]
    new = record.state
    for recovery in state.recoveries_of(entry.id):
        # After a task's end, no isolator waits for its recoveries.
        if not recovery.closed:
            state = state_edits.recovery_changed(state, recovery.id, closed=new.value)
    return state_edits.task_moved(
        _nothing_raised(state, entry.id),
        entry.id,
        new,
        time,
        exit_code=record.exit_code,
        attempt=max(entry.attempt, record.attempts),
        reason=record.reason,
        told_by=record.told_by,
        peer=entry.peer or record.peer,
    )


def _nothing_raised(state: State, task: str) -> State:
    """Drop exceptions that were raised from outside on an ended run: the job's next run does not get them."""
    left = {
        key: control
        for key, control in state.controls.items()
        if control.task != task or control.action not in (ControlAction.RAISE, ControlAction.PREDICT)
    }
    return msgspec.structs.replace(state, controls=left)
