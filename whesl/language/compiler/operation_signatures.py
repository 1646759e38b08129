"""The arguments of every operation: the one table that the check, the documents and the runtime follow."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from enum import Enum

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

    name: str
    type: ArgumentType
    help: str
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

# Understood by every operation.
COMMON = (
    Argument(
        "handler_timeout",
        _T.NUMBER,
        "seconds that a custom handler may take (default 60)",
        minimum=0,
        above=True,
    ),
)

_SUSPECT = (
    Argument("node", _T.STRING, "the suspect; left out, it is found from the evidence"),
    Argument(
        "unknown",
        _T.STRING,
        "what to do when the suspect is not known: restart on the same nodes (default), fail or pause",
        choices=("restart", "fail", "pause"),
    ),
    Argument(
        "expires",
        _T.NUMBER,
        "seconds for which the bad node is remembered (default 86400)",
        minimum=0,
        above=True,
    ),
)
_ROOT = Argument("filesystem", _T.STRING, "root of the file system", required=True, path=True)

ARGUMENTS: dict[tuple[str, str], tuple[Argument, ...]] = {
    (ResourceKind.FILESYSTEM, Operation.REPLACE): (
        Argument(
            "filesystem",
            _T.STRINGS,
            "new root, or several of which the first with room is taken",
            required=True,
            path=True,
        ),
        Argument(
            "defaultpath",
            _T.STRING,
            "old prefix, which the new root takes the place of",
            required=True,
            path=True,
        ),
        Argument(
            "mode",
            _T.STRING,
            "what happens to the files that are there: link (default) or move",
            choices=("link", "move"),
        ),
        Argument("min_free", _T.INTEGER, "bytes that have to be free in the new root", minimum=0),
        Argument("signal", _T.SIGNAL, "sent to running dependents that are reconfigured"),
    ),
    (ResourceKind.FILESYSTEM, Operation.ADD): (_ROOT,),
    (ResourceKind.FILESYSTEM, Operation.REMOVE): (_ROOT,),
    (ResourceKind.NODE, Operation.REPLACE): _SUSPECT,
    (ResourceKind.NODE, Operation.REMOVE): (
        *_SUSPECT,
        Argument("min_nodes", _T.INTEGER, "nodes that have to be left for the task to go on", minimum=1),
    ),
    (ResourceKind.NODE, Operation.ADD): (
        Argument("count", _T.INTEGER, "spares that are taken into use (default 1)", minimum=1),
    ),
    (ResourceKind.JOB, Operation.REPLACE): (
        Argument(
            "command",
            _T.STRINGS,
            "command that takes the place of the task's own",
            command=True,
            by_attempt=True,
        ),
        Argument(
            "command_append", _T.STRINGS, "words behind the task's command", command=True, by_attempt=True
        ),
        Argument("nodes", _T.INTEGER, "number of nodes", minimum=1, by_attempt=True),
        Argument(
            "time",
            _T.NUMBER,
            "time limit in minutes of the job's new run",
            minimum=0,
            above=True,
            new_run=True,
            by_attempt=True,
        ),
        Argument(
            "memory",
            _T.MEMORY,
            "memory of each node for the job's new run",
            new_run=True,
            by_attempt=True,
        ),
        Argument(
            "environment",
            _T.ENVIRONMENT,
            "variables that are set; an empty text removes one",
            by_attempt=True,
        ),
        Argument(
            "attempts",
            _T.ATTEMPTS,
            "what else changes at the first recovery, the second and so on; then the last one counts",
        ),
        Argument("workdir", _T.STRING, "working directory", path=True),
    ),
    (ResourceKind.JOB, Operation.ADD): (
        Argument(
            "command",
            _T.STRINGS,
            "command that is run in the allocation before the restart",
            required=True,
            command=True,
        ),
        Argument("timeout", _T.NUMBER, "seconds that it may take", minimum=0, above=True),
    ),
    (ResourceKind.JOB, Operation.CHECKPOINT): (
        Argument("signal", _T.SIGNAL, "asks the program for a checkpoint, where it has no client"),
        Argument(
            "trigger",
            _T.STRING,
            "file that asks for one; the program removes it when it has written",
            path=True,
        ),
        Argument(
            "written",
            _T.STRING,
            "glob of the checkpoint's files: a new one says that it was written",
            path=True,
        ),
        Argument("timeout", _T.NUMBER, "seconds that it may take (default 3600)", minimum=0, above=True),
    ),
    (ResourceKind.JOB, Operation.REMOVE): (
        Argument("reason", _T.STRING, "why the task is skipped; it counts as done"),
    ),
}


def mebibytes(text: str) -> int | None:
    """Return a size in MiB, rounded up; None for what is none. Units are K, M (where none is given), G, T."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    size = math.ceil(float(match["number"]) * _UNITS[match["unit"].upper()])
    return size if 0 < size < 2**40 else None


def arguments_of(resource: str, operation: str) -> tuple[Argument, ...]:
    """Return the arguments of an operation, its own first and then the common ones."""
    return (*ARGUMENTS[resource, operation], *COMMON)


def shell_operator(command: str) -> str | None:
    """Return an operator of the shell's in a command line that no shell runs, None where there is none.

    Raises ValueError for quotes that do not match.
    """
    # The non-POSIX lexer leaves the quotes on, so that a quoted operator is told from a real one.
    lexer = shlex.shlex(command, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return next((word for word in list(lexer) if not word.strip("();<>|&")), None)
