"""The options of ``whesl exec``: one table for the command line, the fast path and the defaults.

Standard library only, and neither typing nor dataclasses: the table is loaded before the program starts.
"""

from __future__ import annotations

from whesl.managers.resource import manager_table

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["flag", "switch", "text", "path", "file", "seconds", "count", "choice", "many"]


class Option:
    """An option, with its names on the command line and in a request, and its kind of value.

    Attributes:
        names: the option's names on the command line.
        key: the option's key in a request.
        kind: a flag has no value, a switch has an opposite, a text may be empty, a file is no directory,
            many may be given several times.
        default: the value without the option.
        help: one sentence.
        metavar: the value's name in the help.
        least: the smallest allowed number.
        choices: the allowed words.
        shown: whether the help shows the default.
    """

    __slots__ = ("choices", "default", "help", "key", "kind", "least", "metavar", "names", "shown")

    def __init__(
        self,
        names: tuple[str, ...],
        key: str,
        kind: Kind,
        default: Any,
        help_: str,
        metavar: str | None = None,
        *,
        least: float = 0.0,
        choices: tuple[str, ...] = (),
        shown: bool = False,
    ) -> None:
        self.names, self.key, self.kind, self.default, self.help = names, key, kind, default, help_
        self.metavar, self.least, self.choices, self.shown = metavar, least, choices, shown


OPTIONS = (
    Option(
        ("-e", "--rules"),
        "rules",
        "many",
        (),
        "The specification (ESL, or compiled); default: the policy that ships.",
        "FILE",
    ),
    Option(("--observe",), "observe", "flag", False, "Report what would be done, and touch nothing."),
    Option(("--strict",), "strict", "flag", False, "Start nothing while there is a warning about the rules."),
    Option(("--workflow",), "workflow", "text", "", "The workflow that the task belongs to.", "NAME"),
    Option(("--step",), "step", "text", "", "The task's step in the workflow.", "NAME"),
    Option(("--instance",), "instance", "text", "", "Tells several tasks of one step apart.", "NAME"),
    Option(
        ("--workspace",), "workspace", "text", "", "The task's directory; default: the current one.", "DIR"
    ),
    Option(("--name",), "name", "text", "", "The task's name, when it belongs to no workflow.", "NAME"),
    Option(("--nodes",), "nodes", "text", "", "Nodes to use; the others are spares.", "N"),
    Option(("--spares",), "spares", "count", 0, "Nodes kept as spares.", "N"),
    Option(
        ("--own-node", "--no-own-node"),
        "own_node",
        "switch",
        True,
        "Use the isolator's node for the task too, or keep it out while others are free.",
        shown=True,
    ),
    Option(
        ("--inner",),
        "inner",
        "choice",
        "auto",
        "What runs the task's steps in a job of Slurm: a Flux instance inside it, or Slurm.",
        choices=manager_table.INNER,
        shown=True,
    ),
    Option(
        ("--checkpoints",),
        "checkpoints",
        "path",
        None,
        "Coordinate the program's checkpoints, and keep them here (shared by all nodes).",
        "DIR",
    ),
    Option(("--task-dir",), "task_dir", "path", None, "Where the task's record is kept.", "DIR"),
    Option(("--no-coordinator",), "no_coordinator", "flag", False, "Do without a coordinator."),
    Option(
        ("--script-word",),
        "script_word",
        "count",
        0,
        "COMMAND is an interpreter, and its word N (from 0) the script whose interpreter WHESL stands for.",
        "N",
    ),
    Option(("--script",), "script", "text", None, "Run a script; - reads it from standard input.", "FILE"),
    Option(
        ("--heartbeat",),
        "heartbeat",
        "seconds",
        0.5,
        "Interval of the agents' heartbeats.",
        "SECONDS",
        least=0.05,
        shown=True,
    ),
    Option(
        ("--heartbeat-limit",),
        "heartbeat_limit",
        "seconds",
        3.0,
        "Silence after which a node is lost.",
        "SECONDS",
        least=0.2,
        shown=True,
    ),
    Option(
        ("--wait",),
        "coordinator_wait",
        "seconds",
        120.0,
        "How long the coordinator is waited for.",
        "SECONDS",
        shown=True,
    ),
    Option(
        ("--term-grace",),
        "term_grace",
        "seconds",
        25.0,
        "How long the program may take to end after SIGTERM.",
        "SECONDS",
        shown=True,
    ),
    Option(
        ("--summary", "--no-summary"),
        "summary",
        "switch",
        None,
        "What happened, at the end on stderr (default: on a terminal), or in FILE.whesl where that is FILE.",
    ),
    Option(("--json-summary",), "json_summary", "file", None, "The summary as JSON, into a file.", "FILE"),
    Option(("--quiet",), "quiet", "flag", False, "Say nothing on stderr."),
)
BY_NAME = {name: option for option in OPTIONS for name in option.names}
DEFAULTS: dict[str, Any] = {option.key: option.default for option in OPTIONS} | {"command": ()}


def value(option: Option, given: str) -> Any:
    """Return an option's value from a word, None where the command line has to parse the word.

    Args:
        option: an option that takes a value.
        given: the word after the option.
    """
    if option.kind in ("text", "many"):
        return given
    if option.kind in ("path", "file"):
        return given or None
    if option.kind == "choice":
        return given if given in option.choices else None
    if not given.isascii():
        return None
    if option.kind == "count":
        return int(given) if given.isdigit() else None
    if given.replace(".", "", 1).isdigit():
        return float(given) if float(given) >= option.least else None
    return None
