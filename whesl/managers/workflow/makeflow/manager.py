"""Makeflow behind the port: reads its JSON, wraps each rule's command, runs its program."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.workflow.foreground_manager_process import Foreground, find, refuse_unwrapped
from whesl.managers.workflow.makeflow import graph
from whesl.managers.workflow.managers_without_workspaces import WithoutWorkspaces
from whesl.managers.workflow.port import Fluxified, FluxifyOptions, RunPlan, text_of
from whesl.managers.workflow.script_wrapping import task_command
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow

# The key with the workflow's original text, for ``undo``; Makeflow ignores unknown keys.
_WAS = "whesl_was"
_SHELL = "/bin/sh -c"


class Makeflow(WithoutWorkspaces):
    """Workflows of Makeflow in JSON."""

    name = "makeflow"

    def recognises(self, path: Path, text: str) -> bool:
        """Whether a file has rules with output files. See the port."""
        return graph.looks_like_makeflow(text)

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        """Return the rules as tasks; a rule waits for the rules that write its input files. See the port."""
        path = _one(sources)
        text = text_of(path)
        rules = graph.rules(graph.parse(self.undo(text, path), str(path)), str(path))
        name = workflow or path.stem
        root = out or str(Path.cwd())
        ids = [f"{name}/{rule.name}" for rule in rules]
        tasks = (
            Task(
                id=ids[rule.index],
                step=rule.step,
                instance=rule.instance,
                workspace=root,
                parents=tuple(ids[parent] for parent in rule.parents),
            )
            for rule in rules
        )
        return Workflow(id=name, name=path.stem, wms=self.name, root=root, tasks=tuple(tasks))

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        """Return a workflow with ``whesl exec`` before each rule's command. See the port."""
        plain = self.undo(text, path)
        found = graph.parse(plain, str(path))
        for rule in graph.rules(found, str(path)):
            call = options.call(rule.step, instance=rule.instance, keeps=rule.step in options.keeps)
            words = shlex.join(task_command(call))
            wrapped = f"{words} {_SHELL} {shlex.quote(rule.command)}"
            found["rules"][rule.index]["command"] = wrapped
        # The original text follows for ``undo``, which restores numbers and white space, too.
        return Fluxified(text=json.dumps({**found, _WAS: plain}, indent=1) + "\n")

    def undo(self, text: str, path: Path) -> str:
        """Return the original of a wrapped workflow. See the port."""
        was = graph.parse(text, str(path)).get(_WAS)
        return was if isinstance(was, str) else text

    def check(self, plan: RunPlan) -> None:
        """Raise UsageError where Makeflow is not installed, or submits in a way that is not known."""
        refuse_unwrapped("Makeflow", plan)
        self._program(plan)

    def start(self, plan: RunPlan) -> Foreground:
        """Start Makeflow in the run's directory; the user chooses the batch system (``-T``)."""
        command = (self._program(plan), "--json", *plan.arguments, plan.files[0])
        return Foreground(plan, command, Path(plan.workflow.root))

    def _program(self, plan: RunPlan) -> str:
        hint = "install CCTools (Debian: coop-computing-tools; conda-forge: ndcctools)"
        return find("makeflow", plan.environment, hint)


def _one(sources: Sequence[str]) -> Path:
    if len(sources) != 1:
        raise UsageError("a workflow of Makeflow is one file", hint="run several workflows one by one")
    return Path(sources[0])
