"""Audit of a workflow simulation against the model, with no code shared with the simulator."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from whesl.lab.simulators.workflow.simulate import Attempts, Outcome
from whesl.lab.simulators.workflow.workload import Workload
from whesl.model.errors import WheslError
from whesl.prediction.failures.failure_history import History

_CLOSE = 1e-6


def audit(workload: Workload, history: History | None, outcome: Outcome) -> None:
    """Check a run, and raise the first violation.

    Args:
        workload: the tasks on their machine.
        history: the failures that happened.
        outcome: the run's outcome.

    Raises:
        WheslError: the run violates a rule.
    """
    unfinished = set(range(len(workload.workflow))) - {row[0] for row in outcome.attempts.rows() if row[4]}
    problems = [f"task {task} never ends" for task in sorted(unfinished)] or [
        *_completions(workload, outcome),
        *_nodes(workload, outcome.attempts),
        *_failures(workload, history, outcome),
        *_sums(workload, outcome),
    ]
    if problems:
        raise WheslError(
            f"{outcome.policy}: the run is not possible: {problems[0]} ({len(problems)} such findings)"
        )


def _parents(workload: Workload, task: int) -> list[tuple[int, float]]:
    part = slice(workload.parent_offsets[task], workload.parent_offsets[task + 1])
    return [
        (int(one), float(over))
        for one, over in zip(workload.parents[part], workload.transfer[part], strict=True)
    ]


def _completions(workload: Workload, outcome: Outcome) -> list[str]:
    """Return violations of: each task ends once, starts after its parents, and takes the graph's time."""
    found = []
    ends: dict[int, tuple[int, float]] = {}
    rows = list(outcome.attempts.rows())
    for task, node, _, end, completed in rows:
        if completed:
            if task in ends:
                found.append(f"task {task} ends twice")
            ends[task] = (node, end)
    for task, node, start, end, completed in rows:
        if start < workload.arrival[workload.workflow[task]]:
            found.append(f"task {task} starts at {start} s, before its workflow arrives")
        over = 0.0
        for parent, transfer in _parents(workload, task):
            if ends[parent][1] > start:
                found.append(f"task {task} starts at {start} s, before its parent {parent} has ended")
            over = max(over, 0.0 if ends[parent][0] == node else transfer)
        full = over + float(workload.cost[task, node])
        if (completed and abs(end - start - full) > _CLOSE) or end - start > full + _CLOSE:
            found.append(f"task {task} takes {end - start} s on node {node}, where {full} s are needed")
        if not completed and end > ends[task][1]:  # equal for an attempt of no length
            found.append(f"task {task} is killed after its end")
    return found


def _nodes(workload: Workload, attempts: Attempts) -> list[str]:
    """Return violations of: no node runs two tasks at once, and no task runs twice at once."""
    found = []
    for what, owner in (("node", 1), ("task", 0)):
        spans = defaultdict(list)
        for row in attempts.rows():
            spans[row[owner]].append((row[2], row[3]))
        for one, held in spans.items():
            held.sort()
            for before, after in pairwise(held):
                if after[0] < before[1]:
                    found.append(f"{what} {one} has two attempts at {after[0]} s")
    return found


def _failures(workload: Workload, history: History | None, outcome: Outcome) -> list[str]:
    """Return violations of: an attempt is killed exactly when a node it uses or still reads from fails."""
    downs = defaultdict(list)
    if history is not None:
        for node, start, end in zip(history.node, history.start, history.end, strict=True):
            downs[int(node)].append((float(start), float(end)))
    found = []
    place = {int(task): int(node) for task, node, *_, completed in outcome.attempts.rows() if completed}
    for task, node, start, end, completed in outcome.attempts.rows():
        sources = [(node, end)]
        for parent, transfer in _parents(workload, task):
            if place[parent] != node:
                sources.append((place[parent], min(end, start + transfer)))
            if any(down <= start < back for down, back in downs[place[parent]]):
                found.append(f"task {task} starts at {start} s, its input out of reach")
        if any(down <= start < back for down, back in downs[node]):
            found.append(f"task {task} starts at {start} s on node {node}, which is down")
        met = [down for source, until in sources for down, _ in downs[source] if start < down < until]
        if met:
            found.append(f"task {task} goes on at {end} s over a failure at {min(met)} s")
        if not completed and not any(down == end for source, _ in sources for down, _ in downs[source]):
            found.append(f"task {task} is killed at {end} s without a failure")
    return found


def _sums(workload: Workload, outcome: Outcome) -> list[str]:
    """Return violations of: loss, reschedulings and makespans equal those of the attempts."""
    rows = list(outcome.attempts.rows())
    loss = sum(end - start for _, _, start, end, completed in rows if not completed)
    kills = sum(not completed for *_, completed in rows)
    found = []
    if abs(loss - outcome.loss) > _CLOSE * (1 + abs(loss)):
        found.append(f"the loss is {loss} s, and {outcome.loss} s are said")
    if kills != outcome.reschedulings or kills != int(outcome.killed.sum()):
        found.append(f"{kills} attempts were killed, and {outcome.reschedulings} are said")
    last: defaultdict[int, float] = defaultdict(lambda: -np.inf)
    for task, _, _, end, completed in rows:
        if completed:
            workflow = int(workload.workflow[task])
            last[workflow] = max(last[workflow], end)
    for workflow, arrival in enumerate(workload.arrival.tolist()):
        if abs(last[workflow] - arrival - outcome.makespan[workflow]) > _CLOSE:
            found.append(
                f"workflow {workflow} takes {last[workflow] - arrival} s, and another makespan is said"
            )
    return found
