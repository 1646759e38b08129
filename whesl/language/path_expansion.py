"""Expansion of ``~``, ``$VAR`` and ``${VAR}`` in the paths of rules, by the task's environment.

Paths are those of detections (files, file systems) and of recovery steps' arguments. In arguments ``${name}``
is a capture of the evidence; a name in capitals that nothing captures is a variable of the environment.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from whesl.language.compiler.operation_signatures import BUILT_IN_PLACEHOLDERS, arguments_of
from whesl.language.spec import ExceptionSpec, Operation, RecoveryStep, ResourceKind, Spec, operations_of

_VARIABLE = re.compile(r"\$(?:(?P<plain>[A-Za-z_][A-Za-z0-9_]*)|\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\})")
_OF_ARGUMENTS = re.compile(r"(?<!\$)\$(?:(?P<plain>[A-Za-z_][A-Za-z0-9_]*)|\{(?P<braced>[A-Z_][A-Z0-9_]*)\})")


class Undefined(msgspec.Struct, frozen=True, kw_only=True):
    """An undefined variable in a path. ``place`` is that of the statement, as ``file:line``."""

    name: str
    path: str
    place: str

    def __str__(self) -> str:
        """Return a sentence on the undefined variable."""
        return f"{self.place}: the variable {self.name} is not defined, so {self.path} is taken as it stands"


def varies(path: str) -> bool:
    """Whether a path contains ``~`` or a variable."""
    return path.startswith("~") or "$" in path


def expanded_path(path: str, environment: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return an expanded path, and the names of undefined variables; with one the path does not change.

    Args:
        path: the path.
        environment: the variables and their values.
    """
    return _expanded(path, environment, _VARIABLE, frozenset())


def expanded(spec: Spec, environment: Mapping[str, str]) -> tuple[Spec, tuple[Undefined, ...]]:
    """Return a specification with all its paths expanded, and the undefined variables.

    Args:
        spec: the checked specification.
        environment: the task's variables; ``HOME`` replaces ``~``.
    """
    missing: list[Undefined] = []
    exceptions = tuple(_exception(spec, each, environment, missing) for each in spec.exceptions)
    if exceptions == spec.exceptions:
        return spec, tuple(missing)
    return msgspec.structs.replace(spec, exceptions=exceptions), tuple(missing)


def path_arguments(resource: str, operation: str) -> tuple[str, ...]:
    """Return the names of an operation's arguments that are paths; none for a user's own operation.

    Args:
        resource: the resource's name.
        operation: the operation's name.
    """
    known = resource in ResourceKind.__members__ and operation in Operation.__members__
    if not known or operation not in operations_of(resource):
        return ()
    return tuple(argument.name for argument in arguments_of(resource, operation) if argument.path)


def captured(spec: Spec, exception: ExceptionSpec) -> frozenset[str]:
    """Return the names that the evidence of an exception, and of exceptions it counts, may capture.

    Args:
        spec: the specification with all exceptions.
        exception: the exception.
    """
    names: set[str] = set(BUILT_IN_PLACEHOLDERS)
    seen: set[str] = set()
    work = [exception.name]
    while work:
        name = work.pop()
        if name in seen:
            continue
        seen.add(name)
        for each in spec.exceptions:
            for detection in each.detections if each.name == name else ():
                names.update(*detection.captured())
                work += [counted] if (counted := detection.counted()) is not None else []
    return frozenset(names)


def _exception(
    spec: Spec, exception: ExceptionSpec, environment: Mapping[str, str], missing: list[Undefined]
) -> ExceptionSpec:
    def note(path: str, names: tuple[str, ...], place: str) -> str:
        missing.extend(Undefined(name=name, path=path, place=place) for name in names)
        return path

    detections = []
    for detection in exception.detections:
        place = spec.place(detection.span)

        def change(path: str, place: str = place) -> str:
            made, names = expanded_path(path, environment)
            return note(made, names, place)

        detections.append(detection.with_paths(change))
    steps = []
    for step in exception.steps:
        paths = path_arguments(step.resource, step.operation)
        given = [name for name in paths if name in step.arguments]
        if not given or spec.handler(step.resource, step.operation) is not None:
            steps.append(step)
            continue
        known = captured(spec, exception)
        arguments = dict(step.arguments)
        for name in given:
            arguments[name] = _argument(arguments[name], environment, known, note, spec.place(step.span))
        steps.append(_step(step, arguments))
    return msgspec.structs.replace(exception, detections=tuple(detections), steps=tuple(steps))


def _step(step: RecoveryStep, arguments: dict[str, Any]) -> RecoveryStep:
    return step if arguments == step.arguments else msgspec.structs.replace(step, arguments=arguments)


def _argument(
    value: Any, environment: Mapping[str, str], known: Collection[str], note: Any, place: str
) -> Any:
    if isinstance(value, str):
        made, names = _expanded(value, environment, _OF_ARGUMENTS, known)
        return note(made, names, place)
    if isinstance(value, list):
        return [_argument(each, environment, known, note, place) for each in value]
    return value


def _expanded(
    path: str, environment: Mapping[str, str], variable: re.Pattern[str], known: Collection[str]
) -> tuple[str, tuple[str, ...]]:
    names = [
        match["plain"] or match["braced"]
        for match in variable.finditer(path)
        if match["plain"] or match["braced"] not in known
    ]
    missing = tuple(dict.fromkeys(name for name in names if name not in environment))
    if missing:
        return path, missing

    def value(match: re.Match[str]) -> str:
        if match["braced"] in known:
            return match.group()
        text = environment[match["plain"] or match["braced"]]
        return text.replace("${", "$${") if known else text

    return variable.sub(value, _home(path, environment)), ()


def _home(path: str, environment: Mapping[str, str]) -> str:
    """Return a path with ``~`` or ``~user`` expanded; the path of an unknown user does not change."""
    if (path == "~" or path.startswith("~/")) and environment.get("HOME"):
        return environment["HOME"].rstrip("/") + path[1:]
    return os.path.expanduser(path) if path.startswith("~") else path  # noqa: PTH111 - pathlib raises
