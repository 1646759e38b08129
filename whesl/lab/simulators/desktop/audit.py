"""Audit of a run of the desktop grid, with no code shared with the simulator."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise

from whesl.lab.simulators.desktop.simulate import Outcome
from whesl.lab.simulators.desktop.synthetic_machines import Jobs
from whesl.model.errors import WheslError
from whesl.prediction.failures.failure_history import History

_CLOSE = 1e-6


def audit(jobs: Jobs, history: History, outcome: Outcome, *, space: bool) -> None:
    """Check a run against the rules of the model.

    Args:
        jobs: the submitted jobs.
        history: the machines' failures.
        outcome: the run's outcome.
        space: whether the copies of a job ran at the same time.

    Raises:
        WheslError: the run violates a rule.
    """
    downs: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for node, start, end in zip(
        history.node.tolist(), history.start.tolist(), history.end.tolist(), strict=True
    ):
        downs[node].append((start, end))
    of_node = defaultdict(list)
    of_job = defaultdict(list)
    found = []
    rows = zip(outcome.rows.tolist(), outcome.span.tolist(), outcome.completed.tolist(), strict=True)
    for (job, node), (start, end), completed in rows:
        of_node[node].append((start, end))
        of_job[job].append((start, end, completed))
        where = f"job {job} on machine {node} at {start} s"
        if start < jobs.submit[job]:
            found.append(f"{where}: before its submission")
        index = bisect_left(downs[node], (start, float("inf")))
        if index and downs[node][index - 1][1] > start:
            found.append(f"{where}: the machine is down")
        first = downs[node][index][0] if index < len(downs[node]) else float("inf")
        if completed and (abs(end - start - jobs.duration[job]) > _CLOSE or first < end - _CLOSE):
            found.append(f"{where}: it cannot complete at {end} s")
        if not completed and (end != first or end - start > jobs.duration[job] + _CLOSE):
            found.append(f"{where}: it is not killed at {end} s")
    for node, spans in of_node.items():
        found += [
            f"machine {node}: two attempts at {two[0]} s"
            for one, two in pairwise(sorted(spans))
            if two[0] < one[1]
        ]
    for job, attempts in of_job.items():
        attempts.sort()
        same = {start for start, _, _ in attempts}
        if space and len(same) > 1:
            found.append(f"job {job}: copies at {sorted(same)} s")
        if not space and any(two[0] < one[1] for one, two in pairwise(attempts)):
            found.append(f"job {job}: two attempts at once")
        done = any(completed for *_, completed in attempts)
        if (int(outcome.status[job]) == 2) != done:
            ended = "has" if done else "has not"
            found.append(f"job {job}: status {outcome.status[job]}, and an attempt {ended} ended")
        over = int(outcome.status[job]) in (2, 3)
        if over and len(attempts) != outcome.attempts[job]:
            found.append(f"job {job}: {len(attempts)} attempts, and {outcome.attempts[job]} are said")
        used = sum(end - start for start, end, _ in attempts)
        if abs(used - outcome.used[job]) > _CLOSE * (1 + used):
            found.append(f"job {job}: {used} machine-seconds, and {outcome.used[job]} are said")
    if found:
        raise WheslError(f"the run is not possible: {found[0]} ({len(found)} such findings)")
