"""whesl report: sum up a workflow."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from whesl.cli import candidates
from whesl.cli.display import Screen
from whesl.model.errors import UsageError
from whesl.report import render
from whesl.report.happenings import Gathered, gather, known_workflows, latest
from whesl.report.summary import POLL_INTERVAL, summarise
from whesl.wire import keys

_FILE = click.Path(dir_okay=False, path_type=Path)
_PRINT = Path("-")
_HINTED = 5  # workflows that a hint names


@click.command()
@click.argument("workflow", required=False, shell_complete=candidates.workflows)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write one self-contained page; - prints it.")
@click.option("--markdown", type=_FILE, metavar="FILE", help="Write Markdown; - prints it.")
@click.option(
    "--queue-wait",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="What a resubmitted job would wait; without it the mean of the waits measured in this workflow.",
)
@click.option(
    "--poll",
    type=click.FloatRange(min=0),
    default=POLL_INTERVAL,
    show_default=True,
    metavar="SECONDS",
    help="How long the workflow manager takes to see that a job has failed.",
)
def report(
    workflow: str | None,
    as_json: bool,
    html: Path | None,
    markdown: Path | None,
    queue_wait: float | None,
    poll: float,
) -> None:
    """Sum up WORKFLOW (the last one without it): what was raised, why, what was done, what it saved."""
    if [as_json, html == _PRINT, markdown == _PRINT].count(True) > 1:
        raise UsageError("only one form can be printed", hint="write the others to files")
    home = keys.home()
    found = _found(home, workflow or latest(home))
    result = summarise(found, queue_wait=queue_wait, poll_interval=poll)
    if html is not None:
        from whesl.report import page

        _write(html, page.html(result))
    if markdown is not None:
        _write(markdown, render.markdown(result))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    elif html is None and markdown is None:
        render.show(result, Screen())


def _found(home: Path, name: str) -> Gathered:
    """Return what is known of a workflow, whose name may be its beginning as long as that means one."""
    try:
        return gather(home, name)
    except UsageError as error:
        fitting = [known for known in known_workflows(home) if known.startswith(name)]
        if not fitting:
            raise
        if len(fitting) > 1:
            hint = f"did you mean: {', '.join(fitting[-_HINTED:])}"
            raise UsageError(f"{name!r} fits {len(fitting)} workflows", hint=hint) from error
        return gather(home, fitting[0])


def _write(path: Path, text: str) -> None:
    if path == _PRINT:
        click.echo(text, nl=False)
        return
    # Beside it first: who looks at the old page until then sees the old page, whole.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    click.echo(f"written: {path}", err=True)
