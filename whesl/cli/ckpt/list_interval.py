"""``whesl ckpt list | interval``: the existing checkpoints, and the interval between checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import click

from whesl.cli.ckpt.run_serve import NAME
from whesl.cli.options import FOLDER, PRINT_JSON
from whesl.cli.parameters import argument, option, parameters, required
from whesl.model.errors import UsageError


def _of_job(name: str | None) -> tuple[Path, int]:
    """Return the running job's directory, and the number of nodes with its ranks."""
    from whesl.checkpoints import control
    from whesl.checkpoints.messages import StatusAsked

    known = control.ask_job(name, StatusAsked()).status
    nodes = known["nodes"]
    assert isinstance(nodes, dict)
    return Path(str(known["directory"])), sum(bool(node["ranks"]) for node in nodes.values())


@click.command("list")
@parameters
def list_(
    *,
    directory: Path = argument(type=FOLDER),
    unverified: bool = option(
        False, "Do not read the parts, which takes long where they are large.", names="--no-verify"
    ),
    in_json: bool = PRINT_JSON,
) -> None:
    """List the checkpoints of DIRECTORY, the newest first; what is not whole is never restored.

    Each part is read, and compared with the checksum that was written down when it was made.
    """
    from whesl.checkpoints import manifest

    try:
        rows = [
            manifest.described(directory / str(number), verify=not unverified)
            for number in manifest.numbers(directory)
        ]
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}", hint="name the directory of checkpoints") from None
    if in_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        if row["ranks"] is None:
            click.echo(f"{row['checkpoint']}: not whole")
            continue
        took = f" in {row['seconds']:.1f} s" if row["seconds"] else ""
        size = f"{row['ranks']} ranks, {row['bytes']:,} bytes{took}"
        damage = f"; damaged: {'; '.join(row['damage'])}" if row["damage"] else ""
        click.echo(f"{row['checkpoint']}: step {row['step']}, {size} ({row['reason']}){damage}")


@click.command()
@parameters
def interval(
    *,
    name: str | None = NAME,
    cost: float | None = option(
        None, "Time to write one checkpoint; default: as the running job's checkpoints took.", "SECONDS"
    ),
    directory: Path | None = option(
        None,
        "Measure the checkpoints of this directory in place of the running job's.",
        "DIR",
        "--dir",
        type=FOLDER,
    ),
    between: float = required("Mean time between failures of one node.", "HOURS", "--between-failures"),
    nodes: int | None = option(None, "Nodes of the job; default: the running job's, or 1.", "N", least=1),
    recall: float = option(0.0, "Share of failures that are predicted [0].", "P"),
    precision: float = option(1.0, "Share of predictions that come true [1].", "P"),
    migrated: float = option(0.0, "Share of predictions early enough to migrate [0].", "P"),
    committed: float = option(0.0, "Share early enough for the node's checkpoint only [0].", "P"),
    in_json: bool = option(False, "Print JSON, in seconds.", names="--json"),
) -> None:
    """Compute the interval between checkpoints: Young, Daly, with migration, with a predictor's errors.

    Without --cost the checkpoints of the running job are measured: bytes and seconds, from its manifests.
    """
    from whesl.checkpoints import manifest
    from whesl.checkpoints.core import interval as formulas

    measured: dict[str, float] = {}
    if cost is None:
        if directory is None:
            directory, running = _of_job(name)
            nodes = nodes or running
        measured = manifest.measured(directory)
        cost = measured["seconds"]
        nodes = nodes or 1
        click.echo(
            f"measured: {measured['checkpoints']:.0f} checkpoints of {measured['bytes'] / 1e6:,.3g} MB, "
            f"{cost:.3g} s each ({measured['bytes'] / cost / 1e6:,.3g} MB/s), nodes: {nodes}",
            err=True,
        )
    mean = between * 3600.0 / (nodes or 1)
    accuracy = formulas.Accuracy(recall, precision, migrated, committed)
    found = {
        "young": formulas.young(cost, mean),
        "daly": formulas.daly(cost, mean),
        "with_migration": formulas.with_migration(cost, mean, migrated),
        "with_errors": formulas.with_errors(cost, mean, accuracy),
    }
    if in_json:
        click.echo(json.dumps({**found, **({"measured": measured} if measured else {})}, indent=2))
        return
    meaning = {
        "young": "Young, (2.1)",
        "daly": "Daly",
        "with_migration": "with migration, (2.2)",
        "with_errors": "with the predictor's errors",
    }
    for name, seconds in found.items():
        click.echo(f"{meaning[name]:28} {seconds:10.1f} s  {seconds / 3600:8.3f} h")
