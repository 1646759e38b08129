"""Maestro behind the port: reads, wraps and runs studies, and carries out WMS steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.language.spec import Operation, RecoveryStep, ResourceKind
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.maestro import command_wrapping, filesystem_replacement, programs, study
from whesl.managers.workflow.maestro.expand import Expansion, expand
from whesl.managers.workflow.maestro.running import Conductor, program_of
from whesl.managers.workflow.port import (
    Fluxified,
    FluxifyOptions,
    RemovesOlderRun,
    RunPlan,
    TellsScripts,
    Verifies,
    WorkflowManager,
)
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError, UsageError
from whesl.model.evidence import Raised
from whesl.model.workflow import Task, Workflow

# Maestro's tokens: parameters, variables of the study, and workspaces of steps; ``$(date)`` is the shell's.
_TOKEN = re.compile(r"\$\(([A-Z][A-Z0-9_]*|[\w-]+\.workspace)\)")


class Maestro(RemovesOlderRun, TellsScripts, Verifies, WorkflowManager):
    """Maestro studies."""

    name = "maestro"

    def recognises(self, path: Path, text: str) -> bool:
        return study.looks_like_study(text)

    def removed(self, workflow: Workflow) -> Path | None:
        return Path(workflow.root) if Path(workflow.root).exists() else None

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        if len(sources) != 1:
            raise UsageError("a Maestro study is one file", hint="run several studies one by one")
        if any(word in ("-p", "--pgen") or word.startswith("--pgen=") for word in arguments):
            raise UsageError(
                "a parameter generator (--pgen) makes tasks that cannot be known before Maestro runs",
                hint="write its parameters into the study's global.parameters, and leave --pgen out",
            )
        found = study.load(Path(sources[0]))
        name = workflow or study.safe_name(found.name)
        expansion = expand(found, found.output_root(out), hashed="--hashws" in arguments)
        ids = {task.name: f"{name}/{task.name}" for task in expansion.tasks}
        return Workflow(
            id=name,
            name=found.name,
            wms=self.name,
            root=expansion.root,
            tasks=tuple(
                Task(
                    id=ids[task.name],
                    step=task.step,
                    instance=task.instance,
                    workspace=task.workspace,
                    parents=tuple(ids[parent] for parent in task.parents),
                    nodes=task.nodes or 1,
                )
                for task in expansion.tasks
            ),
        )

    def scripts(self, sources: Sequence[str], arguments: Sequence[str] = ()) -> dict[str, str]:
        # A step's commands stand behind the lines of its job, with Maestro's tokens as variables.
        found = study.load(Path(sources[0]))
        return {step.name: _script(step, found) for step in reversed(found.steps)}

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        # Every step's ``cmd`` and ``restart`` is wrapped.
        plain = self.undo(text, path)
        found = study.parse(plain, str(path))
        programs: list[script_wrapping.Program] = []
        expansion = expand(found, found.output_root())
        _check_labels(found)
        notices: list[str] = []
        calls = {
            step.name: _call(step, found, expansion, options, notices)
            # Reversed: of two steps with the same name, Maestro runs the first.
            for step in reversed(found.steps)
        }
        moved = plain
        if options.out and Path(options.out).resolve() != Path(path).resolve().parent:
            moved = _fix_specroot(plain, path)

        def call(name: str) -> script_wrapping.TaskCall:
            if name not in calls:
                raise UsageError(
                    f"{path}: the step '{name}' is written in a way that cannot be wrapped",
                    hint="write its name out, without YAML tags, aliases or merges",
                )
            return calls[name]

        def program(source: str) -> str:
            line = f"#!{found.shell}"
            made = script_wrapping.program_for(options.call(""), line, str(path), options.place, was=source)
            programs.append(made)
            return script_wrapping.wrap(line, made).removeprefix("#!")

        named = command_wrapping.wrap_commands(moved, str(path), call)
        return Fluxified(
            text=command_wrapping.with_shell(named, str(path), program),
            programs=tuple(programs),
            notices=tuple(notices),
        )

    def undo(self, text: str, path: Path) -> str:
        plain = command_wrapping.unwrap_commands(text, str(path))

        def former(shell: str) -> str:
            return script_wrapping.former_line(shell.split()[0], str(path))

        return command_wrapping.without_shell(plain, str(path), former)

    def verify(self, source: str, environment: Mapping[str, str]) -> None:
        # Without an installed Maestro, nothing is refused.
        try:
            program = programs.find_program("maestro", environment)
        except UsageError:
            return
        programs.verify(program, source, environment)

    def check(self, plan: RunPlan) -> None:
        """Raise UsageError for a study that cannot be run.

        These are studies for another resource manager, studies in a directory with blanks, where Maestro
        would split the path, and studies that Maestro itself refuses.
        """
        program, environment = program_of(plan)
        programs.verify(program, plan.files[0], environment)

    def start(self, plan: RunPlan) -> Conductor:
        """Start ``maestro run`` in the foreground of a session of its own."""
        return Conductor(plan)

    def submits(self, plan: RunPlan) -> frozenset[str]:
        """Return the tasks of steps with nodes or processes; Maestro runs other tasks on its own host."""
        scheduled = {step.name for step in study.load(Path(plan.files[0])).steps if step.scheduled}
        return frozenset(task.id for task in plan.workflow.tasks if task.step in scheduled)

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """Carry out WMS FILESYSTEM.REPLACE, the only WMS step for a running Maestro.

        Args:
            workflow: the study's tasks, whose workspaces that do not exist yet get their new places.
            step: names the new root in its arguments (``filesystem_replacement.replace_filesystem``).
            raised: tells the failed task, whose own workspace stays as it is.
            configuration: the failed task's configuration, which is returned unchanged.

        Raises RefusedError for any other step, and where no new root can be used; TransientError where the
        new root is full.
        """
        if step.resource != ResourceKind.FILESYSTEM or step.operation != Operation.REPLACE:
            raise RefusedError(
                f"Maestro cannot carry out {step.resource}.{step.operation}",
                hint="of the entity WMS it knows FILESYSTEM.REPLACE alone",
            )
        return filesystem_replacement.replace_filesystem(workflow, step.arguments, raised.task, configuration)


def _call(
    step: study.StudyStep,
    found: study.Study,
    expansion: Expansion,
    options: FluxifyOptions,
    notices: list[str],
) -> script_wrapping.TaskCall:
    nodes = (step.run.get("nodes") or found.batch.get("nodes") or "") if step.scheduled else ""
    spares = options.spares.get(step.name, 0) if step.scheduled else 0
    if spares and not nodes:
        notices.append(
            f"step '{step.name}' asks for processes but not for nodes, so no spare node can be added to it"
        )
        spares = 0
    return options.call(
        step.name,
        # The labels that Maestro appends to the name of each combination's task.
        instance=".".join(f"$({key}.label)" for key in expansion.parameters[step.name]),
        workspace="$(WORKSPACE)",
        nodes=str(nodes),
        spares=spares,
        tasks=_tasks(step, found),
        keeps=step.scheduled and step.name in options.keeps,
    )


def _tasks(step: study.StudyStep, found: study.Study) -> str:
    """Return a job's total number of tasks (``--ntasks``), '' where its script does not see one.

    Maestro's Slurm adapter writes --ntasks besides --nodes only when the batch block has procs. A Flux job's
    script does not see such a number.
    """
    if found.scheduler == "flux" or not found.batch.get("procs"):
        return ""
    return str(step.run.get("procs") or found.batch["procs"])


def _script(step: study.StudyStep, found: study.Study) -> str:
    """Return the script that Maestro makes of a step, but for its launcher."""
    asked = {"nodes": step.run.get("nodes"), "time": step.run.get("walltime")}
    lines = [f"#SBATCH --{name}={value}" for name, value in asked.items() if value]
    text = str(step.run.get("cmd") or "").replace("$(SPECROOT)", str(Path(found.path).absolute().parent))
    command = _TOKEN.sub(lambda token: "${" + re.sub(r"\W", "_", token[1]) + "}", text)
    return "\n".join([f"#!{found.shell}", *(lines if found.scheduler == "slurm" else ()), command, ""])


def _check_labels(found: study.Study) -> None:
    for parameter in found.parameters:
        for label in parameter.labels:
            if "\t" in label or "\n" in label:
                raise UsageError(
                    f"{found.path}: label {label!r} of parameter '{parameter.key}' cannot stand in a command",
                    hint="leave tabs and line breaks out of labels",
                )


def _fix_specroot(text: str, path: Path) -> str:
    """Return the text with the study's directory in place of ``$(SPECROOT)``, for a copy elsewhere."""
    root = str(path.absolute().parent)
    fixed = text.replace("$(SPECROOT)", root)
    if fixed != text:
        before = study.parse(text, str(path))
        after = study.parse(fixed, str(path))
        if [s.name for s in before.steps] != [s.name for s in after.steps]:
            raise UsageError(
                f"{path}: $(SPECROOT) cannot be replaced by {root}", hint="rename that directory"
            )
    return fixed
