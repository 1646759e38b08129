"""Recovers, by a query to Slurm, job variables that a program between Slurm and WHESL has removed.

Programs that start steps of their own remove variables that srun would take for options: Snakemake's
``slurm-jobstep`` executor leaves a rule with ``mpi`` the job's id, but no list of the job's nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.command import TIMEOUT, SlurmCommands
from whesl.model.errors import CouldNotObserveError


def withheld(environ: Mapping[str, str], *, timeout: float = TIMEOUT) -> dict[str, str]:
    """Return the variables with the job's nodes, batch host and restarts that the environment lacks.

    Args:
        environ: a process's environment.
        timeout: seconds after which scontrol counts as unanswered.

    Returns no variables outside Slurm jobs, and where the environment has a node list. Raises
    CouldNotObserveError, RefusedError or TransientError when scontrol gives no answer.
    """
    job = environ.get("SLURM_JOB_ID", "")
    if not job.isdecimal() or environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST"):
        return {}
    text = SlurmCommands(environ, timeout=timeout).run("scontrol", "show", "job", job)
    place = slurm_command_output.place(text, job)
    if place is None:
        raise CouldNotObserveError(
            f"SLURM_JOB_NODELIST is not set, and scontrol names no nodes of job {job}",
            hint="is this inside a Slurm job? Outside, unset SLURM_JOB_ID",
        )
    found = {"SLURM_JOB_NODELIST": place.nodes, "SLURMD_NODENAME": place.batch_host}
    if place.restarts != "0":
        found["SLURM_RESTART_COUNT"] = place.restarts
    return {name: value for name, value in found.items() if value and not environ.get(name)}
