"""whesl placement load: the scheduler module in a live Flux instance."""

from __future__ import annotations

import click

from whesl.cli.parameters import argument, option, parameters
from whesl.cli.placement import flux_install
from whesl.cli.placement.site_history_options import DESPITE
from whesl.placement.site.flux import module_loading


@click.command()
@parameters
def load(
    *,
    predictions: str | None = argument(
        required=False, type=click.Path(dir_okay=False), metavar="[PREDICTIONS]"
    ),
    flux_: bool = option(
        False, "Into the Flux instance of FLUX_URI (the only kind there is).", names="--flux"
    ),
    act: bool = flux_install.ACT,
    queue: str | None = flux_install.QUEUE,
    wait: float = flux_install.WAIT,
    despite: str | None = DESPITE,
    packages: str = flux_install.PACKAGES,
    remove_: bool = option(False, "Put Flux's own scheduler back.", names="--remove"),
    status: bool = option(False, "Say what is loaded, and how many jobs it placed."),
) -> int:
    """Let a running Flux instance place jobs by PREDICTIONS: a model of `learn`, or the table of `serve`.

    With --act it takes a model whose score has a positive verdict, as serve does. Running jobs go on and keep
    their nodes. Only the owner of the instance may do this: in an
    instance of your own, you need no administrator.
    """
    if status or (remove_ and predictions) or not (remove_ or predictions):
        return _status() if status else _usage()
    if remove_:
        instead = module_loading.remove()
        click.echo(
            f"{module_loading.MODULE} removed, {instead} is back"
            if instead
            else f"{module_loading.MODULE} was not loaded"
        )
        return 0
    done = module_loading.load(
        flux_install.options(str(predictions), queue, packages, act=act, wait=wait, despite=despite)
    )
    where = f"in the place of {done.instead}" if done.instead else "where there was no scheduler"
    click.echo(
        f"{module_loading.MODULE} loaded {where}, queue {done.queue}: "
        + ("jobs get the policy's ranks" if act else "it observes; jobs get Flux's own ranks")
    )
    click.echo("why a job has its ranks: flux jobs -a -o '{id.f58} {ranks} {annotations.sched.placement}'")
    return 0


def _usage() -> int:
    raise click.UsageError("give PREDICTIONS, or --remove, or --status")


def _status() -> int:
    scheduler = module_loading.scheduler()
    click.echo(f"the instance's scheduler is {scheduler or 'missing: jobs wait'}")
    if scheduler == module_loading.MODULE:
        for name, value in module_loading.stats().items():
            click.echo(f"  {name}: {value}")
    return 0
