"""``whesl placement serve`` and ``undo``: the site's service, and what it would have taken back itself."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from whesl.cli.placement.site_history_options import despite_option
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError
from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.core.node_changes import Settings
from whesl.placement.site.slurm import plugin_installation
from whesl.placement.site.slurm.node_and_job_updates import Cluster
from whesl.placement.site.slurm.placement_service import Service
from whesl.placement.site.slurm.prediction_sources import Sources
from whesl.runtime.wire.metrics_server import MetricsServer, address

DIRECTORY = Path("/var/lib/whesl/placement")
_PATIENCE = 60.0  # seconds for taking everything back at the end
_RETRY = 1.0

directory = click.option(
    "--dir",
    "where",
    type=click.Path(path_type=Path),
    default=DIRECTORY,
    show_default=True,
    metavar="DIR",
    help="Where the tables, the journal and the lock are; only this account may write there.",
)
_usual = Settings()
# Settings that are options, with their defaults: their type, the value's name, the help.
_SETTINGS: dict[str, tuple[click.ParamType[Any] | None, str, str]] = {
    "share": (
        click.FloatRange(0.0, 0.5),
        "PART",
        "Of a partition's nodes, the most that are drained or left out.",
    ),
    "within": (click.FloatRange(1.0), "SECONDS", "The horizon of weights and the feature."),
    "drain_above": (click.FloatRange(0.01), "P", "Drain nodes this likely to fail; above 1 for never."),
    "drain_within": (click.FloatRange(1.0), "SECONDS", "... within this time, and for as long."),
    "settle": (click.FloatRange(0.0), "SECONDS", "A change is not taken back sooner."),
    "weight_step": (
        click.IntRange(0, 10**6),
        "N",
        "What each level of risk adds to a node's weight; 0 for none.",
    ),
    "feature": (None, "NAME", "The feature of nodes at risk."),
    "wait_for_better": (
        click.FloatRange(0.0),
        "SECONDS",
        "The longest that an exclude list holds a waiting job back [as long as the job may run].",
    ),
}


def _settings(command: Callable[..., int]) -> Callable[..., int]:
    """Declare the settings as options."""
    for name, (kind, metavar, text) in reversed(_SETTINGS.items()):
        command = click.option(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=getattr(_usual, name),
            show_default=name != "wait_for_better",
            metavar=metavar,
            help=text,
        )(command)
    return command


def _horizons(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[float, ...]:
    if text is None:
        return risk_table.HORIZONS
    try:
        found = tuple(float(one) for one in text.split(","))
    except ValueError:
        found = ()
    if (
        not found
        or list(found) != sorted(set(found))
        or found[0] <= 0
        or len(found) > risk_table.MOST_HORIZONS
    ):
        raise UsageError(f"not horizons: {text}", hint="seconds, ascending, such as 3600,14400,86400")
    return found


@click.command()
@click.option(
    "--observe",
    "mode",
    flag_value="observe",
    default="observe",
    help="Do nothing but publish and say what would be done [default].",
)
@click.option("--active", "mode", flag_value="active", help="Weights, feature, drains, exclude lists.")
@despite_option
@click.option(
    "--model",
    "model_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A model of `whesl placement learn`, read again when it changes.",
)
@click.option(
    "--predictions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Predictions as JSON lines, as `whesl placement chains` writes them.",
)
@directory
@click.option(
    "--period",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Between two looks at Slurm.",
)
@_settings
@click.option(
    "--horizons", callback=_horizons, metavar="SECONDS,...", help="Of the table [half an hour to a week]."
)
@click.option("--readable", is_flag=True, help="All users may read the tables, as cli_filter.lua needs.")
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve metrics for Prometheus.")
@click.option("--metrics-open", is_flag=True, help="... on an address that other machines reach.")
@click.option("--once", is_flag=True, help="Look once, take nothing back, and end.")
@click.option("--cluster", default="", metavar="NAME", help="The cluster's name, for the table.")
def serve(
    mode: str, once: bool, metrics: str | None, metrics_open: bool, despite: str | None, **given: Any
) -> int:
    """Look at Slurm, publish the table of nodes at risk, and say or do what follows.

    Runs in the foreground until SIGTERM or SIGINT, and then takes back everything that it did. Slurm lets
    administrators alone change nodes: with --active the account needs AdminLevel=Administrator. It acts on a
    model whose score has a positive verdict, and on another one where --despite names its verdict.
    """
    _logging()
    if given["model_file"] is None and given["predictions"] is None:
        raise UsageError(
            "there is nothing to predict with",
            hint="--model FILE of `whesl placement learn`, or --predictions",
        )
    for name, value in given.items():
        if (
            isinstance(value, float)
            and not math.isfinite(value)
            and (name, value) != ("wait_for_better", math.inf)
        ):
            raise UsageError(f"--{name.replace('_', '-')} {value}: expected a number")
    _alone(mode, given["where"])
    if not risk_table.is_name(given["feature"]):
        raise UsageError(f"{given['feature']!r} is no feature's name", hint="letters, digits, _ . and -")
    settings = Settings(
        active=mode == "active",
        **{name: given[name] for name in Settings.__struct_fields__ if name != "active"},
    )
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    sources = Sources(given["model_file"], given["predictions"], acting=mode == "active", despite=despite)
    sources.check()
    service = Service(
        given["where"],
        Cluster(os.environ),
        sources,
        settings,
        period=given["period"],
        horizons=given["horizons"],
        readable=given["readable"],
        name=given["cluster"],
        clock=time.time,
    )
    with service:
        if metrics:
            MetricsServer(service.figures, *address(metrics, open_to_others=metrics_open))
        if once:
            return 0 if service.look() else 1
        logging.getLogger("whesl").info("%s, a look every %g s", mode, given["period"])
        while not over.is_set():
            service.look()
            over.wait(given["period"])
        return _leave(service)


def _alone(mode: str, where: Path) -> None:
    """Refuse to act beside the service that the plugin reads: each would build on the other's weights."""
    conf = Path(os.environ.get("SLURM_CONF") or "/etc/slurm/slurm.conf")
    found = plugin_installation.published(conf.parent) if mode == "active" else None
    if found is not None and found.resolve() != where.resolve():
        raise RefusedError(
            f"Slurm's plugin reads the table in {found}: another service's",
            hint=f"--dir {found}, --observe, or `whesl placement install --dir {where}`",
        )


@click.command()
@directory
@click.option(
    "--feature",
    default=_usual.feature,
    show_default=True,
    metavar="NAME",
    help="The feature that the service gave nodes at risk.",
)
def undo(where: Path, feature: str) -> int:
    """Take back what a service did that is no more: weights, features, drains, exclude lists.

    What administrators have done since stays. Refused while a service runs.
    """
    _logging()
    if not (where / "journal.db").exists():
        raise CouldNotObserveError(f"no service has written a journal in {where}", hint="--dir DIR")
    settings = Settings(feature=feature)
    with Service(
        where, Cluster(os.environ), Sources(None, None), settings, period=60.0, clock=time.time
    ) as service:
        return _leave(service)


def _leave(service: Service) -> int:
    until = time.monotonic() + _PATIENCE
    while not service.leave():
        if time.monotonic() > until:
            click.echo(
                "whesl: not everything could be taken back; the journal knows it\n"
                "  hint: whesl placement undo, when Slurm answers again",
                err=True,
            )
            return 1
        time.sleep(_RETRY)
    return 0


def _logging() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
