"""Data preloading: the domain of each task, and when idle executors take a task from the other domain."""

from __future__ import annotations

import math

from whesl.cloud.core.plan_records import Domain


def load(queued: float, executors: float) -> float:
    """Return a domain's load for a stage: queued tasks for each executor, infinity without an executor.

    Args:
        queued: number of the stage's tasks that wait in the domain.
        executors: number of the domain's executors for the stage.
    """
    return queued / executors if executors > 0 else math.inf


def domain(hpc_queue: int, hpc_executors: int, cloud_queue: int, cloud_executors: int) -> Domain:
    """Return the domain to which a new task of a stage is mapped.

    A domain with a load below 1 takes the task. Where both loads are below 1 or equal, the cloud takes it,
    since the cloud's idle time costs money. Otherwise the domain with the lower load takes it. Without any
    executor the task waits on the cluster, where its input probably lies (WHESL's choice).

    Args:
        hpc_queue, hpc_executors: the stage's queued tasks and executors on the cluster.
        cloud_queue, cloud_executors: the stage's queued tasks and executors in the cloud.
    """
    if cloud_executors <= 0:
        return Domain.HPC
    cloud = load(cloud_queue, cloud_executors)
    if cloud < 1:
        return Domain.CLOUD
    return Domain.HPC if load(hpc_queue, hpc_executors) < cloud else Domain.CLOUD


def split(
    tasks: int, hpc_queue: int, hpc_executors: int, cloud_queue: int, cloud_executors: int
) -> tuple[int, int]:
    """Return how many of some new tasks ``domain`` maps to the cluster and to the cloud.

    Args:
        tasks: number of new tasks.
        hpc_queue, hpc_executors: queued tasks and executors on the cluster before the first new task.
        cloud_queue, cloud_executors: queued tasks and executors in the cloud before the first new task.
    """
    if tasks <= 0 or cloud_executors <= 0:
        return max(0, tasks), 0
    if hpc_executors <= 0:
        return 0, tasks
    cloud = min(tasks, max(0, cloud_executors - cloud_queue))
    rest = tasks - cloud
    # Each further task goes to the domain with the lower load, so both loads approach one level.
    level = (hpc_queue + cloud_queue + tasks) / (hpc_executors + cloud_executors)
    hpc = min(rest, max(0, round(level * hpc_executors) - hpc_queue))
    return hpc, tasks - hpc


def may_take_over(queued: int, executors: int) -> bool:
    """Return whether the other domain's idle executors may take a queued task: the load exceeds 1.

    Args:
        queued: number of the stage's tasks that wait in the domain that would give a task away.
        executors: number of that domain's executors for the stage.
    """
    return queued > 0 and load(queued, executors) > 1
