"""``whesl ckpt predict | request | status``: what is said to a job's coordinator."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import click

from whesl.cli.ckpt.run_serve import name_option
from whesl.model.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from whesl.ckpt.messages import Reply, ToCoordinator


def ask(name: str | None, message: ToCoordinator) -> Reply:
    """Ask a job's coordinator, or the only one that there is. Raises UsageError, TransientError."""
    from whesl.ckpt import control, rendezvous

    chosen = rendezvous.name_of_job(name or os.environ.get("WHESL_CKPT_JOB"))
    address = rendezvous.find(rendezvous.folder(chosen))
    others = rendezvous.known()
    if address is None and name is None and len(others) == 1:
        (address,) = others.values()
    if address is None:
        there = f"there are: {', '.join(list(others)[:8])}" if others else "is the program still running?"
        raise UsageError(
            f"no coordinator of the checkpoints of job {chosen} was found",
            hint=f"--name JOB names another; {there}",
        )
    return control.ask(address, message)


def _tell(name: str | None, message: ToCoordinator) -> None:
    answer = ask(name, message)
    if answer.refused:
        raise RefusedError(answer.text)
    click.echo(answer.text)


@click.command()
@name_option
@click.argument("node")
@click.option("--lead", type=float, required=True, metavar="SECONDS", help="How long until it fails.")
@click.option("--confidence", type=click.FloatRange(0, 1), default=1.0, metavar="P", help="From 0 to 1 [1].")
@click.option("--evidence", default="", metavar="TEXT", help="Why it is expected.")
@click.option("--source", default="", metavar="TEXT", help="Who predicts it.")
@click.option("--id", "identity", default="", metavar="ID", help="The same id is passed on once only.")
@click.option("--json", "in_json", is_flag=True, help="Print who was told as JSON.")
def predict(
    name: str | None,
    node: str,
    lead: float,
    confidence: float,
    evidence: str,
    source: str,
    identity: str,
    in_json: bool,
) -> None:
    """Say that NODE fails in some seconds: its ranks write their checkpoint first.

    All running tasks that use the node are told, and do what their rules have for it. --name tells the
    coordinator of one job's checkpoints alone, which need not be a task's.
    """
    from whesl.ckpt.core.states_and_events import Predicted
    from whesl.client import PredictedFailure, predict_failure

    direct = Predicted(node=node, lead=lead, confidence=confidence, evidence=evidence)
    if name is not None:
        _tell(name, direct)
        return
    prediction = PredictedFailure(
        node=node, time=time.time(), lead=lead, confidence=confidence, evidence=evidence, source=source
    )
    try:
        told = predict_failure(prediction, id=identity)
    except RefusedError:
        if not _is_alone():
            raise
        _tell(None, direct)
        return
    if in_json:
        click.echo(json.dumps({"id": told.id, "tasks": told.tasks}))
        return
    for task in told.tasks:
        click.echo(f"{task} is told: {prediction}")


def _is_alone() -> bool:
    """Whether the coordinator of this job's checkpoints runs."""
    from whesl.ckpt import rendezvous

    return rendezvous.find(rendezvous.folder(rendezvous.name_of_job(None))) is not None


@click.command()
@name_option
@click.option("--reason", default="requested", metavar="TEXT", help="What the manifest says of it.")
def request(name: str | None, reason: str) -> None:
    """Ask for a checkpoint of all ranks."""
    from whesl.ckpt.core.states_and_events import Requested

    _tell(name, Requested(reason=reason))


@click.command()
@name_option
@click.option("--json", "in_json", is_flag=True, help="Print JSON.")
def status(name: str | None, in_json: bool) -> None:
    """Show the checkpoint that is being taken, the nodes, and the whole checkpoints."""
    from whesl.ckpt.messages import StatusAsked

    known = ask(name, StatusAsked()).status
    if in_json:
        click.echo(json.dumps(known, indent=2))
        return
    taken, nodes = known["checkpoint"], known["nodes"]
    assert isinstance(nodes, dict)
    click.echo(f"checkpoints in {known['directory']}: {known['checkpoints'] or 'none'}")
    if isinstance(taken, dict):
        click.echo(
            f"taking {taken['number']} ({taken['reason']}): {taken['phase']}, step {taken['step'] or '?'}"
        )
    for node, facts in sorted(nodes.items()):
        soon = "" if facts["fails_in"] is None else f", predicted to fail in {facts['fails_in']:.0f} s"
        click.echo(f"{node}: {facts['phase']}, {facts['ranks']} ranks{soon}")
