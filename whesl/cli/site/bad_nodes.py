"""whesl nodes: the memory of bad nodes, shared by all of a user's tasks."""

from __future__ import annotations

import difflib
import time
import uuid
from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.table import Table
from rich.text import Text

from whesl.cli import completion_candidates
from whesl.cli.broken_pipe import Screen
from whesl.cli.options import PRINT_JSON, node_list
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import RefusedError, UsageError
from whesl.model.printable import visible
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.json_views import nodes_view
from whesl.runtime.wire import keys
from whesl.runtime.wire.client import request
from whesl.runtime.wire.messages import Command

_REPLY = 10.0


@click.group(invoke_without_command=True)
@click.pass_context
@parameters
def nodes(
    context: click.Context,
    *,
    as_json: bool = PRINT_JSON,
    cleared: tuple[str, ...] = option(
        (), "As `whesl nodes clear`.", "NODES", "--clear", shell_complete=completion_candidates.bad_nodes
    ),
) -> None:
    """Show or change the nodes that are avoided: why, how strongly, since when, until when."""
    if cleared:
        _clear(cleared)
        return
    if context.invoked_subcommand is not None:
        return
    view = nodes_view(known_state(keys.home()).state, time.time())
    if as_json:
        click.echo(msgspec.json.encode(view).decode())
        return
    rows = view["nodes"]
    if not rows:
        click.echo("no node is avoided")
        return
    if Screen().is_terminal:
        _show(rows)
        return
    for row in rows:
        click.echo("\t".join(_cells(row)))


@nodes.command()
@parameters
def add(
    *,
    node: str = argument(),
    reason: str = option("", "Why, for those who read the list."),
    hours: float = option(24.0, "How long it is avoided.", "N", shown=True, above=0),
) -> None:
    """Avoid NODE from now on."""
    _tell("add-node", node, {"reason": reason, "hours": str(hours)})
    click.echo(f"{node} is avoided for {hours:g} h")


@nodes.command()
@parameters
def clear(
    *,
    nodes: tuple[str, ...] = argument(nargs=-1, shell_complete=completion_candidates.bad_nodes),
    everything: bool = option(False, "All that are avoided.", names="--all"),
) -> None:
    """Use NODES again: names, or lists such as n[01-03]."""
    if everything and nodes:
        raise UsageError("nodes and --all were given", hint="give one of them")
    if not everything and not nodes:
        raise UsageError("no node was named", hint="whesl nodes clear n03, or --all")
    _clear(nodes, everything=everything)


def _clear(wanted: Sequence[str], *, everything: bool = False) -> None:
    """Let nodes be used again: all wanted ones, or none if one is not avoided. Raises RefusedError."""
    view = nodes_view(known_state(keys.home()).state, time.time())
    known = [row["node"] for row in view["nodes"]]
    names = (
        known
        if everything
        else list(dict.fromkeys(name for words in wanted for name in node_list(words.strip(","), "")))
    )
    strangers = [name for name in names if name not in known]
    if strangers:
        near = difflib.get_close_matches(strangers[0], known, n=1)
        listed = ", ".join(known) or "none is"
        raise RefusedError(
            f"{', '.join(strangers)}: not avoided, so nothing was cleared",
            hint=f"did you mean {near[0]}? avoided: {listed}" if near else f"avoided: {listed}",
        )
    for name in names:
        _tell("forget-node", name, {})
        click.echo(f"{name} is used again")
    if not names:
        click.echo("no node is avoided")


def _tell(action: str, node: str, arguments: dict[str, str]) -> None:
    from whesl.runtime.coordinator.client.start import ensure_running

    home = keys.home()
    ensure_running(home)
    command = Command(id=uuid.uuid4().hex, action=action, target=node, arguments=arguments)
    reply = request(home, command, _REPLY)
    if not reply.ok:
        candidates = msgspec.json.decode(reply.body).get("candidates") if reply.body else []
        raise RefusedError(reply.error, hint=f"known are: {', '.join(candidates)}" if candidates else "")


def _cells(row: dict[str, Any]) -> list[str]:
    cells = [
        row["node"],
        row.get("source", ""),
        row.get("grade", ""),
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.get("first") or row["time"])),
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["expires"])),
        str(row.get("count", 1)),
        row.get("task", ""),
        row["reason"],
    ]
    return [visible(cell) for cell in cells]


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table("node", "source", "evidence", "since", "until", "times", "task", "reason")
    for row in rows:
        # Text, since brackets in cells are data, not markup.
        table.add_row(*map(Text, _cells(row)))
    Screen().print(table)
