"""``whesl ckpt predict | request | status``: messages to a job's coordinator of checkpoints."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from whesl.cli.ckpt.run_serve import NAME
from whesl.cli.options import PRINT_JSON
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from whesl.checkpoints.control import Told
    from whesl.checkpoints.messages import ToCoordinator
    from whesl.model.evidence import PredictedFailure


def tell_prediction(prediction: PredictedFailure, identity: str = "") -> Told:
    """Send a predicted failure to all running tasks on the node, or else to the checkpoints' coordinator.

    Args:
        prediction: the prediction of the node's failure.
        identity: an id; several predictions with the same id are sent only once.

    Raises:
        RefusedError: neither a task nor a coordinator of checkpoints uses the node.
        TransientError: the coordinator does not answer.
    """
    from whesl.checkpoints import control
    from whesl.checkpoints.core.states_and_events import Predicted
    from whesl.client.external_exceptions import predict_failure

    try:
        told = predict_failure(prediction, id=identity)
        return control.Told(
            told.id, [f"{task} is told: {prediction}" for task in told.tasks], list(told.tasks)
        )
    except RefusedError:
        address = control.address_of(None)
        if address is None:
            raise
    now = prediction.at(time.time())
    evidence = now.evidence or now.source
    direct = Predicted(node=now.node, lead=now.lead, confidence=now.confidence, evidence=evidence)
    answer = control.ask(address, direct)
    if answer.refused:
        raise RefusedError(answer.text)
    return control.Told("", [answer.text], [])


def _tell(name: str | None, message: ToCoordinator) -> None:
    from whesl.checkpoints import control

    answer = control.ask_job(name, message)
    if answer.refused:
        raise RefusedError(answer.text)
    click.echo(answer.text)


@click.command()
@parameters
def predict(
    *,
    name: str | None = NAME,
    node: str = argument(),
    lead: float | None = option(None, "How long until it fails.", "SECONDS"),
    withdraw: bool = option(False, "It is not expected to fail any longer, in place of --lead."),
    confidence: float = option(1.0, "From 0 to 1 [1].", "P", least=0, most=1),
    evidence: str = option("", "Why it is expected.", "TEXT"),
    source: str = option("", "Who predicts it.", "TEXT"),
    identity: str = option("", "The same id is passed on once only.", "ID", "--id"),
    in_json: bool = option(False, "Print who was told as JSON.", names="--json"),
) -> None:
    """Say that NODE fails in some seconds: its ranks write their checkpoint first.

    All running tasks that use the node are told, and do what their rules have for it. --name tells the
    coordinator of one job's checkpoints alone, which need not be a task's; so is the only one that there is
    where no task uses the node. What is said last of a node replaces what was said before.
    """
    from whesl.checkpoints.core.states_and_events import Predicted, Withdrawn
    from whesl.model.evidence import PredictedFailure

    if withdraw == (lead is not None):
        raise UsageError("either --lead or --withdraw is given", hint="--lead 20")
    if lead is None:
        _tell(name, Withdrawn(node=node))
        return
    if name is not None:
        _tell(name, Predicted(node=node, lead=lead, confidence=confidence, evidence=evidence))
        return
    told = tell_prediction(
        PredictedFailure(
            node=node, time=time.time(), lead=lead, confidence=confidence, evidence=evidence, source=source
        ),
        identity,
    )
    if in_json:
        click.echo(json.dumps({"id": told.id, "tasks": told.tasks}))
        return
    for text in told.said:
        click.echo(text)


@click.command()
@parameters
def request(
    *, name: str | None = NAME, reason: str = option("requested", "What the manifest says of it.", "TEXT")
) -> None:
    """Ask for a checkpoint of all ranks."""
    from whesl.checkpoints.core.states_and_events import Requested

    _tell(name, Requested(reason=reason))


@click.command()
@parameters
def status(*, name: str | None = NAME, in_json: bool = PRINT_JSON) -> None:
    """Show the checkpoint that is being taken, the nodes, and the whole checkpoints."""
    from whesl.checkpoints import control
    from whesl.checkpoints.messages import StatusAsked

    known = control.ask_job(name, StatusAsked()).status
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
