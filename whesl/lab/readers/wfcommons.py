"""Executions of workflows in WfCommons' JSON (WfFormat 1.3 to 1.5).

T. Coleman et al., "WfCommons: A framework for enabling scientific workflow research and development", Future
Generation Computer Systems 128, 2022. A task reads from each parent the files that the parent writes.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from whesl.lab.readers.compressed import text
from whesl.lab.workflow.graph import Graph, graph
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from pathlib import Path

_HINT = "WfCommons JSON (WfFormat 1.3 to 1.5) is accepted, for example from wfcommons/WfInstances"
_SPECIFIED = "workflow.specification.tasks"


def read(path: Path) -> Graph:
    """Read a workflow.

    Args:
        path: the file, compressed (``.xz``, ``.gz``) or not.

    Raises:
        UsageError: it is no such file, or a task has an unknown parent, no run time, a size below zero, or
            is its own ancestor; the message says where.
        WheslError: it cannot be read.
    """
    try:
        document = json.loads(text(path))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: no JSON: {error.msg}", hint=_HINT) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply", hint=_HINT) from None
    return _Reader(path, document).graph()


class _Reader:
    """One document on its way to a graph; ``where`` in each error is a path into it."""

    def __init__(self, path: Path, document: Any) -> None:
        self._path = path
        self._document = document

    def graph(self) -> Graph:
        workflow = self._part(self._document, "workflow", dict, "")
        if "specification" in workflow:
            tasks, runtimes, sizes = self._specified(workflow)
            place = _SPECIFIED
        else:
            tasks, runtimes, sizes = self._embedded(workflow)
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
                runtimes.get(task["id"]), f"{place}[{position}]", f"task {task['id']!r}: its run time"
            )
            for position, task in enumerate(tasks)
        ]
        edges = self._edges(tasks, index, sizes, place)
        name = self._document.get("name")
        try:
            return graph(name if isinstance(name, str) else self._path.name, list(index), seconds, edges)
        except WheslError as error:
            raise UsageError(f"{self._path}: {place}: {error.message}") from None

    def _specified(
        self, workflow: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Tasks, run times and file sizes of WfFormat 1.5."""
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
        return tasks, {run["id"]: run.get("runtimeInSeconds") for run in runs}, sizes

    def _embedded(
        self, workflow: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Tasks, run times and file sizes of the formats before 1.5, where all stands with the task.

        Parents are named by ``name`` there.
        """
        tasks = self._tasks(workflow, "workflow.", "name")
        sizes: dict[str, Any] = {}
        runtimes = {}
        for task in tasks:
            task["id"] = task["name"]
            runtimes[task["id"]] = task.get("runtimeInSeconds", task.get("runtime"))
            files = [file for file in task.get("files") or [] if isinstance(file, dict)]
            for file in files:
                sizes[str(file.get("name"))] = file.get("sizeInBytes", file.get("size"))
            task["reads"] = [str(file.get("name")) for file in files if file.get("link") == "input"]
            task["writes"] = [str(file.get("name")) for file in files if file.get("link") == "output"]
        return tasks, runtimes, sizes

    def _edges(
        self, tasks: list[dict[str, Any]], index: dict[str, int], sizes: dict[str, Any], place: str
    ) -> list[tuple[int, int, float]]:
        pairs: dict[tuple[int, int], None] = {}
        for position, task in enumerate(tasks):
            for relation in ("parents", "children"):
                for other in self._names(task, relation, f"{place}[{position}]"):
                    if other not in index:
                        raise self._error(
                            f"{place}[{position}].{relation}",
                            f"task {task['id']!r}: {other!r} is no task of it",
                        )
                    pair = (index[other], position) if relation == "parents" else (position, index[other])
                    pairs[pair] = None
        writes = [set(self._names(task, "writes", f"{place}[{at}]")) for at, task in enumerate(tasks)]
        edges = []
        for parent, child in pairs:
            size = 0.0
            for file in dict.fromkeys(self._names(tasks[child], "reads", f"{place}[{child}]")):
                if file in writes[parent]:
                    size += self._number(sizes.get(file, 0), f"{place}[{parent}]", f"file {file!r}: its size")
            edges.append((parent, child, size))
        return edges

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
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise self._error(place, f"{what} is {value!r}, where a number from 0 is needed")
        return float(value)

    def _part(self, part: Any, key: str, kind: type, place: str) -> Any:
        found = part.get(key) if isinstance(part, dict) else None
        if not isinstance(found, kind):
            raise self._error(f"{place}{key}", f"is not there, or no {'list' if kind is list else 'object'}")
        return found

    def _error(self, where: str, what: str) -> UsageError:
        return UsageError(f"{self._path}: {where}: {what}", hint=_HINT)
