"""``whesl placement install`` and ``remove``: the plugins in Slurm's and in Flux's configuration."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whesl.cli.placement import flux_install
from whesl.cli.placement.serve import directory
from whesl.cli.placement.site_history_options import despite_option
from whesl.model.errors import RefusedError, UsageError
from whesl.model.printable import visible
from whesl.placement.site.slurm import plugin_installation as steps

slurm = click.option("--slurm", is_flag=True, help="For Slurm, the default.")
conf = click.option(
    "--conf", type=click.Path(path_type=Path), metavar="FILE", help="slurm.conf [SLURM_CONF, /etc/slurm]."
)
dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
whole = click.option("--whole", is_flag=True, help="Show files that come or go, too, line by line.")
yes = click.option("--yes", is_flag=True, help="Do not ask.")
_THEN = "Slurm loads it with: scontrol reconfigure (the first time, restart slurmctld)"


@click.command()
@slurm
@conf
@directory
@click.option("--cli-filter", is_flag=True, help="The client's plugin, nothing in slurmctld.")
@flux_install.predictions
@flux_install.act
@flux_install.queue
@flux_install.wait
@flux_install.packages
@despite_option
@flux_install.modprobe
@dry_run
@whole
@yes
def install(
    slurm: bool,
    conf: Path | None,
    where: Path,
    cli_filter: bool,
    predictions: Path | None,
    act: bool,
    queue: str | None,
    wait: float,
    packages: str,
    despite: str | None,
    modprobe: Path | None,
    dry_run: bool,
    whole: bool,
    yes: bool,
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
@slurm
@conf
@click.option("--flux", "from_flux", is_flag=True, help="From Flux's configuration, and a live instance.")
@flux_install.modprobe
@dry_run
@whole
@yes
def remove(
    slurm: bool,
    conf: Path | None,
    from_flux: bool,
    modprobe: Path | None,
    dry_run: bool,
    whole: bool,
    yes: bool,
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
