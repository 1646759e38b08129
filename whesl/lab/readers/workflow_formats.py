"""A reader of workflows that takes the format from the file's name."""

from __future__ import annotations

from pathlib import Path

from whesl.lab.readers import stg
from whesl.lab.readers.workflow_graph import Graph, graph
from whesl.managers.workflow import wfcommons_reader
from whesl.model.errors import UsageError, WheslError


def read(path: Path) -> Graph:
    """Read a workflow: ``.json`` as WfCommons, ``.stg`` as Standard Task Graph, compressed or not.

    Args:
        path: the file.

    Raises:
        UsageError: the name has another ending, or the content has another format.
        WheslError: the file cannot be read.
    """
    name = path.with_suffix("") if path.suffix in {".xz", ".gz", ".bz2"} else path
    if name.suffix == ".json":
        return from_wfcommons(path)
    if name.suffix == ".stg":
        return stg.read(path)
    raise UsageError(
        f"{path}: no workflow",
        hint="accepted are WfCommons .json and .stg files, also packed (gzip, bzip2, xz)",
    )


def from_wfcommons(path: Path) -> Graph:
    """Read a WfCommons execution: a task reads the files that its parents write.

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
