"""whesl clean: remove the directories of ended tasks from WHESL_HOME."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import click
import msgspec
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from whesl.cli import completion_candidates
from whesl.cli.broken_pipe import Screen, steady
from whesl.cli.options import PRINT_JSON
from whesl.cli.parameters import argument, option, parameters
from whesl.client import ended_task_removal
from whesl.client.workflow_leftovers import Found, choose, some, survey
from whesl.model.errors import UsageError
from whesl.model.printable import visible
from whesl.model.states import TaskState
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.isolator.nodes import node_claims
from whesl.runtime.wire import keys

DAYS = 7.0
_DAY = 86400.0
_HEAD = ("workflow", "last written", "tasks", "files", "size", "report")


@click.command()
@parameters
def clean(
    *,
    workflows: tuple[str, ...] = argument(
        nargs=-1, metavar="[WORKFLOW]...", shell_complete=completion_candidates.workflows
    ),
    days: float | None = option(
        None,
        f"Only workflows of which nothing was written for so long.  [default: {DAYS:g}; 0 for those named]",
        "DAYS",
        "--older-than",
        least=0,
    ),
    dry_run: bool = option(False, "Show what would be removed, and remove nothing.", names="-n --dry-run"),
    yes: bool = option(False, "Remove without asking.", names="-y --yes"),
    as_json: bool = PRINT_JSON,
) -> int:
    """Remove the files of tasks that are over: WORKFLOWs by name, or all old ones.

    A workflow goes as a whole once each of its tasks is over; one that is not, or of which that cannot be
    told, stays. What `whesl exec` ran without a workflow goes task by task. Outputs of tasks are not touched.
    `whesl status` and `whesl report` show removed workflows as before, except those that ran without a
    coordinator.
    """
    if not (dry_run or yes) and (as_json or not sys.stdin.isatty()):
        raise UsageError(
            "nothing was removed: without a terminal nobody can confirm it",
            hint="say --dry-run to look, --yes to remove",
        )
    home = keys.home()
    limit = days if days is not None else (0.0 if workflows else DAYS)
    known = known_state(home)
    if known.damage:
        click.echo(f"whesl: {known.damage}; tasks whose end is not known stay", err=True)
    states = {
        name: task.state for task in known.state.tasks.values() for name in (task.id, task.alias) if name
    }
    with _looking() as tell:
        everything = survey(home, states, workflows, tell)
    chosen, kept = choose(everything, time.time() - limit * _DAY if limit else math.inf)
    if not as_json:
        _show(chosen, kept)
    going = bool(chosen) and not dry_run
    if going and not yes and not click.confirm(f"remove {_total(chosen)}?"):
        click.echo("nothing was removed")
        return 1
    gone, failures = _remove(chosen, states) if going else ((), [])
    if going:
        node_claims.forget(str(home), time.time() - max(limit * _DAY, ended_task_removal.BEGINNING))
    if as_json:
        view = _view(chosen if dry_run else gone, [*kept, *failures], dry_run=dry_run)
        click.echo(msgspec.json.encode(view).decode())
    elif going:
        click.echo(f"removed {_total(gone)}")
    for found in failures:
        click.echo(f"whesl: {visible(found.workflow)} stays: {visible(found.why)}", err=True)
    return int(bool(failures))


def _remove(
    chosen: Sequence[Found], states: Mapping[str, TaskState]
) -> tuple[tuple[Found, ...], list[Found]]:
    """Remove directories; return the removed ones, and those that stay with the reasons."""
    gone, failures = [], []
    with _bar(sum(len(found.leftovers) for found in chosen)) as tell:
        for found in chosen:
            went, why = [], []
            for item in found.leftovers:
                try:
                    stays = ended_task_removal.remove(item.path, states.get(item.task))
                except OSError as error:
                    stays = f"{error.filename or item.path}: {error.strerror or error}"
                if stays:
                    why.append(f"{item.task}: {stays}")
                else:
                    went.append(item)
                tell(1)
            if went:
                gone.append(Found(workflow=found.workflow, leftovers=tuple(went)))
            if why:
                failures.append(Found(workflow=found.workflow, leftovers=(), why=some(why)))
            else:
                # The removal of the workflow's directory fails if a task has just started in it.
                _drop_empty(found)
    return tuple(gone), failures


def _drop_empty(found: Found) -> None:
    try:
        keys.home().joinpath("tasks", quote(found.workflow, safe="")).rmdir()
    except OSError:
        return


def _cells(found: Found) -> list[str]:
    return [
        visible(found.workflow),
        time.strftime("%Y-%m-%d %H:%M", time.localtime(found.changed)) if found.changed else "-",
        str(len(found.leftovers)),
        str(found.files),
        decimal(found.size),
        "stays" if found.reported else "goes with it",
    ]


def _show(chosen: Sequence[Found], kept: Sequence[Found]) -> None:
    for found in kept:
        click.echo(f"stays: {visible(found.workflow)} ({visible(found.why)})", err=True)
    if not chosen:
        click.echo("nothing to remove")
        return
    if not Screen().is_terminal:
        for found in chosen:
            click.echo("\t".join(_cells(found)))
        return
    table = Table(*_HEAD[:2], title="may go")
    for name in _HEAD[2:5]:
        table.add_column(name, justify="right")
    table.add_column(_HEAD[5])
    for found in chosen:
        # Text, since brackets in cells are data, not markup.
        table.add_row(*map(Text, _cells(found)))
    Screen().print(table)


def _total(chosen: Sequence[Found]) -> str:
    tasks = sum(len(found.leftovers) for found in chosen)
    files = sum(found.files for found in chosen)
    size = decimal(sum(found.size for found in chosen))
    return f"{files} files of {tasks} {'task' if tasks == 1 else 'tasks'}, {size}"


def _view(chosen: Sequence[Found], kept: Sequence[Found], *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "bytes": sum(found.size for found in chosen),
        "files": sum(found.files for found in chosen),
        "removed": [
            {
                "workflow": found.workflow,
                "tasks": len(found.leftovers),
                "files": found.files,
                "bytes": found.size,
                "changed": found.changed,
                "report_stays": found.reported,
            }
            for found in chosen
        ],
        "kept": [{"workflow": found.workflow, "why": found.why} for found in kept],
    }


@contextmanager
def _looking() -> Iterator[Callable[[int], None]]:
    """Yield a function that counts and shows, on a terminal, the tasks looked at."""
    console = steady(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    seen = 0
    with console.status("looking") as status:

        def tell(count: int) -> None:
            nonlocal seen
            seen += count
            status.update(f"looking: {seen} tasks")

        yield tell


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts and shows, on a terminal, the tasks removed."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = steady(stderr=True)
    columns = (TextColumn("removing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        work = bar.add_task("removing", total=total)
        yield lambda count: bar.advance(work, count)
