"""Groups tasks into stages: tasks of one kind at one place of the graph form a stage."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from statistics import fmean

import msgspec

from whesl.cloud.core.plan_records import Dependency, Processor, Stage, Task, Workflow
from whesl.model.errors import UsageError

# An edge is a barrier if each child task reads from at least this share of the parent stage's tasks.
_BARRIER = 0.5


def order(edges: Mapping[str, Sequence[str]], what: str, place: str) -> list[str]:
    """Return names in topological order: each comes after its parents.

    Args:
        edges: the parents of each name.
        what: ``task`` or ``stage``, for the message.
        place: the file's name, for the message.

    Raises:
        UsageError: there is a cycle; the message names it.
    """
    if circle := cycle(edges):
        raise UsageError(
            f"{place}: the {what}s {' -> '.join(circle)} wait for each other",
            hint="a workflow without a cycle is accepted",
        )
    return list(TopologicalSorter(edges).static_order())


def cycle(edges: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of one cycle, with the first name repeated at the end; empty where there is no cycle.

    Args:
        edges: the parents of each name.
    """
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def workflow(
    name: str, tasks: Sequence[Task], place: str, processors: Mapping[str, Processor] | None = None
) -> Workflow:
    """Return a workflow of tasks; each task's ``stage`` names its kind.

    Kinds that wait for each other in a circle, or for tasks of their own kind, become a stage for each depth
    in the graph, named ``kind@depth``.

    Args:
        name: the workflow's name.
        tasks: the tasks, in any order.
        place: the file's name, for messages.
        processors: processors by kind, for kinds that need another processor than a CPU.

    Raises:
        UsageError: the tasks wait for each other in a cycle.
    """
    by_name = {task.name: task for task in tasks}
    sequence = order({task.name: task.parents for task in tasks}, "task", place)
    depth: dict[str, int] = {}
    for one in sequence:
        depth[one] = max((depth[parent] + 1 for parent in by_name[one].parents), default=0)
    kinds: dict[str, set[str]] = defaultdict(set)
    for task in tasks:
        kinds[task.stage] |= {by_name[parent].stage for parent in task.parents}
    tangled = _tangled(kinds)
    stage_of = {
        task.name: f"{task.stage}@{depth[task.name]}" if task.stage in tangled else task.stage
        for task in tasks
    }
    named = [msgspec.structs.replace(by_name[one], stage=stage_of[one]) for one in sequence]
    members: dict[str, list[Task]] = defaultdict(list)
    for task in named:
        members[task.stage].append(task)
    edges: Counter[tuple[str, str]] = Counter()
    for task in named:
        for parent in task.parents:
            edges[stage_of[parent], task.stage] += 1
    parents: dict[str, list[str]] = {stage: [] for stage in members}
    for parent, child in edges:
        parents[child].append(parent)
    made = []
    for stage in order(parents, "stage", place):
        own = members[stage]
        known = [task.seconds for task in own if task.seconds is not None]
        kind = stage.rpartition("@")[0] or stage
        made.append(
            Stage(
                name=stage,
                tasks=len(own),
                parents=tuple(
                    Dependency(
                        parent=parent,
                        barrier=edges[parent, stage] / len(own) >= _BARRIER * len(members[parent]),
                    )
                    for parent in parents[stage]
                ),
                processor=(processors or {}).get(kind, Processor.CPU),
                input_bytes=fmean(sum(file.size for file in task.inputs) for task in own),
                output_bytes=fmean(sum(file.size for file in task.outputs) for task in own),
                seconds=fmean(known) if known else None,
            )
        )
    return Workflow(name=name, stages=tuple(made), tasks=tuple(named))


def _tangled(kinds: Mapping[str, set[str]]) -> set[str]:
    """Return the kinds that lie on a cycle of kinds, or between two cycles."""
    left = {kind: set(parents) for kind, parents in kinds.items()}
    while True:
        # A kind without parents left, or without children left, lies on no cycle.
        used = {parent for parents in left.values() for parent in parents}
        free = {kind for kind, parents in left.items() if not parents & left.keys() or kind not in used}
        if not free:
            return set(left)
        left = {kind: parents - free for kind, parents in left.items() if kind not in free}
