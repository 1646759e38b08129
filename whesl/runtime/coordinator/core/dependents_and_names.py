"""Dependents of tasks; the task that an isolator means; abbreviated task names. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import lru_cache

from whesl.model.workflow import Workflow, downstream
from whesl.runtime.coordinator.core.state import State, TaskEntry
from whesl.runtime.wire.messages import Register


def identify(state: State, register: Register) -> str:
    """Return the id of the task that an isolator looks after.

    A workflow manager may give a job another name than the task has in the workflow. An unknown name is
    matched by workspace, then by step and instance. A name that matches no task, or several, makes a new
    task.

    Args:
        state: the coordinator's state.
        register: the isolator's registration.
    """
    name = state.aliases.get(register.task, register.task)
    if name in state.tasks:
        return name
    entry = state.workflows.get(register.workflow)
    if entry is None:
        return register.task
    known = _index(_Same(entry.workflow))
    return (
        (register.workspace and known.by_workspace.get(register.workspace))
        or known.by_instance.get((register.step, register.instance))
        or known.by_instance.get((register.step, ""))
        or register.task
    )


def dependents(state: State, task: str) -> tuple[str, ...]:
    """Return the ids of all tasks downstream of a task or coupled with it, nearest first.

    Args:
        state: the coordinator's state.
        task: the task's id.
    """
    entry = state.tasks.get(task)
    workflow = state.workflows.get(entry.workflow) if entry else None
    return downstream(_index(_Same(workflow.workflow)).children, task) if workflow else ()


def coupled(state: State, task: str) -> tuple[str, ...]:
    """Return the ids of the tasks that exchange data with a task while both run.

    Args:
        state: the coordinator's state.
        task: the task's id.
    """
    entry = state.tasks.get(task)
    workflow = state.workflows.get(entry.workflow) if entry else None
    return _index(_Same(workflow.workflow)).coupled.get(task, ()) if workflow else ()


class _Index:
    """Indexes of a workflow, built once: a search through 100,000 tasks takes tens of milliseconds.

    A workspace, or a step with its instance, that several tasks share maps to ''.
    """

    def __init__(self, workflow: Workflow) -> None:
        self.children = workflow.children()
        self.coupled = {task.id: task.coupled for task in workflow.tasks if task.coupled}
        self.by_workspace: dict[str, str] = {}
        self.by_instance: dict[tuple[str, str], str] = {}
        for task in workflow.tasks:
            place = (task.step, task.instance)
            self.by_workspace[task.workspace] = "" if task.workspace in self.by_workspace else task.id
            self.by_instance[place] = "" if place in self.by_instance else task.id


class _Same:
    """A workflow as a key of a cache, compared by identity; they are frozen, so the cache stays valid."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow

    def __hash__(self) -> int:
        return id(self.workflow)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.workflow is self.workflow


@lru_cache(maxsize=16)
def _index(same: _Same) -> _Index:
    return _Index(same.workflow)


class AmbiguityError(LookupError):
    """A task's name matches no task or several; ``candidates`` are the full names to choose from."""

    def __init__(self, message: str, candidates: tuple[str, ...]) -> None:
        super().__init__(message)
        self.candidates = candidates


def resolve(names: Iterable[str], wanted: str) -> str:
    """Return the one task id that a possibly abbreviated name means.

    A full id wins, then a task's name without its workflow, then its step without its instance, then any
    beginning or ending of either.

    Raises AmbiguityError with candidates: the matching ids when there are several, else the most similar ids.

    Args:
        names: full ids of tasks.
        wanted: the name, perhaps abbreviated.
    """
    ids = sorted(names)
    short = {task: task.partition("/")[2] or task for task in ids}
    tests: tuple[Callable[[str], bool], ...] = (
        lambda task: task == wanted,
        lambda task: short[task] == wanted,
        lambda task: short[task].startswith(f"{wanted}_"),
        lambda task: task.startswith(wanted) or short[task].startswith(wanted),
        lambda task: task.endswith(wanted),
    )
    for test in tests if wanted else ():
        found = tuple(task for task in ids if test(task))
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguityError(f"{wanted!r} fits {len(found)} tasks", found)
    by_name = {**{short[task]: task for task in ids}, **{task: task for task in ids}}
    near = difflib.get_close_matches(wanted, by_name, n=3, cutoff=0.5)
    raise AmbiguityError(f"there is no task {wanted!r}", tuple(dict.fromkeys(by_name[name] for name in near)))


def running(state: State, tasks: Iterable[str]) -> list[TaskEntry]:
    """Return those of the given tasks whose isolators can receive messages.

    Args:
        state: the coordinator's state.
        tasks: ids of tasks.
    """
    entries = (state.tasks.get(task) for task in tasks)
    return [entry for entry in entries if entry is not None and entry.live]
