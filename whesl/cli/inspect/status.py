"""whesl status: workflows and tasks as they are now; also while the coordinator is down."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from whesl.cli import completion_candidates
from whesl.cli.broken_pipe import Screen
from whesl.cli.inspect.watch import Watcher, cells, row
from whesl.cli.inspect.watch import watch as follow
from whesl.cli.options import PRINT_JSON
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import UsageError
from whesl.model.states import TaskState
from whesl.report.collection import without_coordinator
from whesl.report.terminal_view import STYLES
from whesl.runtime.coordinator.client.journal_state import Known, known_state
from whesl.runtime.coordinator.client.start import running
from whesl.runtime.coordinator.core.dependents_and_names import AmbiguityError, resolve
from whesl.runtime.coordinator.json_views import status_view, unreachable_managers
from whesl.runtime.coordinator.python_gc import put_off
from whesl.runtime.wire import keys

_HEAD = ("task", "state", "attempt", "job", "nodes", "last exception", "reason")
_HINTED = 5  # greatest number of workflows named in a hint


@click.command()
@parameters
def status(
    *,
    workflow: str = argument(required=False, default="", shell_complete=completion_candidates.workflows),
    watch: bool = option(False, "Refresh until every task has ended (or Ctrl-C)."),
    as_json: bool = PRINT_JSON,
) -> None:
    """Show WORKFLOW, or all of them: each task's state, attempt, nodes and last exception."""
    home = keys.home()
    known = known_state(home)
    name = _workflow(known, workflow)
    if watch and not as_json:
        _say_damage(known)
        follow(Watcher(home, name, known), Screen())
        return
    # The objects made here are shown once; garbage collection would take most of the time.
    with put_off():
        _show(home, known, name, as_json=as_json)


def _say_damage(known: Known) -> None:
    if known.damage:
        click.echo(f"whesl: {known.damage}; what follows is what could be read", err=True)


def _show(home: Path, known: Known, name: str, *, as_json: bool) -> None:
    if as_json:
        health = running(home)
        about = {"running": health is not None, "unreachable": (health or {}).get("unreachable", [])}
        body = {**status_view(known.state, name), "coordinator": about}
        click.echo(msgspec.json.encode(body).decode())
        return
    _say_damage(known)
    _print(status_view(known.state, name))
    if not name:
        told = {entry.workflow for entry in known.state.tasks.values()}
        if alone := without_coordinator(home, told):
            names = " or ".join(f"whesl report {shlex.quote(found)}" for found in alone)
            click.echo(f"tasks that ran without a coordinator are not listed here; try {names}", err=True)
        elif not told:
            click.echo("nothing was run yet", err=True)
    health = running(home)
    if health is None and any(task.live for task in known.state.tasks.values()):
        click.echo("the coordinator does not run; this is what it knew last", err=True)
    elif health is not None:
        if health.get("journal"):
            click.echo(f"whesl: {health['journal']}", err=True)
        for line in unreachable_managers(health):
            click.echo(f"whesl: {line}", err=True)


def _workflow(known: Known, wanted: str) -> str:
    """Return the workflow with an abbreviated name. Raises UsageError with the candidates."""
    if not wanted:
        return ""
    names = {*known.state.workflows, *(task.workflow for task in known.state.tasks.values())}
    try:
        return resolve(names, wanted)
    except AmbiguityError as error:
        message = str(error).replace("task", "workflow")
        hint = f"did you mean: {', '.join(error.candidates)}" if error.candidates else _newest(known, names)
        raise UsageError(message, hint=hint) from None


def _newest(known: Known, names: set[str]) -> str:
    """Return a hint with the workflows that changed last."""
    changed = dict.fromkeys(sorted(names), 0.0)
    for task in known.state.tasks.values():
        changed[task.workflow] = max(changed[task.workflow], task.state_time)
    newest = sorted(changed, key=changed.__getitem__)[-_HINTED:]
    return f"known are: {', '.join(newest)}" if newest else "none was run with this WHESL_HOME"


def _print(view: dict[str, Any]) -> None:
    if Screen().is_terminal:
        if view["workflows"]:
            Screen().print(picture(view))
        return
    lines = [row(task) for flow in view["workflows"] for task in flow["tasks"]]
    if lines:
        click.echo("\n".join(lines))


def picture(view: dict[str, Any]) -> RenderableType:
    """Return a table for each workflow in the data of ``whesl status --json``."""
    parts: list[RenderableType] = []
    for flow in view["workflows"]:
        title = f"{flow['id']}  {flow['wms']} on {flow['rjms']}" if flow["name"] else flow["id"]
        if flow["observe"]:
            title += "  (observed only)"
        rows = [cells(task) for task in flow["tasks"]]
        # Columns without a value for any task are left out, to save width.
        told = [number for number in range(len(_HEAD)) if any(found[number] != "-" for found in rows)]
        table = Table(title=title)
        for number in told:
            # Names of tasks are never cut, since tasks of a step differ at the end of their names.
            table.add_column(_HEAD[number], overflow="fold", no_wrap=number == 1)
        for task, found in zip(flow["tasks"], rows, strict=True):
            # Text, since brackets in cells are data, not markup.
            shown = [Text(found[0].partition("/")[2]), Text(found[1], STYLES[TaskState(task["state"])])]
            shown += map(Text, found[2:])
            table.add_row(*(shown[number] for number in told))
        parts.append(table)
    return Group(*parts)
