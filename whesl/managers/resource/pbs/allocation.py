"""PBS from inside a job: steps on chosen nodes, their signals, and the nodes' states."""

from __future__ import annotations

import contextlib
import secrets
import signal as signals
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.files import file_retry
from whesl.managers.resource import command_call
from whesl.managers.resource.job_step_process import start
from whesl.managers.resource.launcher_shims.nodes_in_use import HIDDEN_NODES, JOB, told
from whesl.managers.resource.launcher_shims.pbs_rewriting import WHOLE
from whesl.managers.resource.pbs import records, states
from whesl.managers.resource.pbs.command import TIMEOUT, PbsCommands
from whesl.managers.resource.pbs.tm_job_steps import PbsStep, signal_command, step_command
from whesl.managers.resource.port import (
    Allocation,
    AllocationInfo,
    ForbidsRequeue,
    Step,
    StepRequest,
    Suspendable,
    Suspended,
)
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError
from whesl.model.states import NodeState

NODEFILE = "PBS_NODEFILE"


class PbsAllocation(ForbidsRequeue, Suspendable, Allocation):
    """The inside face of the port for PBS.

    Args:
        environ: the job's environment as PBS gave it to the job's script.
        timeout: seconds after which a command counts as unanswered.
    """

    name = "pbs"

    def __init__(self, environ: Mapping[str, str], *, timeout: float = TIMEOUT) -> None:
        self._environ = dict(environ)
        self._job = environ.get("PBS_JOBID", "")
        self._file = environ.get(WHOLE) or environ.get(NODEFILE, "")
        if not self._job or not self._file:
            raise UsageError("PBS_JOBID and PBS_NODEFILE are not set", hint="is this inside a job of PBS?")
        self._environ[NODEFILE] = self._file
        self._commands = PbsCommands(self._environ, timeout=timeout)
        self._lines = self._read()
        # The nodes that the job got at first: PBS removes a node from the file when it is given back.
        self._nodes = tuple(dict.fromkeys(self._lines))
        self._left: dict[str, NodeState] = {}  # nodes that have left the job
        self._background: list[subprocess.Popen[bytes]] = []

    @staticmethod
    def present(environ: Mapping[str, str]) -> bool:
        """Whether a process is on a job's first node: only that node has the node file."""
        return Path(environ.get(WHOLE) or environ.get(NODEFILE, "")).is_file()

    def _read(self) -> tuple[str, ...]:
        try:
            lines = tuple(Path(self._file).read_text().split())
        except (OSError, ValueError) as error:
            raise CouldNotObserveError(f"the job's node file cannot be read: {self._file}: {error}") from None
        if not lines:
            raise CouldNotObserveError(f"the job's node file names no node: {self._file}")
        return lines

    def describe(self) -> AllocationInfo:
        """Return the job's allocation from its environment; needs no server."""
        return AllocationInfo(
            rjms=self.name,
            job_id=self._job,
            nodes=self._nodes,
            # PBS runs a job's script on the job's first node.
            batch_host=self._nodes[0],
            restart_count=self._restarts(),
            tasks=len(self._lines),
        )

    def _restarts(self) -> int:
        """Return how often the job ran before, by a query: PBS sets no variable with it."""
        told = self._environ.get("WHESL_PBS_RESTARTS", "")
        if not told:
            told = "0"
            with contextlib.suppress(CouldNotObserveError, RefusedError, TransientError):
                runs = records.number(self._told().get("run_count"))
                told = str(max((runs or 1) - 1, 0))
            self._environ["WHESL_PBS_RESTARTS"] = told
        return int(told)

    def _told(self) -> Mapping[str, object]:
        jobs = records.parsed(self._commands.run("qstat", "-f", "-F", "json", self._job), "Jobs")
        if self._job not in jobs:
            raise CouldNotObserveError(f"qstat does not tell of job {self._job}")
        found: Mapping[str, object] = jobs[self._job]
        return found

    # Steps --------------------------------------------------------------------------------------------

    def launch(self, request: StepRequest) -> PbsStep:
        """Start a step by PBS's task manager, beside all running steps. Raises RefusedError, UsageError."""
        step = secrets.token_hex(8)
        command = step_command(request, step, self._read())
        environ = {**self._environ, **request.environment}
        return PbsStep(start(command, environ, "the step"), step, request.nodes)

    def signal(self, step: Step, signum: int) -> None:
        # SIGKILL goes to the step's local process, too. The signal may arrive after this returns.
        if not isinstance(step, PbsStep):
            raise UsageError(f"not a step of PBS: {step!r}")
        self._background = [process for process in self._background if process.poll() is None]
        if step.poll() is not None and signum != signals.SIGKILL:
            return
        if signum == signals.SIGKILL:
            # The local process is killed first, so that it starts no task after the search of the nodes.
            command_call.send_group(step.pid, signals.SIGKILL)
        command = signal_command(step, signum, self._read())
        self._background.append(start(command, self._environ, "the signal"))

    # Nodes --------------------------------------------------------------------------------------------

    def node_states(self) -> dict[str, NodeState]:
        """Return the states of the job's nodes, as PBS sees them.

        A node that was down stays DOWN for the job: its daemon has forgotten the job when it comes back. A
        healthy node that has left the job was given back (pbs_release_nodes), and is RELEASED.
        """
        text = self._commands.run("pbsnodes", "-a", "-v", "-F", "json")
        seen = {node.name: node.state for node in records.nodes(text)}
        kept = self._read()
        found = {}
        for node in self._nodes:
            state = seen.get(node) or seen.get(node.partition(".")[0], NodeState.UNKNOWN)
            if state is NodeState.DOWN:
                self._left.setdefault(node, NodeState.DOWN)
            elif node not in kept and state in (NodeState.UP, NodeState.DRAINED):
                self._left.setdefault(node, NodeState.RELEASED)
            found[node] = self._left.get(node, state)
        return found

    def suspended(self) -> Suspended:
        """Return whether the job is suspended; PBS does not record for how long it was suspended."""
        return Suspended(present=self._told().get("job_state") in states.SUSPENDED)

    def forbid_requeue(self) -> None:
        """Forbid PBS to requeue the job by itself, which it does when the job's first node is lost."""
        self._commands.run("qalter", "-r", "n", self._job)

    def gone(self, node: str) -> bool | None:
        """Return None: PBS offers no second witness on a daemon besides ``node_states``."""
        return None

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        # PBS_NODEFILE names a file of the nodes in use beside the task's host file, because scripts count its
        # lines and pass it to launchers. A node has as many lines as in the job's whole node file
        # (``mpiprocs``). For launchers that use PBS's task manager, the shims restore the whole node file.
        used = frozenset(active)
        hidden = told(node for node in self._nodes if node not in used)
        seen = {WHOLE: self._file, HIDDEN_NODES: hidden, JOB: self._job}
        if tuple(active) == self._nodes:
            return seen | {NODEFILE: self._file}
        if hosts := base.get("WHESL_HOSTFILE", ""):
            seen[NODEFILE] = f"{hosts}.{self.name}"
            lines = (f"{node}\n" * self._lines.count(node) for node in active)
            file_retry.replace(Path(seen[NODEFILE]), "".join(lines).encode())
        return seen

    def release(self, node: str) -> bool:
        """Give a lost node back (pbs_release_nodes(1B)), except the first node, where the script runs."""
        try:
            if node not in self._nodes[1:]:
                return False
            if node in self._read():
                self._left.setdefault(node, NodeState.DOWN)
                self._commands.run("pbs_release_nodes", "-j", self._job, node)
        except (CouldNotObserveError, RefusedError, TransientError):
            return False
        return True
