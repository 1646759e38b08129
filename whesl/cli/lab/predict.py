"""``whesl lab predict``: predictors fitted to a history of failures, and scored on what came after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FILE, JSON, OUT, QUIET, SEED, STRICT, moment
from whesl.cli.parameters import option, parameters, required

if TYPE_CHECKING:
    from whesl.lab.predictor_evaluation.evaluation import Evaluation
    from whesl.lab.readers.failures import Loaded

_FORMATS = ("lanl", "fta", "mira", "csv")


@click.command()
@parameters
def predict(
    *,
    failures: Path = required("Failure records, also packed (gzip, bzip2, xz).", "FILE", type=FILE),
    form: str | None = option(None, "Default: told by the first line.", names="--format", choices=_FORMATS),
    nodes: int | None = option(
        None, "How many nodes a plain table's machine has.", "N", least=1, most=1_000_000
    ),
    system: str | None = option(None, "The system of a file of several (LANL, FTA) [all, as one].", "ID"),
    strict: bool = STRICT,
    split: str = required("Fit before it, score after it: YYYY-MM-DD[ hh:mm].", "DATE"),
    predictors: str | None = option(
        None,
        "base, survival, by-node, by-type, frailty, ffp, learned, exponential, weibull, log-normal, "
        "kaplan-meier; none, exact, confidence:A, accuracy:A, aoa:A[:MIX] "
        "[base,survival,frailty,ffp,learned].",
        "NAME,...",
    ),
    horizon: float = option(24.0, "Fails within it? [24]", "HOURS", above=0),
    every: float | None = option(
        None, "Time between two questions about a node [a quarter of the horizon].", "HOURS", above=0
    ),
    tolerance: float = option(
        15.0, "How far a periodic failure may be from its time [15].", "MINUTES", above=0
    ),
    seed: int = SEED,
    out: Path | None = OUT,
    in_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Fit failure predictors to the past of a machine and score them on its future.

    With --out DIR: DIR/summary.json, DIR/scores.md and .csv, figures, DIR/index.html, and each fitted
    predictor as DIR/predictors/NAME.npz, to be read with whesl.prediction.failures.predictor_files.load.
    """
    from whesl.lab.predictor_evaluation import catalogue, report
    from whesl.lab.predictor_evaluation.evaluation import Settings, evaluate
    from whesl.lab.readers.failures import read
    from whesl.lab.results.jobs_parquet_and_summary_json import as_json

    chosen = predictors.split(",") if predictors else catalogue.DEFAULT
    asked = [catalogue.asked(name) for name in dict.fromkeys(chosen)]
    when = moment("--split", split)
    loaded = read(failures, form, nodes=nodes, system=system, strict=strict)
    settings = Settings(
        split=when,
        horizon=horizon * 3600.0,
        every=(every or horizon / 4.0) * 3600.0,
        seed=seed,
        tolerance=tolerance * 60.0,
    )
    progress = shown(quiet=quiet or in_json)
    evaluation = evaluate(loaded.history, asked, settings, progress)
    facts = {
        "failures_file": str(failures),
        "format": loaded.format,
        "system": system,
        "nodes": loaded.history.nodes,
        "lines": loaded.lines,
        "malformed": len(loaded.malformed),
        "malformed_lines": [line for line, _ in loaded.malformed[:100]],
        "elsewhere": loaded.elsewhere,
        "hours_between_failures": report.gaps(loaded.starts),
        "split": split,
        "horizon": settings.horizon,
        "seed": seed,
    }
    summary = facts | report.summary(evaluation)
    if out is not None:
        _write(out, evaluation, summary, failures, split)
    if in_json:
        click.echo(as_json(summary), nl=False)
        return
    _show(loaded, evaluation)


def _write(out: Path, evaluation: Evaluation, summary: dict[str, Any], failures: Path, split: str) -> None:
    from whesl.lab.predictor_evaluation import report
    from whesl.lab.results.report_folder import write_results
    from whesl.prediction.failures.predictor_files import save

    for score in evaluation.scores:
        if score.fitted:
            (out / "predictors").mkdir(parents=True, exist_ok=True)
            save(score.predictor, out / "predictors" / f"{score.asked}.npz")
    facts = [failures.name, f"{summary['nodes']:,} nodes", f"split {split}"]
    page = report.page(evaluation, f"Failures of {failures.name}", facts)
    write_results(out, [report.table(evaluation)], report.figures(evaluation), summary, page)


def _show(loaded: Loaded, evaluation: Evaluation) -> None:
    from whesl.lab.predictor_evaluation import report
    from whesl.lab.results.report_tables import markdown

    for line, why in loaded.malformed[:3]:
        click.echo(f"line {line}: {why}", err=True)
    if loaded.malformed:
        click.echo(
            f"{len(loaded.malformed)} of {loaded.lines} lines cannot be read, and are left out", err=True
        )
    click.echo(
        f"{loaded.history.nodes:,} nodes; {evaluation.questions:,} questions after the split, "
        f"{100 * evaluation.rate:.3g} % with a failure; the past makes expect {100 * evaluation.base:.3g} %\n"
    )
    click.echo(markdown(report.table(evaluation)))
    click.echo(report.verdict(evaluation))
