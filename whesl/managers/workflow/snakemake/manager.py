"""Snakemake behind the port: its own program tells the jobs, and runs their shell commands in ``whesl exec``.

A Snakefile stays as it is. Snakemake's resource ``shell_exec`` names the shell of a rule; for each task it is
a program of WHESL's that puts ``whesl exec`` before that shell.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from whesl.managers.workflow.foreground_manager_process import Foreground, OneFile
from whesl.managers.workflow.port import Fluxified, FluxifyOptions, RunPlan, TellsScripts, text_of
from whesl.managers.workflow.script_wrapping import Program, faithful_shell, task_command
from whesl.managers.workflow.snakemake import graph
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow

_RULE = re.compile(r"(?m)^(?:rule|checkpoint)\b[^\n:]*:[ \t]*(?:#.*)?$")
_NO_SHELL = re.compile(r"(?m)^[ \t]+(?:run|script|notebook|wrapper|cwl|template_engine)[ \t]*:")
_WAS = "\n# WHESL runs it by: "
_STEP, _INSTANCE = "@STEP@", "@INSTANCE@"
_PATIENCE = 600.0  # seconds for the graph of a large workflow


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job as ``graph`` describes it."""

    rule: str
    wildcards: tuple[str, ...]
    shell: str
    command: str
    checkpoint: bool
    parents: tuple[int, ...]

    @property
    def instance(self) -> str:
        """The values of its wildcards; ``_expression`` gives the same."""
        return ".".join(self.wildcards).replace("/", "+")

    @property
    def name(self) -> str:
        """The task's name inside its workflow."""
        return f"{self.rule}_{self.instance}" if self.wildcards else self.rule


