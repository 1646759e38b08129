"""Reader of WfCommons executions as graphs: a task reads the files that its parents write."""

from __future__ import annotations

from pathlib import Path

from whesl.lab.readers.workflow_graph import Graph, graph
from whesl.managers.workflow import wfcommons_reader
from whesl.model.errors import UsageError, WheslError


def read(path: Path) -> Graph:
    """Read a workflow.

    Args:
        path: the file, compressed (``.xz``, ``.gz``) or not.

    Raises:
        UsageError: an error of ``whesl.managers.workflow.wfcommons_reader.read``, or a task is its own
            ancestor.
        WheslError: the file cannot be read.
    """
    instance = wfcommons_reader.read(path)
    index = {task.name: position for position, task in enumerate(instance.tasks)}
    writes = [set(task.writes) for task in instance.tasks]
    edges = [
        (
            index[parent],
            position,
            sum(instance.sizes[file] for file in task.reads if file in writes[index[parent]]),
        )
        for position, task in enumerate(instance.tasks)
        for parent in task.parents
    ]
    seconds = [task.seconds for task in instance.tasks]
    try:
        return graph(instance.name, list(index), seconds, edges)
    except WheslError as error:
        raise UsageError(f"{path}: {instance.place}: {error.message}") from None
