"""Choice of nodes for jobs and steps: pure functions over free CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whesl.managers.resource.embedded.scheduler.job_and_node_records import JobSpec, Share


def needed_tasks(spec: JobSpec) -> int:
    """Return the number of tasks that a job asks for, by default one per node."""
    if spec.tasks is not None:
        return spec.tasks
    return (spec.nodes or 1) * (spec.tasks_per_node or 1)


def choose(
    spec: JobSpec,
    order: Sequence[str],
    free: Mapping[str, int],
    total: Mapping[str, int],
    whole: bool,
) -> tuple[Share, ...] | None:
    """Return the nodes and CPUs that a job would get now, None when it does not fit.

    Args:
        spec: the job's request.
        order: the partition's nodes, in the order in which jobs take them.
        free: number of free CPUs by usable node.
        total: number of all CPUs by usable node.
        whole: whether the job takes all CPUs of its nodes.
    """
    tasks = needed_tasks(spec)
    capacity: dict[str, int] = {}
    for node in order:
        cpus = free.get(node, 0)
        if not cpus or node in spec.exclude or (whole and cpus < total[node]):
            continue
        room = cpus // spec.cpus_per_task
        if spec.tasks_per_node is not None:
            room = min(room, spec.tasks_per_node)
        if room > 0:
            capacity[node] = room
    if any(node not in capacity for node in spec.nodelist):
        return None
    wanted = [*spec.nodelist, *(node for node in capacity if node not in spec.nodelist)]
    if spec.nodes is None:
        chosen = _fewest(wanted, capacity, tasks, len(spec.nodelist))
    else:
        chosen = _exactly(max(spec.nodes, len(spec.nodelist)), wanted, capacity, tasks, len(spec.nodelist))
    if not chosen:
        return None
    chosen.sort(key=order.index)
    placed = spread(tasks, [capacity[node] for node in chosen])
    return tuple(
        Share(node=node, cpus=total[node] if whole else count * spec.cpus_per_task, tasks=count)
        for node, count in zip(chosen, placed, strict=True)
    )


def spread(tasks: int, capacity: Sequence[int]) -> list[int]:
    """Distribute tasks over nodes as evenly as their capacity allows, at least one each (block order).

    Args:
        tasks: number of tasks.
        capacity: most tasks on each node.

    Raises ValueError when the tasks do not fit or are fewer than the nodes.
    """
    if tasks < len(capacity) or tasks > sum(capacity):
        raise ValueError(tasks)
    placed = [1] * len(capacity)
    left = tasks - len(capacity)
    while left:
        for index, room in enumerate(capacity):
            if left and placed[index] < room:
                placed[index] += 1
                left -= 1
    return placed


def _fewest(wanted: list[str], capacity: Mapping[str, int], tasks: int, required: int) -> list[str]:
    chosen: list[str] = []
    room = 0
    for node in wanted:
        if room >= tasks and len(chosen) >= required:
            break
        chosen.append(node)
        room += capacity[node]
    return chosen if room >= tasks and len(chosen) <= tasks else []


def _exactly(
    count: int, wanted: list[str], capacity: Mapping[str, int], tasks: int, required: int
) -> list[str]:
    if len(wanted) < count:
        return []
    chosen = wanted[:count]
    if sum(capacity[node] for node in chosen) < tasks:
        # The first nodes have too little room together: take those with the most (the sort is stable).
        rest = sorted(wanted[required:], key=lambda node: -capacity[node])
        chosen = wanted[:required] + rest[: count - required]
    return chosen if sum(capacity[node] for node in chosen) >= tasks else []
