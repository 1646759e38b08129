"""Steps by srun: its command line, for Slurm or a manager with its commands. Pure, but for a process."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import msgspec

from whesl.managers.resource import hostlist
from whesl.managers.resource.port import StepRequest
from whesl.managers.resource.step_process import StepProcess
from whesl.model.errors import UsageError

OWN_STEP = "whesl-"  # prefix of the names of WHESL's own steps


class SlurmStep(StepProcess):
    """A step and the srun that stands for it."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        super().__init__(process)
        self.name = name


def step_command(request: StepRequest, name: str, components: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the srun command for a step; over several components of a heterogeneous job it is one step too.

    The loss of a node or a task's failure ends nothing else, no MPI is prepared, and the environment is
    passed on even in a job that was submitted with --export=NONE. Raises UsageError for a step without nodes.
    """
    if not request.nodes or not request.command:
        raise UsageError("a step needs a command and at least one node")
    parts = [
        (str(number), [node for node in request.nodes if node in component])
        for number, component in enumerate(components)
    ]
    words: list[str] = []
    for group, nodes in parts or [("", list(request.nodes))]:
        if nodes:
            part = msgspec.structs.replace(request, nodes=tuple(nodes))
            words += [*([":"] if words else []), *_part(part, name, group)]
    return ["srun", *words]


def _part(request: StepRequest, name: str, group: str) -> list[str]:
    """Return the options and the command of a step on one component (``group``; '' in any other job)."""
    options = {
        "het-group": group,
        "job-name": name,
        "nodelist": hostlist.compress(request.nodes),
        "nodes": len(request.nodes),
        "ntasks": request.tasks or len(request.nodes),
        "kill-on-bad-exit": 0,
        "wait": 0,
        "mpi": request.pmi or "none",
        # Daemons that find each other by PMI run programs of their own, which need the whole node.
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
