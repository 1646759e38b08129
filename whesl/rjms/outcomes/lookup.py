"""Which resource manager a job's id belongs to, by its form, and what that manager tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from whesl.model.errors import UsageError
from whesl.rjms.outcomes import flux, pbs, slurm
from whesl.rjms.outcomes.record import JobOutcome, Run, run_command


class _Manager(NamedTuple):
    name: str
    matches: Callable[[str], object]
    outcome: Callable[[str, Run], JobOutcome | None]


_MANAGERS = (
    _Manager("Slurm", slurm.JOB.fullmatch, slurm.outcome),
    _Manager("Flux", flux.JOB.fullmatch, flux.outcome),
    _Manager("PBS", pbs.JOB.fullmatch, pbs.outcome),
)


def is_job(text: str) -> bool:
    """Whether a text has the form of a job's id."""
    return any(manager.matches(text) for manager in _MANAGERS)


def look_up(job: str, run: Run = run_command) -> JobOutcome:
    """Return what is known of a job.

    Args:
        job: an id that ``is_job`` accepts.
        run: runs the manager's commands.

    Raises:
        UsageError: the manager does not know the job, or does not answer.
    """
    (manager,) = [manager for manager in _MANAGERS if manager.matches(job)]
    found = manager.outcome(job, run)
    if found is None:
        raise UsageError(f"{manager.name} does not tell of job {job}", hint="give its log")
    return found
