"""``whesl placement score``: how good predictors were on a site's last weeks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FOLDER, quiet_option, seed_option
from whesl.cli.placement.site_history_options import gathered, record_options, show
from whesl.model.errors import UsageError

_LEAST = 2.0  # weeks of history of which some can be scored
_WEEK = 7 * 86400.0


@click.command()
@record_options
@click.option(
    "--weeks", type=click.FloatRange(0, min_open=True), default=8.0, metavar="N", help="The last N weeks [8]."
)
@click.option(
    "--refits", type=click.IntRange(1), default=4, metavar="N", help="Fit anew so often in them [4]."
)
@click.option(
    "--predictors", metavar="NAME,...", help="As of whesl lab predict, or prior [all that make sense]."
)
@click.option(
    "--horizon",
    type=click.FloatRange(0, min_open=True),
    default=24.0,
    metavar="HOURS",
    help="Fails within it? [24]",
)
@seed_option()
@click.option("--out", type=FOLDER, metavar="DIR", help="Write the page, the table and the figures.")
@click.option("--json", "in_json", is_flag=True, help="Print all figures as JSON.")
@quiet_option
def score(
    weeks: float,
    refits: int,
    predictors: str | None,
    horizon: float,
    seed: int,
    out: Path | None,
    in_json: bool,
    quiet: bool,
    **read: Any,
) -> None:
    """Say how good predictors were on this site's last weeks, before anything is switched on.

    They are fitted to what was known before and asked about what came, again and again (rolling origin),
    beside the base rate and beside "no node ever fails". The predictor that would be used is chosen by what
    was before these weeks alone, as learn would have chosen it then.
    """
    from whesl.lab.results.result_writers import as_json, markdown
    from whesl.site.history import model_selection, report, rolling

    found = gathered(**read)
    history = found.history
    if not in_json:
        show(found)
    length = (history.finish - history.begin) / _WEEK
    if weeks * (1 + 1 / refits) >= length:
        enough = length >= _LEAST
        raise UsageError(
            f"{length:.1f} weeks of history leave nothing before the last {weeks:g} to learn from",
            hint=f"try --weeks {length / 4:.1f}" if enough else "too little to score: go on observing",
        )
    plan = rolling.plan(history, weeks, horizon=3600.0 * horizon, steps=refits, seed=seed)
    asked = tuple(predictors.split(",")) if predictors else ()
    before = history.until(plan.origins[1])
    tried = rolling.names(before, found.seen, asked)
    with shown(quiet=quiet or in_json).stage("predictors", (6 + refits) * len(tried)) as advance:
        choice = model_selection.choose(
            before, found.seen, asked=asked, horizon=plan.horizon, seed=seed, advance=advance
        )
        every = dict.fromkeys((rolling.NEVER, "base", *tried, choice.name))
        rolled = rolling.roll(history, found.seen, tuple(every), plan, advance)
    if not rolled.questions:
        raise UsageError("no node was up and in service for a whole horizon in these weeks")
    chosen = choice.name if choice.name in rolled.scores else "base"
    why = f"{chosen} is what learn would have taken before these weeks"
    why += f": {choice.prior}." if choice.prior else ", as the best on the part of the history before them."
    summary = report.summary(found, rolled, chosen, why)
    if out is not None:
        _write(
            out,
            report.page(found, rolled, chosen, why),
            report.table(rolled, chosen),
            report.figures(rolled, chosen),
            summary,
        )
    if in_json:
        click.echo(as_json(summary), nl=False)
        return
    click.echo(markdown(report.table(rolled, chosen)))
    click.echo(why)
    click.echo(report.verdict(rolled, chosen))
    for name, reason in rolled.failed.items():
        click.echo(f"{name} could not be fitted: {reason}", err=True)


def _write(out: Path, page: Any, table: Any, figures: Any, summary: dict[str, Any]) -> None:
    from whesl.lab.results.figures import write_figure
    from whesl.lab.results.page import write_page
    from whesl.lab.results.result_writers import write_summary, write_table

    write_table(out, table)
    for figure in figures:
        write_figure(out, figure)
    write_page(out / "index.html", page)
    write_summary(out, summary)
