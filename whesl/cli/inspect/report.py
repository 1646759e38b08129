"""whesl report: sum up a workflow."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
import msgspec

from whesl.cli import completion_candidates
from whesl.cli.broken_pipe import Screen
from whesl.cli.options import FILE, PRINT_JSON
from whesl.cli.parameters import argument, option, parameters
from whesl.client import workflow_list
from whesl.files.whole_file import write_text
from whesl.model.errors import UsageError
from whesl.model.printable import visible
from whesl.report import text_report
from whesl.report.collection import Gathered, gather, gather_fitting, latest
from whesl.report.directories import task_directories
from whesl.report.exec_groups import Wanted, grouped
from whesl.report.report_builder import summarise
from whesl.report.report_records import ALONE, POLL_INTERVAL
from whesl.runtime.wire import keys

_PRINT = Path("-")
_LISTED = 10

_DATE = click.DateTime(["%Y-%m-%d"])


@click.command()
@parameters
def report(
    *,
    workflow: str | None = argument(required=False, shell_complete=completion_candidates.workflows),
    only_list: bool = option(False, "List all workflows, the newest first.", names="--list"),
    days: int | None = option(None, "Sum up all of the last N days.", "N", least=1),
    day: datetime | None = option(None, "Of `exec`: only what began on it (2026-11-23).", "DATE", type=_DATE),
    job: str = option("", "Of `exec`: only what ran in this job.", "ID"),
    directory: str = option("", "Of `exec`: only what ran in this directory.", "DIR"),
    as_json: bool = PRINT_JSON,
    html: Path | None = option(None, "Write one self-contained page; - prints it.", "FILE", type=FILE),
    markdown: Path | None = option(None, "Write Markdown; - prints it.", "FILE", type=FILE),
    queue_wait: float | None = option(
        None,
        "What a resubmitted job would wait; without it the mean of the waits measured in this workflow.",
        "SECONDS",
        least=0,
    ),
    poll: float = option(
        POLL_INTERVAL,
        "How long the workflow manager takes to see that a job has failed.",
        "SECONDS",
        shown=True,
        least=0,
    ),
) -> None:
    """Sum up WORKFLOW (the newest one without it): what was raised, why, what was done, what it saved.

    Commands that `whesl exec` ran without a workflow are the workflow `exec`, in groups by day, job and
    directory. Without WORKFLOW, what else ran is listed with the command that reports it.
    """
    if [as_json, html == _PRINT, markdown == _PRINT].count(True) > 1:
        raise UsageError("only one form can be printed", hint="write the others to files")
    home = keys.home()
    if only_list:
        _list(home, as_json=as_json)
        return
    if days is not None:
        if workflow or day or job or directory or markdown:
            raise UsageError("--days sums up all workflows, on a terminal, as --html or as --json")
        from whesl.report import overview_forms

        totals = workflow_list.overview_of(home, days, queue_wait=queue_wait, poll=poll)
        if html is not None:
            _write(html, overview_forms.html(totals))
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(totals), indent=2).decode())
        elif html is None:
            overview_forms.show(totals, Screen())
        return
    began = f"{day:%Y-%m-%d}" if day else ""
    wanted = Wanted(day=began, job=job, directory=directory and str(Path(directory).resolve()))
    if wanted != Wanted() and workflow not in (None, ALONE):
        raise UsageError("--day, --job and --directory choose among the commands of `exec`")
    name = workflow or (ALONE if wanted != Wanted() else latest(home))
    newest = workflow is None and wanted == Wanted()
    commands = task_directories(home, ALONE) if newest else []
    shown = name
    if newest and name == ALONE and commands:
        group, members = next(iter(grouped(commands).items()))
        paths = {member.path for member in members}
        shown, found = workflow_list.named(group), gather(home, ALONE, lambda item: item.path in paths)
    else:
        found = _found(home, name, wanted)
    result = summarise(found, queue_wait=queue_wait, poll_interval=poll)
    if html is not None:
        from whesl.report import page

        _write(html, page.html(result))
    if markdown is not None:
        _write(markdown, text_report.markdown(result))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    elif html is None and markdown is None:
        text_report.show(result, Screen())
        if newest:
            _name_others([ran for ran in workflow_list.workflows(home, commands) if ran.name != shown])


def _name_others(others: list[workflow_list.Ran]) -> None:
    """Print the other workflows that can be reported, and the commands for that."""
    if not others:
        return
    text = ["", "Before:", *workflow_list.lines(ran.listed() for ran in others[:_LISTED])]
    if len(others) > _LISTED:
        text.append(f"and {len(others) - _LISTED} more: whesl report --list")
    click.echo(visible("\n".join(text)))


def _list(home: Path, *, as_json: bool) -> None:
    found = [ran.listed() for ran in workflow_list.workflows(home, task_directories(home, ALONE))]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    elif found:
        click.echo(visible("\n".join(workflow_list.lines(found))))
    else:
        click.echo("nothing was run yet", err=True)


def _found(home: Path, name: str, wanted: Wanted) -> Gathered:
    """Return the gathered records of a workflow, whose name may be abbreviated to a unique beginning."""
    if wanted != Wanted():
        if not any(wanted.has(item) for item in task_directories(home, name)):
            raise UsageError("no command fits", hint="`whesl report --list` names what ran")
        return gather(home, name, wanted.has)
    return gather_fitting(home, name)


def _write(path: Path, text: str) -> None:
    if path == _PRINT:
        click.echo(text, nl=False)
        return
    write_text(path, text)
    click.echo(f"written: {path}", err=True)
