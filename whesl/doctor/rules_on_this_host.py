"""Finds rules that are unsuitable for this host: missing handlers, paths, variables, spare nodes."""

from __future__ import annotations

import difflib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whesl.doctor.job_variables import JOB_VARIABLES
from whesl.language.detections.base import DiskMetric, Kind
from whesl.language.diagnostics import Diagnostic, Severity, lines_of
from whesl.language.path_expansion import expanded, expanded_path, varies
from whesl.language.pattern_and_stream_records import Span, Stream
from whesl.language.rules_file import located
from whesl.language.spec import Entity, ExceptionSpec, Operation, RecoveryStep, ResourceKind, Spec
from whesl.managers.workflow.port import spare_step
from whesl.model.errors import CouldNotObserveError
from whesl.model.workflow import Task, Workflow, job_matches
from whesl.runtime.detect.disk_usage import read_usage
from whesl.runtime.locking.lock_scope import mount_of
from whesl.runtime.operations.custom_handlers import command_of
from whesl.runtime.operations.recovery_plan import RecoveryError

if TYPE_CHECKING:
    from whesl.doctor.job_script.checks import ScriptChecks

_GLOB = frozenset("*?[")
_BLAMED = ["node", "host", "hostname", "nodename"]  # groups that name the suspect
# Names of nodes, as sites have them.
_HOSTS = (
    *("n1", "node042", "nid001234", "gpu01", "r1i2n3", "x1000c0s0b0n0", "c1-0c0s0n1", "cn-0001", "CN01", "a"),
    *("c01n02", "node-1-2", "cn01.cluster.example.org", "10.0.0.1", "compute_1", "localhost", "hpc12a"),
)
_OF_ONE_JOB = re.compile(r"\$\{?(?:SLURM_(?:JOB_?|ARRAY_TASK_)ID|PBS_(?:JOBID|ARRAY_INDEX)|FLUX_JOB_ID)\b")
_SUBMITTED = re.compile(r"\$\{?SLURM_SUBMIT_DIR\b\}?")
_LONGEST = 100_000  # bytes of a program that are looked at
_MOST_NAMES = 1000  # the most names of a directory that are compared with a missing name, for a hint


