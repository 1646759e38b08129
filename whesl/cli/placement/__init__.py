"""``whesl placement``: one file per command, imported only when the command is called."""

from __future__ import annotations

import click

from whesl.cli.group import HELP, LazyGroup

# Command's name: (module below whesl.cli.placement, one line of help).
COMMANDS = {
    "learn": ("learn", "Fit predictors to this site's own history."),
    "score": ("score", "Say how good they were on the last weeks."),
    "health": ("record_counters", "Record this node's memory, disk and link counters."),
    "chains": ("chains", "Log chains: messages after which a node fails."),
    "load": ("flux_load", "Let a live Flux instance place jobs by predictions, or end it."),
    "serve": ("serve", "Publish the table; observe, or act on Slurm's nodes and jobs."),
    "undo": ("serve", "Take everything back that a service has left behind."),
    "table": ("show", "Show the published table."),
    "status": ("show", "Show what the service does, or would do."),
    "install": ("install", "Put the plugin into Slurm's or Flux's configuration."),
    "remove": ("install", "Take the plugin out of Slurm's or Flux's configuration."),
}


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__, extra="whesl[lab]", context_settings=HELP)
def placement() -> None:
    """Keep jobs off nodes that are about to fail, by what this site's own history says.

    Needs the extra: pip install 'whesl[lab]'.
    """
