"""Reports of a site's scores for people: the verdict, a table, and a page."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

from whesl.lab.predictor_evaluation import catalogue
from whesl.lab.predictor_evaluation.report import cell, drawn, scored
from whesl.lab.results.report_figures import Figure
from whesl.lab.results.report_page import Lines, Page, Section
from whesl.lab.results.report_tables import Table
from whesl.placement.site.history import rolling
from whesl.placement.site.history.rolling import Rolled
from whesl.placement.site.history.site_history import SiteHistory
from whesl.placement.site.history.site_score import Scored
from whesl.placement.site.history.usefulness import TOLD, Estimate, Use, Verdict

_HOLDS = {True: "yes", False: "no", None: "too little to tell"}
_METHOD = (
    "At each origin every predictor was fitted to what was known then, and asked each quarter of the horizon"
    " about each node that was up, until the next origin; each answer is from failures and signs before its "
    "question alone. The base rate is the machine's mean rate as the past before the origin makes expect. An"
    " alarm is an answer at or above the threshold with the highest F1 on the questions before the origin, "
    "about a node whose hazard is at least twice the machine's mean at that moment: those that the service "
    "calls at risk. It withholds its node until the next question. A failure is avoided by the share of the "
    "horizon before it in which its node was withheld. Precision: alarms that a failure followed within the "
    "horizon. Recall: failures that an alarm preceded. Intervals, 95 %, are those of the block bootstrap "
    "(Carlstein 1986): days, from twelve weeks on weeks, are drawn with replacement. The conditions of the "
    "verdict were fixed before anything was scored."
)


def told(scored: Scored) -> str:
    """Return the verdict in one sentence, for people."""
    one = scored.score
    word = TOLD[scored.verdict]
    if not scored.rolled.failures:
        return f"The verdict on {scored.chosen} is {word}: no node failed in the weeks that were scored."
    if not one.alarms.alarms:
        return f"The verdict on {scored.chosen} is {word}: it raised no alarm, as if no node ever failed."
    return (
        f"The verdict on {scored.chosen} is {word}: {100 * one.alarms.precision:.2g} % of its "
        f"{one.alarms.alarms:,} alarms were right, and they preceded {100 * one.alarms.recall:.0f} % of "
        f"{one.alarms.failures} failures."
    )


def lines(scored: Scored) -> list[str]:
    """Return the conditions of the verdict with their figures, for people."""
    use, rolled = scored.score.use, scored.rolled
    found = [f"{_HOLDS[one.holds]}: {one.asks}: {one.figures}" for one in scored.criteria]
    found.append(
        f"{100 * rolled.rate:.2g} % of the questions were followed by a failure, "
        f"{100 * rolled.base:.2g} % were expected by the past"
    )
    if math.isfinite(use.false_alarms):
        found.append(
            f"{use.false_alarms:.1f} false alarms for each right one; {use.avoided:.1f} avoided kills; "
            f"the alarms pay where a node's failure costs {use.pays_from:,.0f} node-hours or more"
        )
    taken = "assumed, no job is known: --lost" if scored.assumed else "by the jobs, or as --lost says"
    found.append(f"a node's failure is taken to cost {scored.lost:,.0f} node-hours ({taken})")
    return found


def table(rolled: Rolled, chosen: str) -> Table:
    """Return the table of scores with one row for each predictor; the chosen predictor is marked.

    Args:
        rolled: the scores of each predictor on the last weeks.
        chosen: name of the chosen predictor.
    """
    columns = (
        *("predictor", "Brier", "skill %", "from %", "to %", "over recency %", "in hindsight %", "AUC"),
        *("calibration error", "precision", "recall", "alarms", "false for a right one"),
        *("withheld h", "saved h", "lead time h (median)"),
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
                cell(100 * one.over_recency.value if one.over_recency else None),
                *map(cell, (100 * one.hindsight.value, one.ranking, one.calibration.error)),
                *map(cell, (one.alarms.precision, one.alarms.recall)),
                one.alarms.alarms,
                *map(cell, (_finite(one.use.false_alarms), one.use.withheld, one.use.saved.value)),
                cell(lead),
            ]
        )
    return Table("scores", "Scores on the last weeks; * is the one that would be used", columns, rows)


def figures(rolled: Rolled, chosen: str) -> list[Figure]:
    """Return figures of calibration and lead times of the chosen predictor.

    Args:
        rolled: the scores of each predictor on the last weeks.
        chosen: name of the chosen predictor, one of the scored ones.
    """
    one = {chosen: rolled.scores[chosen]}
    return drawn(one, one)


def page(found: SiteHistory, scored: Scored) -> Page:
    """Return the page of a site's scores.

    Args:
        found: the history from the site's records.
        scored: the scores.
    """
    history, rolled, chosen = found.history, scored.rolled, scored.chosen
    read = [f"{name}: {what}" for name, what in found.sources.items()]
    left = [f"left out: {warning}" for warning in found.warnings]
    return Page(
        "WHESL placement: score",
        "Failures of nodes, predicted",
        told(scored),
        "good" if scored.verdict is Verdict.POSITIVE else "warn",
        [f"{history.nodes:,} nodes", f"{_day(rolled.begin)} to {_day(rolled.finish)}"],
        [
            ("predictor", chosen, "chosen by what was before"),
            ("failures", f"{rolled.failures:,}", "in these weeks"),
            ("questions", f"{rolled.questions:,}", f"{100 * rolled.rate:.2g} % with a failure"),
        ],
        [
            Section("The verdict", [Lines(lines(scored))]),
            Section("Scores", [table(rolled, chosen), scored.why]),
            Section("Probabilities and lead times", figures(rolled, chosen)),
            Section("What was read", [Lines([*read, *left])]),
            Section("How it was measured", [_METHOD]),
        ],
    )


def summary(found: SiteHistory, done: Scored) -> dict[str, Any]:
    """Return the scores' figures, ready for JSON.

    Args:
        found: the history from the site's records.
        done: the scores.
    """
    history, rolled, chosen = found.history, done.rolled, done.chosen
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
        "why": done.why,
        "beats_the_base_rate": done.score.better,
        "verdict": done.verdict.value,
        "told": told(done),
        "criteria": msgspec.to_builtins(done.criteria),
        "node_hours_lost_by_a_failure": done.lost,
        "node_hours_lost_are_assumed": done.assumed,
        "could_not_be_fitted": rolled.failed,
        "predictors": {
            name: scored(one)
            | {"beats_the_base_rate": one.better, "over_recency": _figures(one.over_recency)}
            | {"in_hindsight": _figures(one.hindsight)}
            | _worth(one.use)
            for name, one in rolled.scores.items()
        },
    }


def _worth(use: Use) -> dict[str, Any]:
    return {
        "node_hours_withheld": use.withheld,
        "avoided_kills": use.avoided,
        "false_alarms_for_each_right_one": _finite(use.false_alarms),
        "node_hours_saved": _figures(use.saved),
        "node_hours_gained": _figures(use.gain),
        "precision_interval": _figures(use.precision),
        "precision_over_rate": _figures(use.lift),
        "pays_from_node_hours": _finite(use.pays_from),
    }


def _figures(found: Estimate | None) -> dict[str, float | None] | None:
    return None if found is None else {name: _finite(value) for name, value in found._asdict().items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d")
