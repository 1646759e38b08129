"""``whesl placement table`` and ``status``: the published table, and the state of the service."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from whesl.cli.options import PRINT_JSON
from whesl.cli.parameters import option, parameters
from whesl.cli.placement.serve import DIRECTORY
from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import CouldNotObserveError
from whesl.placement.site.publish import risk_table as published
from whesl.placement.site.slurm.placement_service import STATUS, TABLE
from whesl.placement.site.slurm.placement_status import Status
from whesl.prediction.failures.predictor_base import span

_LATE = 3.0  # periods after which a service counts as silent


@click.command()
@parameters
def table(
    *,
    where: Path = DIRECTORY,
    every: bool = option(False, "All nodes, not only those at risk.", names="--all"),
    in_json: bool = PRINT_JSON,
) -> int:
    """Show the nodes at risk, those first that are the likeliest to fail. Exit status 1: it has expired."""
    data = published.read_bytes(where / TABLE)
    found = published.decode(data)
    holds = published.fresh(found, time.time())
    if in_json:
        click.echo(data)
        return 0 if holds else 1
    rows = sorted(found.nodes, key=lambda row: row.probability, reverse=True)
    shown = [row for row in rows if every or found.at_risk(row)]
    ends = ["node", *(span(one) for one in found.horizons), "mean", "why"]
    lines = [ends]
    for row in shown:
        mean = span(row.expected) if row.expected is not None else "-"
        lines.append([row.node, *(f"{p:.2f}" for p in row.probability), mean, row.reason])
    widths = [max(len(line[at]) for line in lines) for at in range(len(ends) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        click.echo("  ".join([*cells, line[-1]]).rstrip())
    age = span(max(0.0, time.time() - found.written))
    mode = "active" if found.active else "observing"
    click.echo(f"{len(shown)} of {len(found.nodes)} nodes; {found.source}, {mode}, written {age} ago")
    if not holds:
        click.echo("it has expired: nobody uses it", err=True)
    return 0 if holds else 1


@click.command()
@parameters
def status(*, where: Path = DIRECTORY, in_json: bool = PRINT_JSON) -> int:
    """Show what the service does, or would do. Exit status 0: it looks at Slurm, 1: it does not."""
    if not (where / STATUS).exists():
        raise CouldNotObserveError(
            f"no service has written a status in {where}", hint="whesl placement serve writes it; --dir DIR"
        )
    data = published.read_bytes(where / STATUS)
    try:
        found = msgspec.json.decode(data, type=Status)
    except UNDECODABLE as error:
        raise CouldNotObserveError(f"{where / STATUS} is no status: {error}") from None
    late = time.time() - found.time > max(_LATE * found.period, 10.0)
    if in_json:
        click.echo(data)
        return 1 if late or found.leaving else 0
    mode = "acts" if found.active else "observes"
    click.echo(f"{mode}: process {found.pid}, {found.source or 'no predictions'}")
    click.echo(
        f"latest look: {span(max(0.0, time.time() - found.time))} ago" + (", it is late" if late else "")
    )
    click.echo(f"nodes: {found.nodes}, at risk: {found.at_risk}")
    rows_of = (("changed", found.held), ("refused", found.refused), ("would change", found.would))
    for title, rows in rows_of:
        for node, what, after in rows:
            click.echo(f"{title}: {node} {what} {after}")
    for name, count in found.figures.items():
        if count:
            click.echo(f"{name}: {count}")
    if found.leaving:
        click.echo("it has ended, and taken back what it did" if not found.held else "it has ended")
    if found.problem:
        click.echo(f"trouble: {found.problem}")
    return 1 if late or found.leaving else 0
