"""whesl raise: an exception of the rules, raised by a person or a program."""

from __future__ import annotations

import click
import msgspec

from whesl.cli import completion_candidates
from whesl.cli.options import timeout_option


@click.command("raise")
@click.argument("exception", shell_complete=completion_candidates.exceptions)
@click.option(
    "--task", default="", metavar="TASK", shell_complete=completion_candidates.tasks, help="On this task."
)
@click.option(
    "--node",
    default="",
    metavar="NODE",
    shell_complete=completion_candidates.nodes,
    help="On every task that runs on this node, which is then the suspect.",
)
@click.option(
    "--job",
    default="",
    metavar="ID",
    shell_complete=completion_candidates.jobs,
    help="On every task of this job.",
)
@click.option("--evidence", default="", metavar="TEXT", help="Why: one line for the report.")
@click.option("--id", "identity", default="", metavar="ID", help="The same id is raised once only.")
@click.option("--wait", is_flag=True, help="Return when the tasks have taken it.")
@timeout_option
@click.option("--json", "as_json", is_flag=True, help="Print what was raised as JSON.")
def raise_(
    exception: str,
    task: str,
    node: str,
    job: str,
    evidence: str,
    identity: str,
    wait: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Raise EXCEPTION, which the rules declare, on running tasks.

    It is counted, limited, recovered and reported as one that was detected. TASK may be abbreviated as long
    as it means one task. Without --task, --node and --job there has to be only one that is possible.
    """
    from whesl.client import raise_exception, wait_until_taken

    raised = raise_exception(exception, task=task, node=node, job=job, evidence=evidence, id=identity)
    if wait:
        wait_until_taken(raised, timeout=timeout)
    if as_json:
        click.echo(msgspec.json.encode(raised).decode())
        return
    for each in raised.tasks:
        click.echo(f"{exception} is raised on {each}")
    for each in raised.uncovered:
        click.echo(f"{each} has no exception {exception}", err=True)
