"""The workflow managers, and the recognition of the manager that a file belongs to."""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from whesl.managers.workflow.port import ENTRY_POINTS, TellsScripts, Verifies, WorkflowManager, text_of
from whesl.model.errors import UsageError
from whesl.model.workflow import Workflow

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

# The managers, in the order in which they are asked whether they recognise a file.
_BUILT_IN = {
    "maestro": ("whesl.managers.workflow.maestro.manager", "Maestro"),
    "makeflow": ("whesl.managers.workflow.makeflow.manager", "Makeflow"),
    "cylc": ("whesl.managers.workflow.cylc.manager", "Cylc"),
    "snakemake": ("whesl.managers.workflow.snakemake.manager", "Snakemake"),
    "batch": ("whesl.managers.workflow.batch.manager", "Batch"),
}


@functools.cache
def manager(name: str) -> WorkflowManager:
    """Return a workflow manager by name. Raises UsageError for an unknown name."""
    if name in _BUILT_IN:
        module, attribute = _BUILT_IN[name]
        return cast(WorkflowManager, getattr(importlib.import_module(module), attribute)())
    for point in _installed():
        if point.name == name:
            return cast(WorkflowManager, point.load()())
    raise UsageError(f"there is no workflow manager '{name}'", hint=f"known are: {', '.join(names())}")


def names() -> list[str]:
    """Return the names of all managers, built-in or installed."""
    return [*_BUILT_IN, *sorted({point.name for point in _installed()} - set(_BUILT_IN))]


def _installed() -> EntryPoints:
    """Return the managers of installed packages; called late, because each submission imports this module."""
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def file_of(source: str) -> Path:
    """Return the file that a source names, without the clauses of batch sources (``:after=...``)."""
    return Path(source if Path(source).exists() else re.sub(r":[a-z]+=[^:]*(?=$|:)", "", source))


def recognise(source: str) -> WorkflowManager:
    """Return the manager that a file belongs to, by its content.

    Raises UsageError when the file cannot be read or belongs to no manager.
    """
    path = file_of(source)
    text = text_of(path)
    for name in names():
        candidate = manager(name)
        if candidate.recognises(path, text):
            return candidate
    raise UsageError(
        f"{path} is no workflow of a kind that is known here",
        hint="expected a Maestro study (YAML with 'description' and 'study'), a flow of Cylc, a workflow of "
        "Makeflow in JSON, a Snakefile, or batch scripts ('#!'); Parsl and others are run as ever, with "
        "whesl exec before each task's command (docs/managers.md)",
    )


def read(path: str | Path, *more: str | Path, workflow: str = "") -> Workflow:
    """Return the workflow in a file, or in several batch scripts; the manager is recognised by the content.

    Args:
        path: the file.
        more: further batch scripts.
        workflow: the workflow's id; '' for the workflow's name.

    Raises UsageError for a file that is no workflow.
    """
    sources = [str(path), *(str(other) for other in more)]
    return recognise(sources[0]).read(sources, workflow=workflow)


def scripts(*sources: str | Path, arguments: Sequence[str] = ()) -> dict[str, str]:
    """Return the text of each step's script, by the step's name.

    Where a manager does not tell scripts apart, all of its text is that of the step "".

    Args:
        sources: the file of a workflow, or several batch scripts.
        arguments: the manager's own, as for its ``read``.

    Raises UsageError for a file that is no workflow, or that its manager refuses.
    """
    words = [str(source) for source in sources]
    found = recognise(words[0])
    if isinstance(found, TellsScripts):
        return found.scripts(words, arguments)
    return {"": "\n".join(text_of(file_of(word)) for word in words)}


def verified(path: str | Path, *more: str | Path) -> Workflow:
    """Return what ``read`` returns, after a check by the workflow's own manager where the manager has one.

    Raises UsageError for a file that is no workflow, or that its manager refuses.
    """
    workflow = read(path, *more)
    manager_of_it = recognise(str(path))
    if isinstance(manager_of_it, Verifies):
        manager_of_it.verify(str(path), os.environ)
    return workflow
