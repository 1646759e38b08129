"""The report of a job by its resource manager: of those that are here, the first that knows the id."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import NamedTuple

from whesl.managers.resource.outcomes import flux, pbs, slurm
from whesl.managers.resource.outcomes.record import JobOutcome, Run, run_command
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.model.errors import UsageError, WheslError


class _Manager(NamedTuple):
    name: str
    command: str
    matches: Callable[[str], object]
    outcome: Callable[[str, Run], JobOutcome | None]
    run: Run = run_command


def _run_slurm(*command: str) -> str:
    """Run a Slurm command without the user's default options, which would change its output."""
    return SlurmCommands().run(*command)


_MANAGERS = (
    _Manager("Slurm", "scontrol", slurm.JOB.fullmatch, slurm.outcome, _run_slurm),
    _Manager("Flux", "flux", flux.JOB.fullmatch, flux.outcome),
    _Manager("PBS", "qstat", pbs.JOB.fullmatch, pbs.outcome),
)
_LONG = 10  # greatest number of digits of an id of Slurm (32 bits); the decimal ids of Flux have 64 bits


def is_job(text: str) -> bool:
    """Whether a text has the form of a job's id."""
    return any(manager.matches(text) for manager in _MANAGERS)


def look_up(job: str, run: Run | None = None) -> JobOutcome:
    """Return a job's outcome, as its resource manager reports it.

    Args:
        job: an id that ``is_job`` accepts.
        run: runs the managers' commands; None for the default of each manager that is installed.

    Raises:
        UsageError: no manager knows the job, or answers.
    """
    refused: list[str] = []
    for manager in _asked(job, here=run is None):
        try:
            found = manager.outcome(job, run or manager.run)
        except WheslError as error:
            refused.append(f"{manager.name} does not tell of job {job}: {error}")
            continue
        if found is not None:
            return found
        refused.append(f"{manager.name} does not tell of job {job}")
    raise UsageError("; ".join(refused), hint="give its log")


def _asked(job: str, *, here: bool) -> list[_Manager]:
    """Return the managers whose ids have such a form, the likeliest first; all of them if none is here."""
    fit = [manager for manager in _MANAGERS if manager.matches(job)]
    if job.isdigit() and len(job) > _LONG:
        fit.sort(key=lambda manager: manager.name != "Flux")
    return [manager for manager in fit if here and shutil.which(manager.command)] or fit
