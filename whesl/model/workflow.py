"""Workflows, tasks and the configuration that a task runs with."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import combinations

import msgspec


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a workflow. ``instance`` tells parameter combinations of one step apart.

    ``parents`` are the ids of the tasks it depends on; ``beside`` are those of them that it runs together
    with: it starts when they have started. ``coupled`` are those with which it exchanges data while both run:
    what a recovery changes for one of them concerns the others. ``workspace`` is its directory as the WMS
    sees it.
    """

    id: str  # "<workflow>/<name>"
    step: str
    instance: str = ""
    workspace: str = ""
    parents: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    coupled: tuple[str, ...] = ()
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
        """Return the ids of all tasks downstream of one or coupled with it, nearest first, each once."""
        return downstream(self.children(), task_id)

    def children(self) -> dict[str, list[str]]:
        """Return the ids of the tasks that depend on each task directly, or are coupled with it.

        Tasks without any are left out.
        """
        children: dict[str, list[str]] = {}
        for task in self.tasks:
            for parent in dict.fromkeys((*task.coupled, *task.parents)):
                children.setdefault(parent, []).append(task.id)
        return children

    def with_coupled(self, groups: Sequence[Sequence[str]]) -> Workflow:
        """Return the workflow with tasks coupled, both ways, besides those that run beside each other.

        Args:
            groups: lists of globs of steps or tasks; those of one list exchange data while they run. Tasks of
                two steps are coupled where their instances go together, if any do, else all with all.
        """
        pairs: dict[str, dict[str, None]] = {task.id: dict.fromkeys(task.coupled) for task in self.tasks}
        for task in self.tasks:
            for known in task.beside:
                pairs[task.id][known] = None
                pairs.setdefault(known, {})[task.id] = None
        for group in groups:
            for one, other in _couples(self.tasks, group):
                pairs[one.id][other.id] = None
                pairs[other.id][one.id] = None
        tasks = tuple(msgspec.structs.replace(task, coupled=tuple(pairs[task.id])) for task in self.tasks)
        return msgspec.structs.replace(self, tasks=tasks)


def _couples(tasks: Sequence[Task], group: Sequence[str]) -> Iterator[tuple[Task, Task]]:
    """Give the pairs of tasks that a list of globs couples: of two steps, or of two entries of the list."""
    steps: dict[str, list[tuple[Task, frozenset[str]]]] = {}
    for task in tasks:
        named = frozenset(glob for glob in group if job_matches((glob,), task.step, task.name))
        if named:
            steps.setdefault(task.step, []).append((task, named))
    for (one, named), (other, also) in combinations([each for step in steps.values() for each in step], 2):
        if one.step == other.step:
            together = not named & also
        else:
            mates = [task for task, _ in steps[other.step] if _go_together(one, task)]
            hers = [task for task, _ in steps[one.step] if _go_together(task, other)]
            together = _go_together(one, other) or not (mates or hers)
        if together:
            yield one, other


def _go_together(one: Task, other: Task) -> bool:
    """Whether two instances are of one combination of parameters, of which one may have fewer."""
    if not one.instance or not other.instance:
        return False
    return f".{one.instance}." in f".{other.instance}." or f".{other.instance}." in f".{one.instance}."


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
    """Whether an exception's ``JOB [...]`` list covers a task, by its step's or its own name.

    Args:
        patterns: the list's globs, in which upper and lower case differ.
        step: name of the task's step.
        name: the task's own name.
    """
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
