"""Options that several commands have, each written once."""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import Any

import click

from whesl.cli.parameters import option, required
from whesl.model.errors import UsageError

FILE = click.Path(dir_okay=False, path_type=Path)


class _Rules(click.Path):
    """The type of a specification's file; ``default`` is the shipped policy unless a file has that name."""

    name = "rules"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the specification's file.

        Args:
            value: the word on the command line.
            param: click's parameter.
            ctx: click's context.
        """
        from whesl.language import shipped_policy

        return super().convert(shipped_policy.place(str(value)), param, ctx)


RULES = _Rules(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

LOG: Path = required("Job log, also packed (gzip, bzip2, xz).", "SWF", "--log", type=FILE)
FAILURES: Path | None = option(
    None, "Failure records of the nodes (LANL, FTA, CSV).", "FILE", "--failures", type=FILE
)
SYSTEM: str | None = option(None, "The system of a file of several (LANL, FTA).", "ID", "--system")
STRICT = option(False, "Refuse files with a malformed line.", names="--strict")
AUDIT = option(True, "Check the run with separate code.", names="--audit/--no-audit", shown=True)
OUT: Path | None = option(None, "Write results.", "DIR", "--out", type=FOLDER)
TIMEOUT = option(60.0, "How long --wait waits.", "SECONDS", "--timeout", least=0, shown=True)
PRINT_JSON = option(False, "Print JSON.", names="--json")
JSON = option(False, "Print the summary as JSON.", names="--json")
QUIET = option(False, "Show no progress.", names="-q --quiet")
DRY_RUN: bool = option(False, "Show what would change, and change nothing.", names="--dry-run")
YES: bool = option(False, "Do not ask.", names="--yes")
SPECIFICATION: Path = required(
    "The specification; default: the policy that ships.", names="-e --rules", type=RULES
)
OBSERVE: bool = option(False, "Report what would be done; touch nothing.", names="--observe")
OWN_NODE: bool = option(
    True,
    "Use an isolator's node for its task too, or ask for one node more in each job and keep it out.",
    names="--own-node/--no-own-node",
    shown=True,
)
SPARES: int = option(
    1, "Spare nodes for each job whose recovery may take one.", "N", "--spares", shown=True, least=0
)


def seed_option(default: int = 0) -> int:
    """Declare the option for the seed of all random numbers.

    Args:
        default: the seed if the option is not given.
    """
    return option(default, "Seed of all draws [{default}].", "N", "--seed", least=0)


SEED = seed_option()


def node_list(text: str, where: str) -> tuple[str, ...]:
    """Return the nodes of a list such as ``n[01-03]``. Raises UsageError.

    Args:
        text: the list.
        where: the name of the option or argument, for the message.
    """
    from whesl.model.hostlist import expand

    try:
        return expand(text)
    except ValueError as error:
        raise UsageError(
            f"{where}{text} is no list of nodes: {error}", hint="for example n[01-03,7]"
        ) from None


def moment(where: str, text: str, zone: tzinfo | None = timezone.utc) -> float:
    """Return a date, with or without a time, in seconds since the epoch. Raises UsageError.

    Args:
        where: the name of the option, for the message.
        text: the date in ISO 8601.
        zone: the time zone of a date that names none; None: the machine's.
    """
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{where} {text!r} is no date", hint="write YYYY-MM-DD or 'YYYY-MM-DD hh:mm'"
        ) from None
    return (date if date.tzinfo else date.replace(tzinfo=zone)).timestamp()
