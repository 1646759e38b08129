"""``whesl placement install`` and ``remove``: the plugin in Slurm's configuration."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whesl.cli.placement.serve import directory
from whesl.model.errors import RefusedError
from whesl.model.printable import visible
from whesl.site.slurm import install as steps

slurm = click.option("--slurm", is_flag=True, help="For Slurm; the only scheduler so far, and the default.")
conf = click.option(
    "--conf", type=click.Path(path_type=Path), metavar="FILE", help="slurm.conf [SLURM_CONF, /etc/slurm]."
)
dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
yes = click.option("--yes", is_flag=True, help="Do not ask.")
_THEN = "Slurm loads it with: scontrol reconfigure (the first time, restart slurmctld)"


@click.command()
@slurm
@conf
@directory
@click.option("--cli-filter", is_flag=True, help="The client's plugin, nothing in slurmctld.")
@dry_run
@yes
def install(slurm: bool, conf: Path | None, where: Path, cli_filter: bool, dry_run: bool, yes: bool) -> int:
    """Put the plugin beside slurm.conf, and into it; a script of the site's own stays and runs first.

    Shows the difference before anything is written. Once more it changes nothing.
    """
    del slurm
    plan = steps.plan_install(steps.configuration(conf, os.environ), where, cli_filter=cli_filter)
    return _carry_out(plan, "the plugin is installed", dry_run=dry_run, yes=yes)


@click.command()
@slurm
@conf
@dry_run
@yes
def remove(slurm: bool, conf: Path | None, dry_run: bool, yes: bool) -> int:
    """Take the plugin out again; a script of the site's own is put back."""
    del slurm
    plan = steps.plan_remove(steps.configuration(conf, os.environ))
    return _carry_out(plan, "the plugin is not installed", dry_run=dry_run, yes=yes)


def _carry_out(plan: steps.Plan, already: str, *, dry_run: bool, yes: bool) -> int:
    for problem in plan.problems:
        click.echo(f"problem: {visible(problem)}", err=True)
    click.echo(plan.diff(), nl=False)
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
