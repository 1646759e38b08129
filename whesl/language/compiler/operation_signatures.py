"""The arguments of every operation: what the check, the documents and the runtime follow."""

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

# Placeholders that are always filled; all others are named groups of the exception's patterns.
BUILT_IN_PLACEHOLDERS = ("node", "task", "step", "workspace", "attempt")


class ArgumentType(str, Enum):
    """What JSON value an argument takes."""

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
    """One argument.

    ``minimum`` bounds numbers; ``above`` says that the bound itself is not allowed. ``path``: an absolute
    path; ``command``: a text is split into words as a shell would, and run without one. ``new_run``: only a
    new run of the job can be given it, by its resource manager; ``by_attempt``: it may stand in ``attempts``.
    """

    type: ArgumentType
    help: str
    name: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
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
    """An operation's arguments as a recovery has them: base of all, with what each operation understands.

    A field's type is what ``runtime.operations.step_arguments`` makes of the rule's value, which its
    ``Argument`` describes. A signal is its number, 0 for none.
    """

    extra: ClassVar[tuple[Argument, ...]] = ()  # taken out before the recovery has its arguments

    handler_timeout: Annotated[
        float,
        Argument(_T.NUMBER, "seconds that a custom handler may take (default 60)", minimum=0, above=True),
    ] = HANDLER_TIMEOUT


class FilesystemReplace(Arguments, frozen=True, kw_only=True):
    """Files below an old prefix go to the first new root with room."""

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
        int, Argument(_T.INTEGER, "bytes that have to be free in the new root", minimum=0)
    ] = 0
    signal: Annotated[int, Argument(_T.SIGNAL, "sent to running dependents that are reconfigured")] = 0

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if not self.filesystem:
            raise ValueError("filesystem is empty: name at least one root")
        if self.min_free < 0:
            raise ValueError(f"min_free is negative: {self.min_free}")


class FilesystemChange(Arguments, frozen=True, kw_only=True):
    """ADD and REMOVE: one root."""

    filesystem: Annotated[str, Argument(_T.STRING, "root of the file system", path=True)]


class NodeReplace(Arguments, frozen=True, kw_only=True):
    """A spare takes the suspect's place.

    ``expires`` None: as long as the evidence is worth (``whesl.model.bad_node_expiry``).
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
            above=True,
        ),
    ] = None


class NodeRemove(NodeReplace, frozen=True, kw_only=True):
    """The task goes on without the suspect."""

    min_nodes: Annotated[
        int, Argument(_T.INTEGER, "nodes that have to be left for the task to go on", minimum=1)
    ] = 1


class NodeAdd(Arguments, frozen=True, kw_only=True):
    """Spares are taken into use."""

    count: Annotated[int, Argument(_T.INTEGER, "spares that are taken into use (default 1)", minimum=1)] = 1

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if self.count < 1:
            raise ValueError(f"count has to be at least 1, not {self.count}")


class JobReplace(Arguments, frozen=True, kw_only=True):
    """What the restarted task gets instead of what it had."""

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
    nodes: Annotated[int | None, Argument(_T.INTEGER, "number of nodes", minimum=1, by_attempt=True)] = None
    time: Annotated[
        float | None,
        Argument(
            _T.NUMBER,
            "time limit in minutes of the job's new run",
            minimum=0,
            above=True,
            new_run=True,
            by_attempt=True,
        ),
    ] = None
    memory: Annotated[
        str | None,
        Argument(_T.MEMORY, "memory of each node for the job's new run", new_run=True, by_attempt=True),
    ] = None
    environment: Annotated[
        dict[str, str],
        Argument(_T.ENVIRONMENT, "variables that are set; an empty text removes one", by_attempt=True),
    ] = {}
    workdir: Annotated[str | None, Argument(_T.STRING, "working directory", path=True)] = None


class JobAdd(Arguments, frozen=True, kw_only=True):
    """A command is run before the restart."""

    command: Annotated[
        tuple[str, ...],
        Argument(_T.STRINGS, "command that is run in the allocation before the restart", command=True),
    ]
    timeout: Annotated[float, Argument(_T.NUMBER, "seconds that it may take", minimum=0, above=True)] = 600.0

    def __post_init__(self) -> None:
        """Check what the types do not say."""
        if not self.command:
            raise ValueError("command is empty")


class JobCheckpoint(Arguments, frozen=True, kw_only=True):
    """How a program without a client is asked for a checkpoint, and what says that it was written."""

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
        float, Argument(_T.NUMBER, "seconds that it may take (default 3600)", minimum=0, above=True)
    ] = 3600.0


class JobRemove(Arguments, frozen=True, kw_only=True):
    """The task is skipped."""

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
    """Return the arguments of an operation, its own first and then the common ones."""
    return (*_described(OPERATIONS[resource, operation]), *COMMON)


def _described(kind: type[Arguments]) -> Iterator[Argument]:
    for field in msgspec.structs.fields(kind):
        if field.name == "handler_timeout" and kind is not Arguments:
            continue
        taken, argument = get_args(field.type)
        choices = get_args(taken) if get_origin(taken) is Literal else ()
        yield replace(argument, name=field.name, required=field.required, choices=choices)
    yield from kind.extra


COMMON = tuple(_described(Arguments))  # understood by every operation


def mebibytes(text: str) -> int | None:
    """Return a size in MiB, rounded up; None for what is none. Units are K, M (where none is given), G, T."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    size = math.ceil(float(match["number"]) * _UNITS[match["unit"].upper()])
    return size if 0 < size < 2**40 else None


def shell_operator(command: str) -> str | None:
    """Return an operator of the shell's in a command line that no shell runs, None where there is none.

    Raises ValueError for quotes that do not match.
    """
    # The non-POSIX lexer leaves the quotes on, so that a quoted operator is told from a real one.
    lexer = shlex.shlex(command, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return next((word for word in list(lexer) if not word.strip("();<>|&")), None)
