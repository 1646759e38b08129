"""``whesl cloud``: one file per command, imported only when the command is called."""

from __future__ import annotations

import click

from whesl.cli.group import HELP, LazyGroup

# Command's name: (module below whesl.cli.cloud, one line of help).
COMMANDS = {
    "forecast": ("forecast", "Forecast free nodes of a cluster, from its job log."),
    "plan": ("plan", "Offer plans: deadline, cost, and the probability of meeting it."),
    "prices": ("plan", "Print the prices that plans are made with, as a file to edit."),
    "measure": ("measure", "Run a part of the tasks on each platform; write times and costs."),
    "run": ("run", "Carry a workflow out by a deadline, and take it up again."),
    "status": ("run_status", "Show a run as it is now."),
    "events": ("run_status", "Show what happened in a run."),
    "report": ("run_status", "Sum up a run, with its outputs' checksums."),
    "stop": ("run_status", "End a run with all its nodes and instances."),
    "handover": ("handover", "Run one task on another cluster of yours."),
    "burst": ("burst", "Slurm's CLOUD nodes as instances, and the reaper of orphans."),
    "worker": ("worker", "An executor of a run; jobs and instances start it."),
}


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__, extra="whesl[cloud]", context_settings=HELP)
def cloud() -> None:
    """Run a workflow on a cluster's free nodes and a cloud: choose a deadline and a price.

    Needs the extra: pip install 'whesl[cloud]'.
    """
