"""What has to hold in any simulation of a cluster, checked from its attempts without a simulator's code."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whesl.lab.cluster.trace import Attempts, Workload
    from whesl.predict.history import History

Down = tuple[float, float]


def audit(work: Workload, nodes: int, attempts: Attempts, history: History | None = None) -> list[str]:
    """Return what is wrong with a simulation, one sentence each; an empty list where all holds.

    No node holds two jobs, or one while it is down; each job has as many nodes as it asks for, starts no
    earlier than it is submitted, and not twice at a time; what its attempts keep adds up to its run time; an
    attempt is killed exactly when one of its nodes fails; events are in order.

    Args:
        work: the jobs.
        nodes: how many the machine has.
        attempts: what the simulation gave.
        history: the failures that happened.
    """
    wrong: list[str] = []
    down: dict[int, list[Down]] = defaultdict(list)
    if history is not None:
        for node, start, end in zip(
            history.node.tolist(), history.start.tolist(), history.end.tolist(), strict=True
        ):
            down[node].append((start, end))
    held: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    of_job: dict[int, list[int]] = defaultdict(list)
    before = -math.inf
    for index in range(len(attempts.job)):
        job, start, end = int(attempts.job[index]), float(attempts.start[index]), float(attempts.end[index])
        used = attempts.nodes(index).tolist()
        of_job[job].append(index)
        if start < before:
            wrong.append(f"attempt {index} starts before the one ahead of it")
        before = start
        if start < work.submit[job]:
            wrong.append(f"job {job} starts before it is submitted")
        if len(used) != work.size[job] or len(set(used)) != len(used):
            wrong.append(f"job {job} has nodes {used}, and asks for {int(work.size[job])}")
        if any(not 0 <= node < nodes for node in used):
            wrong.append(f"job {job} is on a node that there is not: {used}")
        for node in used:
            held[node].append((start, end, index))
        fails = [begin for node in used for begin, _ in down[node] if start < begin <= end]
        if attempts.killed[index]:
            if end not in fails:
                wrong.append(f"attempt {index} is killed at {end}, and no node of it fails then")
        elif any(begin < end for begin in fails):
            wrong.append(f"attempt {index} outlives the failure of a node at {min(fails)}")
    wrong += _nodes(held, down)
    wrong += _jobs(work, attempts, of_job)
    return wrong


def _nodes(held: dict[int, list[tuple[float, float, int]]], down: dict[int, list[Down]]) -> Iterable[str]:
    for node, spans in held.items():
        spans.sort()
        for (_, end, one), (start, _, other) in pairwise(spans):
            if start < end:
                yield f"node {node} holds attempts {one} and {other} at {start}"
        for start, end, index in spans:
            if any(begin <= start < back for begin, back in down[node]):
                yield f"attempt {index} starts at {start} on node {node}, which is down"
            if any(start < begin < end for begin, _ in down[node]):
                yield f"attempt {index} is on node {node} while it goes down"


def _jobs(work: Workload, attempts: Attempts, of_job: dict[int, list[int]]) -> Iterable[str]:
    for job, indices in of_job.items():
        interval = float(work.checkpoint[job])
        kept = 0.0
        for index, following in zip(indices, [*indices[1:], None], strict=True):
            elapsed = float(attempts.end[index] - attempts.start[index])
            last = following is None
            if not attempts.killed[index]:
                if not last:
                    yield f"job {job} is started again, and was not killed"
                if not math.isclose(kept + elapsed, float(work.run[job]), rel_tol=1e-9, abs_tol=1e-6):
                    yield f"job {job} ran {kept + elapsed} s in all, and needs {float(work.run[job])}"
            elif not math.isinf(interval):
                kept += elapsed // interval * interval
            if not last and attempts.start[following] < attempts.end[index]:
                yield f"job {job} is started while it runs"
