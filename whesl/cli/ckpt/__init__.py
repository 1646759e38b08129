"""``whesl ckpt``: prioritized checkpoints of a running program."""

from __future__ import annotations

import click

from whesl.cli.group import HELP, LazyGroup

# name: (module below whesl.cli.ckpt, one line of help).
COMMANDS = {
    "run": ("service", "Run a program whose checkpoints are coordinated."),
    "predict": ("control", "Say that a node is about to fail."),
    "watch": ("health", "Predict this node's failure from its health."),
    "request": ("control", "Ask for a checkpoint of all ranks."),
    "status": ("control", "Show the checkpoint that is being taken, and the nodes."),
    "list": ("inspect", "List the checkpoints of a directory."),
    "interval": ("inspect", "Compute the interval between checkpoints."),
    "serve": ("service", "The coordinator alone, without a program."),
    "agent": ("service", "One node's agent alone."),
}


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__, context_settings=HELP)
def ckpt() -> None:
    """Let the node that is about to fail write its checkpoint first, then all others.

    The program calls the client (whesl.ckpt.Client, or clients/c) once per time step.
    """
