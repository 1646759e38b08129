"""Reads workflow files, whose names and contents tell their kinds."""

from __future__ import annotations

from pathlib import Path

from whesl.cloud.core.plan_records import DataFile, Task, Workflow
from whesl.cloud.input_errors import read_text
from whesl.cloud.workflow import stages, table
from whesl.cloud.workflow.maestro import from_maestro
from whesl.managers.workflow import wfcommons_reader
from whesl.managers.workflow.maestro import study
from whesl.model.errors import UsageError

_HINT = "accepted are Maestro studies (.yaml), WfCommons executions (.json), tables of stages (.toml, .csv)"


def read(path: Path) -> Workflow:
    """Read a workflow: ``.json`` (WfCommons), ``.yaml`` (Maestro study), ``.toml`` or ``.csv`` (stages).

    Args:
        path: the file; a WfCommons file may be compressed (``.xz``, ``.gz``).

    Raises:
        UsageError: the file is of no such kind, or contains an error, whose place the message names.
    """
    name = path.with_suffix("") if path.suffix in {".xz", ".gz"} else path
    if name.suffix == ".json":
        return from_wfcommons(wfcommons_reader.read(path), str(path))
    if path.suffix in {".yaml", ".yml"}:
        return from_maestro(study.load(path))
    if path.suffix == ".toml":
        return table.from_toml(read_text(path), str(path))
    if path.suffix == ".csv":
        return table.from_csv(read_text(path), str(path))
    if not path.exists():
        raise UsageError(f"cannot read {path}: there is no such file", hint=_HINT)
    raise UsageError(f"{path}: no workflow that is known by its name", hint=_HINT)


def from_wfcommons(instance: wfcommons_reader.Instance, place: str) -> Workflow:
    """Return an execution as a workflow: a stage for each program.

    Args:
        instance: the execution.
        place: the file's name, for messages.

    Raises:
        UsageError: the execution's tasks wait for each other in a cycle.
    """

    def files(names: tuple[str, ...]) -> tuple[DataFile, ...]:
        return tuple(DataFile(name=name, size=instance.sizes[name]) for name in names)

    tasks = [
        Task(
            name=task.name,
            stage=task.kind,
            parents=task.parents,
            command=(task.program, *task.arguments),
            inputs=files(task.reads),
            outputs=files(task.writes),
            seconds=task.seconds,
        )
        for task in instance.tasks
    ]
    return stages.workflow(instance.name, tasks, place)
