"""``whesl placement serve`` and ``undo``: the site's service, and the undoing of a dead service's changes."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import click

from whesl.cli.parameters import option, parameters
from whesl.cli.placement.site_history_options import DESPITE
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError
from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.core.node_changes import Settings
from whesl.placement.site.slurm import plugin_installation
from whesl.placement.site.slurm.node_and_job_updates import Cluster
from whesl.placement.site.slurm.placement_service import Service
from whesl.placement.site.slurm.prediction_sources import Sources
from whesl.runtime.wire.metrics_server import MetricsServer, address

_PATIENCE = 60.0  # seconds for undoing all changes at the end
_RETRY = 1.0

DIRECTORY = option(
    Path("/var/lib/whesl/placement"),
    "Where the tables, the journal and the lock are; only this account may write there.",
    "DIR",
    "--dir",
    shown=True,
)
_usual = Settings()


def _number(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter(f"{value} is no number.")
    return value


@dataclass(frozen=True)
class Chosen:
    """Options of the command that are settings of the service with the same names."""

    share: float = option(
        _usual.share,
        "Of a partition's nodes, the most that are drained or left out.",
        "PART",
        shown=True,
        least=0.0,
        most=0.5,
    )
    within: float = option(
        _usual.within, "The horizon of weights and the feature.", "SECONDS", shown=True, least=1.0
    )
    drain_above: float = option(
        _usual.drain_above, "Drain nodes this likely to fail; above 1 for never.", "P", shown=True, least=0.01
    )
    drain_within: float = option(
        _usual.drain_within, "... within this time, and for as long.", "SECONDS", shown=True, least=1.0
    )
    settle: float = option(
        _usual.settle, "A change is not taken back sooner.", "SECONDS", shown=True, least=0.0
    )
    weight_step: int = option(
        _usual.weight_step,
        "What each level of risk adds to a node's weight; 0 for none.",
        "N",
        shown=True,
        least=0,
        most=10**6,
    )
    feature: str = option(_usual.feature, "The feature of nodes at risk.", "NAME", shown=True)
    wait_for_better: float = option(
        _usual.wait_for_better,
        "The longest that an exclude list holds a waiting job back [as long as the job may run].",
        "SECONDS",
        type=click.FloatRange(0.0),  # infinity is allowed
        callback=_number,
    )


def _horizons(text: str | None) -> tuple[float, ...]:
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
@parameters
def serve(
    *,
    mode: str,
    despite: str | None = DESPITE,
    model_file: Path | None = option(
        None, "A model of `whesl placement learn`, read again when it changes.", "FILE", "--model"
    ),
    predictions: Path | None = option(
        None, "Predictions as JSON lines, as `whesl placement chains` writes them.", "FILE"
    ),
    where: Path = DIRECTORY,
    period: float = option(60.0, "Between two looks at Slurm.", "SECONDS", shown=True, least=0.1),
    chosen: Chosen,
    horizons: str | None = option(None, "Of the table [half an hour to a week].", "SECONDS,..."),
    readable: bool = option(False, "All users may read the tables, as cli_filter.lua needs."),
    metrics: str | None = option(None, "Serve metrics for Prometheus.", "[HOST:]PORT"),
    metrics_open: bool = option(False, "... on an address that other machines reach."),
    once: bool = option(False, "Look once, take nothing back, and end."),
    cluster: str = option("", "The cluster's name, for the table.", "NAME"),
) -> int:
    """Look at Slurm, publish the table of nodes at risk, and say or do what follows.

    Runs in the foreground until SIGTERM or SIGINT, and then takes back everything that it did. Slurm lets
    administrators alone change nodes: with --active the account needs AdminLevel=Administrator. It acts on a
    model whose score has a positive verdict, and on another one where --despite names its verdict.
    """
    _logging()
    ahead = _horizons(horizons)
    if model_file is None and predictions is None:
        raise UsageError(
            "there is nothing to predict with",
            hint="--model FILE of `whesl placement learn`, or --predictions",
        )
    _alone(mode, where)
    if not risk_table.is_name(chosen.feature):
        raise UsageError(f"{chosen.feature!r} is no feature's name", hint="letters, digits, _ . and -")
    settings = Settings(active=mode == "active", **vars(chosen))
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    sources = Sources(model_file, predictions, acting=mode == "active", despite=despite)
    sources.check()
    service = Service(
        where,
        Cluster(os.environ),
        sources,
        settings,
        period=period,
        horizons=ahead,
        readable=readable,
        name=cluster,
        clock=time.time,
    )
    with service:
        if metrics:
            MetricsServer(service.figures, *address(metrics, open_to_others=metrics_open))
        if once:
            return 0 if service.look() else 1
        logging.getLogger("whesl").info("%s, a look every %g s", mode, period)
        while not over.is_set():
            service.look()
            over.wait(period)
        return _leave(service)


def _alone(mode: str, where: Path) -> None:
    """Refuse to act beside the service that the plugin reads: each would change the other's weights."""
    conf = Path(os.environ.get("SLURM_CONF") or "/etc/slurm/slurm.conf")
    found = plugin_installation.published(conf.parent) if mode == "active" else None
    if found is not None and found.resolve() != where.resolve():
        raise RefusedError(
            f"Slurm's plugin reads the table in {found}: another service's",
            hint=f"--dir {found}, --observe, or `whesl placement install --dir {where}`",
        )


@click.command()
@parameters
def undo(
    *,
    where: Path = DIRECTORY,
    feature: str = option(
        _usual.feature, "The feature that the service gave nodes at risk.", "NAME", shown=True
    ),
) -> int:
    """Take back the changes of a service that has ended: weights, features, drains, exclude lists.

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
