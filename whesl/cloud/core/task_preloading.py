"""Data preloading: which domain a task is mapped to, and when idle executors take another domain's task."""

from __future__ import annotations

import math

from whesl.cloud.core.plan_records import Domain


def load(queued: float, executors: float) -> float:
    """Return a domain's load for a stage: tasks in its queue for each executor."""
    return queued / executors if executors > 0 else math.inf


def domain(hpc_queue: int, hpc_executors: int, cloud_queue: int, cloud_executors: int) -> Domain:
    """Return where a new task of a stage is mapped to.

    A domain with a load below 1 takes it; of two such, and of two equal ones, the cloud, whose idle time
    costs money. With both loaded, the one with the lower load. Without any executor the task waits on the
    cluster, where its input is more likely to be (chosen).

    Args:
        hpc_queue, hpc_executors: of the stage on the cluster.
        cloud_queue, cloud_executors: in the cloud.
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
    """Return how many new tasks ``domain`` maps to the cluster and to the cloud, one after the other.

    Args:
        tasks: how many.
        hpc_queue, hpc_executors, cloud_queue, cloud_executors: as for ``domain``, before the first.
    """
    if tasks <= 0 or cloud_executors <= 0:
        return max(0, tasks), 0
    if hpc_executors <= 0:
        return 0, tasks
    cloud = min(tasks, max(0, cloud_executors - cloud_queue))
    rest = tasks - cloud
    # From here on the lower load takes each: both approach one level.
    level = (hpc_queue + cloud_queue + tasks) / (hpc_executors + cloud_executors)
    hpc = min(rest, max(0, round(level * hpc_executors) - hpc_queue))
    return hpc, tasks - hpc


def may_take_over(queued: int, executors: int) -> bool:
    """Return whether the other domain's idle executors may take a task of this queue: its load exceeds 1."""
    return queued > 0 and load(queued, executors) > 1
