"""``whesl lab ckpt``: which checkpoint model suits a code on a machine."""

from __future__ import annotations

from pathlib import Path

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FILE, FOLDER, JSON, QUIET, seed_option
from whesl.cli.parameters import option, parameters
from whesl.lab.results.jobs_parquet_and_summary_json import as_json
from whesl.lab.results.report_folder import write_results
from whesl.lab.results.report_page import Page, Section
from whesl.lab.results.report_tables import markdown
from whesl.lab.simulators.checkpoints import studies
from whesl.lab.simulators.checkpoints.evaluate import Summary, reduction
from whesl.lab.simulators.checkpoints.machine_and_application_files import Failures, Machine, load, shipped
from whesl.model.errors import UsageError

_CHANGES = (-0.5, -0.25, 0.0, 0.25, 0.5)
_MEANING = {
    "B": "periodic checkpoints alone",
    "M1": "safeguard checkpoints when a failure is predicted",
    "M2": "live migration when a failure is predicted",
    "P1": "prioritized checkpoints",
    "P2": "live migration, and prioritized checkpoints where there is no time for it",
    "P2+": "P2 with the predictor's errors in the checkpoint interval",
}


@click.command()
@parameters
def ckpt(
    *,
    system: Path | None = option(None, "The machine, as TOML [Summit].", "FILE", type=FILE),
    apps: Path | None = option(None, "The codes, as TOML [six of the dissertation].", "FILE", type=FILE),
    example: str | None = option(None, "Print the shipped file, to be edited.", choices=("system", "apps")),
    failures: str | None = option(None, "Which of the machine's [[failures]] [the first].", "NAME"),
    whole: bool = option(False, "Put them on the machine as they are, not scaled by its nodes."),
    runs: int = option(1000, "Runs of each setting [1000].", "N", least=2),
    seed: int = seed_option(1),
    jobs: int | None = option(None, "Threads [one for each core].", "N", least=1),
    out: Path | None = option(None, "Write tables, figures, summary.json and a page.", "DIR", type=FOLDER),
    in_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Find the checkpoint model that costs a code least: periodic, safeguard, migration, prioritized, or
    both.

    Results do not depend on the number of threads.
    """
    if example:
        click.echo(shipped("summit.toml" if example == "system" else "apps.toml"), nl=False)
        return
    machine, applications = load(system, apps)
    distribution = _failures(machine, failures)
    progress = shown(quiet=quiet)
    bench = studies.Bench(machine, seed, runs, progress, jobs)
    found = studies.overheads(bench, applications, distribution, whole=whole)
    best = studies.best(found)
    table = studies.overhead_table(found, "overheads", f"Overheads on {machine.name}, {distribution.name}")
    summary = {
        "system": machine.name,
        "failures": distribution.name,
        "runs": runs,
        "seed": seed,
        "best": {
            name: {"model": model, "lead": lead, "sure": sure} for name, (model, lead, sure) in best.items()
        },
        "overheads": {
            name: {model: _values(found, name, model) for one, model in found if one == name} for name in best
        },
    }
    if out is not None:
        changed = studies.lead_changes(bench, applications, distribution, _CHANGES, studies.ALL[1:])
        lead_table = studies.lead_table(found, changed)
        figures = [
            studies.overhead_figure(found, "overheads", "Overhead of each model"),
            studies.lead_figure(found, changed),
        ]
        sections = (
            Section("Overheads", [table, figures[0]]),
            Section("Longer and shorter lead times", [lead_table, figures[1]]),
        )
        facts = (f"failures of {distribution.name}", f"{runs} runs of each setting", f"seed {seed}")
        tiles = [(name, model, _lead(lead, sure)) for name, (model, lead, sure) in best.items()]
        verdict = "; ".join(f"{name}: {model}" for name, (model, _, _) in best.items())
        least = f"Least overhead: {verdict}."
        page = Page("WHESL lab: checkpoints", machine.name, least, "calm", facts, tiles, sections)
        write_results(out, (table, lead_table), figures, summary, page)
    if in_json:
        click.echo(as_json(summary), nl=False)
        return
    click.echo(markdown(table))
    for name, (model, lead, sure) in best.items():
        click.echo(f"{name}: {model} ({_MEANING[model]}), {_lead(lead, sure)}")


def _failures(machine: Machine, name: str | None) -> Failures:
    if name is None:
        return machine.failures[0]
    for one in machine.failures:
        if one.name.casefold() == name.casefold():
            return one
    known = ", ".join(one.name for one in machine.failures)
    raise UsageError(f"no failures of the name {name!r}", hint=f"the machine's file has {known}")


def _values(found: dict[tuple[str, str], Summary], name: str, model: str) -> dict[str, object]:
    summary = found[name, model]
    return {
        "hours": summary.overhead_hours[0],
        "half_width": summary.overhead_hours[1],
        "checkpoint_hours": summary.checkpoint_hours,
        "recomputation_hours": summary.recomputation_hours,
        "recovery_hours": summary.recovery_hours,
        "reduction": reduction(found[name, "B"], summary),
        "failures_met": summary.met[0],
        "interval_hours": summary.interval_hours,
    }


def _lead(lead: float, sure: bool) -> str:
    said = f"{100 * lead:.0f} points of B's overhead before the next"
    return said if sure else f"{said}, not sure: more runs would tell"
