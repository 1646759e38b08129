"""Drains give way to waiting jobs, as exclude lists do: no job that could run waits because of a drain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.waiting_job_exclusions import Job


def give_way(
    order: Sequence[str], machine: Mapping[str, Node], waiting: Iterable[Job], ours: Collection[str] = ()
) -> set[str]:
    """Return which nodes may be drained so that each waiting job finds the nodes that it needs.

    A job that would not find enough nodes even without these drains is ignored.

    Args:
        order: names of nodes that the service has drained or wants to drain, the most important first.
        machine: the cluster's nodes by name.
        waiting: jobs that wait for nodes.
        ours: names of nodes that the service has drained; those that are not in ``order`` will come back.
    """
    free = {*order, *ours}
    there = {name: _undrained(node) if name in free else node for name, node in machine.items()}
    left = {job: found for job in _distinct(waiting) if (found := _to_spare(job, there))}
    named = {name for job in left for name in job.named}
    kept: set[str] = set()
    for name in order:
        node = there[name]
        if name in named:
            continue
        after = {job: _without(node, job, spare) for job, spare in left.items()}
        if all(any(number >= 0 for number in spare.values()) for spare in after.values()):
            kept.add(name)
            left = after
    return kept


def _undrained(node: Node) -> Node:
    return msgspec.structs.replace(node, flags=node.flags - {"drain"})


def _distinct(waiting: Iterable[Job]) -> Collection[Job]:
    """Return one job of each group of jobs with equal requests."""
    return {(job.request, job.named): job for job in waiting}.values()


def _suits(node: Node, job: Job) -> bool:
    one = job.request
    enough = node.cpus >= one.node_cpus and node.memory >= one.memory
    return enough and set(node.features) >= set(one.features)


def _to_spare(job: Job, there: Mapping[str, Node]) -> dict[str, int]:
    """Return how many nodes of each partition a job can spare, without partitions too small for the job."""
    found = {}
    for part in job.request.partitions:
        suitable = [
            node for node in there.values() if node.usable and part in node.partitions and _suits(node, job)
        ]
        cpus = max(1, min((node.cpus for node in suitable), default=1))
        spare = len(suitable) - max(job.request.nodes, -(-job.request.cpus // cpus))
        if spare >= 0:
            found[part] = spare
    return found


def _without(node: Node, job: Job, spare: Mapping[str, int]) -> dict[str, int]:
    if not node.usable or not _suits(node, job):
        return dict(spare)
    return {part: number - (part in node.partitions) for part, number in spare.items()}
