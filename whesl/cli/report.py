"""whesl report: sum up a workflow."""

from __future__ import annotations

import click
import msgspec

from whesl.cli.display import Screen
from whesl.report import render
from whesl.report.happenings import gather, latest
from whesl.report.summary import POLL_INTERVAL, summarise
from whesl.wire import keys


@click.command()
@click.argument("workflow", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print Markdown.")
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
    workflow: str | None, as_json: bool, markdown: bool, queue_wait: float | None, poll: float
) -> None:
    """Sum up WORKFLOW (the last one without it): what was raised, why, what was done, what it saved."""
    home = keys.home()
    found = gather(home, workflow or latest(home))
    result = summarise(found, queue_wait=queue_wait, poll_interval=poll)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    elif markdown:
        click.echo(render.markdown(result), nl=False)
    else:
        render.show(result, Screen())
