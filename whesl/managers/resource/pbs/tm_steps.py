"""Steps on PBS: commands that the execution daemons of a job's nodes start, by the task manager. Pure,
except for a step's process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.resource.port import StepRequest
from whesl.managers.resource.step_process import StepProcess
from whesl.model.errors import UsageError

# Tells a step's processes, and everything that they start, which step they belong to.
STEP = "WHESL_STEP_ID"
_PROGRAM = str(Path(__file__).with_name("tm_program.py"))
_HELPER = str(Path(__file__).parent.with_name("step_node_script.py"))
# On the node: find its line of the table, open the files there, become the command.
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
    """A step and the process that stands for it on the job's first node."""

    def __init__(self, process: subprocess.Popen[bytes], step: str, nodes: tuple[str, ...]) -> None:
        super().__init__(process)
        self.step = step
        self.nodes = nodes


def step_command(request: StepRequest, step: str, lines: Sequence[str]) -> list[str]:
    """Return the command that starts a step.

    Args:
        request: what is to be run.
        step: its name, which no other one has.
        lines: the job's node file: the task manager counts nodes by its lines.

    Tasks are spread over the nodes evenly, the first nodes taking one more. Raises UsageError for a step
    without nodes or command, or with a node that is not among ``lines``.
    """
    if not request.nodes or not request.command:
        raise UsageError("a step needs a command and at least one node")
    each, more = divmod(max(request.tasks or 0, len(request.nodes)), len(request.nodes))
    table = [f"{node}={each + (index < more)}" for index, node in enumerate(request.nodes)]
    words = (" ".join(table), step, request.workdir, request.output, request.error, sys.executable, _HELPER)
    return [*on_nodes(request.nodes, lines), "sh", "-c", _ON_NODE, "whesl-step", *words, *request.command]


def signal_command(step: PbsStep, signum: int, lines: Sequence[str]) -> list[str]:
    """Return the command that sends a signal to a step's processes on those of its nodes that the job has."""
    left = [node for node in step.nodes if node in lines]
    return [*on_nodes(left, lines), sys.executable, "-I", _HELPER, "signal", step.step, str(signum)]


def on_nodes(nodes: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the beginning of a command that runs once on each of some nodes. Raises UsageError."""
    first = {node: index for index, node in reversed(list(enumerate(lines)))}
    if strangers := [node for node in nodes if node not in first]:
        raise UsageError(f"not a node of this job: {strangers[0]}")
    return [sys.executable, "-I", _PROGRAM, " ".join(f"{first[node]}={node}" for node in nodes)]
