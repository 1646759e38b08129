"""The arguments of each built-in operation, as typed records.

The specification's checker has told the user of mistakes before anything ran; here they are read again,
since a ``${capture}`` is known only when an exception was raised.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from whesl.language.compiler.operation_signatures import mebibytes, shell_operator
from whesl.language.signals import signal_number
from whesl.language.spec import Operation, ResourceKind

HANDLER_TIMEOUT = 60.0


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all: ``handler_timeout`` (s) is for custom handlers, and harmless without one."""

    handler_timeout: float = HANDLER_TIMEOUT


class FilesystemReplace(Arguments, frozen=True, kw_only=True):
    """``filesystem``: new roots, the first with room is taken; ``defaultpath``: the old prefix.

    ``min_free``: bytes; ``signal``: number sent to running dependents, 0 for none.
    """

    filesystem: tuple[str, ...]
    defaultpath: str
    mode: Literal["link", "move"] = "link"
    min_free: int = 0
    signal: int = 0

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if not self.filesystem:
            raise ValueError("filesystem is empty: name at least one root")
        if self.min_free < 0:
            raise ValueError(f"min_free is negative: {self.min_free}")


class FilesystemChange(Arguments, frozen=True, kw_only=True):
    """ADD and REMOVE: one root."""

    filesystem: str


class NodeReplace(Arguments, frozen=True, kw_only=True):
    """``node``: overrules the evidence; ``unknown``: what to do without a suspect.

    ``expires``: seconds; None for what the evidence is worth (``whesl.model.bad_node_expiry``).
    """

    node: str = ""
    unknown: Literal["restart", "fail", "pause"] = "restart"
    expires: float | None = None


class NodeRemove(NodeReplace, frozen=True, kw_only=True):
    """As REPLACE, with the least number of nodes that the task can run on."""

    min_nodes: int = 1


class NodeAdd(Arguments, frozen=True, kw_only=True):
    """``count`` spares are taken into use."""

    count: int = 1

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if self.count < 1:
            raise ValueError(f"count has to be at least 1, not {self.count}")


class JobReplace(Arguments, frozen=True, kw_only=True):
    """What the restarted task gets instead; an environment value of null removes.

    ``command_append`` are words behind its command. ``time`` in minutes and ``memory`` of each node (``64G``)
    are given by a new run of the job alone.
    """

    command: tuple[str, ...] | None = None
    command_append: tuple[str, ...] | None = None
    nodes: int | None = None
    time: float | None = None
    memory: str | None = None
    environment: dict[str, str] = {}
    workdir: str | None = None


class JobAdd(Arguments, frozen=True, kw_only=True):
    """A command to run in the allocation before the restart, at most ``timeout`` seconds."""

    command: tuple[str, ...]
    timeout: float = 600.0

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if not self.command:
            raise ValueError("command is empty")


class JobCheckpoint(Arguments, frozen=True, kw_only=True):
    """How a program without a client is asked for a checkpoint, and what says that it was written.

    ``signal``: number, 0 for none; ``trigger``: a file that asks for it, which the program removes when it
    has written; ``written``: a glob, of which a file that is new and grows no more says the same.
    ``timeout``: seconds.
    """

    signal: int = 0
    trigger: str = ""
    written: str = ""
    timeout: float = 3600.0


class JobRemove(Arguments, frozen=True, kw_only=True):
    """The task is skipped; ``reason`` is recorded."""

    reason: str = ""


_TYPES: dict[tuple[str, str], type[Arguments]] = {
    (ResourceKind.FILESYSTEM, Operation.REPLACE): FilesystemReplace,
    (ResourceKind.FILESYSTEM, Operation.ADD): FilesystemChange,
    (ResourceKind.FILESYSTEM, Operation.REMOVE): FilesystemChange,
    (ResourceKind.NODE, Operation.REPLACE): NodeReplace,
    (ResourceKind.NODE, Operation.REMOVE): NodeRemove,
    (ResourceKind.NODE, Operation.ADD): NodeAdd,
    (ResourceKind.JOB, Operation.REPLACE): JobReplace,
    (ResourceKind.JOB, Operation.ADD): JobAdd,
    (ResourceKind.JOB, Operation.CHECKPOINT): JobCheckpoint,
    (ResourceKind.JOB, Operation.REMOVE): JobRemove,
}


def split_command(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with a command line in one string split into words, before any substitution.

    Substituting first would let text from a log add words to the command.

    Raises ValueError for quotes that do not match and for a shell's operators, which would have no effect.
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
    """Return arguments with those over them that ``attempts`` has for the next attempt.

    Args:
        arguments: of a step.
        before: how many recoveries by this step there were; beyond its end, the list's last entry counts.
    """
    rest = {name: value for name, value in arguments.items() if name != "attempts"}
    attempts = arguments.get("attempts")
    if not isinstance(attempts, list) or not attempts:
        return rest
    entry = attempts[min(before, len(attempts) - 1)]
    environment = {**rest.get("environment", {}), **entry.get("environment", {})}
    return {**rest, **entry, **({"environment": environment} if environment else {})}


def checked(resource: str, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operation's arguments complete and of the right types, as JSON values.

    Raises ValueError with one sentence for whatever is wrong.
    """
    kind = _TYPES.get((resource, operation))
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
    # Through JSON, so that a plan is the same before and after its journal (lists, not tuples).
    result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(typed))
    return result


def absolute(name: str, path: Any) -> str:
    """Return an absolute path without dots and doubled slashes.

    Raises ValueError for anything else, and for ``..``.
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
    return "/" + posixpath.normpath(path).lstrip("/")


def _many(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _text(value: Any) -> Any:
    """A number where text is meant (``OMP_NUM_THREADS: 4``) is that text; null is the empty one."""
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value
