"""``whesl ckpt list | interval``: what is there, and how often to write it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from whesl.model.errors import UsageError


@click.command("list")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--json", "in_json", is_flag=True, help="Print JSON.")
def list_(directory: Path, in_json: bool) -> None:
    """List the checkpoints of DIRECTORY, the newest first; what is not whole is never restored."""
    from whesl.ckpt import manifest

    try:
        numbers = manifest.numbers(directory)
        found = {number: manifest.read(directory / str(number)) for number in numbers}
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}", hint="name the directory of checkpoints") from None
    rows = [
        {
            "checkpoint": number,
            "whole": one is not None,
            "step": one.step if one else None,
            "ranks": len(one.parts) if one else None,
            "bytes": sum(part.bytes for part in one.parts) if one else None,
            "reason": one.reason if one else None,
        }
        for number, one in found.items()
    ]
    if in_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        if row["whole"]:
            size = f"{row['ranks']} ranks, {row['bytes']:,} bytes"
            click.echo(f"{row['checkpoint']}: step {row['step']}, {size} ({row['reason']})")
        else:
            click.echo(f"{row['checkpoint']}: not whole")


@click.command()
@click.option("--cost", type=float, required=True, metavar="SECONDS", help="Time to write one checkpoint.")
@click.option(
    "--between-failures",
    "between",
    type=float,
    required=True,
    metavar="HOURS",
    help="Mean time between failures of one node.",
)
@click.option("--nodes", type=click.IntRange(1), default=1, metavar="N", help="Nodes of the job [1].")
@click.option(
    "--recall", type=float, default=0.0, metavar="P", help="Share of failures that are predicted [0]."
)
@click.option(
    "--precision", type=float, default=1.0, metavar="P", help="Share of predictions that come true [1]."
)
@click.option(
    "--migrated",
    type=float,
    default=0.0,
    metavar="P",
    help="Share of predictions early enough to migrate [0].",
)
@click.option(
    "--committed",
    type=float,
    default=0.0,
    metavar="P",
    help="Share early enough for the node's checkpoint only [0].",
)
@click.option("--json", "in_json", is_flag=True, help="Print JSON, in seconds.")
def interval(
    cost: float,
    between: float,
    nodes: int,
    recall: float,
    precision: float,
    migrated: float,
    committed: float,
    in_json: bool,
) -> None:
    """Compute the interval between checkpoints: Young, Daly, with migration, with a predictor's errors."""
    from whesl.ckpt.core import interval as formulas

    mean = between * 3600.0 / nodes
    accuracy = formulas.Accuracy(recall, precision, migrated, committed)
    found = {
        "young": formulas.young(cost, mean),
        "daly": formulas.daly(cost, mean),
        "with_migration": formulas.with_migration(cost, mean, migrated),
        "with_errors": formulas.with_errors(cost, mean, accuracy),
    }
    if in_json:
        click.echo(json.dumps(found, indent=2))
        return
    meaning = {
        "young": "Young, (2.1)",
        "daly": "Daly",
        "with_migration": "with migration, (2.2)",
        "with_errors": "with the predictor's errors",
    }
    for name, seconds in found.items():
        click.echo(f"{meaning[name]:28} {seconds:10.1f} s  {seconds / 3600:8.3f} h")
