"""Makeflow behind the port: reads its JSON, wraps each rule's command, runs its program."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.workflow.foreground_manager_process import Foreground, OneFile
from whesl.managers.workflow.makeflow import graph
from whesl.managers.workflow.port import Fluxified, FluxifyOptions, RunPlan, TellsScripts, text_of
from whesl.managers.workflow.script_wrapping import task_command
from whesl.model.workflow import Task, Workflow

# The key with the workflow's original text, for ``undo``; Makeflow ignores unknown keys.
_WAS = "whesl_was"
_SHELL = "/bin/sh -c"


class Makeflow(OneFile, TellsScripts):
    """Workflows of Makeflow in JSON."""

    name = "makeflow"
    install = "install CCTools (Debian: coop-computing-tools; conda-forge: ndcctools)"

    def recognises(self, path: Path, text: str) -> bool:
        return graph.looks_like_makeflow(text)

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        # A rule waits for the rules that write its input files.
        path = self._file(sources)
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

    def scripts(self, sources: Sequence[str], arguments: Sequence[str] = ()) -> dict[str, str]:
        path = self._file(sources)
        rules = graph.rules(graph.parse(self.undo(text_of(path), path), str(path)), str(path))
        return {rule.step: f"#!/bin/sh\n{rule.command}\n" for rule in reversed(rules)}

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        # ``whesl exec`` stands before each rule's command.
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
        was = graph.parse(text, str(path)).get(_WAS)
        return was if isinstance(was, str) else text

    def start(self, plan: RunPlan) -> Foreground:
        """Start Makeflow in the run's directory; the user chooses the batch system (``-T``)."""
        command = (self._program(plan.environment), "--json", *plan.arguments, plan.files[0])
        return Foreground(plan, command, Path(plan.workflow.root))
