"""Options of ``learn`` and ``score``: what is read of a site."""

from __future__ import annotations

import math
import re
import time
from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

import click

from whesl.cli.options import node_list
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whesl.placement.site.history.site_history import Gathering, SiteHistory

Function = TypeVar("Function", bound="Callable[..., Any]")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PLACE = click.Path(exists=True, path_type=Path)
_YEAR = 365 * 86400.0
_OPTIONS = (
    click.option("--slurm", is_flag=True, help="Ask Slurm: sacctmgr show event, sacct, sinfo."),
    click.option("--flux", is_flag=True, help="Ask Flux: flux resource eventlog."),
    click.option(
        "--events",
        type=_FILE,
        multiple=True,
        metavar="FILE",
        help="Failures: sacctmgr, flux, node,start,end.",
    ),
    click.option(
        "--jobs", type=_FILE, multiple=True, metavar="FILE", help="Jobs: sacct, flux jobs, a table."
    ),
    click.option(
        "--evidence", type=_PLACE, multiple=True, metavar="PATH", help="WHESL homes, or whesl nodes --json."
    ),
    click.option(
        "--health", type=_PLACE, multiple=True, metavar="PATH", help="Records of whesl placement health."
    ),
    click.option(
        "--log", "logs", type=_FILE, multiple=True, metavar="FILE", help="System logs, with --chains."
    ),
    click.option("--chains", type=_FILE, metavar="FILE", help="Log chains; see whesl placement chains."),
    click.option(
        "--predictions", type=_FILE, multiple=True, metavar="FILE", help="Of chains run --record FILE."
    ),
    click.option("--nodes", metavar="LIST", help="All nodes, also those that never failed: n[001-512]."),
    click.option(
        "--since",
        metavar="DATE",
        help="All failures from then on are in the records [a year ago for commands].",
    ),
    click.option("--zone", metavar="NAME", help="Time zone of times that name none: Europe/Berlin."),
    click.option(
        "--leave-out", default="", metavar="REGEX", help="Leave out Slurm's events with such a reason."
    ),
    click.option(
        "--take",
        default="",
        metavar="REGEX",
        help="Slurm's drains with such a reason are failures too; nhc, nhc-hardware: Node Health Check's.",
    ),
    click.option("--strict", is_flag=True, help="Refuse a file when a line cannot be read."),
)


lost_option = click.option(
    "--lost",
    type=click.FloatRange(0, min_open=True),
    metavar="NODE-HOURS",
    help="What a node's failure costs its job [by the jobs; 96 where none is known].",
)


despite_option = click.option(
    "--despite",
    type=click.Choice(["not-positive", "too-little"]),
    metavar="VERDICT",
    help="Act on a model although the verdict on it is this: not-positive or too-little.",
)


def record_options(function: Function) -> Function:
    """Add the options to a command; it hands them to ``gathered``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def gathered(
    *,
    slurm: bool,
    flux: bool,
    events: tuple[Path, ...],
    jobs: tuple[Path, ...],
    evidence: tuple[Path, ...],
    health: tuple[Path, ...],
    logs: tuple[Path, ...],
    chains: Path | None,
    predictions: tuple[Path, ...],
    nodes: str | None,
    since: str | None,
    zone: str | None,
    leave_out: str,
    take: str,
    strict: bool,
) -> SiteHistory:
    """Return what a site's records say. Arguments are the options' values.

    Raises:
        UsageError: nothing was named, or something that is named cannot be used.
        WheslError: a file cannot be read, or a command fails.
    """
    from whesl.lab.readers import format_detection
    from whesl.placement.site.history import bad_node_reports as seen
    from whesl.placement.site.history.site_history import Gathering

    if not (slurm or flux or events or jobs):
        raise UsageError(
            "nothing to learn from", hint="--slurm or --flux ask them; --events and --jobs take files"
        )
    if bool(logs) != bool(chains):
        raise UsageError(
            "--log and --chains go together", hint="whesl placement chains mine makes the chains"
        )
    for option, text in (("--leave-out", leave_out), ("--take", take)):
        try:
            re.compile(text)
        except re.error as error:
            raise UsageError(f"{option} is no regular expression: {error}") from None
    where = _zone(zone)
    begin = _date(since, where) if since else None
    found = Gathering()
    if nodes:
        found.nodes(node_list(nodes, "--nodes "))
    if begin is not None:
        found.since(begin)
    for path in events:
        found.failures(
            str(path),
            format_detection.read_failures(path, zone=where, leave_out=leave_out, take=take, strict=strict),
        )
    for path in jobs:
        found.jobs(str(path), format_detection.read_jobs(path, zone=where, strict=strict))
    if slurm or flux:
        _ask(found, slurm=slurm, flux=flux, begin=begin, leave_out=leave_out, take=take)
    for path in evidence:
        found.evidence(str(path), seen.load(path))
    _signs(found, health, logs, chains, predictions)
    return found.made()


def _ask(
    found: Gathering, *, slurm: bool, flux: bool, begin: float | None, leave_out: str, take: str
) -> None:
    from whesl.placement.site.history import commands

    now = time.time()
    since = now - _YEAR if begin is None else begin
    if slurm:
        found.nodes(commands.slurm_nodes())
        events = commands.slurm_events(since, leave_out=leave_out, take=take)
        if events is not None:
            found.failures("sacctmgr", events)
        jobs = commands.slurm_jobs(since)
        found.jobs("sacct", jobs)
        # The accounts may be younger than a year; their first job says that they were kept.
        found.since(min((job.start for job in jobs.jobs if job.start >= since), default=math.inf))
    if flux:
        found.failures("flux resource eventlog", commands.flux_events())
    found.until(now)


def _signs(
    found: Gathering,
    health: tuple[Path, ...],
    logs: tuple[Path, ...],
    chains: Path | None,
    predictions: tuple[Path, ...],
) -> None:
    from whesl.placement.site import node_counters as counters
    from whesl.placement.site.history import prediction_file as recorded
    from whesl.prediction.log_chains import archived_logs, chains_file
    from whesl.prediction.log_chains.log_stream_predictor import Compiled

    if health:
        readings, malformed = counters.load(health)
        found.warnings += [f"{file}:{line}: {why}" for file, line, why in malformed[:10]]
        found.health("health", list(counters.changes(readings)), len(readings))
    if chains is not None:
        said, _ = archived_logs.run(Compiled(chains_file.load(chains)), logs, None)
        found.predictions("log chains", said)
    for path in predictions:
        read = recorded.read(path)
        found.warnings += [f"{path}:{line}: {why}" for line, why in read.malformed[:10]]
        found.predictions(str(path), read.predictions)


def show(found: SiteHistory) -> None:
    """Say what was read, and what was left out, on standard error."""
    history = found.history
    days = (history.finish - history.begin) / 86400.0
    click.echo(f"{history.nodes:,} nodes, {days:.1f} days, {len(history):,} failures", err=True)
    for name, what in found.sources.items():
        click.echo(f"  {name}: {what}", err=True)
    for warning in found.warnings:
        click.echo(f"  left out: {warning}", err=True)


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return timezone.utc if name == "UTC" else ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise UsageError(f"--zone {name}: no such time zone", hint="UTC or Europe/Berlin") from None


def _date(text: str, zone: tzinfo | None) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--since {text!r} is no date", hint="write YYYY-MM-DD") from None
    return (moment.replace(tzinfo=zone) if moment.tzinfo is None else moment).timestamp()
