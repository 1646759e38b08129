"""Variables that a program between Slurm and WHESL has removed from a job's environment, restored from Slurm.

Programs that start steps of their own clear away what could be taken for an option of srun: Snakemake's
``slurm-jobstep`` executor, for one, leaves a rule with ``mpi`` the job's id and no list of its nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.command import TIMEOUT, SlurmCommands
from whesl.model.errors import CouldNotObserveError


def withheld(environ: Mapping[str, str], *, timeout: float = TIMEOUT) -> dict[str, str]:
    """Return the variables on the job's nodes, batch host and runs, where the environment lacks them.

    Args:
        environ: a process's environment.
        timeout: seconds after which squeue counts as unanswered.

    Returns nothing outside a job of Slurm, and where there is a list. Raises CouldNotObserveError,
    RefusedError or TransientError when Slurm does not tell.
    """
    job = environ.get("SLURM_JOB_ID", "")
    if not job.isdecimal() or environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST"):
        return {}
    text = SlurmCommands(environ, timeout=timeout).run(
        "squeue", "-h", "-j", job, "-O", slurm_command_output.PLACE_FORMAT
    )
    place = slurm_command_output.places(text).get(job)
    if place is None or not place.nodes:
        raise CouldNotObserveError(
            f"SLURM_JOB_NODELIST is not set, and squeue names no nodes of job {job}",
            hint="is this inside a Slurm job? Outside, unset SLURM_JOB_ID",
        )
    found = {"SLURM_JOB_NODELIST": place.nodes, "SLURMD_NODENAME": place.batch_host}
    if place.restarts != "0":
        found["SLURM_RESTART_COUNT"] = place.restarts
    return {name: value for name, value in found.items() if value and not environ.get(name)}
