"""whesl raise: an exception of the rules, raised by a person or a program."""

from __future__ import annotations

import click
import msgspec

from whesl.cli import completion_candidates
from whesl.cli.options import TIMEOUT
from whesl.cli.parameters import argument, option, parameters


@click.command("raise")
@parameters
def raise_(
    *,
    exception: str = argument(shell_complete=completion_candidates.exceptions),
    task: str = option("", "On this task.", "TASK", shell_complete=completion_candidates.tasks),
    node: str = option(
        "",
        "On every task that runs on this node, which is then the suspect.",
        "NODE",
        shell_complete=completion_candidates.nodes,
    ),
    job: str = option("", "On every task of this job.", "ID", shell_complete=completion_candidates.jobs),
    evidence: str = option("", "Why: one line for the report.", "TEXT"),
    identity: str = option("", "The same id is raised once only.", "ID", "--id"),
    wait: bool = option(False, "Return when the tasks have taken it."),
    timeout: float = TIMEOUT,
    as_json: bool = option(False, "Print what was raised as JSON.", names="--json"),
) -> None:
    """Raise EXCEPTION, which the rules declare, on running tasks.

    It is counted, limited, recovered and reported as one that was detected. TASK may be abbreviated as long
    as it means one task. Without --task, --node and --job there has to be only one that is possible.
    """
    from whesl.client.external_exceptions import raise_exception, wait_until_taken

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
