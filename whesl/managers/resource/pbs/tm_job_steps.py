"""Steps on PBS, which the execution daemons of a job's nodes start. Pure, except for a step's process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.resource.job_step_process import StepProcess
from whesl.managers.resource.port import StepRequest
from whesl.model.errors import UsageError

# The variable with the step's id in a step's processes, and in all processes that they start.
STEP = "WHESL_STEP_ID"
_PROGRAM = str(Path(__file__).with_name("tm_program.py"))
_HELPER = str(Path(__file__).parent.with_name("job_step_node_script.py"))
# The shell script on each node: finds the node's entry in the table, opens the output files, becomes the
# command.
_ON_NODE = """\
table=$1 step=$2 dir=$3 out=$4 err=$5 python=$6 helper=$7; shift 7
count=
for entry in $table; do
  case $entry in "$WHESL_NODE="*) count=${entry#*=};; esac
done
[ -n "$count" ] || exit 68
export WHESL_STEP_ID="$step"
[ -z "$dir" ] || cd "$dir" || exit 67
if [ -n "$err" ]; then exec >>"${out:-/dev/null}" 2>>"$err"; else exec >>"${out:-/dev/null}" 2>&1; fi
exec </dev/null
[ "$count" = 1 ] && exec "$@"
exec "$python" -I "$helper" run "$count" "$@"
"""


class PbsStep(StepProcess):
    """A step, represented by a process on the job's first node; ``step`` is the step's id."""

    def __init__(self, process: subprocess.Popen[bytes], step: str, nodes: tuple[str, ...]) -> None:
        super().__init__(process)
        self.step = step
        self.nodes = nodes


def step_command(request: StepRequest, step: str, lines: Sequence[str]) -> list[str]:
    """Return the command that starts a step.

    Args:
        request: the step.
        step: the step's unique id.
        lines: the lines of the job's node file, by which the task manager numbers the nodes.

    Tasks are spread evenly over the nodes; the first nodes get the remaining tasks. Raises UsageError for a
    step without nodes or command, or with a node that is not in ``lines``.
    """
    if not request.nodes or not request.command:
        raise UsageError("a step needs a command and at least one node")
    each, more = divmod(max(request.tasks or 0, len(request.nodes)), len(request.nodes))
    table = [f"{node}={each + (index < more)}" for index, node in enumerate(request.nodes)]
    words = (" ".join(table), step, request.workdir, request.output, request.error, sys.executable, _HELPER)
    return [*on_nodes(request.nodes, lines), "sh", "-c", _ON_NODE, "whesl-step", *words, *request.command]


def signal_command(step: PbsStep, signum: int, lines: Sequence[str]) -> list[str]:
    """Return the command that sends a signal to a step's processes on its nodes that are still in the job.

    Args:
        step: the step.
        signum: the signal's number.
        lines: the lines of the job's node file.
    """
    left = [node for node in step.nodes if node in lines]
    return [*on_nodes(left, lines), sys.executable, "-I", _HELPER, "signal", step.step, str(signum)]


def on_nodes(nodes: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the first words of a command line that runs a command once on each given node.

    Args:
        nodes: the nodes' names.
        lines: the lines of the job's node file.

    Raises UsageError for a node that is not in ``lines``.
    """
    first = {node: index for index, node in reversed(list(enumerate(lines)))}
    if strangers := [node for node in nodes if node not in first]:
        raise UsageError(f"not a node of this job: {strangers[0]}")
    return [sys.executable, "-I", _PROGRAM, " ".join(f"{first[node]}={node}" for node in nodes)]
