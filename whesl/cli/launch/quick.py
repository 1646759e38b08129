"""The options of ``whesl exec`` read without click, whose import alone takes longer than a program's start.

What is not understood at once is left to click and its messages: misspellings, ``--option=value``, help.
A test holds names and defaults to click's declaration (``exec.py``).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

COMPLETING = "_WHESL_COMPLETE"
DEFAULTS: dict[str, Any] = {
    "rules": (),
    "observe": False,
    "workflow": "",
    "step": "",
    "instance": "",
    "workspace": "",
    "name": "",
    "nodes": "",
    "spares": 0,
    "own_node": True,
    "inner": "auto",
    "task_dir": None,
    "no_coordinator": False,
    "script": None,
    "heartbeat": 0.5,
    "heartbeat_limit": 3.0,
    "coordinator_wait": 120.0,
    "term_grace": 25.0,
    "summary": None,
    "json_summary": None,
    "quiet": False,
    "command": (),
}
FLAGS = {
    "--observe": ("observe", True),
    "--own-node": ("own_node", True),
    "--no-own-node": ("own_node", False),
    "--no-coordinator": ("no_coordinator", True),
    "--summary": ("summary", True),
    "--no-summary": ("summary", False),
    "--quiet": ("quiet", True),
}
TEXTS = {
    "--workflow": "workflow",
    "--step": "step",
    "--instance": "instance",
    "--workspace": "workspace",
    "--name": "name",
    "--nodes": "nodes",
    "--script": "script",
}
PATHS = {"--task-dir": "task_dir", "--json-summary": "json_summary"}
# Seconds, and the least of them.
SECONDS = {
    "--heartbeat": ("heartbeat", 0.05),
    "--heartbeat-limit": ("heartbeat_limit", 0.2),
    "--wait": ("coordinator_wait", 0.0),
    "--term-grace": ("term_grace", 0.0),
}
INNER = ("auto", "flux", "slurm")


def read(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the options of ``whesl exec`` by their names there, None when click has to read them.

    Args:
        arguments: what follows ``exec``.
    """
    options = dict(DEFAULTS)
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        option = arguments[place]
        place += 1
        if option == "--":
            options["command"] = tuple(arguments[place:])
            break
        if option in FLAGS:
            name, value = FLAGS[option]
            options[name] = value
            continue
        if place == len(arguments):
            return None  # its value is missing
        given = arguments[place]
        place += 1
        if (given.startswith("-") and given != "-") or not _set(options, option, given):
            return None
    else:
        # Options after the command's first word would be ours to click.
        if any(word.startswith("-") for word in arguments[place:]):
            return None
        options["command"] = tuple(arguments[place:])
    if options["command"][:1] and options["command"][0].endswith(".esl"):
        return None  # rules are no program
    return options if options["command"] or options["script"] is not None else None


def _set(options: dict[str, Any], option: str, given: str) -> bool:
    """Set an option; False when it or its value is left to click."""
    if option in ("-e", "--rules"):
        options["rules"] = (*options["rules"], given)
    elif option in TEXTS:
        options[TEXTS[option]] = given
    elif option in PATHS and given:
        options[PATHS[option]] = given
    elif option == "--inner" and given in INNER:
        options["inner"] = given
    elif option == "--spares" and given.isascii() and given.isdigit():
        options["spares"] = int(given)
    elif option in SECONDS and given.isascii() and given.replace(".", "", 1).isdigit():
        name, least = SECONDS[option]
        options[name] = float(given)
        return options[name] >= least  # type: ignore[no-any-return]  # a float
    else:
        return False
    return True


def attempt(arguments: Sequence[str]) -> None:
    """Start a task in the usual case and become its keeper; return when it is not that.

    Args:
        arguments: what follows ``exec``.
    """
    options = None if COMPLETING in os.environ else read(arguments)
    if options is None:
        return
    from whesl.isolator.launch import fast_path, keeper
    from whesl.model.errors import WheslError
    from whesl.wire.home import explained

    options["no_own_node"] = not options.pop("own_node")
    try:
        told = fast_path.prepare(options)
    except WheslError as error:
        sys.stderr.write(f"whesl: {error}\n")
        sys.exit(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"whesl: {explained(error)}\n")
        sys.exit(1)
    if told is not None:
        keeper.become(told)
