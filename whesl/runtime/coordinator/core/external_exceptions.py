"""Exceptions raised from outside: the tasks that are meant, and the reasons for a refusal. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import msgspec

from whesl.model.outcomes import ControlAction
from whesl.model.workflow import Task
from whesl.runtime.coordinator.core.dependents_and_names import AmbiguityError, resolve
from whesl.runtime.coordinator.core.state import State, TaskEntry, request_of
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.operations.suspect_node import match_node
from whesl.runtime.wire.messages import PredictFailure, RaiseException

# The most exceptions that may wait for one task: fewer than the ids that the task's isolator remembers.
MOST_WAITING = 32
_NAMED = 8


class RefusalError(Exception):
    """A command is refused; the text says why.

    ``candidates`` are names that were perhaps meant; ``unknown``: no task has the given name.
    """

    def __init__(
        self, message: str, candidates: tuple[str, ...] = (), hint: str = "", *, unknown: bool = False
    ) -> None:
        super().__init__(message)
        self.candidates = candidates
        self.hint = hint
        self.unknown = unknown


def raise_on_tasks(transition: Transition, message: RaiseException) -> dict[str, Any]:
    """Record the tasks on which an exception is raised, and send the exception to their isolators.

    Returns ``{"id", "exception", "tasks": [...], "uncovered": [...]}``. ``uncovered`` are further tasks of
    the same node or job whose rules do not declare the exception. Raises RefusalError.

    Args:
        transition: the present transition.
        message: names the exception, and a task, node or job.
    """
    covered, uncovered = targets(transition.state, message)
    for number, entry in enumerate(covered):
        _tell(
            transition,
            entry,
            records.Control(
                id=f"{message.id}.{number}",
                task=entry.id,
                action=ControlAction.RAISE,
                exception=message.exception,
                node=node_of(entry, message.node),
                evidence=message.evidence,
            ),
        )
    tasks = [entry.id for entry in covered]
    transition.say(f"{message.exception} is raised from outside on {', '.join(tasks[:_NAMED])}")
    return {
        "id": message.id,
        "exception": message.exception,
        "tasks": tasks,
        "uncovered": [entry.id for entry in uncovered],
    }


def predict_for_tasks(transition: Transition, message: PredictFailure) -> dict[str, Any]:
    """Record the tasks that a predicted failure concerns, and send the prediction to their isolators.

    Returns ``{"id", "tasks": [...]}``. Raises RefusalError.

    Args:
        transition: the present transition.
        message: the prediction, which names a node.
    """
    told = on_node(transition.state, message.prediction.node)
    prediction = msgspec.structs.replace(message.prediction, time=transition.now)
    for number, entry in enumerate(told):
        node = node_of(entry, prediction.node)
        _tell(
            transition,
            entry,
            records.Control(
                id=f"{message.id}.{number}",
                task=entry.id,
                action=ControlAction.PREDICT,
                node=node,
                prediction=msgspec.structs.replace(prediction, node=node),
            ),
        )
    tasks = [entry.id for entry in told]
    transition.say(f"{prediction}: told {', '.join(tasks[:_NAMED])}")
    return {"id": message.id, "tasks": tasks}


def _tell(transition: Transition, entry: TaskEntry, control: records.Control) -> None:
    transition.record(control)
    transition.send(entry.peer, request_of(control, entry.alias or entry.id, transition.now))


def on_node(state: State, node: str) -> list[TaskEntry]:
    """Return the tasks that use a node and can take a request. Raises RefusalError when there is none.

    Args:
        state: the coordinator's state.
        node: the node's name, perhaps in another form than the task uses.
    """
    found = _on_node([state.tasks[task] for task in state.live], node)
    able = []
    for entry in found:
        try:
            _check(state, entry)
        except RefusalError:
            if len(found) == 1:
                raise
        else:
            able.append(entry)
    return able


def targets(state: State, message: RaiseException) -> tuple[list[TaskEntry], list[TaskEntry]]:
    """Return the tasks that a message means: first those whose rules declare the exception, then the others.

    Raises RefusalError when no task can take the exception.

    Args:
        state: the coordinator's state.
        message: names the exception, and a task, node or job.
    """
    entries = _selected(state, message)
    covered = [entry for entry in entries if message.exception in declared(state, entry)]
    if not covered:
        raise _undeclared(state, entries, message.exception)
    for entry in covered:
        _check(state, entry)
    return covered, [entry for entry in entries if entry not in covered]


def _selected(state: State, message: RaiseException) -> list[TaskEntry]:
    """Return the tasks that a message means. Raises RefusalError when no task matches, or several do."""
    if sum(map(bool, (message.task, message.node, message.job))) > 1:
        raise RefusalError("name a task, a node or a job, not several of them")
    if message.task:
        try:
            return [state.tasks[resolve(state.tasks, message.task)]]
        except AmbiguityError as error:
            raise RefusalError(str(error), error.candidates, unknown=True) from None
    live = [state.tasks[task] for task in state.live]
    if message.node:
        return _on_node(live, message.node)
    if message.job:
        return _of_job(state, live, message.job)
    able = [entry for entry in live if message.exception in declared(state, entry)]
    if not able:
        raise _undeclared(state, live, message.exception)
    if len(able) > 1:
        candidates = tuple(entry.id for entry in able[:_NAMED])
        raise RefusalError(
            f"{len(able)} tasks have the exception {message.exception}",
            candidates,
            "say which with --task, --node or --job",
        )
    return able


def _on_node(live: Iterable[TaskEntry], node: str) -> list[TaskEntry]:
    found = [entry for entry in live if match_node(node, _nodes(entry))]
    if not found:
        known = sorted({name for entry in live for name in _nodes(entry)})
        near = tuple(difflib.get_close_matches(node, known, n=3)) or tuple(known[:_NAMED])
        raise RefusalError(f"no running task uses the node {node!r}", near)
    return found


def _of_job(state: State, live: Iterable[TaskEntry], job: str) -> list[TaskEntry]:
    """Return the tasks of a job: each protected program of a job's script is a task."""
    found = [entry for entry in live if entry.job_id == job]
    if not found:
        over = [entry.id for entry in state.tasks.values() if entry.job_id == job]
        if over:
            raise RefusalError(f"job {job} has ended: it was that of {', '.join(over[:_NAMED])}")
        known = tuple(sorted({entry.job_id for entry in live if entry.job_id}))
        raise RefusalError(f"no running task belongs to a job {job!r}", known[:_NAMED])
    clusters = {(entry.rjms, *sorted(state.environment_of(entry.id).items())) for entry in found}
    if len(clusters) > 1:
        candidates = tuple(entry.id for entry in found[:_NAMED])
        raise RefusalError(f"there is a job {job} on {len(clusters)} clusters", candidates)
    return found


