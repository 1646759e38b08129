"""Task graphs of the Standard Task Graph Set (T. Tobita, H. Kasahara, J. Scheduling 5(5), 2002).

The first line is the number n of tasks. It is followed by n + 2 lines, one per task: tasks 0 and n + 1 are an
entry and an exit that take no time. Each line holds the task, its processing time, its number of
predecessors, and the predecessors. Tasks transfer no data. ``#`` begins a comment.
"""

from __future__ import annotations

import math
from pathlib import Path

from whesl.files.packed_text import text
from whesl.lab.readers.workflow_graph import Graph, graph
from whesl.model.errors import UsageError, WheslError

_HINT = "a .stg file: the number of tasks, then 'task time predecessors-count predecessors...' for each"


def read(path: Path) -> Graph:
    """Read a task graph; processing times count as seconds.

    Args:
        path: the file, compressed (``.xz``, ``.gz``) or not.

    Raises:
        UsageError: the file is no STG file; the message names the line.
        WheslError: the file cannot be read.
    """
    lines = [
        (number, fields)
        for number, line in enumerate(text(path).splitlines(), 1)
        if (fields := line.partition("#")[0].split())
    ]
    if not lines or len(lines[0][1]) != 1 or not _whole(lines[0][1][0]):
        raise _error(path, lines[0][0] if lines else 1, "the number of tasks is not there", _HINT)
    count = int(lines[0][1][0]) + 2
    rows = lines[1:]
    if len(rows) != count:
        raise _error(
            path,
            lines[-1][0],
            f"{len(rows)} tasks, where {count - 2} with an entry and an exit are announced",
        )
    runtime: list[float] = []
    edges = []
    for task, (number, fields) in enumerate(rows):
        if fields[0] != str(task):
            raise _error(path, number, f"task {fields[0]} stands where task {task} is expected")
        if len(fields) < 3:
            raise _error(
                path, number, f"task {task}: {'no run time' if len(fields) < 2 else 'no predecessors'}"
            )
        runtime.append(_time(path, number, task, fields[1]))
        parents = fields[3:]
        if not _whole(fields[2]) or int(fields[2]) != len(parents):
            raise _error(
                path, number, f"task {task}: {len(parents)} predecessors, where {fields[2]} are announced"
            )
        for parent in dict.fromkeys(parents):
            if not _whole(parent) or int(parent) >= count:
                raise _error(path, number, f"task {task}: predecessor {parent} is no task")
            edges.append((int(parent), task, 0.0))
    try:
        return graph(path.name, [str(task) for task in range(count)], runtime, edges)
    except WheslError as error:
        raise UsageError(f"{path}: {error.message}") from None


def _whole(word: str) -> bool:
    return word.isdecimal() and len(word) < 19


def _time(path: Path, number: int, task: int, word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise _error(path, number, f"task {task}: run time {word!r} is not a number of seconds from 0")
    return seconds


def _error(path: Path, line: int, what: str, hint: str = "") -> UsageError:
    return UsageError(f"{path}:{line}: {what}", hint=hint)
