"""Changes of one entry of the coordinator's state. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from whesl.model.states import TaskState
from whesl.runtime.coordinator.core.state import State, TaskEntry
from whesl.runtime.journal.records.coordinator_records import Record

R = TypeVar("R", bound=Record)


def task_changed(whole: State, task: str, **changes: Any) -> State:
    """Return the state with fields of a task changed; the same state where there is no such task.

    Args:
        whole: the state before the change.
        task: the task's id.
        changes: the new values of fields.
    """
    entry = whole.tasks.get(task)
    if entry is None:
        return whole
    return with_task(whole, msgspec.structs.replace(entry, **changes))


def with_task(whole: State, entry: TaskEntry, **more: Any) -> State:
    """Return the state with a task's entry replaced and other fields changed.

    Args:
        whole: the state before the change.
        entry: the task's new entry.
        more: new values of other fields of the state.
    """
    live, lives = whole.live, entry.live
    if lives is not (entry.id in live):
        live = live.with_(entry.id, None) if lives else live.without(entry.id)
    tasks = whole.tasks.with_(entry.id, entry)
    if tasks is whole.tasks and live is whole.live and not more:
        return whole  # during a journal's replay, maps change in place
    return msgspec.structs.replace(whole, tasks=tasks, live=live, **more)


def task_moved(state: State, task: str, new: TaskState, time: float, **changes: Any) -> State:
    """Return the state with a task moved to another task state, where the order of task states allows it.

    Args:
        state: the state before the change.
        task: the task's id.
        new: the task state to move to.
        time: when the task state changed, seconds since the epoch.
        changes: new values of other fields of the task.
    """
    entry = state.tasks.get(task)
    if entry is None or not entry.state.may_become(new):
        return state
    return task_changed(state, task, state=new, state_time=time, **changes)


def recovery_changed(state: State, key: str, **changes: Any) -> State:
    """Return the state with fields of a recovery changed; the same state where there is no such recovery.

    Args:
        state: the state before the change.
        key: the recovery's id.
        changes: the new values of fields.
    """
    recovery = state.recoveries.get(key)
    if recovery is None:
        return state
    changed = msgspec.structs.replace(recovery, **changes)
    return msgspec.structs.replace(state, recoveries=state.recoveries.with_(key, changed))


def requeue_changed(state: State, token: str, **changes: Any) -> State:
    """Return the state with fields of a requeue order changed.

    Args:
        state: the state before the change.
        token: the token of the requeue order.
        changes: the new values of fields.
    """
    entry = msgspec.structs.replace(state.requeues[token], **changes)
    return msgspec.structs.replace(state, requeues=state.requeues.with_(token, entry))


def kept(record: R) -> R:
    """Return a record as the state keeps it: without the message that led to it."""
    return msgspec.structs.replace(record, message=None)
