"""Workflows, tasks and the configuration that a task runs with."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a workflow. ``instance`` tells parameter combinations of one step apart.

    ``parents`` are the ids of the tasks it depends on; ``beside`` are those of them that it runs together
    with: it starts when they have started. ``workspace`` is its directory as the WMS sees it.
    """

    id: str  # "<workflow>/<name>"
    step: str
    instance: str = ""
    workspace: str = ""
    parents: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    nodes: int = 1
    spares: int = 0

    @property
    def name(self) -> str:
        """The task's name inside its workflow: the step, and the instance where there are several."""
        return f"{self.step}_{self.instance}" if self.instance else self.step


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow as its own WMS will run it."""

    id: str
    name: str
    wms: str  # maestro, batch
    root: str
    tasks: tuple[Task, ...] = ()

    def dependents(self, task_id: str) -> tuple[str, ...]:
        """Return the ids of all tasks downstream of ``task_id``, nearest first, each once."""
        return downstream(self.children(), task_id)

    def children(self) -> dict[str, list[str]]:
        """Return the ids of the tasks that depend on each task directly; those without are left out."""
        children: dict[str, list[str]] = {}
        for task in self.tasks:
            for parent in task.parents:
                children.setdefault(parent, []).append(task.id)
        return children


def downstream(children: Mapping[str, Sequence[str]], task_id: str) -> tuple[str, ...]:
    """Return the ids of all tasks downstream of one, nearest first, each once.

    Args:
        children: as ``Workflow.children`` returns them.
        task_id: where to begin.
    """
    found: dict[str, None] = {}
    frontier = [task_id]
    while frontier:
        new = (c for p in frontier for c in children.get(p, ()) if c not in found and c != task_id)
        frontier = list(dict.fromkeys(new))
        found.update(dict.fromkeys(frontier))
    return tuple(found)


def job_matches(patterns: tuple[str, ...], step: str, name: str) -> bool:
    """Whether an exception's ``JOB [...]`` list covers a task, by its step's or its own name (globs)."""
    return any(fnmatch.fnmatchcase(step, p) or fnmatch.fnmatchcase(name, p) for p in patterns)


class Grade(str, Enum):
    """What the evidence against a node is worth, the least first (``whesl.model.bad_node_expiry``)."""

    SUSPECTED = "suspected"
    BLAMED = "blamed"
    LOST = "lost"


class BadNode(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the memory of bad nodes: shared by all of a user's tasks until it expires.

    ``count``: how often it was called bad since it was last forgotten; ``time`` is the last of these times,
    ``first`` the first (0: the same). ``chosen``: a person or a specification chose how long.
    """

    node: str
    reason: str
    task: str
    time: float
    expires: float
    source: str = "isolator"  # isolator, scheduler, user
    count: int = 1
    first: float = 0.0
    grade: Grade = Grade.LOST
    chosen: bool = False

    @property
    def excluded(self) -> bool:
        """Whether new jobs are kept off it; else it is only the last choice."""
        return self.grade is not Grade.SUSPECTED
