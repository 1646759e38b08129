"""Options of ``learn`` and ``score`` for the records of a site."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from datetime import timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from whesl.cli.options import EXISTING, moment, node_list
from whesl.cli.parameters import option
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from whesl.placement.site.history.site_history import Gathering, SiteHistory

_PLACE = click.Path(exists=True, path_type=Path)
_YEAR = 365 * 86400.0


@dataclass(frozen=True)
class Records:
    """Options for the records of a site that are read."""

    slurm: bool = option(False, "Ask Slurm: sacctmgr show event, sacct, sinfo.")
    flux: bool = option(False, "Ask Flux: flux resource eventlog.")
    events: tuple[Path, ...] = option((), "Failures: sacctmgr, flux, node,start,end.", "FILE", type=EXISTING)
    jobs: tuple[Path, ...] = option((), "Jobs: sacct, flux jobs, a table.", "FILE", type=EXISTING)
    evidence: tuple[Path, ...] = option((), "WHESL homes, or whesl nodes --json.", "PATH", type=_PLACE)
    health: tuple[Path, ...] = option((), "Records of whesl placement health.", "PATH", type=_PLACE)
    logs: tuple[Path, ...] = option((), "System logs, with --chains.", "FILE", "--log", type=EXISTING)
    chains: Path | None = option(None, "Log chains; see whesl placement chains.", "FILE", type=EXISTING)
    predictions: tuple[Path, ...] = option((), "Of chains run --record FILE.", "FILE", type=EXISTING)
    nodes: str | None = option(None, "All nodes, also those that never failed: n[001-512].", "LIST")
    since: str | None = option(
        None, "All failures from then on are in the records [a year ago for commands].", "DATE"
    )
    zone: str | None = option(None, "Time zone of times that name none: Europe/Berlin.", "NAME")
    leave_out: str = option("", "Leave out Slurm's events with such a reason.", "REGEX")
    take: str = option(
        "",
        "Slurm's drains with such a reason are failures too; nhc, nhc-hardware: Node Health Check's.",
        "REGEX",
    )
    strict: bool = option(False, "Refuse a file when a line cannot be read.")


LOST: float | None = option(
    None,
    "What a node's failure costs its job [by the jobs; 96 where none is known].",
    "NODE-HOURS",
    "--lost",
    above=0,
)


DESPITE: str | None = option(
    None,
    "Act on a model although the verdict on it is this: not-positive or too-little.",
    "VERDICT",
    "--despite",
    choices=("not-positive", "too-little"),
)


def gathered(read: Records) -> SiteHistory:
    """Return the history in a site's records.

    Args:
        read: the records to read.

    Raises:
        UsageError: no record was named, or a named one cannot be used.
        WheslError: a file cannot be read, or a command fails.
    """
    from whesl.lab.readers import site_log_format_detection
    from whesl.placement.site.history import bad_node_reports as seen
    from whesl.placement.site.history.site_history import Gathering

    if not (read.slurm or read.flux or read.events or read.jobs):
        raise UsageError(
            "nothing to learn from", hint="--slurm or --flux ask them; --events and --jobs take files"
        )
    if bool(read.logs) != bool(read.chains):
        raise UsageError(
            "--log and --chains go together", hint="whesl placement chains mine makes the chains"
        )
    for name, text in (("--leave-out", read.leave_out), ("--take", read.take)):
        try:
            re.compile(text)
        except re.error as error:
            raise UsageError(f"{name} is no regular expression: {error}") from None
    where = _zone(read.zone)
    begin = moment("--since", read.since, where) if read.since else None
    found = Gathering()
    if read.nodes:
        found.nodes(node_list(read.nodes, "--nodes "))
    if begin is not None:
        found.since(begin)
    reasons = {"leave_out": read.leave_out, "take": read.take}
    for path in read.events:
        failures = site_log_format_detection.read_failures(path, zone=where, strict=read.strict, **reasons)
        found.failures(str(path), failures)
    for path in read.jobs:
        found.jobs(str(path), site_log_format_detection.read_jobs(path, zone=where, strict=read.strict))
    if read.slurm or read.flux:
        _ask(found, read, begin)
    for path in read.evidence:
        found.evidence(str(path), seen.load(path))
    _signs(found, read)
    return found.made()


def _ask(found: Gathering, read: Records, begin: float | None) -> None:
    from whesl.placement.site.history import commands

    now = time.time()
    since = now - _YEAR if begin is None else begin
    if read.slurm:
        found.nodes(commands.slurm_nodes())
        events = commands.slurm_events(since, leave_out=read.leave_out, take=read.take)
        if events is not None:
            found.failures("sacctmgr", events)
        jobs = commands.slurm_jobs(since)
        found.jobs("sacct", jobs)
        # Accounting may have begun less than a year ago; its first job shows when.
        found.since(min((job.start for job in jobs.jobs if job.start >= since), default=math.inf))
    if read.flux:
        found.failures("flux resource eventlog", commands.flux_events())
    found.until(now)


def _signs(found: Gathering, read: Records) -> None:
    from whesl.placement.site import node_counters as counters
    from whesl.placement.site.history import prediction_file as recorded
    from whesl.prediction.log_chains import archived_logs, chains_file
    from whesl.prediction.log_chains.log_stream_predictor import Compiled

    if read.health:
        readings, malformed = counters.load(read.health)
        found.warnings += [f"{file}:{line}: {why}" for file, line, why in malformed[:10]]
        found.health("health", list(counters.changes(readings)), len(readings))
    if read.chains is not None:
        said, _ = archived_logs.run(Compiled(chains_file.load(read.chains)), read.logs, None)
        found.predictions("log chains", said)
    for path in read.predictions:
        foreseen = recorded.read(path)
        found.warnings += [f"{path}:{line}: {why}" for line, why in foreseen.malformed[:10]]
        found.predictions(str(path), foreseen.predictions)


def show(found: SiteHistory) -> None:
    """Print on standard error which records were read and which were left out."""
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
