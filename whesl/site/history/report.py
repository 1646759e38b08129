"""What a site's scores say, for people: the verdict, a table, and a page."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from whesl.lab.prediction import catalogue
from whesl.lab.prediction.report import cell, drawn, scored
from whesl.lab.results.page import Lines, Page, Section
from whesl.lab.results.table_and_figure import Table
from whesl.predict.predictor_base import span
from whesl.site.history import rolling

if TYPE_CHECKING:
    from whesl.lab.results.table_and_figure import Figure
    from whesl.site.history.rolling import Rolled
    from whesl.site.history.site_history import SiteHistory

_METHOD = (
    "At each origin every predictor was fitted to what was known then, and asked each quarter of the horizon "
    "about each node that was up, until the next origin; each answer is from failures and signs before its "
    "question alone. The base rate is the machine's mean rate as the past before the origin makes expect. An "
    "alarm is an answer at or above the threshold with the highest F1 on the questions before the origin. "
    "Precision: alarms that a failure followed within the horizon. Recall: failures that an alarm preceded. "
    "Intervals draw days with replacement (weeks from twelve weeks on), 95 %; with less than ten failures "
    "nothing is said to beat the base rate."
)


def verdict(rolled: Rolled, chosen: str) -> str:
    """Return the finding: whether the predictor that would be used beats the base rate, and no prediction at
    all.

    Args:
        rolled: the scores.
        chosen: the predictor.
    """
    if not rolled.failures:
        return "No node failed in the weeks that were scored: they say nothing about any predictor."
    score = rolled.scores[chosen]
    low, high = (100 * value for value in score.interval)
    interval = f"(95 % interval {low:.2g} to {high:.2g} %)"
    percent = f"{abs(100 * score.skill):.2g} %"
    side = "below" if score.skill > 0 else "above"
    if rolled.failures < rolling.ENOUGH:
        text = (
            f"{rolled.failures} failures in the weeks that were scored are too few to tell whether {chosen} "
            f"beats the base rate: Brier's score is {percent} {side} it {interval}."
        )
    elif score.better:
        text = f"{chosen}: Brier's score is {percent} below the base rate's {interval}."
    elif score.skill > 0:
        text = (
            f"{chosen} does not beat the base rate beyond chance: "
            f"Brier's score is {percent} below it {interval}."
        )
    else:
        text = (
            f"{chosen} does not beat the base rate: Brier's score is {percent} above it {interval}. "
            "Placement by it would be no better than chance; go on observing."
        )
    alarms = score.alarms
    if not alarms.alarms:
        return f"{text} It raised no alarm, as one who says that no node ever fails."
    lead = f", {span(float(np.median(alarms.lead)))} before them (median)" if len(alarms.lead) else ""
    return (
        f"{text} Of its {alarms.alarms:,} alarms {100 * alarms.precision:.0f} % were right, and they "
        f"preceded {100 * alarms.recall:.0f} % of {alarms.failures} failures{lead}; "
        "to say that no node ever fails precedes none."
    )


def table(rolled: Rolled, chosen: str) -> Table:
    """Return one row for each predictor."""
    columns = (
        *("predictor", "Brier", "skill %", "from %", "to %", "AUC", "calibration error"),
        *("precision", "recall", "alarms", "lead time h (median)"),
    )
    rows = []
    for name, one in rolled.scores.items():
        lead = float(np.median(one.alarms.lead)) / 3600 if len(one.alarms.lead) else None
        label = "none (no node ever fails)" if name == rolling.NEVER else name
        label = "base (the mean rate)" if name == catalogue.BASE else label
        rows.append(
            [
                f"{label} *" if name == chosen else label,
                *map(cell, (one.brier, 100 * one.skill, 100 * one.interval[0], 100 * one.interval[1])),
                *map(cell, (one.ranking, one.calibration.error, one.alarms.precision, one.alarms.recall)),
                one.alarms.alarms,
                cell(lead),
            ]
        )
    return Table("scores", "Scores on the last weeks; * is the one that would be used", columns, rows)


def figures(rolled: Rolled, chosen: str) -> list[Figure]:
    """Return calibration and lead times of the predictor that would be used."""
    one = {chosen: rolled.scores[chosen]}
    return drawn(one, one)


def page(found: SiteHistory, rolled: Rolled, chosen: str, why: str) -> Page:
    """Return the page of a site's scores.

    Args:
        found: what was read.
        rolled: the scores.
        chosen: the predictor that would be used.
        why: how it was chosen.
    """
    history = found.history
    score = rolled.scores[chosen]
    read = [f"{name}: {what}" for name, what in found.sources.items()]
    left = [f"left out: {warning}" for warning in found.warnings]
    return Page(
        "WHESL placement: score",
        "Failures of nodes, predicted",
        verdict(rolled, chosen),
        "good" if score.better else "warn",
        [f"{history.nodes:,} nodes", f"{_day(rolled.begin)} to {_day(rolled.finish)}"],
        [
            ("predictor", chosen, "chosen by what was before"),
            ("failures", f"{rolled.failures:,}", "in these weeks"),
            ("questions", f"{rolled.questions:,}", f"{100 * rolled.rate:.2g} % with a failure"),
        ],
        [
            Section("Scores", [table(rolled, chosen), why]),
            Section("Probabilities and lead times", figures(rolled, chosen)),
            Section("What was read", [Lines([*read, *left])]),
            Section("How it was measured", [_METHOD]),
        ],
    )


def summary(found: SiteHistory, rolled: Rolled, chosen: str, why: str) -> dict[str, Any]:
    """Return the figures as JSON has them. Arguments as of ``page``."""
    history = found.history
    return {
        "nodes": history.nodes,
        "begin": history.begin,
        "finish": history.finish,
        "failures_in_all": len(history),
        "sources": found.sources,
        "left_out": found.warnings,
        "scored_from": rolled.begin,
        "scored_to": rolled.finish,
        "questions": rolled.questions,
        "failures": rolled.failures,
        "rate": rolled.rate,
        "base_rate": rolled.base,
        "chosen": chosen,
        "why": why,
        "beats_the_base_rate": rolled.scores[chosen].better if chosen in rolled.scores else False,
        "verdict": verdict(rolled, chosen),
        "could_not_be_fitted": rolled.failed,
        "predictors": {
            name: scored(one) | {"beats_the_base_rate": one.better} for name, one in rolled.scores.items()
        },
    }


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d")
