"""Helpers for processes that run beside a job's program: the job's id, the node's name, a start on all nodes.

Everything is read from the environment: no resource manager has to answer.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.managers.resource.flux_instance_owner import elsewhere
from whesl.managers.resource.launcher_shims.pbs_rewriting import WHOLE

# Flux puts the id of a batch script's own job into FLUX_ENCLOSING_ID, inside a Slurm job, too.
_IDS = ("FLUX_ENCLOSING_ID", "SLURM_JOB_ID", "FLUX_JOB_ID", "PBS_JOBID")


def job_id(environ: Mapping[str, str]) -> str:
    """Return the id of the job that a process with this environment belongs to, '' outside a job."""
    # A job of another manager inherits the variables of the Flux job that it was submitted from.
    names = [name for name in _IDS if not name.startswith("FLUX_")] if elsewhere(environ) else _IDS
    return next(filter(None, map(environ.get, names)), "").replace("\N{LATIN SMALL LETTER F WITH HOOK}", "f")


def node_name(environ: Mapping[str, str]) -> str:
    """Return this node's name as the resource manager spells it; the C clients use the same rule."""
    # Flux copies the script's SLURMD_NODENAME to processes on other nodes, where the name is wrong.
    slurm = "" if _in_flux(environ) else environ.get("SLURMD_NODENAME")
    return slurm or socket.gethostname()


def _in_flux(environ: Mapping[str, str]) -> bool:
    """Whether the environment names a Flux instance that may be this job's."""
    return bool(environ.get("FLUX_URI")) and not elsewhere(environ)


def on_nodes(
    environ: Mapping[str, str], command: Sequence[str], nodes: Sequence[str], allocated: Sequence[str]
) -> list[str]:
    """Return the command line that runs a command once on each given node; outside a job, the command itself.

    Args:
        environ: the environment of the job's script.
        command: the command and its arguments.
        nodes: the nodes that live and are in use.
        allocated: all nodes of the job; for Flux in the order of its ranks.

    Raises UsageError for a node that does not belong to the job.
    """
    # A Flux instance, perhaps inside a Slurm job.
    flux = _in_flux(environ)
    if flux and not environ.get("FLUX_JOB_ID"):
        ranks = [str(rank) for rank, node in enumerate(allocated) if node in nodes]
        chosen = "all" if len(nodes) == len(allocated) else ",".join(ranks)
        return ["flux", "exec", f"--rank={chosen}", *command]
    if environ.get("SLURM_JOB_ID") and not flux:
        # With --no-kill, the tasks on the other nodes go on when a node is lost.
        step = ["srun", "--overlap", "--no-kill", f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}"]
        return [*step, "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}", *command]
    file = environ.get(WHOLE) or environ.get("PBS_NODEFILE")
    if environ.get("PBS_JOBID") and file and not flux:
        from whesl.managers.resource.pbs.tm_job_steps import on_nodes as by_task_manager

        return [*by_task_manager(nodes, Path(file).read_text().split()), *command]
    return list(command)
