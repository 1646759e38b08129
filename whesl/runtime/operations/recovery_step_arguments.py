"""Reads arguments of steps into the records of ``language.compiler.operation_signatures``.

The specification's checker reports mistakes before a run. Arguments are read a second time here, since the
value of a ``${capture}`` is known only when an exception is raised.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from whesl.language.compiler.operation_signatures import OPERATIONS, mebibytes, shell_operator
from whesl.language.signals import signal_number
from whesl.language.spec import Operation
from whesl.model.pathmap import normal


def split_command(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with a command line in one string split into words, before any substitution.

    Substituting first would let text from a log add words to the command.

    Raises ValueError for unmatched quotes and for operators of a shell, which would have no effect.
    """
    result = dict(arguments)
    for name in ("command", "command_append"):
        command = result.get(name)
        if isinstance(command, str):
            operator = shell_operator(command)
            if operator is not None:
                raise ValueError(
                    f"{name} uses the shell's {operator!r}, but no shell runs it: "
                    'write ["sh", "-c", "..."] if one should'
                )
            result[name] = shlex.split(command)
    return result


def of_attempt(arguments: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Return a step's arguments, overridden by the entry for the next attempt in its list ``attempts``.

    Args:
        arguments: the step's arguments.
        before: the number of earlier recoveries by this step; beyond the list's end, its last entry counts.
    """
    rest = {name: value for name, value in arguments.items() if name != "attempts"}
    attempts = arguments.get("attempts")
    if not isinstance(attempts, list) or not attempts:
        return rest
    entry = attempts[min(before, len(attempts) - 1)]
    environment = {**rest.get("environment", {}), **entry.get("environment", {})}
    return {**rest, **entry, **({"environment": environment} if environment else {})}


def checked(resource: str, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operation's arguments with defaults and the right types, as JSON values.

    Raises ValueError with a sentence on the first error.

    Args:
        resource: the resource's name, as NODE.
        operation: the operation's name, as REPLACE.
        arguments: the operation's arguments.
    """
    kind = OPERATIONS.get((resource, operation))
    if kind is None:
        raise ValueError(f"{resource}.{operation} is not built in, and has no handler")
    raw = dict(arguments)
    if operation == Operation.REPLACE and isinstance(raw.get("filesystem"), str):
        raw["filesystem"] = [raw["filesystem"]]
    if isinstance(raw.get("signal"), str):
        number = signal_number(raw["signal"])
        if number is None:
            raise ValueError(f"no signal is called {raw['signal']!r}")
        raw["signal"] = number
    if isinstance(raw.get("environment"), dict):
        raw["environment"] = {str(name): _text(value) for name, value in raw["environment"].items()}
    for name in ("command", "command_append"):
        if isinstance(raw.get(name), list):
            raw[name] = [_text(word) for word in raw[name]]
    for name in ("filesystem", "defaultpath", "workdir", "trigger", "written"):
        if raw.get(name):
            raw[name] = (
                [absolute(name, p) for p in raw[name]] if _many(raw[name]) else absolute(name, raw[name])
            )
    if raw.get("memory") is not None and mebibytes(str(raw["memory"])) is None:
        raise ValueError(f"memory is no size: {raw['memory']!r}")
    try:
        typed = msgspec.convert(raw, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    # Through JSON, so that a plan is equal before and after its journal (lists, not tuples).
    result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(typed))
    return result


def absolute(name: str, path: Any) -> str:
    """Return an absolute path without dots and doubled slashes.

    Raises ValueError for any other path, and for ``..``.

    Args:
        name: the argument's name, for the error.
        path: the value.
    """
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise ValueError(f"{name} has to be an absolute path, not {path!r}")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not valid text: {path!r}") from None
    if ".." in path.split("/"):
        raise ValueError(f"{name} must not contain '..': {path!r}")
    if not path.strip("/") and name != "workdir":
        raise ValueError(f"{name} cannot be the root directory")
    return normal(path)


def _many(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _text(value: Any) -> Any:
    """Convert a number to text (``OMP_NUM_THREADS: 4``) and null to the empty text."""
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value
