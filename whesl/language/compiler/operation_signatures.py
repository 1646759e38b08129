"""The arguments of every built-in operation, for the check, the documentation and the runtime."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Annotated, ClassVar, Literal, get_args, get_origin

import msgspec

from whesl.language.spec import Operation, ResourceKind

# Placeholders that every recovery step can use; all others are named groups of the exception's patterns.
BUILT_IN_PLACEHOLDERS = ("node", "task", "step", "workspace", "attempt")


class ArgumentType(str, Enum):
    """The type of an argument's JSON value."""

    STRING = "a text"
    STRINGS = "a text or a list of texts"
    INTEGER = "a whole number"
    NUMBER = "a number"
    ENVIRONMENT = "an object of texts"
    MEMORY = 'a size such as "64G"'
    ATTEMPTS = "a list of objects"
    SIGNAL = "the name of a signal"


@dataclass(frozen=True, slots=True)
class Argument:
    """The description of one argument of an operation.

    Attributes:
        type: the type of its JSON value.
        help: a sentence for the user.
        name: the argument's name.
        required: whether a step has to give it.
        choices: the texts that are allowed; empty for any.
        minimum: the lower bound of a number.
        usual: least and greatest number (of memory, in MiB) that is hardly a slip of the pen or of the unit.
        above: whether the number has to be greater than ``minimum``.
        path: whether it is an absolute path.
        command: whether it is a command; a shell's rules split a text into words, but no shell runs it.
        new_run: whether only a new run of the job, by its resource manager, can change it.
        by_attempt: whether the objects of ``attempts`` may have it.
    """

    type: ArgumentType
    help: str
    name: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    usual: tuple[float, float] | None = None
    above: bool = False
    path: bool = False
    command: bool = False
    new_run: bool = False
    by_attempt: bool = False


