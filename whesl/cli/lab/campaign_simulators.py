"""Commands of the lab as simulators of a campaign: each cell is a call of a command with ``--json``."""

from __future__ import annotations

import importlib
import io
import json
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import click

from whesl.cli.lab import COMMANDS, lab
from whesl.model.errors import UsageError, WheslError

KINDS = ("schedule", "workflow", "torus", "grid", "predict")
# Values of a summary that differ from call to call, such as run times.
TIMED = ("simulated_in",)
# Calls print to this process's standard output, so that only one thread of a worker calls at a time.
_alone = threading.Lock()


def files(kind: str) -> frozenset[str] | None:
    """Return the names of a kind's parameters that are files; None for an unknown kind."""
    if kind in KINDS and kind in COMMANDS:
        return frozenset(
            name for name, option in _options(kind).items() if isinstance(option.type, click.Path)
        )
    return None if _own(kind) is None else frozenset()


def _own(kind: str) -> Callable[[dict[str, Any], int], dict[str, Any]] | None:
    """Return the function ``cell`` of a user's own module; None without one."""
    try:
        found = getattr(importlib.import_module(kind), "cell", None)
    except (ImportError, ValueError):
        return None
    return found if callable(found) else None


def run(kind: str, parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Call a command and return the numbers of its summary, or a user's own module and return its measures.

    Args:
        kind: the command, or a user's own module with ``cell(parameters, seed)``.
        parameters: the command's options, by name without hyphens; a list gives an option for each item.
        seed: the value of ``--seed``, if the command has that option.

    Raises:
        UsageError: the command does not take the parameters.
        WheslError: the command has failed.
    """
    if kind not in KINDS:
        own = _own(kind)
        if own is None:
            raise UsageError(f"no module {kind!r} that has cell(parameters, seed)")
        return _measures(kind, own, parameters, seed)
    command, options = _command(kind), _options(kind)
    words: list[str] = []
    for name, value in parameters.items():
        if name not in options:
            known = ", ".join(name for name in options if name not in ("json", "out", "quiet", "seed"))
            raise UsageError(f"whesl lab {kind} has no option --{name}", hint=f"it has: {known}")
        if isinstance(value, bool):
            words += [f"--{name}"] if value else []
        else:
            for item in value if isinstance(value, list) else [value]:
                words += [f"--{name}", str(item)]
    words += ["--seed", str(seed)] if "seed" in options else []
    words += ["--json", *(["--quiet"] if "quiet" in options else [])]
    printed = io.StringIO()
    try:
        with _alone, redirect_stdout(printed):
            command.main(args=words, prog_name=f"whesl lab {kind}", standalone_mode=False)
        found = json.loads(printed.getvalue())
    except click.ClickException as error:
        raise UsageError(f"whesl lab {kind}: {error.format_message()}") from error
    except ValueError as error:
        raise UsageError(f"whesl lab {kind} {' '.join(words)} printed no JSON") from error
    if not isinstance(found, dict):
        raise UsageError(
            f"whesl lab {kind} {' '.join(words)} gave several summaries", hint="vary it in `over`"
        )
    echoed = {*parameters, "seed"}
    return {name: value for name, value in _numbers(found, "") if name.replace("_", "-") not in echoed}


def _measures(
    kind: str, own: Callable[[dict[str, Any], int], dict[str, Any]], parameters: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Call a user's own simulator; any exception in it is an error of its cell only."""
    from whesl.lab.results.jobs_parquet_and_summary_json import plain

    try:
        found = own(parameters, seed)
    except WheslError:
        raise
    except Exception as error:  # the user's code may raise any exception
        raise UsageError(f"{kind}.cell: {type(error).__name__}: {error}") from error
    measures: dict[str, Any] = plain(found)
    simple = isinstance(measures, dict) and all(
        value is None or isinstance(value, (str, bool, int, float)) for value in measures.values()
    )
    if not simple:
        raise UsageError(f"{kind}.cell returns {str(found)[:60]}", hint="measures are numbers by their names")
    return measures


def _command(kind: str) -> click.Command:
    command = lab.get_command(click.Context(lab), kind)
    assert command is not None
    return command


def _options(kind: str) -> dict[str, click.Parameter]:
    """Return a command's options by their names without the leading hyphens."""
    return {
        word[2:]: option for option in _command(kind).params for word in option.opts if word.startswith("--")
    }


def _numbers(found: dict[str, Any], begin: str) -> list[tuple[str, Any]]:
    numbers: list[tuple[str, Any]] = []
    for name, value in found.items():
        if isinstance(value, dict):
            numbers += _numbers(value, f"{begin}{name}.")
        elif name in TIMED:
            continue
        elif (isinstance(value, (int, float)) and not isinstance(value, bool)) or value is None:
            numbers.append((f"{begin}{name}", value))
    return numbers