class Surroundings:
    """Checks this host for one specification. It reads file systems and changes nothing.

    Args:
        spec: the checked specification.
        file: the specification's file.
        texts: the texts of its source files, by their names in findings.
        workflow: the workflow of the tasks; None when it is not known.
        workspace: the base of relative paths; None for the directories of the workflow's tasks.
        spares: the number of spare nodes of each job of the workflow, None when it is not known.
        environment: the variables.
        scripts: the text of each step's script (``managers.workflow.scripts``).
        in_job: whether the environment is that of the task already, not that in which it is submitted.
    """

    def __init__(
        self,
        spec: Spec,
        file: Path,
        texts: Mapping[str, str],
        workflow: Workflow | None,
        workspace: Path | None,
        spares: int | None,
        environment: Mapping[str, str],
        scripts: Mapping[str, str] | None = None,
        in_job: bool = False,
    ) -> None:
        self._spec = spec
        self._file = file
        self._lines = {name: lines_of(text) for name, text in texts.items()}
        self._workflow = workflow
        self._workspace = workspace
        self._spares = spares
        self._environment = environment
        self._in_job = in_job
        self._script: ScriptChecks | None = None
        if scripts:  # what reads scripts is not loaded for a task that starts
            from whesl.doctor.job_script.checks import ScriptChecks

            tasks = workflow.tasks if workflow is not None else ()
            places = {task.step: task.workspace for task in tasks}
            root = workflow.root if workflow is not None else ""

            def read(step: str, name: str) -> str:
                return _beginning(places.get(step, ""), _SUBMITTED.sub(lambda _: root, name))

            self._script = ScriptChecks(scripts, read)

    def findings(self) -> list[Diagnostic]:
        """Return a warning for each unsuitable rule."""
        found = [*self._handlers(), *self._variables()]
        for exception in self._spec.exceptions:
            found += self._watched(exception)
            found += self._steps(exception)
        return list(dict.fromkeys(found))

    def _handlers(self) -> Iterator[Diagnostic]:
        """Find handlers that cannot run here, before a recovery needs them."""
        there = located(self._spec, self._file.absolute().parent)
        pairs = dict(zip(_handlers(self._spec), _handlers(there), strict=True))
        for said, meant in pairs.items():
            try:
                command_of(meant)
            except RecoveryError as error:
                yield self._finding("ESL077", error.message, error.hint, None, said)
            else:
                yield from self._answers(said, meant)

    def _answers(self, said: str, meant: str) -> Iterator[Diagnostic]:
        """Find handlers that are scripts and print words beside their answer."""
        if self._in_job:
            return  # what reads scripts is not loaded for a task that starts
        from whesl.doctor.job_script.script import JobScript

        text = _beginning("", meant)
        line = text.partition("\n")[0].split() if text.startswith("#!/") else []
        program = line[1] if line[:1] == ["#!/usr/bin/env"] and len(line) > 1 else "".join(line[:1])[2:]
        if program and program[0] != "-" and shutil.which(program) is None:
            message = f"there is no {program} here, which the first line of the handler names (#!)"
            yield self._finding("ESL077", message, "name an interpreter of this host", None, said)
        words = [
            each.text
            for each in (JobScript(text, True).samples if text.startswith("#!") else ())
            if each.always and each.command.place.output.stdout.file == "&1"
        ]
        if words and words[0].strip() and not words[0].lstrip().startswith(("{", "7")):
            message = f"the handler prints {words[0][:40]!r}, and its output has to be one JSON object"
            yield self._finding("ESL077", message, "write to stderr: echo ... >&2", None, said)

    def _variables(self) -> Iterator[Diagnostic]:
        array = self._workflow is None or any(task.instance for task in self._workflow.tasks)
        for each in expanded(self._spec, self._environment)[1]:
            if not self._in_job and each.name in JOB_VARIABLES and (array or "_ARRAY_" not in each.name):
                continue  # each job has it, the host where jobs are submitted has not
            name, _, line = each.place.rpartition(":")
            file = None if name == self._spec.file else name
            span = Span(line=int(line), column=1, end_line=int(line), end_column=2, file=file)
            yield self._finding(
                "ESL086",
                f"the variable {each.name} is not defined here",
                "it is looked up where the task runs; without it the path is taken as it stands",
                span,
                each.path,
            )

    def _watched(self, exception: ExceptionSpec) -> Iterator[Diagnostic]:
        tasks = self._tasks(exception)
        steps = {task.step for task in tasks}
        for detection in exception.detections:
            reads = detection.reads()
            if reads is not None and reads.source.stream is Stream.FILE and reads.source.path is not None:
                path = reads.source.path
                if self._script is None or not self._script.writes(path, steps):
                    yield from self._file_missing(path, tasks, detection.span)
                yield from self._file_shared(path, tasks, detection.span)
            for unfit in (
                self._script.findings(detection, exception, self._spec.exceptions, steps)
                if self._script is not None
                else ()
            ):
                yield self._finding(*unfit)
            promise = detection.promised()
            place = self._expanded(promise.path) if promise is not None else None
            if promise is not None and place is not None and place.startswith("/"):
                root = Path(*Path(place).parts[:2])
                if not _GLOB & set(root.name) and not root.exists():
                    message = f"there is no {root} here, and so nothing is ever in it"
                    yield self._finding("ESL081", message, "", detection.span, promise.path)
            yield from self._disk(detection, tasks)

    def _disk(self, detection: Kind, tasks: Sequence[Task]) -> Iterator[Diagnostic]:
        """Find a file system that does not exist, or is already fuller than its rule's limit."""
        measured, most = detection.measured(), detection.fuller_than()
        if measured is None or most is None:
            return
        path, metric = measured
        place = self._expanded(path)
        bases = self._bases(place, tasks) if place is not None else []
        if place is None or not bases:
            return
        there = [full for base in bases if os.path.lexists(full := os.path.join(base, place))]  # noqa: PTH118
        if not there:
            message = f"there is no {place} here: nothing is measured"
            hint = "write a directory on the file system that is meant"
            yield self._finding("ESL081", message, hint, detection.span, path)
        elif metric is DiskMetric.QUOTA and _without_quotas(there[0]):
            message = f"{place} is in memory here, and has no quotas: nothing is ever raised"
            yield self._finding("ESL081", message, f'write DISK "{path}" ABOVE', detection.span, path)
        elif metric is not DiskMetric.QUOTA:  # the commands of quotas may take seconds
            try:
                used = read_usage(there[0], metric).fraction
            except CouldNotObserveError as error:
                hint = "write a directory on the file system that is meant"
                yield self._finding(
                    "ESL081", f"{error.message}: nothing is measured", hint, detection.span, path
                )
                return
            if used > most:
                message = f"{place} is {used:.0%} full here already: it is raised at once"
                hint = "write a percentage that it is to pass, or make room before"
                yield self._finding("ESL080", message, hint, detection.span, path)

    def _file_missing(self, path: str, tasks: Sequence[Task], span: Span) -> Iterator[Diagnostic]:
        place = self._expanded(path)
        if place is None:
            return
        for base in self._bases(place, tasks):
            full = Path(base, place)
            parts = [index for index, part in enumerate(full.parts) if _GLOB & set(part)]
            directory = Path(*full.parts[: parts[0]]) if parts else full.parent
            if not directory.exists():
                message = f"there is no directory {directory} here"
                hint = "the file is watched from the moment on at which it is there"
                yield self._finding("ESL081", message, hint, span, path)
                return
            if full.is_dir():
                message = f"{full} is a directory: it has no lines"
                yield self._finding("ESL081", message, "write the file's name, too", span, path)
                return
            near = "" if parts or full.exists() else _near(full)
            if near:
                message = f"there is no {full.name} in {directory} here"
                yield self._finding("ESL081", message, f"did you mean {near}?", span, path)
                return

    def _file_shared(self, path: str, tasks: Sequence[Task], span: Span) -> Iterator[Diagnostic]:
        if path.startswith(("/", "~", "$")) or len(tasks) < 2 or _OF_ONE_JOB.search(path):
            return  # absolute paths, and those of a single task, were checked without a workflow
        places: dict[str, str] = {}
        for task in tasks:
            other = places.setdefault(task.workspace, task.name)
            if task.workspace and other != task.name:
                message = f"{other} and {task.name} run in one directory: each judges the other's lines"
                hint = "let each task write a file of its own, and name it in an exception of its own"
                yield self._finding("ESL082", message, hint, span, path)
                return

    def _steps(self, exception: ExceptionSpec) -> Iterator[Diagnostic]:
        for step in exception.steps:
            new_root = (step.resource, step.operation) == (ResourceKind.FILESYSTEM, Operation.REPLACE)
            values = step.arguments.get("filesystem") if new_root else None
            for value in [values] if isinstance(values, str) else values or ():
                place = self._expanded(value)
                if place is None or "${" in place or not place.startswith("/"):
                    continue
                parent = Path(place).parent
                if not os.path.lexists(place) and (parent == parent.parent or not parent.is_dir()):
                    message = f"there is no {place} here, and no directory that it could be made in"
                    yield self._finding("ESL081", message, "", step.span, value)
            yield from self._same_device(step, exception)
            yield from self._program_missing(step, exception)
            yield from self._arguments(step, exception)
            yield from self._nobody(step, exception)
            steps = {task.step for task in self._tasks(exception)}
            for unfit in self._script.undone(step, exception, steps) if self._script is not None else ():
                yield self._finding(*unfit)
        if self._spares == 0 and (taker := spare_step(self._spec, exception)):
            for task in self._tasks(exception)[:1]:
                message = f"{task.name} has no spare: no node can take the place of another"
                yield self._finding("ESL085", message, "whesl run --spares 1", taker.span, taker.operation)

    def _same_device(self, step: RecoveryStep, exception: ExceptionSpec) -> Iterator[Diagnostic]:
        """Find a new root on the file system of the old one; a quota may be of each directory."""
        paths = [step.arguments.get(name) for name in ("filesystem", "defaultpath")]
        devices = [_device(self._expanded(each) or "") for each in paths if isinstance(each, str)]
        quota = any("quota" in repr(each).lower() for each in exception.detections)
        if len(devices) == 2 and devices[0] is not None and devices[0] == devices[1] and not quota:
            message = f"{paths[0]} and {paths[1]} are on the same file system here: it has no more room"
            hint = "filesystem: a directory on another file system"
            yield self._finding("ESL079", message, hint, step.span, str(paths[0]))

    def _program_missing(self, step: RecoveryStep, exception: ExceptionSpec) -> Iterator[Diagnostic]:
        """Find commands of a step whose program is a file that is not there."""
        command = step.arguments.get("command")
        words = command.split() if isinstance(command, str) else [str(each) for each in command or ()]
        words = words[1:] if words and words[0] in ("sh", "bash", "python", "python3") else words
        name = words[0] if words and re.fullmatch(r"(?:\./|/)?[\w.-]+(?:/[\w.-]+)*", words[0]) else ""
        bases = self._bases(name, self._tasks(exception))
        made = self._script is not None and self._script.names(name.rpartition("/")[2])
        if "/" in name and bases and not made and not any(Path(base, name).exists() for base in bases):
            message = f"there is no {name} in {bases[0]}: the command fails"
            yield self._finding("ESL081", message, "write its whole path", step.span, words[0])

    def _arguments(self, step: RecoveryStep, exception: ExceptionSpec) -> Iterator[Diagnostic]:
        """Find a working directory that is not there, and numbers of nodes that no job has."""
        workdir = step.arguments.get("workdir")
        place = self._expanded(workdir) if isinstance(workdir, str) and "${" not in workdir else None
        if place is not None and place.startswith("/") and not Path(place).is_dir():
            yield self._finding("ESL081", f"there is no directory {place} here", "", step.span, str(workdir))
        removes = (step.resource, step.operation) == (ResourceKind.NODE, Operation.REMOVE)
        for task in self._tasks(exception):
            most = task.nodes + (1 if self._spares is None else self._spares)
            has = f"{task.name} has {most} nodes, spares included"
            adds = (step.resource, step.operation) == (ResourceKind.NODE, Operation.ADD)
            spares, count = most - task.nodes, step.arguments.get("count", 1)
            if adds and isinstance(count, int) and count > spares and not step.arguments.get("wait"):
                message = f"{task.name} has {spares} spare node{'' if spares == 1 else 's'}, not {count}"
                yield self._finding("ESL085", message, f"whesl run --spares {count}", step.span, "count")
                return
            least, asked = step.arguments.get("min_nodes", 1), step.arguments.get("nodes", 0)
            if removes and isinstance(least, int) and (least >= most or task.nodes == 1):
                message = f"{has}, and min_nodes is {least}: none can be removed"
                yield self._finding("ESL085", message, "NODE.REPLACE needs a spare", step.span, "REMOVE")
                return
            if isinstance(asked, int) and asked > most:
                hint = f"whesl run --spares {asked - task.nodes}"
                yield self._finding("ESL085", f"{has}, not {asked}", hint, step.span, "nodes")
                return

    def _nobody(self, step: RecoveryStep, exception: ExceptionSpec) -> Iterator[Diagnostic]:
        """Find steps of dependents where there are none, and captured nodes that are no nodes."""
        tasks = self._tasks(exception)
        alone = step.entity is Entity.DEPENDENT_JOB and not self._in_job  # a task does not know the others
        if alone and self._workflow is not None and tasks:
            coupled = self._workflow.with_coupled(self._spec.coupled)
            if not any(coupled.dependents(task.id) for task in tasks):
                message = f"no job of {self._workflow.name} depends on {tasks[0].name}, or is coupled with it"
                hint = "leave the step out, or give the scripts of all jobs"
                yield self._finding("ESL095", message, hint, step.span, "DEPENDENT_JOB")
        asked = step.arguments.get("node")
        name = re.fullmatch(r"\$\{(\w+)\}", asked) if isinstance(asked, str) else None
        names = [name[1]] if name is not None else [] if asked is not None else _BLAMED
        needed = step.resource == ResourceKind.NODE and step.operation != Operation.ADD
        for detection in exception.detections if needed else ():
            for pattern in reads.patterns if (reads := detection.reads()) is not None else ():
                groups = [group_of(pattern.text, each) for each in names if pattern.regex]
                for group in groups:
                    if group is not None and not any(re.fullmatch(group, host) for host in _HOSTS):
                        message = f"{group[:40]!r} is no name of a node"
                        hint = "capture the node's name alone, such as (?P<node>[\\w.-]+)"
                        yield self._finding("ESL095", message, hint, detection.span, pattern.text)

    def _tasks(self, exception: ExceptionSpec) -> list[Task]:
        tasks = self._workflow.tasks if self._workflow is not None else ()
        return [task for task in tasks if job_matches(exception.jobs, task.step, task.name)]

    def _bases(self, path: str, tasks: Sequence[Task]) -> list[str]:
        """Return the directories to search for a path; none for a relative path without a base."""
        if path.startswith("/"):
            return ["/"]
        if self._workspace is not None:
            return [str(self._workspace)]
        return list(dict.fromkeys(task.workspace for task in tasks if os.path.isdir(task.workspace)))  # noqa: PTH112

    def _expanded(self, path: str) -> str | None:
        if not varies(path):
            return path
        made, missing = expanded_path(path, self._environment)
        return None if missing else made

    def _finding(self, code: str, message: str, hint: str, span: Span | None, said: str) -> Diagnostic:
        """Return a warning at a quoted text, or at its statement where the text is not found."""
        file = span.file if span is not None and span.file else str(self._file)
        lines = self._lines.get(file, [])
        numbers = range(span.line, span.end_line + 1) if span is not None else range(1, len(lines) + 1)
        numbered = [(number, lines[number - 1]) for number in numbers if number <= len(lines)]
        places = (
            (n, text, quoted) for quoted in (f'"{said}"', said) for n, text in numbered if quoted in text
        )
        default = (span.line if span is not None else 1, "", "")
        line, text, quoted = next(places, default)
        column = text.find(quoted) + 1
        return Diagnostic(
            severity=Severity.WARNING,
            code=code,
            message=message,
            hint=hint,
            file=file,
            line=line,
            column=column,
            end_column=column + (len(quoted) or 1),
        )


