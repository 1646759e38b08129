"""``whesl placement learn``: predictors fitted to this site's own history."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FILE, QUIET, SEED
from whesl.cli.parameters import option, parameters
from whesl.cli.placement.site_history_options import LOST, Records, gathered, show
from whesl.model.errors import UsageError


@click.command()
@parameters
def learn(
    read: Records,
    *,
    predictors: str | None = option(
        None, "Those to choose from: as of whesl lab predict, or prior.", "NAME,..."
    ),
    horizon: float = option(24.0, "Fails within it? [24]", "HOURS", above=0),
    lost: float | None = LOST,
    seed: int = SEED,
    out: Path | None = option(None, "The model, for serve, Flux and the lab (.npz).", "FILE", type=FILE),
    in_json: bool = option(False, "Print where the model comes from as JSON.", names="--json"),
    quiet: bool = QUIET,
) -> None:
    """Fit failure predictors to this site's own history, and keep the one that was best on the last part of
    it.

    The verdict of whesl placement score on such a choice is kept in the model, for serve. With too little
    history it says so, and takes the survival model of other machines as a prior. Times are kept in the
    model, so it is made anew, daily for example, as the site goes on.
    """
    import msgspec

    from whesl.placement.site.history import model, model_selection, report, rolling, scoring

    found = gathered(read)
    if not in_json:
        show(found)
    asked = tuple(predictors.split(",")) if predictors else ()
    ahead = 3600.0 * horizon
    scored, unscored = None, ""
    steps = 15 * len(rolling.names(found.history, found.seen, asked))
    with shown(quiet=quiet or in_json).stage("predictors", steps) as advance:
        try:
            scored = scoring.score(
                found, scoring.weeks(found), asked=asked, horizon=ahead, seed=seed, lost=lost, advance=advance
            )
        except UsageError as error:
            unscored = f"The verdict is too little to tell: {error.message}."
        made, choice = model_selection.learn(
            found, time.time(), asked=asked, horizon=ahead, seed=seed, advance=advance, scored=scored
        )
    if out is not None:
        model.save(made, out)
    if in_json:
        click.echo(msgspec.json.encode(made.about).decode())
        return
    click.echo(_told(made, choice))
    click.echo(report.told(scored) if scored else unscored)
    for name, why in (choice.rolled.failed if choice.rolled else {}).items():
        click.echo(f"{name} could not be fitted: {why}", err=True)
    if out is not None:
        click.echo(f"written to {out}")


def _told(made: Any, choice: Any) -> str:
    about = made.about
    now = about.finish
    rows = made.risks(made.names, now, (about.horizon,))
    rows.sort(key=lambda row: -row.probability[0])
    worst = [f"  {row.node}  {row.probability[0]:.3f}" for row in rows[:5]]
    hours = about.horizon / 3600.0
    lines = []
    if about.prior:
        lines.append(f"{about.prior}.")
        lines.append("Take it for what it is: it tells nodes that failed from others, and hardly more.")
    else:
        skill = choice.rolled.scores[choice.name].skill
        lines.append(
            f"{choice.name} was the best of {len(about.scores)} predictors on the last weeks: Brier's score "
            f"{100 * skill:.2g} % below the base rate's"
            + ("." if about.beats_base else ", which is not beyond chance.")
        )
    lines.append(f"Within {hours:g} h of the last record, with the highest probability:")
    return "\n".join([*lines, *worst])
