"""``whesl ckpt predict | request | status``: what is said to a job's coordinator."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from whesl.cli.ckpt.service import name_option
from whesl.model.errors import RefusedError, TransientError, UsageError

if TYPE_CHECKING:
    from whesl.ckpt.messages import Reply, ToCoordinator

_PATIENCE = 10.0  # seconds for an answer


def _ask(name: str | None, message: ToCoordinator) -> Reply:
    from whesl.ckpt import messages, rendezvous
    from whesl.wire import keys
    from whesl.wire.sockets import ClientSocket

    chosen = rendezvous.name_of_job(name)
    address = rendezvous.find(rendezvous.folder(chosen))
    if address is None:
        raise UsageError(
            f"no coordinator of {chosen}", hint="--name JOB names another; is the program still running?"
        )
    socket = ClientSocket(keys.user_keys(keys.home()).client)
    try:
        until = time.monotonic() + _PATIENCE
        sent, tried, since = False, 0, 0.0
        while time.monotonic() < until:
            if not socket.connected and time.monotonic() - since > 1.0:
                socket.connect(address.endpoints[tried % len(address.endpoints)], address.key)
                tried, since = tried + 1, time.monotonic()
            socket.events()
            sent = sent or (socket.connected and socket.send(messages.encode(message)))
            for content in socket.receive():
                answer = messages.from_coordinator(content)
                if isinstance(answer, messages.Reply):
                    return answer
            time.sleep(0.005)
    finally:
        socket.close()
    raise TransientError(
        f"the coordinator of {chosen} does not answer at {address.endpoints[0]}",
        hint="try again; is its node up?",
    )


def _tell(name: str | None, message: ToCoordinator) -> None:
    answer = _ask(name, message)
    if answer.refused:
        raise RefusedError(answer.text)
    click.echo(answer.text)


@click.command()
@name_option
@click.argument("node")
@click.option("--lead", type=float, required=True, metavar="SECONDS", help="How long until it fails.")
@click.option("--confidence", type=click.FloatRange(0, 1), default=1.0, metavar="P", help="From 0 to 1 [1].")
@click.option("--evidence", default="", metavar="TEXT", help="What speaks for it.")
def predict(name: str | None, node: str, lead: float, confidence: float, evidence: str) -> None:
    """Say that NODE fails in some seconds: its ranks write their checkpoint first."""
    from whesl.ckpt.core.records import Predicted

    _tell(name, Predicted(node=node, lead=lead, confidence=confidence, evidence=evidence))


@click.command()
@name_option
@click.option("--reason", default="requested", metavar="TEXT", help="What the manifest says of it.")
def request(name: str | None, reason: str) -> None:
    """Ask for a checkpoint of all ranks."""
    from whesl.ckpt.core.records import Requested

    _tell(name, Requested(reason=reason))


@click.command()
@name_option
@click.option("--json", "in_json", is_flag=True, help="Print JSON.")
def status(name: str | None, in_json: bool) -> None:
    """Show the checkpoint that is being taken, the nodes, and the whole checkpoints."""
    from whesl.ckpt.messages import StatusAsked

    known = _ask(name, StatusAsked()).status
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
