"""``whesl lab``: one file per command, imported only when the command is called."""

from __future__ import annotations

import click

from whesl.cli.group import HELP, LazyGroup

# Command's name: (module below whesl.cli.lab, one line of help).
COMMANDS = {
    "schedule": ("schedule", "Simulate a job log on a cluster under a policy."),
    "workflow": ("workflow", "Simulate workflows (DAGs) on nodes that fail."),
    "torus": ("torus", "Simulate a job log on a 3-D torus with contiguous partitions."),
    "grid": ("grid", "Simulate a job log on several clusters with requirements."),
    "predict": ("predict", "Fit failure predictors to a history and score them."),
    "ckpt": ("ckpt", "Compare checkpoint models: periodic, safeguard, migration, prioritized."),
    "replay": ("replay", "What other policies would have saved on this site."),
    "cloud": ("cloud", "Workflows on a cluster and a cloud under several schedulers."),
    "campaign": ("campaign", "Run many simulations on all cores, or on a cluster."),
    "reproduce": ("reproduce", "Reproduce published results, and say what holds."),
}


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__, extra="whesl[lab]", context_settings=HELP)
def lab() -> None:
    """Predictors, policies and simulators on real job logs and failure logs.

    Needs the extra: pip install 'whesl[lab]'. Each command takes --out DIR for its results.
    """
