"""``whesl placement install`` and ``remove``: the plugins of Slurm, Flux and PBS."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whesl.cli.options import DRY_RUN, FILE, YES
from whesl.cli.parameters import option, parameters
from whesl.cli.placement import flux_install, pbs_install
from whesl.cli.placement.change_confirmation import confirmed
from whesl.cli.placement.serve import DIRECTORY
from whesl.cli.placement.site_history_options import DESPITE
from whesl.model.errors import UsageError
from whesl.model.printable import visible
from whesl.placement.site.publish.core.node_changes import Settings
from whesl.placement.site.slurm import plugin_installation as steps

SLURM: bool = option(False, "For Slurm, the default.")
CONF: Path | None = option(None, "slurm.conf [SLURM_CONF, /etc/slurm].", "FILE")
WHOLE: bool = option(False, "Show files that come or go, too, line by line.")
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
    pbs: Path | None = option(
        None, "For PBS: jobs leave nodes out by this model or table.", "PREDICTIONS", type=FILE
    ),
    share: float = option(
        Settings().share, "Of a queue's nodes, the most that are left out (PBS).", "PART", least=0.0, most=0.5
    ),
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

    With --flux: a file for `flux modprobe`, which instances read when they start. With --pbs: a hook of PBS's
    server. Shows the difference before anything is written. Once more it changes nothing.
    """
    _one_of(slurm, predictions, pbs)
    if pbs is not None:
        return pbs_install.install(
            pbs, packages, act=act, share=share, despite=despite, dry_run=dry_run, yes=yes
        )
    if predictions is not None:
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
    from_pbs: bool = option(False, "From PBS's server.", names="--pbs"),
    modprobe: Path | None = flux_install.MODPROBE,
    dry_run: bool = DRY_RUN,
    whole: bool = WHOLE,
    yes: bool = YES,
) -> int:
    """Take the plugin out again; a script of the site's own is put back."""
    _one_of(slurm, from_flux, from_pbs)
    if from_pbs:
        return pbs_install.remove(dry_run=dry_run, yes=yes)
    if from_flux:
        return flux_install.remove(modprobe, dry_run=dry_run, yes=yes)
    plan = steps.plan_remove(steps.configuration(conf, os.environ))
    return _carry_out(plan, "the plugin is not installed", dry_run=dry_run, whole=whole, yes=yes)


def _one_of(*managers: object) -> None:
    if sum(bool(one) for one in managers) > 1:
        hint = "call it once for each"
        raise UsageError("--slurm, --flux and --pbs are installations of their own", hint=hint)


def _carry_out(plan: steps.Plan, already: str, *, dry_run: bool, whole: bool, yes: bool) -> int:
    for problem in plan.problems:
        click.echo(f"problem: {visible(problem)}", err=True)
    for note in plan.notes:
        click.echo(f"note: {visible(note)}", err=True)
    click.echo(plan.diff(whole=whole), nl=False)
    if confirmed(plan.edits, plan.problems, already, dry_run=dry_run, yes=yes):
        steps.perform(plan)
        click.echo(f"{len(plan.edits)} files changed\n{_THEN}")
    return 1 if plan.problems else 0
