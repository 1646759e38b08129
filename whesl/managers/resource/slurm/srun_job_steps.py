"""Steps started by srun, of Slurm or a manager with Slurm's commands. Pure, except for a step's process."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import msgspec

from whesl.managers.resource.job_step_process import StepProcess
from whesl.managers.resource.port import StepRequest
from whesl.model import hostlist
from whesl.model.errors import UsageError

OWN_STEP = "whesl-"  # prefix of the names of WHESL's own steps


class SlurmStep(StepProcess):
    """A step, represented by its srun process; ``name`` is the step's name in Slurm."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        super().__init__(process)
        self.name = name


def step_command(request: StepRequest, name: str, components: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the srun command for a step, which is one step even over several components of a job.

    A lost node or a failed task does not end the step's other tasks. The tasks get no MPI support unless the
    request names a PMI, and they get the environment even in a job submitted with ``--export=NONE``.

    Args:
        request: the step.
        name: the step's name in Slurm.
        components: the nodes of each component of a heterogeneous job; () for any other job.

    Raises UsageError for a step without nodes or command, or not once on each node of several components.
    """
    if not request.nodes or not request.command:
        raise UsageError("a step needs a command and at least one node")
    parts = {
        str(number): nodes
        for number, component in enumerate(components)
        if (nodes := tuple(node for node in request.nodes if node in component))
    }
    if len(parts) > 1:
        if request.tasks not in (None, len(request.nodes)):
            raise UsageError("a step in several components of a job runs once on each node")
        request = msgspec.structs.replace(request, tasks=None)
    words: list[str] = []
    for group, nodes in (parts or {"": request.nodes}).items():
        part = msgspec.structs.replace(request, nodes=nodes)
        words += [*([":"] if words else []), *_part(part, name, group)]
    return ["srun", *words]


def _part(request: StepRequest, name: str, group: str) -> list[str]:
    """Return srun's options and the command for one component of a job (``group``; '' for a plain job)."""
    options = {
        "het-group": group,
        "job-name": name,
        "nodelist": hostlist.compress(request.nodes),
        "nodes": len(request.nodes),
        "ntasks": request.tasks or len(request.nodes),
        "kill-on-bad-exit": 0,
        "wait": 0,
        "mpi": request.pmi or "none",
        # Tasks with a PMI are daemons that start further programs, which need all CPUs of the node.
        "cpu-bind": "none" if request.pmi else "",
        "export": "ALL",
        "input": "none",
        "output": request.output or "none",
        "error": request.error or request.output or "none",
        "open-mode": "append",
        "chdir": request.workdir,
    }
    given = [f"--{option}={value}" for option, value in options.items() if value != ""]
    return ["--overlap", "--overcommit", "--no-kill", "--quiet", *given, *request.command]
