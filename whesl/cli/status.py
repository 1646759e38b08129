"""whesl status: workflows and tasks as they are now; also while the coordinator is down."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
import msgspec
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from whesl.cli.display import Screen
from whesl.coordinator.hierarchy import AmbiguityError, resolve
from whesl.coordinator.observing import Known, known_state
from whesl.coordinator.start import running
from whesl.coordinator.views import status_view
from whesl.model.errors import UsageError
from whesl.model.states import TaskState
from whesl.wire import keys

_TURN = 0.5
_COLOURS = {
    "registered": "dim",
    "running": "cyan",
    "recovering": "yellow",
    "paused": "magenta",
    "escalated": "magenta",
    "unobserved": "yellow",
    "completed": "green",
    "skipped": "green",
    "failed": "bold red",
    "cancelled": "red",
}


@click.command()
@click.argument("workflow", required=False, default="")
@click.option("--watch", is_flag=True, help="Refresh until every task has ended (or Ctrl-C).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(workflow: str, watch: bool, as_json: bool) -> None:
    """Show WORKFLOW, or all of them: each task's state, attempt, nodes and last exception."""
    home = keys.home()
    known = known_state(home)
    name = _workflow(known, workflow)
    if as_json:
        body = {**status_view(known.state, name), "coordinator": {"running": running(home) is not None}}
        click.echo(msgspec.json.encode(body).decode())
        return
    if known.damage:
        click.echo(f"whesl: {known.damage}; what follows is what could be read", err=True)
    if not watch:
        _print(status_view(known.state, name))
        if running(home) is None and any(task.live for task in known.state.tasks.values()):
            click.echo("the coordinator does not run; this is what it knew last", err=True)
        return
    console = Screen()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(_picture(status_view(known.state, name)), refresh=True)
                if _over(known, name):
                    return
                time.sleep(_TURN)
                known = known_state(home, known)
    _follow(home_known=known, name=name)


def _follow(home_known: Known, name: str) -> None:
    """Print a line for each change, where there is no terminal to paint on."""
    home, known = keys.home(), home_known
    said: dict[str, str] = {}
    while True:
        for flow in status_view(known.state, name)["workflows"]:
            for task in flow["tasks"]:
                line = _line(task)
                if said.get(task["id"]) != line:
                    said[task["id"]] = line
                    click.echo(line)
        sys.stdout.flush()
        if _over(known, name):
            return
        time.sleep(_TURN)
        known = known_state(home, known)


def _over(known: Known, name: str) -> bool:
    tasks = [task for task in known.state.tasks.values() if name in ("", task.workflow)]
    return all(task.state.final for task in tasks)


def _workflow(known: Known, wanted: str) -> str:
    """Return the workflow that an abbreviation means. Raises UsageError with the candidates."""
    if not wanted:
        return ""
    names = {*known.state.workflows, *(task.workflow for task in known.state.tasks.values())}
    try:
        return resolve(names, wanted)
    except AmbiguityError as error:
        message = str(error).replace("task", "workflow")
        hint = f"did you mean: {', '.join(error.candidates)}" if error.candidates else ""
        raise UsageError(message, hint=hint) from None


def _print(view: dict[str, Any]) -> None:
    if Screen().is_terminal:
        Screen().print(_picture(view))
        return
    for flow in view["workflows"]:
        for task in flow["tasks"]:
            click.echo(_line(task))


def _line(task: dict[str, Any]) -> str:
    return "\t".join(_cells(task))


def _cells(task: dict[str, Any]) -> list[str]:
    state = task["state"]
    exit_code = task["exit_code"]
    if TaskState(state).final and exit_code not in (None, 0):
        state = f"{state} ({exit_code})"
    raised = task["exception"]
    if raised:
        raised = f"{raised} ({task['recovered']} of {task['exceptions']} recovered)"
    return [
        task["id"],
        state,
        str(task["attempt"] or "-"),
        task["job_id"] or "-",
        _nodes(task["nodes"]),
        raised or "-",
        " ".join(str(task["reason"]).split()) or "-",
    ]


def _nodes(nodes: list[str]) -> str:
    return ",".join(nodes) if len(nodes) <= 4 else f"{','.join(nodes[:3])},... ({len(nodes)})"


def _picture(view: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = []
    for flow in view["workflows"]:
        title = f"{flow['id']}  {flow['wms']} on {flow['rjms']}" if flow["name"] else flow["id"]
        if flow["observe"]:
            title += "  (observed only)"
        table = Table("task", "state", "attempt", "job", "nodes", "last exception", "reason", title=title)
        for task in flow["tasks"]:
            cells = _cells(task)
            style = _COLOURS.get(task["state"], "")
            table.add_row(cells[0].partition("/")[2], Text(cells[1], style=style), *cells[2:])
        parts.append(table)
    return Group(*parts) if parts else Text("nothing was run yet")
