"""whesl nodes: the memory of bad nodes, shared by all of a user's tasks."""

from __future__ import annotations

import time
import uuid
from typing import Any

import click
import msgspec
from rich.table import Table
from rich.text import Text

from whesl.cli import candidates
from whesl.cli.display import Screen
from whesl.coordinator.observing import known_state
from whesl.coordinator.views import nodes_view
from whesl.model.errors import RefusedError
from whesl.model.signs import visible
from whesl.wire import keys
from whesl.wire.client import request
from whesl.wire.messages import Command

_REPLY = 10.0


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def nodes(context: click.Context, as_json: bool) -> None:
    """Show or change the nodes that are avoided: why, since when, until when."""
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
@click.argument("node")
@click.option("--reason", default="", help="Why, for those who read the list.")
@click.option(
    "--hours",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    default=24.0,
    show_default=True,
    help="How long it is avoided.",
)
def add(node: str, reason: str, hours: float) -> None:
    """Avoid NODE from now on."""
    _tell("add-node", node, {"reason": reason, "hours": str(hours)})
    click.echo(f"{node} is avoided for {hours:g} h")


@nodes.command()
@click.argument("node", shell_complete=candidates.bad_nodes)
def forget(node: str) -> None:
    """Use NODE again."""
    _tell("forget-node", node, {})
    click.echo(f"{node} is used again")


def _tell(action: str, node: str, arguments: dict[str, str]) -> None:
    from whesl.coordinator.start import ensure_running

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
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.get("first") or row["time"])),
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["expires"])),
        str(row.get("count", 1)),
        row.get("task", ""),
        row["reason"],
    ]
    return [visible(cell) for cell in cells]


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table("node", "source", "since", "until", "times", "task", "reason")
    for row in rows:
        # Cells are data: brackets in them are no markup.
        table.add_row(*map(Text, _cells(row)))
    Screen().print(table)
