"""Cylc behind the port: reads the graph that Cylc prints, wraps each task's script, runs Cylc's scheduler."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.workflow.cylc import flow
from whesl.managers.workflow.foreground_manager_process import Foreground, OneFile
from whesl.managers.workflow.port import Fluxified, FluxifyOptions, RunPlan, TellsScripts
from whesl.managers.workflow.script_wrapping import task_command
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow

# Placeholders in a command, which Cylc's job script replaces by the task's name and cycle.
_STEP, _CYCLE = "@CYLC_TASK_NAME@", "@CYLC_TASK_CYCLE_POINT@"
_UNSET = "ItemNotFoundError: "  # Cylc's error for a missing setting (cylc-flow 8.5, parsec/exceptions.py)
_PATIENCE = 120.0  # seconds for one Cylc command
# The beginning of Cylc's job script (cylc-flow 8.5, cylc/flow/job_file.py and etc/job.sh).
_SHELL = "#!/bin/bash -l\nset -euo pipefail\n"


class Cylc(OneFile, TellsScripts):
    """Flows of Cylc 8 with a final cycle."""

    name = "cylc"
    install = "activate its environment, or: pip install cylc-flow"

    def recognises(self, path: Path, text: str) -> bool:
        return flow.looks_like_flow(text)

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        # The graph is Cylc's own; a task's instance is its cycle.
        path = self._file(sources).absolute()
        if path.name != "flow.cylc":
            raise UsageError(f"{path} is a flow of Cylc under another name; Cylc reads flow.cylc alone")
        begin, end = (
            self._ask(path, "config", "-i", f"[scheduling]{which} cycle point")
            for which in ("initial", "final")
        )
        if not end:
            raise UsageError(
                f"{path} has no 'final cycle point': its tasks cannot be known before it runs",
                hint="give it one, or put whesl exec before the commands of its scripts (docs/managers.md)",
            )
        found = flow.graph(self._ask(path, "graph", begin, end, "--reference"))
        name = workflow or path.parent.name
        ids = {point: f"{name}/{point[0]}_{point[1]}" for point in found}
        root = str(path.parent.absolute())
        tasks = (
            Task(
                id=ids[point],
                step=point[0],
                instance=point[1],
                workspace=root,
                parents=tuple(ids[parent] for parent in dict.fromkeys(parents)),
            )
            for point, parents in found.items()
        )
        return Workflow(id=name, name=path.parent.name, wms=self.name, root=root, tasks=tuple(tasks))

    def scripts(self, sources: Sequence[str], arguments: Sequence[str] = ()) -> dict[str, str]:
        # Cylc sets options of the shell before each script.
        printed = self._ask(self._file(sources).absolute(), "config", "-i", "[runtime]")
        return {task: f"{_SHELL}{script}\n" for task, script in flow.scripts(printed).items()}

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        # ``whesl exec`` stands before each script; the job names its task.
        words = shlex.join(task_command(options.call(_STEP, instance=_CYCLE)))
        for token in (_STEP, _CYCLE):
            words = words.replace(token, f'"${token.strip("@")}"')
        return Fluxified(text=flow.wrap(self.undo(text, path), words, str(path)))

    def undo(self, text: str, path: Path) -> str:
        return flow.unwrap(text, str(path))

    def start(self, plan: RunPlan) -> Foreground:
        """Validate, install and play a copy of the flow's directory with the wrapped flow."""
        program = self._program(plan.environment)
        source = Path(plan.directory) / "flow"
        skipped = shutil.ignore_patterns(".git", "cylc-run")
        shutil.copytree(plan.workflow.root, source, symlinks=True, ignore=skipped, dirs_exist_ok=True)
        plain = self._ask(source / "flow.cylc", "config", "-i", "[runtime]")
        shutil.copyfile(plan.files[0], source / "flow.cylc")
        if missed := flow.unprotected(plain, self._ask(source / "flow.cylc", "config", "-i", "[runtime]")):
            raise UsageError(
                f"{plan.workflow.root}/flow.cylc includes the script of {', '.join(missed)} from elsewhere",
                hint="write the script there, or put whesl exec before its command (docs/managers.md)",
            )
        name = Path(plan.directory).name
        options = ("--no-detach", "--no-run-name", f"--workflow-name={name}")
        command = (program, "vip", *options, *plan.arguments, str(source))
        return Foreground(plan, command, source, stop=(program, "stop", "--kill", name))

    def _ask(self, path: Path, command: str, *words: str) -> str:
        """Return a Cylc command's output on a flow, '' for a missing setting. Raises UsageError."""
        call = (self._program(os.environ), command, "--color=never", str(path.parent), *words)
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"cylc {command} of {path} did not answer: {error}") from None
        if done.returncode != 0 and _UNSET not in done.stderr:
            said = done.stderr.strip().splitlines()
            raise UsageError(f"Cylc refuses {path}: {said[-1] if said else f'status {done.returncode}'}")
        return done.stdout.strip()
