"""``whesl placement install`` and ``remove``: the plugins in Slurm's and in Flux's configuration."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whesl.cli.parameters import option, parameters
from whesl.cli.placement import flux_install
from whesl.cli.placement.serve import DIRECTORY
from whesl.cli.placement.site_history_options import DESPITE
from whesl.model.errors import RefusedError, UsageError
from whesl.model.printable import visible
from whesl.placement.site.slurm import plugin_installation as steps

SLURM: bool = option(False, "For Slurm, the default.")
CONF: Path | None = option(None, "slurm.conf [SLURM_CONF, /etc/slurm].", "FILE")
DRY_RUN: bool = option(False, "Show what would change, and change nothing.")
WHOLE: bool = option(False, "Show files that come or go, too, line by line.")
YES: bool = option(False, "Do not ask.")
_THEN = "Slurm loads it with: scontrol reconfigure (the first time, restart slurmctld)"


@click.command()
@parameters
def install(
    *,
    slurm: bool = SLURM,
    conf: Path | None = CONF,
    where: Path = DIRECTORY,
    cli_filter: bool = option(False, "The client's plugin, nothing in slurmctld."),
    predictions: Path | None = flux_install.PREDICTIONS,
    act: bool = flux_install.ACT,
    queue: str | None = flux_install.QUEUE,
    wait: float = flux_install.WAIT,
    packages: str = flux_install.PACKAGES,
    despite: str | None = DESPITE,
    modprobe: Path | None = flux_install.MODPROBE,
    dry_run: bool = DRY_RUN,
    whole: bool = WHOLE,
    yes: bool = YES,
) -> int:
    """Put the plugin beside slurm.conf, and into it; a script of the site's own stays and runs first.

    With --flux: a file for `flux modprobe`, which instances read when they start. Shows the difference before
    anything is written. Once more it changes nothing.
    """
    if predictions is not None:
        if slurm:
            raise UsageError("--slurm and --flux are two installations", hint="call it once for each")
        options = flux_install.options(predictions, queue, packages, act=act, wait=wait, despite=despite)
        return flux_install.install(options, modprobe, dry_run=dry_run, yes=yes)
    plan = steps.plan_install(steps.configuration(conf, os.environ), where, cli_filter=cli_filter)
    return _carry_out(plan, "the plugin is installed", dry_run=dry_run, whole=whole, yes=yes)


@click.command()
@parameters
def remove(
    *,
    slurm: bool = SLURM,
    conf: Path | None = CONF,
    from_flux: bool = option(False, "From Flux's configuration, and a live instance.", names="--flux"),
    modprobe: Path | None = flux_install.MODPROBE,
    dry_run: bool = DRY_RUN,
    whole: bool = WHOLE,
    yes: bool = YES,
) -> int:
    """Take the plugin out again; a script of the site's own is put back."""
    if from_flux:
        if slurm:
            raise UsageError("--slurm and --flux are two installations", hint="call it once for each")
        return flux_install.remove(modprobe, dry_run=dry_run, yes=yes)
    plan = steps.plan_remove(steps.configuration(conf, os.environ))
    return _carry_out(plan, "the plugin is not installed", dry_run=dry_run, whole=whole, yes=yes)


def _carry_out(plan: steps.Plan, already: str, *, dry_run: bool, whole: bool, yes: bool) -> int:
    for problem in plan.problems:
        click.echo(f"problem: {visible(problem)}", err=True)
    for note in plan.notes:
        click.echo(f"note: {visible(note)}", err=True)
    click.echo(plan.diff(whole=whole), nl=False)
    if dry_run:
        return 1 if plan.problems else 0
    if plan.problems:
        raise RefusedError("nothing was changed", hint="see the problems above")
    if not plan.edits:
        click.echo(f"nothing to change: {already}")
        return 0
    if not yes:
        click.confirm("Make these changes?", abort=True)
    steps.perform(plan)
    click.echo(f"{len(plan.edits)} files changed\n{_THEN}")
    return 0
