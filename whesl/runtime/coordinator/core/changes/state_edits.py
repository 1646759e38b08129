"""Changes of one entry of the coordinator's state. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.states import TaskState
from whesl.runtime.coordinator.core.state import State, TaskEntry


def task_changed(whole: State, task: str, **changes: Any) -> State:
    """Return the state with fields of a task changed, itself where there is no such task."""
    entry = whole.tasks.get(task)
    if entry is None:
        return whole
    return with_task(whole, msgspec.structs.replace(entry, **changes))


def with_task(whole: State, entry: TaskEntry, **more: Any) -> State:
    """Return the state with a task as it is now, and other fields."""
    live, lives = whole.live, entry.live
    if lives is not (entry.id in live):
        live = live.with_(entry.id, None) if lives else live.without(entry.id)
    tasks = whole.tasks.with_(entry.id, entry)
    if tasks is whole.tasks and live is whole.live and not more:
        return whole  # a journal is replayed: its maps change in place
    return msgspec.structs.replace(whole, tasks=tasks, live=live, **more)


def task_moved(state: State, task: str, new: TaskState, time: float, **changes: Any) -> State:
    """Return the state with a task's own state changed, where the order of states allows it."""
    entry = state.tasks.get(task)
    if entry is None or not entry.state.may_become(new):
        return state
    return task_changed(state, task, state=new, state_time=time, **changes)


def recovery_changed(state: State, key: str, **changes: Any) -> State:
    """Return the state with fields of a recovery changed, itself where there is no such recovery."""
    recovery = state.recoveries.get(key)
    if recovery is None:
        return state
    changed = msgspec.structs.replace(recovery, **changes)
    return msgspec.structs.replace(state, recoveries=state.recoveries.with_(key, changed))


def requeue_changed(state: State, token: str, **changes: Any) -> State:
    """Return the state with fields of an order to run a job again changed."""
    entry = msgspec.structs.replace(state.requeues[token], **changes)
    return msgspec.structs.replace(state, requeues=state.requeues.with_(token, entry))