def _handlers(spec: Spec) -> list[str]:
    return [each.handler for one in spec.resources for each in one.operations if each.handler is not None]


def group_of(text: str, name: str) -> str | None:
    """Return the expression inside a named group, None where it has no such group.

    Args:
        text: an expression without errors.
        name: the group's name.
    """
    _, begin, rest = text.partition(f"(?P<{name}>")
    depth, inside = 1, False
    for part in re.finditer(r"\\.|.", rest) if begin else ():
        sign = part[0]
        inside = sign == "[" if not inside else sign != "]"
        depth += 0 if inside else (sign == "(") - (sign == ")")
        if not depth:
            return rest[: part.start()]
    return None


def _device(path: str) -> int | None:
    """Return the device of a directory that is there, or is to be made in one; None where it is not known."""
    parents = [each for each in (Path(path), Path(path).parent) if each != each.parent and each.is_dir()]
    return parents[0].stat().st_dev if path.startswith("/") and parents else None


def _without_quotas(path: str) -> bool:
    """Whether a path is on a file system in memory that was mounted without limits for users."""
    mount = mount_of(path)
    return mount.kind in ("tmpfs", "ramfs") and not any("quota" in option for option in mount.options)


def _near(path: Path) -> str:
    """Return the name in a directory that is most like a missing one, "" where none is like it."""
    try:
        names = [entry.name for entry, _ in zip(os.scandir(path.parent), range(_MOST_NAMES), strict=False)]
    except OSError:
        return ""
    return next(iter(difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)), "")


def _beginning(place: str, name: str) -> str:
    """Return the text of a program in a directory, "" where it cannot be read; a pipe is not waited for."""
    path = Path(place, name)
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as opened:
            return opened.read(_LONGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
