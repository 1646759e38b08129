"""``whesl cloud burst``: Slurm's CLOUD nodes as instances, and the reaper of forgotten instances."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whesl.cli.options import FILE
from whesl.cli.parameters import argument, option, parameters, required
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from whesl.cloud.bursting.nodes import Burst

_SITE: Path = required("Has [burst].", "TOML", "--site", type=FILE)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def burst() -> None:
    """Start and end instances for Slurm's CLOUD nodes, and find those that Slurm has forgotten."""


@burst.command()
@parameters
def resume(*, site_file: Path = _SITE, nodes: str = argument()) -> int:
    """Start instances for NODES; for ResumeProgram."""
    from whesl.model.hostlist import expand

    failed = _burst(site_file).resume(expand(nodes))
    for node, why in failed.items():
        click.echo(f"{node}: {why}", err=True)
    return 1 if failed else 0


@burst.command()
@parameters
def suspend(*, site_file: Path = _SITE, nodes: str = argument()) -> None:
    """End the instances of NODES; for SuspendProgram."""
    from whesl.model.hostlist import expand

    _burst(site_file).suspend(expand(nodes))


@burst.command()
@parameters
def reap(
    *,
    site_file: Path = _SITE,
    grace: float = option(300.0, "Without use [300].", "S", least=0),
    every: float | None = option(None, "Go on, a look every so many seconds.", "S", least=1),
) -> None:
    """End instances whose nodes Slurm does not use.

    To be run outside of Slurm, by cron or systemd. Nothing is ended while slurmctld does not answer: two
    looks at least, and the grace between them.
    """
    from whesl.managers import resource

    while True:
        try:
            states = {node.name: node.raw_state for node in resource.scheduler("slurm").nodes()}
            for instance in _burst(site_file).reap(states, grace):
                click.echo(f"{instance.id} of {instance.token}: ended")
        except WheslError as error:
            if every is None:
                raise
            click.echo(f"whesl: {error}", err=True)
        if every is None:
            return
        time.sleep(every)


def _burst(site_file: Path) -> Burst:
    from whesl.cloud.bursting.nodes import Burst
    from whesl.cloud.runner import site_file as sites

    settings = sites.load(site_file)
    if settings.burst is None:
        raise UsageError(f"{site_file} has no [burst]", hint="docs/cloud/run.md has an example")
    wanted = settings.burst
    home = Path(os.environ.get("WHESL_HOME") or Path.home() / ".whesl")
    directory = Path(wanted.directory or home / "burst")
    provider = sites.provider_of(settings.cloud, directory / "instances", ())
    return Burst(
        directory,
        provider,
        cluster=wanted.name,
        kind=wanted.kind,
        command=wanted.command,
        lifetime=wanted.lifetime,
    )
