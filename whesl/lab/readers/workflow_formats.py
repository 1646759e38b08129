"""A reader of workflows that takes the format from the file's name."""

from __future__ import annotations

from pathlib import Path

from whesl.lab.readers import stg, wfcommons
from whesl.lab.readers.workflow_graph import Graph
from whesl.model.errors import UsageError


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
        return wfcommons.read(path)
    if name.suffix == ".stg":
        return stg.read(path)
    raise UsageError(
        f"{path}: no workflow",
        hint="accepted are WfCommons .json and .stg files, also packed (gzip, bzip2, xz)",
    )
