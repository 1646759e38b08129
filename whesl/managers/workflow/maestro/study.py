"""A Maestro study file as records: steps, environment, parameters, batch settings.

The file is read with Maestro's library and rules (PyYAML, YAML 1.1), because labels, and with them the names
of tasks and directories, are made of the values as that library prints them.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import msgspec

from whesl.managers.workflow.maestro import yaml_loading
from whesl.managers.workflow.port import text_of
from whesl.model.errors import UsageError

_SECTIONS = ("description", "study")


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One global parameter: its values and labels as text, one for each combination."""

    key: str
    values: tuple[str, ...]
    labels: tuple[str, ...]
    name: str


class StudyStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step as the user wrote it; ``run`` holds the keys of its ``run`` section with any YAML values."""

    name: str
    description: str
    run: dict[str, Any]

    @property
    def depends(self) -> tuple[str, ...]:
        """The names of the steps that this step depends on, funnels with their ``*``."""
        return tuple(str(name) for name in self.run.get("depends") or ())

    @property
    def scheduled(self) -> bool:
        """Whether Maestro submits the step as a job; other steps run on Maestro's host."""
        return bool(self.run.get("nodes") or self.run.get("procs"))


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """A whole study file."""

    path: str
    name: str
    steps: tuple[StudyStep, ...]
    parameters: tuple[Parameter, ...] = ()
    variables: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    dependencies: tuple[tuple[str, str], ...] = ()
    batch: dict[str, Any] = {}

    @property
    def shell(self) -> str:
        """The interpreter that Maestro writes after ``#!`` (``batch.shell``)."""
        return str(self.batch.get("shell") or "/bin/bash")

    @property
    def scheduler(self) -> str:
        """The name of Maestro's adapter: local, slurm, ..."""
        return str(self.batch.get("type") or "local")

    def output_root(self, out: str = "", *, now: float | None = None) -> str:
        """Return the directory that Maestro chooses for a run.

        Args:
            out: the argument of ``maestro run -o``; '' without that option.
            now: seconds since the epoch, for the time in the directory's name; None for the clock's time.
        """
        if out:
            return os.path.abspath(out)  # noqa: PTH100 - Maestro's own rule; resolve() would follow links
        base = str(self.variables.get("OUTPUT_PATH") or "./")
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
        leaf = safe_name(f"{self.name.replace(' ', '_')}_{stamp}")
        return f"{os.path.abspath(base)}/{leaf}"  # noqa: PTH100 - as above


def safe_name(text: str) -> str:
    """Return Maestro's directory name for a text: letters, digits, ``-_.()``, with blanks as underscores."""
    return re.sub(r"[^-_.() a-zA-Z0-9]", "", text).replace(" ", "_")


def looks_like_study(text: str) -> bool:
    """Whether a text is meant as a Maestro study: a mapping with a description and a study."""
    return all(re.search(rf"^{section}\s*:", text, re.MULTILINE) for section in _SECTIONS)


def load(path: Path) -> Study:
    """Read a study file. Raises UsageError for another file, or a study that Maestro would refuse."""
    return parse(text_of(path), str(path))


def parse(text: str, path: str) -> Study:
    """Return a study from its text.

    Args:
        text: the study's text.
        path: the study's file, for messages.

    Raises UsageError for other text, or a study that Maestro would refuse.
    """
    document = yaml_loading.values(text, path)
    if not isinstance(document, dict) or any(section not in document for section in _SECTIONS):
        raise UsageError(
            f"{path} is not a Maestro study",
            hint="a study has the sections 'description', 'study' and mostly 'env' and 'batch'",
        )
    description = _mapping(document["description"], path, "description")
    if not description.get("name"):
        raise UsageError(f"{path}: the study's description has no name")
    env = _mapping(document.get("env"), path, "env")
    return Study(
        path=path,
        name=str(description["name"]),
        steps=_steps(document["study"], path),
        parameters=_parameters(_mapping(document.get("global.parameters"), path, "global.parameters"), path),
        variables=_mapping(env.get("variables"), path, "env.variables"),
        labels=_mapping(env.get("labels"), path, "env.labels"),
        dependencies=_dependencies(_mapping(env.get("dependencies"), path, "env.dependencies"), path),
        batch=_mapping(document.get("batch"), path, "batch"),
    )


def _mapping(value: Any, path: str, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{path}: '{what}' has to be a mapping, not {type(value).__name__}")
    return {str(key): item for key, item in value.items()}


def _list(value: Any, path: str, what: str) -> list[Any]:
    if value and not isinstance(value, list):
        raise UsageError(f"{path}: '{what}' has to be a list, not {type(value).__name__}")
    return value or []


def _steps(value: Any, path: str) -> tuple[StudyStep, ...]:
    if not isinstance(value, list) or not value:
        raise UsageError(f"{path}: 'study' has to be a list of at least one step")
    steps = []
    for number, item in enumerate(value, start=1):
        step = _mapping(item, path, f"study[{number}]")
        run = _mapping(step.get("run"), path, f"study[{number}].run")
        name = step.get("name")
        if not name or not isinstance(name, str):
            raise UsageError(f"{path}: step {number} of the study has no name")
        if name == "_source":
            raise UsageError(f"{path}: step {number} has the name '_source', which is Maestro's own")
        if not isinstance(run.get("cmd"), str) or not run["cmd"]:
            raise UsageError(f"{path}: step '{name}' has no command (run.cmd)")
        depends = run.get("depends") or []
        if not isinstance(depends, list):
            raise UsageError(f"{path}: step '{name}': run.depends has to be a list of step names")
        steps.append(StudyStep(name=name, description=str(step.get("description") or ""), run=run))
    return tuple(steps)


def _parameters(section: dict[str, Any], path: str) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    for key, value in section.items():
        entry = _mapping(value, path, f"global.parameters.{key}")
        values = entry.get("values")
        if not isinstance(values, list):
            raise UsageError(f"{path}: parameter '{key}' has no list of values")
        if found and len(values) != len(found[0].values):
            raise UsageError(
                f"{path}: parameter '{key}' has {len(values)} values, '{found[0].key}' has"
                f" {len(found[0].values)}; all need the same number"
            )
        label = entry.get("label") or f"{key}.%%"
        texts = tuple(str(item) for item in values)
        if isinstance(label, list):
            if len(label) != len(values):
                raise UsageError(f"{path}: parameter '{key}' has not as many labels as values")
            labels = tuple(str(item) for item in label)
        else:
            labels = tuple(str(label).replace("%%", text) for text in texts)
        found.append(
            Parameter(key=key, values=texts, labels=labels, name=str(entry.get("name") or key)),
        )
    return tuple(found)


def _dependencies(section: dict[str, Any], path: str) -> tuple[tuple[str, str], ...]:
    """Return every dependency's name and path; Maestro replaces the name's token by the path."""
    found: list[tuple[str, str]] = []
    for item in _list(section.get("paths"), path, "env.dependencies.paths"):
        entry = _mapping(item, path, "env.dependencies.paths")
        place = os.path.abspath(str(entry.get("path", "")))  # noqa: PTH100 - Maestro's own rule
        found.append((str(entry.get("name")), place))
    for item in _list(section.get("git"), path, "env.dependencies.git"):
        entry = _mapping(item, path, "env.dependencies.git")
        name, clone = str(entry.get("name")), str(entry.get("path"))
        base = os.path.abspath(clone) if Path(clone).exists() else clone  # noqa: PTH100 - as above
        found.append((name, f"{base}/{name}"))
    return tuple(found)
