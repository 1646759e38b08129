"""Runs a workflow manager's program that stays in the foreground until its workflow has ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.managers.resource import command_call, manager_table
from whesl.managers.workflow.managers_without_workspaces import WithoutWorkspaces
from whesl.managers.workflow.port import RunPlan
from whesl.managers.workflow.submission import unwrapped_jobs
from whesl.model.errors import UsageError

_PATIENCE = 60.0  # seconds for the command that stops a manager


class Foreground:
    """A manager's program that runs a workflow, and ends with the workflow's status.

    Args:
        plan: the run's plan.
        command: the program with its arguments.
        directory: the program's working directory.
        stop: the command that lets the manager cancel its jobs and end; without it, an interrupt does that.
    """

    def __init__(
        self,
        plan: RunPlan,
        command: Sequence[str],
        directory: Path,
        stop: Sequence[str] = (),
    ) -> None:
        self._plan, self._stop = plan, stop
        try:
            with Path(plan.log).open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    cwd=directory,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**plan.environment, **unwrapped_jobs.told(plan)},
                    start_new_session=True,  # a Ctrl-C of the terminal reaches the program only by ``cancel``
                )
        except OSError as error:
            raise UsageError(f"cannot start {command[0]}: {error.strerror}") from None

    def poll(self) -> int | None:
        """Return the program's status (128 + n for signal n), None while it runs."""
        status = self._process.poll()
        return status if status is None or status >= 0 else 128 - status

    def cancel(self) -> None:
        """Let the manager cancel its jobs and end."""
        if not self._stop:
            self._signal(signal.SIGINT)
            return
        with Path(self._plan.log).open("ab") as log, contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                self._stop,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._plan.environment,
                timeout=_PATIENCE,
                check=False,
            )

    def kill(self) -> None:
        """Kill the program and all processes that it started on this machine."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            command_call.send_group(self._process.pid, number)


def refuse_unwrapped(manager: str, plan: RunPlan, *commands: str) -> None:
    """Raise UsageError where the submissions of a workflow manager would pass WHESL by.

    Args:
        manager: the workflow manager's name, for the message.
        plan: the run's plan, with the resource manager's name in its environment.
        commands: the submission commands that the workflow calls; none where any known one may be called.
    """
    rjms = plan.environment.get("WHESL_RJMS", "")
    command = manager_table.manager(rjms).command
    if rjms and (command not in commands if commands else not command):
        raise UsageError(
            f"{manager} calls {' or '.join(commands) or 'submission commands of its own'}, and the resource "
            f"manager is '{rjms}', whose jobs are submitted in another way",
            hint="choose another --rjms, or run batch scripts instead of this workflow",
        )


class OneFile(WithoutWorkspaces):
    """What managers have in common whose workflow is one file, and whose program runs in the foreground.

    The program has the manager's name; ``install`` says how it is installed.
    """

    install = ""

    def check(self, plan: RunPlan) -> None:
        """Raise UsageError where the program is not installed, or submits in a way that is not known."""
        refuse_unwrapped(self.name.capitalize(), plan)
        self._program(plan.environment)

    def _program(self, environment: Mapping[str, str]) -> str:
        """Return the path of the manager's program. Raises UsageError where PATH has no such program."""
        found = shutil.which(self.name, path=environment.get("PATH", os.defpath))
        if found is None:
            raise UsageError(f"there is no {self.name} on PATH", hint=self.install)
        return found

    def _file(self, sources: Sequence[str]) -> Path:
        if len(sources) != 1:
            manager = self.name.capitalize()
            raise UsageError(f"a workflow of {manager} is one file", hint="run several workflows one by one")
        return Path(sources[0])
