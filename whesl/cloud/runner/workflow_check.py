"""Checks whether a workflow can be run, and whether it equals the workflow of an existing run."""

from __future__ import annotations

from pathlib import PurePosixPath

from whesl.cloud.core.plan_records import Task, Workflow
from whesl.cloud.transfer.port import checked
from whesl.model.errors import UsageError

_SHOWN = 5


def runnable(workflow: Workflow) -> None:
    """Refuse a workflow that can be planned, but not run.

    Raises:
        UsageError: commands are missing or cannot be started, files lie outside of the data, or a file has
            two writers; the message names all of these.
    """
    without = [task.name for task in workflow.tasks if not task.command]
    if not workflow.tasks or without:
        raise UsageError(
            f"{workflow.name} has tasks without a command: {_some(without) or 'a table of stages'}",
            hint="a table needs `command` in each stage and a WfCommons execution `command` in each task;"
            " without them it can be planned only",
        )
    wrong = (
        _said("commands cannot be started", _commands(workflow)),
        _said("files lie outside of the data", _outside(workflow)),
        _said("files have no one writer", _writers(workflow)),
    )
    if any(wrong):
        raise UsageError(
            "\n".join(filter(None, wrong)),
            hint="accepted are programs with a name, files named relative to one directory, which both sides"
            " have, and one task that writes a file, without reading it",
        )


def difference(run: Workflow, given: Workflow) -> str:
    """Return how a workflow differs from a run's workflow, '' where both have the same tasks.

    Args:
        run: the run's workflow.
        given: the other workflow.
    """
    if run.name != given.name:
        return f"it is called {run.name!r}, not {given.name!r}"
    here, there = ({task.name: _core(task) for task in one.tasks} for one in (run, given))
    parts = (
        (there.keys() - here.keys(), "new"),
        (here.keys() - there.keys(), "gone"),
        ({name for name in here.keys() & there.keys() if here[name] != there[name]}, "changed"),
    )
    return "; ".join(f"tasks {what}: {_some(sorted(names))}" for names, what in parts if names)


def _core(task: Task) -> tuple[object, ...]:
    files = (tuple(file.name for file in some) for some in (task.inputs, task.outputs))
    return (task.stage, task.command, task.script, task.directory, task.parents, *files)


def _said(what: str, found: list[str]) -> str:
    return f"{len(found)} {what}: {_some(found)}" if found else ""


def _some(names: list[str]) -> str:
    return f"{', '.join(names[:_SHOWN])}{' ...' if len(names) > _SHOWN else ''}"


def _commands(workflow: Workflow) -> list[str]:
    return [
        f"{task.command[0]!r} of {task.name}"
        for task in workflow.tasks
        if not task.command[0] or any("\0" in word for word in task.command)
    ]


def _outside(workflow: Workflow) -> list[str]:
    seen: dict[str, str] = {}
    for task in workflow.tasks:
        if task.directory:
            seen.setdefault(task.directory, task.name)
        for file in (*task.inputs, *task.outputs):
            seen.setdefault(file.name, task.name)
    directories = {task.directory for task in workflow.tasks}
    found = []
    for name, reader in seen.items():
        try:
            plain = checked(name)
        except UsageError:
            plain = ""
        if not plain or (plain == "." and name not in directories):
            found.append(f"{name!r} of {reader}")
    return found


def _writers(workflow: Workflow) -> list[str]:
    writers: dict[str, Task] = {}
    found = []
    for task in workflow.tasks:
        for file in task.outputs:
            name = str(PurePosixPath(file.name))
            if name in writers:
                other = writers[name].name
                found.append(
                    f"{name!r} of {other} and {task.name}" if other != task.name else f"{name!r} twice"
                )
            writers[name] = task
    for task in workflow.tasks:
        if not task.outputs:
            continue
        own = {str(PurePosixPath(file.name)) for file in task.outputs}
        found += [
            f"{file.name!r}, which {task.name} also reads"
            for file in task.inputs
            if str(PurePosixPath(file.name)) in own
        ]
    for name, writer in writers.items():
        above = next((str(path) for path in PurePosixPath(name).parents if str(path) in writers), None)
        if above is not None:
            found.append(f"{name!r} of {writer.name} below the file {above!r} of {writers[above].name}")
    return found
