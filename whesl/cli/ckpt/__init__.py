"""``whesl ckpt``: prioritized checkpoints of a running program."""

from __future__ import annotations

import click

from whesl.cli.group import HELP, LazyGroup

# Command's name: (module below whesl.cli.ckpt, one line of help).
COMMANDS = {
    "run": ("run_serve", "Run a program whose checkpoints are coordinated."),
    "predict": ("control", "Say that a node is about to fail."),
    "watch": ("watch_counters", "Predict this node's failure from its health."),
    "request": ("control", "Ask for a checkpoint of all ranks."),
    "status": ("control", "Show the checkpoint that is being taken, and the nodes."),
    "list": ("list_interval", "List the checkpoints of a directory."),
    "interval": ("list_interval", "Compute the interval between checkpoints."),
    "install": ("pbs_hook", "Have PBS tell jobs that their node is about to fail."),
    "remove": ("pbs_hook", "Take the hook of PBS out again."),
    "serve": ("run_serve", "The coordinator alone, without a program."),
    "agent": ("run_serve", "One node's agent alone."),
}


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__, context_settings=HELP)
def ckpt() -> None:
    """Let the node that is about to fail write its checkpoint first, then all others.

    The program calls the client (whesl.api.checkpoints.Client, or clients/c) once per time step.
    """
