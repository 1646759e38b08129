"""No resource manager: this machine is the one node. Steps are local processes, and there are no spares."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from whesl.managers.resource import command_call
from whesl.managers.resource.port import AllocationInfo, Step, StepRequest
from whesl.model.errors import RefusedError, UsageError
from whesl.model.states import NodeState


class HostStep:
    """A step's tasks as local processes, each a session leader; ``pid`` is the first task's id."""

    def __init__(self, tasks: list[subprocess.Popen[bytes]]) -> None:
        self._tasks = tasks
        self.pid = tasks[0].pid

    def poll(self) -> int | None:
        """Return the first failed task's status, 0 without a failure; None until all tasks have ended."""
        statuses = [task.poll() for task in self._tasks]
        ended = [status for status in statuses if status is not None]
        if len(ended) < len(statuses):
            return None
        return next((status for status in ended if status), 0)

    def send(self, signum: int) -> None:
        """Send a signal to every task that has not ended, and to its process group."""
        for task in self._tasks:
            if task.poll() is None:
                command_call.send_group(task.pid, signum)


class HostAllocation:
    """The inside face of the port without a resource manager.

    Args:
        environ: the environment of steps.
    """

    name = "host"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._node = os.uname().nodename

    def describe(self) -> AllocationInfo:
        """Return this machine as the one node."""
        return AllocationInfo(rjms=self.name, job_id="", nodes=(self._node,), batch_host=self._node)

    def launch(self, request: StepRequest) -> HostStep:
        """Start the command on this machine, once or ``tasks`` times. Raises RefusedError, UsageError."""
        if set(request.nodes) != {self._node}:
            raise UsageError(f"there is no node but {self._node}: {', '.join(request.nodes)}")
        if not request.command:
            raise UsageError("a step needs a command")
        started: list[subprocess.Popen[bytes]] = []
        with ExitStack() as files:
            try:
                output = files.enter_context(Path(request.output or os.devnull).open("ab"))
                error = files.enter_context(Path(request.error).open("ab")) if request.error else output
                for _ in range(request.tasks or 1):
                    started.append(
                        subprocess.Popen(
                            request.command,
                            env={**self._environ, **request.environment},
                            cwd=request.workdir or None,
                            stdin=subprocess.DEVNULL,
                            stdout=output,
                            stderr=error,
                            start_new_session=True,
                        )
                    )
            except OSError as problem:
                for task in started:
                    task.kill()
                    task.wait()
                name = problem.filename or request.command[0]
                raise RefusedError(f"the step could not be started: {problem.strerror}: {name}") from None
        return HostStep(started)

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the step's process groups.

        Args:
            step: a step from ``launch``; its tasks that have ended get no signal.
            signum: the signal's number.

        Raises UsageError for a step of a resource manager.
        """
        if not isinstance(step, HostStep):
            raise UsageError(f"not a step of this machine: {step!r}")
        step.send(signum)

    def node_states(self) -> dict[str, NodeState]:
        """Return that this machine is up, since this process runs on it."""
        return {self._node: NodeState.UP}

    def gone(self, node: str) -> bool:
        """Return False: this machine runs this process."""
        return False

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return no variables: launchers see this machine as it is.

        Args:
            active: not used: this machine is the only node.
            base: not used.
        """
        return {}

    def release(self, node: str) -> bool:
        """Return False: the one node cannot be given back."""
        return False
