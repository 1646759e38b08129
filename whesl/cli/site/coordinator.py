"""whesl coordinator: start the coordinator, end it, show its state."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

import click
import msgspec

from whesl.cli.options import PRINT_JSON
from whesl.cli.parameters import option, parameters
from whesl.model import home as places
from whesl.model.errors import RefusedError, UsageError
from whesl.runtime.wire import keys
from whesl.runtime.wire.endpoint import read_endpoint


@click.group()
def coordinator() -> None:
    """Your one daemon that tasks report to; others start it when they need it."""


@coordinator.command()
@parameters
def start(
    *,
    foreground: bool = option(False, "Stay here; messages go to standard error."),
    idle: float | None = option(
        None,
        "End after so long without an unfinished task and without a message.  [default: stay]",
        "SECONDS",
        above=0,
    ),
    metrics: str | None = option(
        None, "Serve figures for Prometheus at /metrics; without HOST on 127.0.0.1 only.", "[HOST:]PORT"
    ),
    metrics_open: bool = option(False, "Allow a HOST that other machines reach."),
    take_over: bool = option(False, "Take the place of one whose host is dead, which only a person can say."),
) -> None:
    """Start the coordinator, unless it runs."""
    from whesl.runtime.coordinator.client.start import ensure_running, running

    home = keys.home()
    options = ["--idle", str(idle)] if idle is not None else []
    options += ["--take-over"] if take_over else []
    wanted = ""
    if metrics is not None:
        wanted = _metrics(metrics, metrics_open)
        options += ["--metrics", metrics, *(["--metrics-open"] if metrics_open else [])]
    if foreground:
        os.execv(sys.executable, [sys.executable, "-m", "whesl.runtime.coordinator", *options])  # noqa: S606 - no shell is wanted
    found = ensure_running(home, options=options)
    click.echo(f"the coordinator runs: process {found.pid} on {found.host}, port {found.port}")
    told = (running(home) or {}).get("metrics", "")
    if wanted and told != wanted:
        raise RefusedError(
            f"it serves no metrics on {wanted}",
            hint="one that ran before has to end first (whesl coordinator stop); "
            f"else its log says why: {places.coordinator_log(home)}",
        )
    if told:
        click.echo(f"metrics: http://{told}/metrics")


def _metrics(text: str, open_to_others: bool) -> str:
    """Return the address of the metrics, checked before the coordinator starts."""
    from whesl.runtime.wire.metrics_server import address

    host, port = address(text, open_to_others=open_to_others)
    if importlib.util.find_spec("prometheus_client") is None:
        raise UsageError("metrics need the library prometheus_client", hint="pip install 'whesl[metrics]'")
    return f"{host}:{port}"


def _files(directory: Path) -> str:
    """Return the size of the files of each kind in the coordinator's directory, as a line."""
    from rich.filesize import decimal

    kinds = {"journal": "journal.db*", "snapshots": "snapshot-*", "old records": "history-*"}
    sizes = dict.fromkeys(kinds, 0)
    for word, pattern in kinds.items():
        for path in directory.glob(pattern):
            with contextlib.suppress(FileNotFoundError):  # the file has just been replaced by a newer one
                sizes[word] += path.stat().st_size
    return "files: " + ", ".join(f"{word} {decimal(size)}" for word, size in sizes.items() if size)


@coordinator.command()
def stop() -> int:
    """End the coordinator in order; running tasks go on without it."""
    from whesl.runtime.coordinator.client import start as control

    if control.stop(keys.home()):
        click.echo("the coordinator has ended")
        return 0
    click.echo("no coordinator runs")
    return 0


@coordinator.command()
@parameters
def status(*, as_json: bool = PRINT_JSON) -> int:
    """Show whether it runs, where, and what it has to do. Exit status 0: it runs, 1: it does not."""
    from whesl.report.text_report import count
    from whesl.runtime.coordinator.client import start as control
    from whesl.runtime.coordinator.json_views import unreachable_managers

    home = keys.home()
    health = control.running(home)
    found = read_endpoint(home)
    if as_json:
        body = {"running": health is not None, **(health or {})}
        click.echo(msgspec.json.encode(body).decode())
    elif health is not None and found is not None:
        click.echo(
            f"runs: process {health['pid']} on {health['host']}, port {health['port']}; "
            f"{count(health['workflows'], 'workflow')}, {count(health['tasks'], 'task')} "
            f"({health['live']} running), recoveries under way: {health['open_recoveries']}"
        )
        if health.get("journal"):
            click.echo(f"trouble: {health['journal']}")
        for line in unreachable_managers(health):
            click.echo(f"trouble: {line}")
        if health.get("metrics"):
            click.echo(f"metrics: http://{health['metrics']}/metrics")
        refused = {name: count for name, count in health["counters"].items() if count}
        if refused:
            click.echo("dropped: " + ", ".join(f"{count} {name}" for name, count in sorted(refused.items())))
    elif found is not None:
        click.echo(f"does not answer: process {found.pid} on {found.host} was the last one")
        if found.foreign:
            click.echo(f"  {found.foreign}")
        click.echo("  hint: whesl coordinator start", err=True)
    else:
        click.echo("does not run")
    if not as_json and places.coordinator_journal(home).exists():
        click.echo(_files(places.coordinator(home)))
    return 0 if health is not None else 1
