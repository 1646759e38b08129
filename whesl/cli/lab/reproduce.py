"""``whesl lab reproduce``: published results, run again."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FOLDER, QUIET
from whesl.cli.parameters import argument, option, parameters
from whesl.lab.reproductions import registry, runner
from whesl.lab.reproductions import results_page as pages
from whesl.lab.results.jobs_parquet_and_summary_json import as_json, plain
from whesl.model.errors import UsageError
from whesl.prediction import compile_choice

_PLACES = ("data", "../data", "../shared/data")


@click.command()
@parameters
def reproduce(
    *,
    names: tuple[str, ...] = argument(nargs=-1, metavar="[NAME]..."),
    every: bool = option(False, "Run all experiments.", names="--all"),
    only_list: bool = option(False, "List the experiments.", names="--list"),
    in_json: bool = option(False, "Print their values as JSON; by name for several.", names="--json"),
    quick: bool = option(False, "Smaller runs, for a first look; figures differ."),
    data: Path | None = option(
        None, "Where the traces are; default: WHESL_LAB_DATA, else ./data or ../data.", "DIR", type=FOLDER
    ),
    out: Path | None = option(
        None, "Write tables, figures and a page; what is done stays.", "DIR", type=FOLDER
    ),
    again: bool = option(False, "Run also what has finished in DIR."),
    jobs: int = option(1, "Processes [1].", "N", least=1),
    quiet: bool = QUIET,
) -> None:
    """Run published experiments again: each finding holds, does not, by how much, and why."""
    if only_list:
        _list(in_json=in_json)
        return
    if bool(names) == every:
        raise UsageError("name experiments, or give --all", hint="`whesl lab reproduce --list` names them")
    settings = runner.Settings(data or _traces(), out, quick, again, jobs)
    chosen = list(registry.EXPERIMENTS) if every else list(dict.fromkeys(names))
    if registry.TOYS.issuperset(chosen):
        compile_choice.in_plain_python()
    progress = shown(quiet=quiet)
    done = []
    for outcome in runner.outcomes(chosen, settings, progress):
        done.append(outcome)
        if outcome.report is None:
            click.echo(f"whesl: {outcome.name}: {outcome.error}", err=True)
        elif outcome.kept:
            progress.note(f"{outcome.name}: finished before (--again runs it again)")
        if not in_json and outcome.report is not None:
            _show(outcome)
    done.sort(key=lambda outcome: chosen.index(outcome.name))
    if out is not None:
        pages.write(out, done, quick=quick)
        progress.note(f"written: {out / 'index.html'}")
    reports = {outcome.name: outcome.report for outcome in done if outcome.report is not None}
    if in_json:
        values = {name: plain(report.values) for name, report in reports.items()}
        alone = not every and len(chosen) == 1
        click.echo(as_json(values[chosen[0]] if alone and values else values), nl=False)
    if len(reports) < len(done):
        raise click.exceptions.Exit(1)


def _traces() -> Path | None:
    if given := os.environ.get("WHESL_LAB_DATA"):
        return Path(given)
    return next((Path(place) for place in _PLACES if Path(place).is_dir()), None)


def _list(*, in_json: bool) -> None:
    found = [registry.load(name) for name in registry.EXPERIMENTS]
    if in_json:
        listed = [{"name": one.name, "source": one.source, "about": one.about} for one in found]
        click.echo(as_json(listed), nl=False)
        return
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        click.echo(f"{one.name:{width}}  {one.about} ({one.source})")


def _show(outcome: runner.Outcome) -> None:
    assert outcome.report is not None
    findings = outcome.report.findings
    hold, fail, unknown = runner.summed(findings)
    said = f"{hold} hold, {fail} do not" + (f", {unknown} cannot be shown here" if unknown else "")
    click.echo(f"\n{outcome.name}: {outcome.about} ({outcome.source}), {outcome.seconds:.1f} s\n{said}")
    for finding in findings:
        click.echo(f"- {pages.HOLDS[finding.holds]}: {finding.statement} ({finding.source})")
        figures = f"printed {finding.printed}, here {finding.measured}"
        click.echo("  " + "; ".join(part for part in (figures, finding.difference, finding.why) if part))
