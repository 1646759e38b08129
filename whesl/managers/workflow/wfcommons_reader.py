"""Reads executions of workflows in WfCommons' JSON (WfFormat 1.3 to 1.5).

Source: T. Coleman et al., "WfCommons: A framework for enabling scientific workflow research and development",
Future Generation Computer Systems 128, 2022.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from whesl.files.packed_text import text
from whesl.model.errors import UsageError

_HINT = "WfCommons JSON (WfFormat 1.3 to 1.5) is accepted, for example from wfcommons/WfInstances"
_SPECIFIED = "workflow.specification.tasks"
# The largest number of seconds or bytes: larger numbers are no measurements, and their sums may be infinite.
_MOST = 1e300
# The number in a task's name after its program's name: "_ID0000012", "_00000012", "-12".
_WORD = re.compile(r"[\w.+-]+")
_NUMBER = re.compile(r"[-_.]?(ID)?\d+$")


class InstanceTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of an execution.

    Attributes:
        name: the task's unique name.
        program: the task's program; the task's name without its number where the file names none.
        arguments: the program's arguments.
        seconds: the task's run time.
        parents: the names of the tasks before this task.
        reads, writes: the names of the task's input and output files.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    seconds: float
    parents: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Return the kind of a task: its program, or for a script its name without the number."""
        return self.program if _WORD.fullmatch(self.program) else _NUMBER.sub("", self.name) or self.name


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of a workflow; ``sizes`` holds its files' sizes in bytes, 0 where they are unknown."""

    name: str
    place: str
    tasks: tuple[InstanceTask, ...]
    sizes: dict[str, float]


def read(path: Path) -> Instance:
    """Read an execution.

    Args:
        path: the file, which may be compressed (``.xz``, ``.gz``).

    Raises:
        UsageError: the file is no such execution, or a task has an unknown parent, no run time, or a negative
            size; the message names the place.
        WheslError: the file cannot be read.
    """
    try:
        document = json.loads(text(path))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: no JSON: {error.msg}", hint=_HINT) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply", hint=_HINT) from None
    except ValueError as error:  # a whole number with more digits than Python accepts
        raise UsageError(f"{path}: no JSON that can be read: {error}", hint=_HINT) from None
    return _Reader(path, document).instance()


