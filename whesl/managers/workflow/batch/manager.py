"""Batch scripts behind the port: read, wrapped, submitted with their dependencies, watched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whesl.files.non_utf8_text import reachable
from whesl.managers import resource
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.batch import script as scripts
from whesl.managers.workflow.batch.job_chain import Chain
from whesl.managers.workflow.batch.submitter import submitter
from whesl.managers.workflow.managers_without_workspaces import WithoutWorkspaces
from whesl.managers.workflow.port import Fluxified, FluxifyOptions, RunPlan, TellsScripts, text_of
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow


class Batch(WithoutWorkspaces, TellsScripts):
    """Batch scripts for ``sbatch``, ``flux batch`` or ``qsub``."""

    name = "batch"

    def recognises(self, path: Path, text: str) -> bool:
        return text.startswith("#!")

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        # ``sources`` are paths of scripts, with optional clauses ``:after=name[,name]`` and
        # ``:with=name[,name]``; a name is another script's job name, or its file name without suffix. Each
        # element of a job array is a task.
        found = _chain(sources, arguments)
        name = workflow or found[0].step
        root = out or str(Path.cwd())
        ids = {script.step: [f"{name}/{task}" for task in _names(script)] for script in found}
        tasks: list[Task] = []
        for script in found:
            beside = tuple(task for parent in script.beside for task in ids[parent])
            parents = (*(task for parent in script.after for task in ids[parent]), *beside)
            for index in script.array or (None,):
                instance = "" if index is None else str(index)
                tasks.append(
                    Task(
                        id=f"{name}/{script.step}_{instance}" if instance else f"{name}/{script.step}",
                        step=script.step,
                        instance=instance,
                        workspace=reachable(str(Path(root, script.chdir))),
                        parents=parents,
                        beside=beside,
                        nodes=script.nodes,
                    )
                )
        return Workflow(id=name, name=found[0].step, wms=self.name, root=reachable(root), tasks=tuple(tasks))

    def scripts(self, sources: Sequence[str], arguments: Sequence[str] = ()) -> dict[str, str]:
        files = [Path(scripts.split_source(source).path) for source in sources]
        return {scripts.read_script(file).step: text_of(file) for file in files}

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        # A script gets a program of WHESL as its interpreter.
        plain = self.undo(text, path)
        script = scripts.parse_script(plain, path, options.arguments)
        call = options.call(
            script.step,
            array=bool(script.array),
            spares=options.spares.get(script.step, 0),
            tasks=script.tasks,
            gpus=script.gpus,
            keeps=script.step in options.keeps and not script.outlives,
            source=str(path) if options.submitted else "",
        )
        program = script_wrapping.program_for(call, plain.split("\n", 1)[0], str(path), options.place)
        missing = scripts.missing_directories(script, Path.cwd()) if options.submitted else ()
        return Fluxified(text=script_wrapping.wrap(plain, program), programs=(program,), notices=missing)

    def undo(self, text: str, path: Path) -> str:
        return script_wrapping.unwrap(text, str(path)) if script_wrapping.is_wrapped(text) else text

    def check(self, plan: RunPlan) -> None:
        """Raise UsageError where no script can be submitted; the scheduler checks the scripts' options."""
        submitter(plan, resource.scheduler(plan.environment["WHESL_RJMS"]))

    def start(self, plan: RunPlan) -> Chain:
        """Submit the scripts, each after the scripts that it depends on."""
        return Chain.start(plan)

    def submits(self, plan: RunPlan) -> frozenset[str]:
        """Return all tasks' ids: each task is a job."""
        return frozenset(task.id for task in plan.workflow.tasks)


def _chain(sources: Sequence[str], arguments: Sequence[str]) -> list[scripts.Script]:
    """Return the scripts with their dependencies as step names. Raises UsageError for a wrong chain."""
    if not sources:
        raise UsageError("no batch script was given")
    found: list[scripts.Script] = []
    known: dict[str, str] = {}
    for source in sources:
        given = scripts.split_source(source)
        script = scripts.read_script(Path(given.path), arguments)
        missing = [name for name in (*given.after, *given.beside) if name not in known]
        if missing:
            raise UsageError(
                f"{given.path} is to run after or with '{missing[0]}', which is no script before it",
                hint="give the scripts in an order in which each stands behind those it waits for",
            )
        if any(other.step == script.step for other in found):
            raise UsageError(f"two scripts have the job name '{script.step}'", hint="give one a --job-name")
        script = msgspec.structs.replace(
            script,
            after=tuple(known[name] for name in given.after),
            beside=tuple(known[name] for name in given.beside),
        )
        known[Path(given.path).stem] = known[script.step] = script.step
        found.append(script)
    return found


def _names(script: scripts.Script) -> list[str]:
    return [f"{script.step}_{index}" for index in script.array] or [script.step]
