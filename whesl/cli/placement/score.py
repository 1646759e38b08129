"""``whesl placement score``: how good predictors were on a site's last weeks."""

from __future__ import annotations

from pathlib import Path

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FOLDER, QUIET, SEED
from whesl.cli.parameters import option, parameters
from whesl.cli.placement.site_history_options import LOST, Records, gathered, show


@click.command()
@parameters
def score(
    read: Records,
    *,
    weeks: float | None = option(
        None, "The last N weeks [8, or a quarter of a shorter history].", "N", above=0
    ),
    refits: int = option(4, "Fit anew so often in them [4].", "N", least=1),
    predictors: str | None = option(
        None, "As of whesl lab predict, or prior [all that make sense].", "NAME,..."
    ),
    horizon: float = option(24.0, "Fails within it? [24]", "HOURS", above=0),
    lost: float | None = LOST,
    seed: int = SEED,
    out: Path | None = option(None, "Write the page, the table and the figures.", "DIR", type=FOLDER),
    in_json: bool = option(False, "Print all figures as JSON.", names="--json"),
    quiet: bool = QUIET,
) -> None:
    """Say how good predictors were on this site's last weeks, before anything is switched on.

    They are fitted to what was known before and asked about what came, again and again (rolling origin),
    beside the base rate, a table of hours since a node last failed, and "no node ever fails". The predictor
    that would be used is chosen by what was before these weeks alone, as learn would have chosen it then. The
    verdict on it is positive, not-positive or too-little: by failures, precision, and node-hours withheld and
    saved.
    """
    from whesl.lab.results.jobs_parquet_and_summary_json import as_json
    from whesl.lab.results.report_tables import markdown
    from whesl.placement.site.history import report, rolling, scoring

    found = gathered(read)
    if not in_json:
        show(found)
    asked = tuple(predictors.split(",")) if predictors else ()
    steps = (6 + refits) * len(rolling.names(found.history, found.seen, asked))
    with shown(quiet=quiet or in_json).stage("predictors", steps) as advance:
        done = scoring.score(
            found,
            scoring.weeks(found) if weeks is None else weeks,
            asked=asked,
            horizon=3600.0 * horizon,
            refits=refits,
            seed=seed,
            lost=lost,
            advance=advance,
        )
    table = report.table(done.rolled, done.chosen)
    summary = report.summary(found, done)
    if out is not None:
        from whesl.lab.results.report_folder import write_results

        figures = report.figures(done.rolled, done.chosen)
        write_results(out, [table], figures, summary, report.page(found, done))
    if in_json:
        click.echo(as_json(summary), nl=False)
        return
    click.echo(markdown(table))
    for text in (done.why, report.told(done), *(f"  {line}" for line in report.lines(done))):
        click.echo(text)
    for name, reason in done.rolled.failed.items():
        click.echo(f"{name} could not be fitted: {reason}", err=True)
