"""What runs beside a job's program on each of its nodes: of which job that is, where, and its start.

It is read from the environment alone: no resource manager has to answer for that.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.managers.resource.launcher_shims.pbs_rewriting import WHOLE

# A script of Flux has the id of its own job as that of the enclosing one, also inside a job of Slurm.
_IDS = ("FLUX_ENCLOSING_ID", "SLURM_JOB_ID", "FLUX_JOB_ID", "PBS_JOBID")


def job_id(environ: Mapping[str, str]) -> str:
    """Return the id of the job that a process with this environment is in, '' for none."""
    return next(filter(None, map(environ.get, _IDS)), "").replace("\N{LATIN SMALL LETTER F WITH HOOK}", "f")


def node_name(environ: Mapping[str, str]) -> str:
    """Return this node's name, as the resource manager has it; clients in C do the same."""
    # Flux hands the script's environment, Slurm's variables included, to processes on other nodes.
    slurm = "" if environ.get("FLUX_URI") else environ.get("SLURMD_NODENAME")
    return slurm or socket.gethostname()


def on_nodes(
    environ: Mapping[str, str], command: Sequence[str], nodes: Sequence[str], allocated: Sequence[str]
) -> list[str]:
    """Return what runs a command once on each of some nodes; the command itself outside a job.

    Args:
        environ: of the job's script.
        command: the command.
        nodes: those that live and are used.
        allocated: all of the job; in Flux in the order of its ranks.

    Raises UsageError for a node that the job has not.
    """
    if environ.get("FLUX_URI") and not environ.get("FLUX_JOB_ID"):  # an instance, perhaps in a job of Slurm
        ranks = [str(rank) for rank, node in enumerate(allocated) if node in nodes]
        chosen = "all" if len(nodes) == len(allocated) else ",".join(ranks)
        return ["flux", "exec", f"--rank={chosen}", *command]
    if environ.get("SLURM_JOB_ID") and not environ.get("FLUX_URI"):
        # The others stay where one of the nodes is lost.
        step = ["srun", "--overlap", "--no-kill", f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}"]
        return [*step, "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}", *command]
    file = environ.get(WHOLE) or environ.get("PBS_NODEFILE")
    if environ.get("PBS_JOBID") and file and not environ.get("FLUX_URI"):
        from whesl.managers.resource.pbs.tm_steps import on_nodes as by_task_manager

        return [*by_task_manager(nodes, Path(file).read_text().split()), *command]
    return list(command)