def node_of(entry: TaskEntry, node: str) -> str:
    """Return the name that a task uses for a node; an empty string for no node.

    Args:
        entry: the task.
        node: the node's name in any form, '' for none.
    """
    return match_node(node, _nodes(entry)) if node else ""


def _nodes(entry: TaskEntry) -> tuple[str, ...]:
    return entry.uses or entry.nodes


def declared(state: State, entry: TaskEntry) -> tuple[str, ...]:
    """Return the names of the exceptions that a task's rules declare.

    Args:
        state: the coordinator's state.
        entry: the task.
    """
    workflow = state.workflows.get(entry.workflow)
    if workflow is None or workflow.spec is None:
        return entry.declared
    return workflow.spec.covering(Task(id=entry.id, step=entry.step, instance=entry.instance))


def _undeclared(state: State, entries: list[TaskEntry], exception: str) -> RefusalError:
    if not entries:
        return RefusalError("no task is running")
    known = tuple(dict.fromkeys(name for entry in entries for name in declared(state, entry)))
    who = entries[0].id if len(entries) == 1 else f"any of {len(entries)} tasks"
    workflows = (state.workflows.get(entry.workflow) for entry in entries)
    specs = [workflow.spec for workflow in workflows if workflow is not None and workflow.spec is not None]
    if any(each.name == exception for spec in specs for each in spec.exceptions):
        return RefusalError(f"the exception {exception} is declared, but not for {who}")
    near = tuple(difflib.get_close_matches(exception, known, n=3, cutoff=0.5)) or known[:_NAMED]
    hint = "" if near else "its rules declare no exception"
    return RefusalError(f"no exception {exception!r} is declared for {who}", near, hint)


def _check(state: State, entry: TaskEntry) -> None:
    """Raise RefusalError for a task that cannot take a request: ended, not started, or too many waiting."""
    if entry.state.final:
        raise RefusalError(f"{entry.id} has ended: it is {entry.state.value}")
    if not entry.claim:
        raise RefusalError(f"{entry.id} has not started")
    mine = (control for control in state.controls.values() if control.task == entry.id)
    waiting = sum(control.action in (ControlAction.RAISE, ControlAction.PREDICT) for control in mine)
    if waiting >= MOST_WAITING:
        raise RefusalError(
            f"{entry.id} has not taken {waiting} exceptions that were raised before",
            hint="its isolator may be silent; see `whesl status`",
        )
