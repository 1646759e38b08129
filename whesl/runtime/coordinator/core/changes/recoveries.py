"""Changes that the records of a recovery make in the coordinator's state. Pure."""

from __future__ import annotations

import msgspec

from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import Origin, OwnStepOutcome, RecoveryOutcome
from whesl.model.states import TaskState
from whesl.runtime.coordinator.core.changes import state_edits
from whesl.runtime.coordinator.core.state import Outcome, Recovery, RequeueEntry, State
from whesl.runtime.journal.records import coordinator_records as records


def requested(state: State, record: records.Requested, time: float) -> State:
    """Return the state with the recovery that a record requests; the task waits for it.

    Args:
        state: the state before the record.
        record: the record.
        time: when the record was written, seconds since the epoch.
    """
    recovery = Recovery(**msgspec.structs.asdict(state_edits.kept(record)), time=time)
    keys = state.recoveries_by_task.get(recovery.task, ())
    state = msgspec.structs.replace(
        state,
        recoveries=state.recoveries.with_(recovery.id, recovery),
        recoveries_by_task=state.recoveries_by_task.with_(
            recovery.task, keys if recovery.id in keys else (*keys, recovery.id)
        ),
    )
    if (entry := state.tasks.get(recovery.task)) is not None:
        counts = entry.recoveries | {recovery.exception: recovery.before + 1}
        state = state_edits.task_changed(state, entry.id, recoveries=counts)
    waits = {Origin.REQUEST: TaskState.RECOVERING, Origin.ESCALATION: TaskState.ESCALATED}.get(
        recovery.origin
    )
    if waits is None:
        return state
    return state_edits.task_moved(
        _said(state, recovery.task, recovery.raised.time), recovery.task, waits, time
    )


def _said(state: State, task: str, when: float) -> State:
    """Note the time, by the isolator's clock, of its last report on its task's state."""
    entry = state.tasks.get(task)
    return state if entry is None or when <= entry.said else state_edits.task_changed(state, task, said=when)


def step_done(state: State, record: records.StepDone) -> State:
    """Return the state after one of the coordinator's own steps of a recovery is done.

    Args:
        state: the state before the record.
        record: the record.
    """
    recovery = state.recoveries[record.recovery]
    dependents = recovery.dependents
    if record.dependents is not None:
        dependents = (dependents or Configuration()).added(record.dependents)
    return state_edits.recovery_changed(
        state,
        recovery.id,
        done=record.index + 1,
        requeue=recovery.requeue or record.outcome is OwnStepOutcome.REQUEUE,
        configuration=record.configuration or recovery.configuration,
        dependents=dependents,
        others={**recovery.others, **record.others},
        bases={**record.bases, **recovery.bases},
        signal=record.signal or recovery.signal,
    )


def recovery_done(state: State, record: records.RecoveryDone, time: float) -> State:
    """Return the state after an isolator reported the end of a recovery.

    Args:
        state: the state before the record.
        record: the record.
        time: when the record was written, seconds since the epoch.
    """
    entry = state.tasks[record.task]
    outcome = Outcome(record.outcome, record.raised)
    outcomes = {**entry.outcomes, record.ordinal: outcome}
    state = state_edits.task_changed(state, entry.id, outcomes=outcomes)
    if record.outcome is RecoveryOutcome.RELAUNCHED and entry.state in (
        TaskState.RECOVERING,
        TaskState.PAUSED,
    ):
        state = _said(state, entry.id, outcome.raised + record.seconds)
        state = state_edits.task_moved(state, entry.id, TaskState.RUNNING, time)
    if record.outcome is RecoveryOutcome.PAUSED:
        return state
    for recovery in state.recoveries_of(entry.id):
        same = outcome.raised in (0.0, recovery.raised.time)
        if same and recovery.raised.ordinal == record.ordinal:
            state = state_edits.recovery_changed(state, recovery.id, closed=recovery.closed or record.outcome)
    return state


def configured(state: State, record: records.Configured) -> State:
    """Store new configurations; each task refers to its one by index, since thousands of dependents share it.

    Args:
        state: the state before the record.
        record: the record.
    """
    changed = {}
    for task, which in record.tasks.items():
        entry = state.tasks.get(task)
        if entry is not None:
            new = record.configurations[which]
            # A task may miss a change with a signal and get only a later change without one: the signal
            # stays.
            signal = record.signal or entry.signal
            changed[task] = msgspec.structs.replace(entry, configuration=new, signal=signal)
    return msgspec.structs.replace(state, tasks=state.tasks.with_all(changed))


def requeue_decided(state: State, record: records.RequeueDecided, time: float) -> State:
    """Return the state with a new requeue order.

    Args:
        state: the state before the record.
        record: the record.
        time: when the record was written, seconds since the epoch.
    """
    entry = RequeueEntry(**msgspec.structs.asdict(state_edits.kept(record)), time=time)
    state = msgspec.structs.replace(state, requeues=state.requeues.with_(entry.token, entry))
    return state_edits.task_moved(state, entry.task, TaskState.ESCALATED, time, reason=record.because)


def job_cancelled(state: State, record: records.JobCancelled) -> State:
    """Return the state without a cancellation that is done.

    Args:
        state: the state before the record.
        record: the record.
    """
    left = {job: task for job, task in state.cancels.items() if job != record.job_id}
    return msgspec.structs.replace(state, cancels=left)