_T = ArgumentType
_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,9})?) ?(?P<unit>[KMGTkmgt]?)(?:i?[Bb])?")
_UNITS = {"K": 2**-10, "": 1, "M": 1, "G": 2**10, "T": 2**20}
HANDLER_TIMEOUT = 60.0


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the arguments of all operations at recovery; its fields are common to all operations.

    A field's ``Argument`` describes the value in the rules; the field's type is that of the value which
    ``runtime.operations.recovery_step_arguments`` converts it to. A signal is its number, 0 for none.
    """

    extra: ClassVar[tuple[Argument, ...]] = ()  # arguments of the rule that are removed before the recovery

    handler_timeout: Annotated[
        float,
        Argument(
            _T.NUMBER,
            "seconds that a custom handler may take (default 60)",
            minimum=0,
            above=True,
            usual=(1, 86_400),
        ),
    ] = HANDLER_TIMEOUT


class FilesystemReplace(Arguments, frozen=True, kw_only=True):
    """FILESYSTEM.REPLACE: files below an old prefix go to the first new root with enough free space."""

    filesystem: Annotated[
        tuple[str, ...],
        Argument(_T.STRINGS, "new root, or several of which the first with room is taken", path=True),
    ]
    defaultpath: Annotated[
        str, Argument(_T.STRING, "old prefix, which the new root takes the place of", path=True)
    ]
    mode: Annotated[
        Literal["link", "move"],
        Argument(
            _T.STRING,
            "what happens to the files that are there: link (default) or move",
        ),
    ] = "link"
    min_free: Annotated[
        int,
        Argument(_T.INTEGER, "bytes that have to be free in the new root", minimum=0, usual=(2**20, 2**50)),
    ] = 0
    signal: Annotated[int, Argument(_T.SIGNAL, "sent to running dependents that are reconfigured")] = 0

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if not self.filesystem:
            raise ValueError("filesystem is empty: name at least one root")
        if self.min_free < 0:
            raise ValueError(f"min_free is negative: {self.min_free}")


class FilesystemChange(Arguments, frozen=True, kw_only=True):
    """FILESYSTEM.ADD and FILESYSTEM.REMOVE: the root that is added or removed."""

    filesystem: Annotated[str, Argument(_T.STRING, "root of the file system", path=True)]


_WAIT = Argument(
    _T.NUMBER,
    "seconds to wait for further nodes where no spare is usable (default 0: none are asked for)",
    minimum=0,
    usual=(10, 86_400),
)


class NodeSuspected(Arguments, frozen=True, kw_only=True):
    """NODE.REPLACE and NODE.REMOVE: the suspect node.

    With ``expires`` None the suspect is avoided for the time that ``whesl.model.bad_node_expiry`` gives.
    """

    node: Annotated[str, Argument(_T.STRING, "the suspect; left out, it is found from the evidence")] = ""
    unknown: Annotated[
        Literal["restart", "fail", "pause"],
        Argument(
            _T.STRING,
            "what to do when the suspect is not known: restart on the same nodes (default), fail or pause",
        ),
    ] = "restart"
    expires: Annotated[
        float | None,
        Argument(
            _T.NUMBER,
            "seconds for which the bad node is remembered (default 86400)",
            minimum=0,
            usual=(60, 31_536_000),
            above=True,
        ),
    ] = None


class NodeReplace(NodeSuspected, frozen=True, kw_only=True):
    """NODE.REPLACE: a spare node takes the place of the suspect node."""

    wait: Annotated[float, _WAIT] = 0.0


class NodeRemove(NodeSuspected, frozen=True, kw_only=True):
    """NODE.REMOVE: the task continues without the suspect node."""

    min_nodes: Annotated[
        int,
        Argument(
            _T.INTEGER, "nodes that have to be left for the task to go on", minimum=1, usual=(1, 20_000)
        ),
    ] = 1


class NodeAdd(Arguments, frozen=True, kw_only=True):
    """NODE.ADD: the task gets further nodes from the spares."""

    count: Annotated[
        int, Argument(_T.INTEGER, "spares that are taken into use (default 1)", minimum=1, usual=(1, 1000))
    ] = 1
    wait: Annotated[float, _WAIT] = 0.0

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if self.count < 1:
            raise ValueError(f"count has to be at least 1, not {self.count}")


class JobReplace(Arguments, frozen=True, kw_only=True):
    """JOB.REPLACE: the restarted task gets another command, environment or resources."""

    extra: ClassVar = (
        Argument(
            _T.ATTEMPTS,
            "what else changes at the first recovery, the second and so on; then the last one counts",
            "attempts",
        ),
    )

    command: Annotated[
        tuple[str, ...] | None,
        Argument(_T.STRINGS, "command that takes the place of the task's own", command=True, by_attempt=True),
    ] = None
    command_append: Annotated[
        tuple[str, ...] | None,
        Argument(_T.STRINGS, "words behind the task's command", command=True, by_attempt=True),
    ] = None
    nodes: Annotated[
        int | None, Argument(_T.INTEGER, "number of nodes", minimum=1, usual=(1, 20_000), by_attempt=True)
    ] = None
    time: Annotated[
        float | None,
        Argument(
            _T.NUMBER,
            "time limit in minutes of the job's new run",
            minimum=0,
            usual=(1, 43_200),
            above=True,
            new_run=True,
            by_attempt=True,
        ),
    ] = None
    memory: Annotated[
        str | None,
        Argument(
            _T.MEMORY,
            "memory of each node for the job's new run",
            usual=(128, 2**24),
            new_run=True,
            by_attempt=True,
        ),
    ] = None
    environment: Annotated[
        dict[str, str],
        Argument(_T.ENVIRONMENT, "variables that are set; an empty text removes one", by_attempt=True),
    ] = {}
    workdir: Annotated[str | None, Argument(_T.STRING, "working directory", path=True)] = None


class JobAdd(Arguments, frozen=True, kw_only=True):
    """JOB.ADD: a command runs before the task is restarted."""

    command: Annotated[
        tuple[str, ...],
        Argument(_T.STRINGS, "command that is run in the allocation before the restart", command=True),
    ]
    timeout: Annotated[
        float, Argument(_T.NUMBER, "seconds that it may take", minimum=0, usual=(1, 604_800), above=True)
    ] = 600.0

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if not self.command:
            raise ValueError("command is empty")


class JobCheckpoint(Arguments, frozen=True, kw_only=True):
    """JOB.CHECKPOINT: the request to a program without a client, and the sign that it has written."""

    signal: Annotated[
        int, Argument(_T.SIGNAL, "asks the program for a checkpoint, where it has no client")
    ] = 0
    trigger: Annotated[
        str,
        Argument(_T.STRING, "file that asks for one; the program removes it when it has written", path=True),
    ] = ""
    written: Annotated[
        str,
        Argument(_T.STRING, "glob of the checkpoint's files: a new one says that it was written", path=True),
    ] = ""
    timeout: Annotated[
        float,
        Argument(
            _T.NUMBER, "seconds that it may take (default 3600)", minimum=0, usual=(1, 604_800), above=True
        ),
    ] = 3600.0


class JobRemove(Arguments, frozen=True, kw_only=True):
    """JOB.REMOVE: the task is skipped."""

    reason: Annotated[str, Argument(_T.STRING, "why the task is skipped; it counts as done")] = ""


OPERATIONS: dict[tuple[str, str], type[Arguments]] = {
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


@cache
def arguments_of(resource: str, operation: str) -> tuple[Argument, ...]:
    """Return the arguments of an operation: first its own, then those of all operations.

    Args:
        resource: the resource's name.
        operation: the operation's name.
    """
    return (*_described(OPERATIONS[resource, operation]), *COMMON)


def _described(kind: type[Arguments]) -> Iterator[Argument]:
    for field in msgspec.structs.fields(kind):
        if field.name == "handler_timeout" and kind is not Arguments:
            continue
        taken, argument = get_args(field.type)
        choices = get_args(taken) if get_origin(taken) is Literal else ()
        yield replace(argument, name=field.name, required=field.required, choices=choices)
    yield from kind.extra


COMMON = tuple(_described(Arguments))  # the arguments of every operation


def mebibytes(text: str) -> int | None:
    """Return a size in MiB, rounded up; None for a text that is no size. Units: K, M (default), G, T."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    size = math.ceil(float(match["number"]) * _UNITS[match["unit"].upper()])
    return size if 0 < size < 2**40 else None


def shell_operator(command: str) -> str | None:
    """Return the first shell operator in a command line that runs without a shell; None for no operator.

    Raises ValueError for quotes that do not match.
    """
    # The non-POSIX lexer keeps quotes, so that a quoted operator differs from a real one.
    lexer = shlex.shlex(command, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return next((word for word in list(lexer) if not word.strip("();<>|&")), None)
