"""Maestro studies: a stage for each step, a task for each combination of parameters, its command as a script.

A task reads the workspaces of other tasks, each packed as one file. The run copies the files that a task
reads from the study's own directory (``SPECROOT``) and from ``env.dependencies.paths``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from whesl.cloud.core.plan_records import DataFile, Processor, Task, Workflow
from whesl.cloud.runner.workspace_archive import ROOT, archive
from whesl.cloud.workflow import stages
from whesl.managers.workflow.maestro import expand, study
from whesl.model.errors import UsageError

# Largest number of files that a run copies from one directory.
MOST_FILES = 2000
_COUNT = re.compile(r"\d+|.*\$\(.*", re.DOTALL)
_LAUNCHER = re.compile(r"\$\(LAUNCHER\)(\[[^\]]*\])*")
_PATH = re.compile(re.escape(ROOT) + r"((?:/[\w.+=@%~-]+)*)")


def from_maestro(found: study.Study) -> Workflow:
    """Return a Maestro study as a workflow.

    A step with ``gpus`` needs a GPU platform. Run times and sizes come from the profile; a study has none.
    A step of several nodes is refused, since an executor is a single node.

    Args:
        found: the study.

    Raises:
        UsageError: Maestro would refuse the study, a step needs several nodes, or files are missing.
    """
    _check_names(found)
    expansion = expand.expand(found, ROOT)
    if not expansion.tasks:
        raise UsageError(
            f"{found.path}: no step has a task", hint="parameters with a value at least are accepted"
        )
    several: dict[str, int] = {}
    for task in expansion.tasks:
        if task.nodes > 1:
            several[task.step] = max(task.nodes, several.get(task.step, 0))
    if several:
        raise UsageError(
            "\n".join(f"{found.path}: step {name} asks for {nodes} nodes" for name, nodes in several.items()),
            hint="cluster and cloud give single nodes, an hour each: steps of one node are accepted here,"
            " and `whesl run` runs steps of several nodes on the cluster",
        )
    places = _places(found)
    where = {task.name: task.workspace.removeprefix(ROOT).strip("/") for task in expansion.tasks}
    by_place = {place: name for name, place in where.items()}
    steps: dict[str, list[str]] = {}
    for task in expansion.tasks:
        steps.setdefault(where[task.name].partition("/")[0], []).append(task.name)
    tasks: list[Task] = []
    for task in expansion.tasks:
        script = _script(task, places)
        before, files = dict.fromkeys(task.parents), {}
        for mentioned in _PATH.findall(script):
            path = mentioned.strip("/")
            own = _owners(path, by_place, steps) if path else []
            before.update(dict.fromkeys(name for name in own if name != task.name))
            if not own:
                files.update(_taken(path, places, found.path))
        inputs = [DataFile(name=archive(where[name])) for name in before]
        tasks.append(
            Task(
                name=task.name,
                stage=task.step,
                parents=tuple(before),
                command=tuple(found.shell.split()),
                script=script,
                directory=where[task.name],
                inputs=(*inputs, *files.values()),
                outputs=(DataFile(name=archive(where[task.name])),),
            )
        )
    gpus = {
        step.name: Processor.GPU for step in found.steps if str(step.run.get("gpus") or "0") not in ("0", "")
    }
    return stages.workflow(found.name, tasks, found.path, gpus)


def _check_names(found: study.Study) -> None:
    """Refuse a step whose name makes Maestro drop it, and a step that waits for itself."""
    counts = Counter(step.name for step in found.steps)
    wrong = [
        f"{found.path}: step {name} is there {count} times" for name, count in counts.items() if count > 1
    ]
    wrong += [
        f"{found.path}: step {step.name} depends on itself"
        for step in found.steps
        if step.name in {name.removesuffix("_*") for name in step.depends}
    ]
    wrong += [
        f"{found.path}: {key} of step {step.name}: {given!r}"
        for step in found.steps
        for key in ("nodes", "procs")
        if (given := step.run.get(key)) and not _COUNT.fullmatch(str(given).strip())
    ]
    if wrong:
        raise UsageError(
            "\n".join(wrong),
            hint="accepted are steps with names of their own below what they depend on, and whole numbers",
        )


def _places(found: study.Study) -> dict[str, str]:
    """Return the study's own directories and files, each with its name below the data."""
    named = {path.rstrip("/"): f"study/{study.safe_name(name)}" for name, path in found.dependencies}
    return {**named, str(Path(found.path).absolute().parent): "study/SPECROOT"}


def _script(task: expand.StudyTask, places: dict[str, str]) -> str:
    text = task.command
    for path in sorted(places, key=len, reverse=True):
        text = text.replace(path, f"{ROOT}/{places[path]}")
    # Executors are single nodes, so MPI's own launcher starts several processes; one needs no launcher.
    return _LAUNCHER.sub(f"mpirun -n {task.procs}" if task.procs > 1 else "", text)


def _owners(path: str, by_place: dict[str, str], steps: dict[str, list[str]]) -> list[str]:
    """Return the tasks whose workspaces contain a path or lie below it."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        name = by_place.get("/".join(parts[:length]))
        if name is not None:
            return [name]
    return steps.get(parts[0], [])


def _taken(path: str, places: dict[str, str], study_path: str) -> dict[str, DataFile]:
    """Return this host's files that a path below the data stands for."""
    for source, name in places.items():
        if path != name and not path.startswith(f"{name}/"):
            continue
        there = Path(source + path[len(name) :])
        if there.is_dir():
            files = [one for one in sorted(there.rglob("*")) if one.is_file()]
            if len(files) > MOST_FILES:
                raise UsageError(
                    f"{study_path}: {there} has {len(files)} files, of which {MOST_FILES} are taken along",
                    hint="name the files, or a smaller directory",
                )
        else:
            # A missing file is no error here: the script may write it or not need it.
            files = [there] if there.is_file() else []
        return {str(one): _file(one, f"{path}{str(one)[len(str(there)) :]}") for one in files}
    return {}


def _file(path: Path, name: str) -> DataFile:
    return DataFile(
        name=name, size=float(path.stat().st_size), source=str(path), executable=os.access(path, os.X_OK)
    )
