"""Steps on Flux: commands that ``flux exec`` starts through the brokers, outside all jobs and resources.

The broker of each node starts the command, reports its end, and kills it when its ``flux exec`` dies
(flux-exec(1)). Pure, except for a step's process.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.managers.resource.job_step_process import StepProcess
from whesl.managers.resource.port import StepRequest
from whesl.model import hostlist
from whesl.model.errors import UsageError

# Environment variable with a step's id, which all processes of the step inherit.
STEP = "WHESL_STEP_ID"
# Environment variable with the name of the node on which a step's process runs.
NODE = "WHESL_NODE"
_HELPER = str(Path(__file__).parent.with_name("job_step_node_script.py"))
# Script on each node: find the node's entry in the table, open the output files, exec the command. The name
# of a broker's socket ends in the broker's rank, except in a system instance.
_ON_NODE = """\
table=$1 out=$2 err=$3 python=$4 helper=$5; shift 5
rank=${FLUX_URI##*/local-}
case $rank in ''|*[!0-9]*) rank=$(flux getattr rank) || exit 69;; esac
count=
for entry in $table; do
  case $entry in "$rank="*) count=${entry##*=}; entry=${entry%=*}; WHESL_NODE=${entry#*=};; esac
done
[ -n "$count" ] || exit 68
export WHESL_NODE
# Of the node on which the step was asked for, where this instance runs inside a Slurm job.
unset SLURMD_NODENAME
if [ -n "$err" ]; then exec >>"${out:-/dev/null}" 2>>"$err"; else exec >>"${out:-/dev/null}" 2>&1; fi
[ "$count" = 1 ] && exec "$@"
exec "$python" -I "$helper" run "$count" "$@"
"""


class FluxStep(StepProcess):
    """A step, represented by its ``flux exec`` process."""

    def __init__(self, process: subprocess.Popen[bytes], step: str, ranks: tuple[int, ...]) -> None:
        super().__init__(process)
        self.step = step
        self.ranks = ranks


def idset(ranks: Sequence[int]) -> str:
    """Return ranks as an idset for Flux's commands (RFC 22), sorted and without repeats."""
    return hostlist.ranges([str(rank) for rank in sorted(set(ranks))])


def step_command(request: StepRequest, ranks: Mapping[str, int]) -> list[str]:
    """Return the ``flux exec`` command for a step.

    Args:
        request: the command, its nodes and its number of tasks.
        ranks: broker ranks by node name.

    Tasks are spread over the nodes evenly, the first nodes taking one more. Raises UsageError for a step
    without nodes or command, or with a node that is not in ``ranks``.
    """
    if not request.nodes or not request.command:
        raise UsageError("a step needs a command and at least one node")
    if strangers := [node for node in request.nodes if node not in ranks]:
        raise UsageError(f"not a node of this allocation: {strangers[0]}")
    each, more = divmod(max(request.tasks or 0, len(request.nodes)), len(request.nodes))
    table = [f"{ranks[node]}={node}={each + (index < more)}" for index, node in enumerate(request.nodes)]
    return [
        *executor([ranks[node] for node in request.nodes]),
        *((f"--dir={request.workdir}",) if request.workdir else ()),
        "sh",
        "-c",
        _ON_NODE,
        "whesl-step",
        " ".join(table),
        request.output,
        request.error,
        sys.executable,
        _HELPER,
        *request.command,
    ]


def signal_command(step: FluxStep, signum: int) -> list[str]:
    """Return the command that sends a signal to a step's processes on its nodes.

    Args:
        step: the step.
        signum: the signal's number.
    """
    return [*executor(step.ranks), "--dir=/", sys.executable, "-I", _HELPER, "signal", step.step, str(signum)]


def executor(ranks: Sequence[int]) -> list[str]:
    """Return the start of a command line that runs a command on the brokers of ``ranks``."""
    return ["flux", "exec", "--quiet", "--noinput", f"--rank={idset(ranks)}"]