class Jobs(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs that would run, and the values of ``--set-resources``."""

    jobs: tuple[Job, ...]
    resources: tuple[str, ...]


class Snakemake(OneFile, TellsScripts):
    """Snakefiles of Snakemake 9."""

    name = "snakemake"
    install = "activate its environment, or: pip install snakemake"

    def recognises(self, path: Path, text: str) -> bool:
        # The text has rules, and is no script of another program.
        first = text.partition("\n")[0]
        return bool(_RULE.search(text)) and (not first.startswith("#!") or "snakemake" in first)

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        # The tasks are the jobs with a shell command that Snakemake would run now.
        path = self._file(sources).absolute()
        found = _ask(self._program(os.environ), path, arguments).jobs
        name = workflow or path.stem
        ids = [f"{name}/{job.name}" for job in found]
        root = out or str(Path.cwd())
        tasks = (
            Task(
                id=ids[index],
                step=job.rule,
                instance=job.instance,
                workspace=root,
                parents=tuple(ids[parent] for parent in _parents(found, index)),
            )
            for index, job in enumerate(found)
            if job.shell
        )
        return Workflow(id=name, name=path.stem, wms=self.name, root=root, tasks=tuple(tasks))

    def scripts(self, sources: Sequence[str], arguments: Sequence[str] = ()) -> dict[str, str]:
        # Snakemake sets options of bash before each command.
        found = _ask(self._program(os.environ), self._file(sources).absolute(), arguments).jobs
        made = {}
        for job in reversed([each for each in found if each.command]):
            options = "set -euo pipefail\n" if Path(job.shell).name == "bash" else ""
            made[job.rule] = f"#!{job.shell}\n{options}{job.command}\n"
        return made

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        # The text gets a comment, from which ``start`` makes the tasks' shells.
        plain = self.undo(text, path)
        words = task_command(options.call(_STEP, instance=_INSTANCE))
        notices = [f"{path}: Snakemake runs this file itself, and the copy that is made of it tells how"]
        if _NO_SHELL.search(plain):
            notices.append(f"{path}: rules without 'shell:' run as ever, without recovery")
        comment = json.dumps([str(path.absolute()), words])
        return Fluxified(text=f"{plain}{_WAS}{comment}\n", notices=tuple(notices))

    def undo(self, text: str, path: Path) -> str:
        return text.partition(_WAS)[0]

    def start(self, plan: RunPlan) -> Foreground:
        """Write each task's shell, and start Snakemake with it; the user chooses the executor."""
        path, words = json.loads(text_of(Path(plan.files[0])).partition(_WAS)[2])
        found = _ask(self._program(os.environ), Path(path), plan.arguments)
        resources = dict.fromkeys(found.resources)
        for job in found.jobs:
            if not job.shell:
                continue
            own = {_STEP: job.rule, _INSTANCE: job.instance}
            call = shlex.join(
                [
                    own.get(word, word)
                    for word in words
                    if job.wildcards or word not in ("--instance", _INSTANCE)
                ]
            )
            place, base = f"{plan.directory}/shells", Path(job.shell).name
            text = f'#!{faithful_shell()}\nexec {call} {shlex.quote(job.shell)} "$@"\n'
            Program(path=f"{place}/{job.name}/{base}", text=text).write()
            resources[f"{job.rule}:shell_exec={_expression(place, job, base)}"] = None
        command = [self._program(plan.environment), "--snakefile", path, *plan.arguments]
        # Later ones replace earlier ones, so all are given again.
        return Foreground(plan, [*command, "--set-resources", *resources], Path(plan.workflow.root))


def _parents(jobs: Sequence[Job], index: int) -> list[int]:
    """Return the nearest jobs with a shell command that a job depends on."""
    found: dict[int, None] = {}
    seen, waiting = set(), list(jobs[index].parents)
    while waiting:
        parent = waiting.pop()
        if parent in seen:
            continue
        seen.add(parent)
        if jobs[parent].shell:
            found[parent] = None
        else:
            waiting += jobs[parent].parents
    return list(found)


def _expression(place: str, job: Job, base: str) -> str:
    """Return the expression of Python from which Snakemake makes the path of a job's shell."""
    instance = " + '_' + '.'.join(wildcards).replace('/', '+')" if job.wildcards else ""
    return f"{f'{place}/{job.rule}'!r}{instance} + {f'/{base}'!r}"


def _interpreter(program: Path) -> str:
    """Return the interpreter of Snakemake's program: that of its first line, or the one beside it."""
    with program.open(errors="replace") as file:
        first = file.readline()
    named = first.removeprefix("#!").split()
    return (
        named[0]
        if first.startswith("#!/") and "python" in named[0]
        else str(program.resolve().with_name("python3"))
    )


def _ask(program: str, path: Path, arguments: Sequence[str]) -> Jobs:
    """Return the jobs that Snakemake would run. Raises UsageError in its words, or for jobs not known yet."""
    interpreter = _interpreter(Path(program))
    call = (interpreter, "-P", graph.__file__, "--snakefile", str(path), *arguments)
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"snakemake did not tell the jobs of {path}: {error}") from None
    _, mark, line = done.stdout.partition(graph.MARK)
    if not mark:
        said = done.stderr.strip().splitlines()[-3:]
        raise UsageError(f"Snakemake refuses {path}: {' '.join(said) or f'status {done.returncode}'}")
    found = msgspec.json.decode(line.partition("\n")[0], type=Jobs)
    if later := next((job.rule for job in found.jobs if job.checkpoint), ""):
        raise UsageError(
            f"{path}: the jobs after checkpoint {later} cannot be known before it runs",
            hint="put whesl exec before the commands of its rules (docs/workflows.md)",
        )
    if not any(job.shell for job in found.jobs):
        raise UsageError(f"{path}: Snakemake has no job with a shell command to run")
    twice = [name for name, count in Counter(job.name for job in found.jobs).items() if count > 1]
    if twice:
        raise UsageError(
            f"{path}: several jobs would be the task {twice[0]}, since their wildcards read alike"
        )
    return found
