"""Options that several commands have, each written once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from whesl.model.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(dir_okay=False, path_type=Path)


class _Rules(click.Path):
    """A specification; ``default`` is the one that ships, where no file has that name."""

    name = "rules"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the file that is meant."""
        from whesl.language import shipped_policy

        return super().convert(shipped_policy.place(str(value)), param, ctx)


RULES = _Rules(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

log_option = click.option(
    "--log",
    "log_file",
    type=FILE,
    required=True,
    metavar="SWF",
    help="Job log, also packed (gzip, bzip2, xz).",
)
failures_option = click.option(
    "--failures", type=FILE, metavar="FILE", help="Failure records of the nodes (LANL, FTA, CSV)."
)
system_option = click.option("--system", metavar="ID", help="The system of a file of several (LANL, FTA).")
strict_option = click.option("--strict", is_flag=True, help="Refuse files with a malformed line.")
audit_option = click.option(
    "--audit/--no-audit", "audited", default=True, show_default=True, help="Check the run with separate code."
)
out_option = click.option("--out", type=FOLDER, metavar="DIR", help="Write results.")
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long --wait waits.",
)
json_option = click.option("--json", "in_json", is_flag=True, help="Print the summary as JSON.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")


def node_list(text: str, where: str) -> tuple[str, ...]:
    """Return the nodes of a list as people type it. Raises UsageError.

    Args:
        text: the list.
        where: what it was given for, for the message.
    """
    from whesl.managers.resource.hostlist import expand

    try:
        return expand(text)
    except ValueError as error:
        raise UsageError(
            f"{where}{text} is no list of nodes: {error}", hint="for example n[01-03,7]"
        ) from None


def seed_option(default: int = 0) -> Callable[[Command], Command]:
    """Return the option for the seed of all that is drawn.

    Args:
        default: the seed where none is given.
    """
    return click.option(
        "--seed", type=click.IntRange(0), default=default, metavar="N", help=f"Seed of all draws [{default}]."
    )
