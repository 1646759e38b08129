"""whesl coordinator: start it, end it, look at it."""

from __future__ import annotations

import os
import sys

import click
import msgspec

from whesl.wire import keys
from whesl.wire.endpoint import read_endpoint


@click.group()
def coordinator() -> None:
    """The one daemon of yours that tasks report to; others start it when they need it."""


@coordinator.command()
@click.option("--foreground", is_flag=True, help="Stay here; messages go to standard error.")
@click.option(
    "--idle",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End after so long without a running task and without a message.",
)
def start(foreground: bool, idle: float | None) -> None:
    """Start the coordinator, unless it runs."""
    from whesl.coordinator.start import ensure_running

    home = keys.home()
    if foreground:
        options = ["--idle", str(idle)] if idle is not None else []
        os.execv(sys.executable, [sys.executable, "-m", "whesl.coordinator", *options])  # noqa: S606 - no shell is wanted
    found = ensure_running(home, idle=idle)
    click.echo(f"the coordinator runs: process {found.pid} on {found.host}, port {found.port}")


@coordinator.command()
def stop() -> int:
    """End the coordinator in order; running tasks go on without it."""
    from whesl.coordinator import start as control

    if control.stop(keys.home()):
        click.echo("the coordinator has ended")
        return 0
    click.echo("no coordinator runs")
    return 0


@coordinator.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> int:
    """Show whether it runs, where, and what it has to do. Exit status 0: it runs, 1: it does not."""
    from whesl.coordinator import start as control

    home = keys.home()
    health = control.running(home)
    found = read_endpoint(home)
    if as_json:
        body = {"running": health is not None, **(health or {})}
        click.echo(msgspec.json.encode(body).decode())
    elif health is not None and found is not None:
        click.echo(
            f"runs: process {health['pid']} on {health['host']}, port {health['port']}; "
            f"{health['workflows']} workflows, {health['tasks']} tasks, {health['live']} of them running, "
            f"{health['open_recoveries']} recoveries under way"
        )
        refused = {name: count for name, count in health["counters"].items() if count}
        if refused:
            click.echo("dropped: " + ", ".join(f"{count} {name}" for name, count in sorted(refused.items())))
    elif found is not None:
        click.echo(f"does not answer: process {found.pid} on {found.host} was the last one")
        click.echo("  hint: whesl coordinator start", err=True)
    else:
        click.echo("does not run")
    return 0 if health is not None else 1
