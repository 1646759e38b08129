"""``whesl lab campaign``: many simulations, resumable."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whesl.cli.lab import campaign_simulators
from whesl.cli.lab.progress import shown
from whesl.cli.options import EXISTING, FOLDER, JSON, QUIET
from whesl.cli.parameters import argument, option, parameters, required
from whesl.lab.campaigns import plan, run, summary
from whesl.lab.results.jobs_parquet_and_summary_json import as_json


@click.command()
@parameters
def campaign(
    *,
    file: Path = argument(type=EXISTING),
    out: Path = required("Where results go; what finished stays.", "DIR", type=FOLDER),
    jobs: int | None = option(None, "Processes; default: one per core.", "N", least=1),
    dask: str = option("", "Run on the Dask cluster of this scheduler instead.", "ADDRESS"),
    only_list: bool = option(False, "List the simulations, and run none.", names="--list"),
    in_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Run the simulations of FILE (TOML): all combinations of parameters, each with several seeds.

    A simulation is a call of another command of the lab: parameters are its options.

    A simulation that has finished in DIR is not run again, so a campaign that was killed goes on where it
    was. Results are the same on any number of processes.
    """
    given, planned = plan.read(file, campaign_simulators.files)
    if only_list:
        listed = [{"key": c.key, "kind": c.kind, "seed": c.seed, **c.shown} for c in planned]
        click.echo(as_json(listed), nl=False)
        return
    workers = jobs or len(os.sched_getaffinity(0))
    results, errors = run.run(
        planned, out, campaign_simulators.run, shown(quiet=quiet), jobs=workers, dask=dask
    )
    said = [f"{cell.kind} {cell.shown}: {errors[cell.key]}" for cell in planned if cell.key in errors]
    summary.write(out, given, planned, results, said)
    for line in said:
        click.echo(f"whesl: {line}", err=True)
    if in_json:
        click.echo((out / "summary.json").read_text(encoding="utf-8"), nl=False)
    else:
        click.echo(f"{len(results)} of {len(planned)} simulations finished: {out / 'index.html'}")
    if errors:
        raise click.exceptions.Exit(1)
