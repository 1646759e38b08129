"""The cost of a schedule before it runs: instances by the hour, files, transfers, storage."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from whesl.cloud.core.plan_records import HOUR, Cost, Domain, PriceList, Schedule, Workflow
from whesl.cloud.core.stage_speed import Pace

_GB = 1e9


def estimate(workflow: Workflow, schedule: Schedule, prices: PriceList, benchmark: float = 0.0) -> Cost:
    """Return the cost of a schedule; the cluster and transfers into the cloud are free.

    The data that leave the cloud follow from the difference between a stage's and its parents' tasks in the
    cloud, hour by hour. Backup instances are not counted (the document's reason for underestimation).

    Args:
        workflow: the workflow.
        schedule: the workflow's schedule.
        prices: the cloud's prices.
        benchmark: the cost of measuring the profile.
    """
    instances = 0.0
    tasks: dict[tuple[int, str], float] = defaultdict(float)
    for one in schedule.assignments:
        if one.domain is Domain.CLOUD:
            instances += one.nodes * prices.platform(one.platform).price
            tasks[one.hour, one.stage] += one.target
    scheduled = sorted({hour for hour, _ in tasks})
    read = written = stored = leaving = 0.0
    length = {window.stage: window.end - window.start for window in schedule.windows}
    stages = {stage.name: stage for stage in workflow.stages}
    for hour in scheduled:
        for name, stage in stages.items():
            here = tasks.get((hour, name), 0.0)
            read += here * stage.input_bytes
            written += here * stage.output_bytes
            # An output is kept until its dependants are done: about one interval of the schedule.
            stored += here * (stage.input_bytes + stage.output_bytes) * min(HOUR, length[name]) / HOUR
            if not workflow.children(name):
                leaving += here * stage.output_bytes
            for edge in stage.parents:
                parent = stages[edge.parent]
                there = tasks.get((hour, edge.parent), 0.0)
                each = parent.output_bytes * parent.tasks / max(1, stage.tasks)
                moved = (there * stage.tasks / max(1, parent.tasks) - here) * each
                if moved > 0:
                    leaving += moved
                    read += moved
                else:
                    written -= moved
            if not stage.parents:
                written += here * stage.input_bytes
    return Cost(
        instances=instances,
        files=read / _GB * prices.read + written / _GB * prices.write,
        storage=stored / _GB * prices.stored,
        transfer=leaving / _GB * prices.leaving,
        benchmark=benchmark,
    )


def node_hours(schedule: Schedule) -> tuple[float, float]:
    """Return the node-hours that a schedule requests: (cluster, cloud)."""
    sums = dict.fromkeys(Domain, 0.0)
    for one in schedule.assignments:
        sums[one.domain] += one.nodes
    return sums[Domain.HPC], sums[Domain.CLOUD]


def data_cost(
    paces: tuple[Pace, ...], prices: PriceList, clouded: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cost of stored files and transfers in each course, in the prices' currency.

    Args:
        paces: the stages' speeds.
        prices: the cloud's prices of files and transfers.
        clouded: number of each stage's tasks that run in the cloud, shape (courses, stages).
    """
    read = np.array([pace.stage.input_bytes for pace in paces]) / 1e9
    written = np.array([pace.stage.output_bytes for pace in paces]) / 1e9
    tasks = np.array([pace.stage.tasks for pace in paces], dtype=np.float64)
    place = {pace.stage.name: at for at, pace in enumerate(paces)}
    out = prices.leaving + prices.read
    found = clouded @ (read * prices.read + written * prices.write)
    parents = [[place[edge.parent] for edge in pace.stage.parents] for pace in paces]
    fed = {parent for mine in parents for parent in mine}
    share = clouded / tasks
    for at, pace in enumerate(paces):
        if at not in fed:
            found += clouded[:, at] * written[at] * out
        for parent in parents[at] or [-1]:
            before = share[:, parent] if parent >= 0 else 0.0
            there = (share[:, at] - before) * pace.stage.tasks * read[at] / max(1, len(parents[at]))
            found += np.where(there > 0, there * prices.write, -there * out)
    return np.asarray(found, dtype=np.float64)
