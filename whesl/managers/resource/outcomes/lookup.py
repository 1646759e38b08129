"""The resource manager of a job's id, by the id's form, and that manager's report of the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from whesl.managers.resource.outcomes import flux, pbs, slurm
from whesl.managers.resource.outcomes.record import JobOutcome, Run, run_command
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.model.errors import UsageError, WheslError


class _Manager(NamedTuple):
    name: str
    matches: Callable[[str], object]
    outcome: Callable[[str, Run], JobOutcome | None]
    run: Run = run_command


def _run_slurm(*command: str) -> str:
    """Run a Slurm command without the user's default options, which would change its output."""
    return SlurmCommands().run(*command)


_MANAGERS = (
    _Manager("Slurm", slurm.JOB.fullmatch, slurm.outcome, _run_slurm),
    _Manager("Flux", flux.JOB.fullmatch, flux.outcome),
    _Manager("PBS", pbs.JOB.fullmatch, pbs.outcome),
)


def is_job(text: str) -> bool:
    """Whether a text has the form of a job's id."""
    return any(manager.matches(text) for manager in _MANAGERS)


def look_up(job: str, run: Run | None = None) -> JobOutcome:
    """Return a job's outcome, as its resource manager reports it.

    Args:
        job: an id that ``is_job`` accepts.
        run: runs the manager's commands; None for the default of each manager.

    Raises:
        UsageError: the manager does not know the job, or does not answer.
    """
    (manager,) = [manager for manager in _MANAGERS if manager.matches(job)]
    try:
        found = manager.outcome(job, run or manager.run)
    except WheslError as error:
        said = f"{manager.name} does not tell of job {job}: {error}"
        raise UsageError(said, hint="give its log") from error
    if found is None:
        raise UsageError(f"{manager.name} does not tell of job {job}", hint="give its log")
    return found