class _Reader:
    """Turns one document into records; ``where`` in each error is a path into the document."""

    def __init__(self, path: Path, document: Any) -> None:
        self._path = path
        self._document = document

    def instance(self) -> Instance:
        workflow = self._part(self._document, "workflow", dict, "")
        if "specification" in workflow:
            tasks, runs, sizes = self._specified(workflow)
            place = _SPECIFIED
        else:
            tasks, runs, sizes = self._embedded(workflow)
            place = "workflow.tasks"
        if not tasks:
            raise self._error(place, "there is no task")
        index: dict[str, int] = {}
        for position, task in enumerate(tasks):
            name = task["id"]
            if name in index:
                raise self._error(f"{place}[{position}]", f"task {name!r} is there twice")
            index[name] = position
        seconds = [
            self._number(
                runs.get(task["id"], {}).get("seconds"),
                f"{place}[{position}]",
                f"task {task['id']!r}: its run time",
            )
            for position, task in enumerate(tasks)
        ]
        parents = self._parents(tasks, index, place)
        found = []
        for position, task in enumerate(tasks):
            where = f"{place}[{position}]"
            program, arguments = self._command(task, runs.get(task["id"], {}))
            found.append(
                InstanceTask(
                    name=task["id"],
                    program=program,
                    arguments=arguments,
                    seconds=seconds[position],
                    parents=tuple(parents[position]),
                    reads=tuple(dict.fromkeys(self._names(task, "reads", where))),
                    writes=tuple(dict.fromkeys(self._names(task, "writes", where))),
                )
            )
        used = {file: position for position, task in enumerate(found) for file in (*task.reads, *task.writes)}
        known = {
            file: self._number(sizes.get(file, 0), f"{place}[{position}]", f"file {file!r}: its size")
            for file, position in used.items()
        }
        name = self._document.get("name")
        return Instance(
            name=name if isinstance(name, str) else self._path.name,
            place=place,
            tasks=tuple(found),
            sizes=known,
        )

    def _command(self, task: dict[str, Any], run: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
        """Return a task's program and arguments from any of the format's forms."""
        given = run.get("command") or task.get("command")
        given = given if isinstance(given, dict) else {}
        program = given.get("program")
        arguments = given.get("arguments")
        arguments = arguments if isinstance(arguments, list) else []
        if not isinstance(program, str) or not program:
            label = task.get("name")
            label = label if isinstance(label, str) and label else task["id"]
            program = _NUMBER.sub("", label) or label
        return program, tuple(str(argument) for argument in arguments)

    def _specified(
        self, workflow: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Return the tasks, run times and file sizes of a document in WfFormat 1.5."""
        specification = self._part(workflow, "specification", dict, "workflow.")
        tasks = self._tasks(specification, "workflow.specification.", "id")
        execution = self._part(workflow, "execution", dict, "workflow.")
        runs = self._tasks(execution, "workflow.execution.", "id")
        files = specification.get("files", [])
        if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
            raise self._error("workflow.specification.files", "a list of files is needed")
        sizes = {file.get("id"): file.get("sizeInBytes") for file in files if isinstance(file.get("id"), str)}
        for task in tasks:
            task["reads"] = task.get("inputFiles") or []
            task["writes"] = task.get("outputFiles") or []
        told = {
            run["id"]: {"seconds": run.get("runtimeInSeconds"), "command": run.get("command")} for run in runs
        }
        return tasks, told, sizes

    def _embedded(
        self, workflow: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Return the tasks, run times and file sizes of a document before WfFormat 1.5.

        These formats keep all values in the tasks, and refer to parents by ``name``.
        """
        tasks = self._tasks(workflow, "workflow.", "name")
        sizes: dict[str, Any] = {}
        runs = {}
        for task in tasks:
            task["id"] = task["name"]
            runs[task["id"]] = {"seconds": task.get("runtimeInSeconds", task.get("runtime"))}
            files = [file for file in task.get("files") or [] if isinstance(file, dict)]
            for file in files:
                sizes[str(file.get("name"))] = file.get("sizeInBytes", file.get("size"))
            task["reads"] = [str(file.get("name")) for file in files if file.get("link") == "input"]
            task["writes"] = [str(file.get("name")) for file in files if file.get("link") == "output"]
        return tasks, runs, sizes

    def _parents(self, tasks: list[dict[str, Any]], index: dict[str, int], place: str) -> list[list[str]]:
        """Return each task's parents, from edges that are given at the parent or at the child."""
        found: list[dict[str, None]] = [{} for _ in tasks]
        for position, task in enumerate(tasks):
            for relation in ("parents", "children"):
                for other in self._names(task, relation, f"{place}[{position}]"):
                    if other not in index:
                        raise self._error(
                            f"{place}[{position}].{relation}",
                            f"task {task['id']!r}: {other!r} is no task of it",
                        )
                    if relation == "parents":
                        found[position][other] = None
                    else:
                        found[index[other]][task["id"]] = None
        return [list(parents) for parents in found]

    def _tasks(self, part: dict[str, Any], place: str, key: str) -> list[dict[str, Any]]:
        tasks = self._part(part, "tasks", list, place)
        for position, task in enumerate(tasks):
            if not isinstance(task, dict) or not isinstance(task.get(key), str):
                raise self._error(f"{place}tasks[{position}]", f"a task with {key!r} is needed")
        return [dict(task) for task in tasks]

    def _names(self, task: dict[str, Any], key: str, place: str) -> list[str]:
        names = task.get(key) or []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._error(f"{place}.{key}", "a list of names is needed")
        return names

    def _number(self, value: Any, place: str, what: str) -> float:
        if value is None:
            raise self._error(place, f"{what} is missing")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
            raise self._error(place, f"{what} is {repr(value)[:30]}, where a number from 0 is needed")
        return float(value)

    def _part(self, part: Any, key: str, kind: type, place: str) -> Any:
        found = part.get(key) if isinstance(part, dict) else None
        if not isinstance(found, kind):
            raise self._error(f"{place}{key}", f"is not there, or no {'list' if kind is list else 'object'}")
        return found

    def _error(self, where: str, what: str) -> UsageError:
        return UsageError(f"{self._path}: {where}: {what}", hint=_HINT)
