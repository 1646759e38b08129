"""Whether a pending job may start at all: holds, dependencies, begin times, queue waits."""

from __future__ import annotations

import math
from collections.abc import Callable

from whesl.managers.resource.embedded.scheduler.job_and_node_records import Dependency, Job
from whesl.model.states import JobState

Select = Callable[[int], list[Job]]


def not_ready(job: Job, now: float, select: Select) -> tuple[str | None, float]:
    """Return Slurm's reason why a job may not start yet, and the time at which the reason may change.

    The reason is None for a job that may start; the time is infinite when it changes nothing.

    Args:
        job: a pending job.
        now: seconds since the epoch.
        select: returns the job of an id, or all tasks of an array.
    """
    if job.held:
        return "JobHeldUser", math.inf
    waiting = _dependency_reason(job, select)
    if waiting is not None:
        return waiting, math.inf
    if max(job.begin, job.eligible) > now:
        # An artificial queue wait shows as Priority, as if other users' jobs came first.
        return "BeginTime" if job.begin > now else "Priority", max(job.begin, job.eligible)
    return None, math.inf


def _dependency_reason(job: Job, select: Select) -> str | None:
    verdicts = [_verdict(dependency, select) for dependency in job.spec.dependencies]
    decisive = job.spec.any_dependency
    if not verdicts or decisive in verdicts:
        met = not verdicts or decisive
    elif None in verdicts:
        return "Dependency"
    else:
        met = not decisive
    return None if met else "DependencyNeverSatisfied"


def _verdict(dependency: Dependency, select: Select) -> bool | None:
    """Return whether a dependency is met; None while that is undecided."""
    jobs = select(dependency.job)
    if dependency.kind == "after":
        return True if all(job.started or job.state.ended for job in jobs) else None
    if not all(job.state.ended for job in jobs):
        return None
    completed = all(job.state is JobState.COMPLETED for job in jobs)
    return {"afterany": True, "afterok": completed, "afternotok": not completed}[dependency.kind]
