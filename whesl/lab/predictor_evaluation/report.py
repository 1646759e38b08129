"""The results of an evaluation of predictors as tables, figures, a page and a summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.lab.predictor_evaluation.evaluation import Evaluation, Judged, Score
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_page import Page, Section
from whesl.lab.results.report_tables import Table
from whesl.prediction.failures import failure_time_distributions
from whesl.prediction.failures.learned import LearnedPredictor
from whesl.prediction.failures.periodic_and_survival_prediction import Filtered
from whesl.prediction.failures.predictor_base import ArrayPredictor
from whesl.prediction.failures.survival import Survival


def verdict(evaluation: Evaluation) -> str:
    """Return in one or two sentences which predictor is the best, or that none beats the base rate."""
    best = evaluation.best
    if best is None:
        return "No fitted predictor beats the base rate beyond chance."
    others = [one.asked for one in evaluation.scores if one.better and one is not best]
    more = f" Better than the base rate besides: {', '.join(others)}." if others else ""
    own, low, high = (100 * value for value in best.hindsight)
    says = "also better" if low > 0 else "worse" if high < 0 else "no better"
    more += (
        f" Against the future's own rate, which nobody knows before, {best.asked} is {says} beyond chance: "
        f"{own:.2g} % ({low:.2g} to {high:.2g} %)."
    )
    return (
        f"{best.asked} is the best: Brier's score is {100 * best.skill:.2g} % below the base rate's "
        f"(95 % interval {100 * best.interval[0]:.2g} to {100 * best.interval[1]:.2g} %).{more}"
    )


def table(evaluation: Evaluation) -> Table:
    """Return the table of scores, one row for each predictor."""
    columns = (
        *(
            "predictor",
            "Brier skill %",
            "from %",
            "to %",
            "in hindsight %",
            "AUC",
            "calibration error",
            "log loss",
        ),
        *("precision", "recall", "AOA", "alarms", "lead time h (median)", "fit s"),
    )
    rows = []
    for one in evaluation.scores:
        lead = one.alarms.lead
        rows.append(
            (
                *(one.asked, 100 * one.skill, 100 * one.interval[0], 100 * one.interval[1]),
                *(100 * one.hindsight[0], one.ranking),
                *(one.calibration.error, one.log_loss, one.alarms.precision, one.alarms.recall),
                *(one.alarms.aoa, one.alarms.alarms),
                *(float(np.median(lead)) / 3600 if len(lead) else None, one.fit_seconds),
            )
        )
    title = "Scores on the future; skill against the base rate of the past, and in hindsight of the future"
    return Table("scores", title, columns, [[cell(value) for value in row] for row in rows])


def figures(evaluation: Evaluation) -> list[Figure]:
    """Return the calibration plot and the distribution of lead times."""
    return drawn(
        {one.asked: one for one in evaluation.scores if one.fitted},
        {one.asked: one for one in evaluation.scores},
    )


def drawn(said: Mapping[str, Judged], warned: Mapping[str, Judged]) -> list[Figure]:
    """Return the calibration plot of the predictors ``said`` and the lead times of those in ``warned``.

    Args:
        said: scores of the predictors of the calibration plot, by label.
        warned: scores of the predictors whose lead times are plotted, by label.
    """
    series = []
    for name, one in said.items():
        some = (one.calibration.said > 0) & (one.calibration.happened > 0)
        if some.any():
            series.append(
                Series(name, one.calibration.said[some].tolist(), one.calibration.happened[some].tolist())
            )
    plots = []
    if series:
        every = [value for one in series for value in one.x if isinstance(value, float)]
        ends = [min(every), max(every)]
        plots.append(
            Figure(
                "calibration",
                "What was said and what happened: on the line, a probability is the share that failed",
                "probability that was said",
                "share that failed",
                [*series, Series("calibrated", ends, ends, dashed=True)],
                log="xy",
            )
        )
    share = np.linspace(0, 1, 51)
    leads = [
        Series(name, (np.quantile(one.alarms.lead, share) / 3600).tolist(), share.tolist())
        for name, one in warned.items()
        if len(one.alarms.lead) > 1
    ]
    if leads:
        plots.append(
            Figure(
                "lead-times",
                "Time from a failure's first alarm to the failure, of failures that were predicted",
                "lead time in hours",
                "share of them with less",
                leads,
            )
        )
    return plots


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """Return the results of an evaluation as a mapping for JSON."""
    best = evaluation.best
    return {
        "questions": evaluation.questions,
        "every": evaluation.every,
        "failures": evaluation.failures,
        "rate": evaluation.rate,
        "base_rate": evaluation.base,
        "best": best.asked if best else None,
        "beat_the_base_rate": [one.asked for one in evaluation.scores if one.better],
        "beat_hindsight": [one.asked for one in evaluation.scores if one.better and one.hindsight[1] > 0],
        "verdict": verdict(evaluation),
        "predictors": {one.asked: _one(one) for one in evaluation.scores},
    }


def page(evaluation: Evaluation, title: str, facts: list[str]) -> Page:
    """Return the page of an evaluation.

    Args:
        evaluation: the results.
        title: the page's heading.
        facts: short texts: the file, the machine, the split.
    """
    best = evaluation.best
    shown = best or max(evaluation.scores, key=lambda one: one.skill)
    return Page(
        "WHESL lab: predict",
        title,
        verdict(evaluation),
        "good" if best else "warn",
        facts,
        [
            ("best", shown.asked if best else "none", "by Brier's score"),
            ("failures", f"{evaluation.failures:,}", "after the split"),
            ("questions", f"{evaluation.questions:,}", f"{100 * evaluation.rate:.2g} % with a failure"),
        ],
        [
            Section("Scores", [table(evaluation)]),
            Section("Probabilities and lead times", figures(evaluation)),
            Section("How it was measured", [_METHOD]),
        ],
    )


_METHOD = (
    "Each predictor was fitted to the failures before the split. Each node that is up is then asked about at "
    "regular moments, from failures before that moment alone. Alarms are answers at or above the threshold "
    "with the highest F1 on the last fifth of the past, for a model fitted to the four before. Intervals "
    "draw weeks with replacement. AOA counts failures with an alarm over failures and false alarms. "
    "Predictors of a given accuracy see the future by definition."
)


def gaps(starts: NDArray[np.float64]) -> dict[str, Any]:
    """Return distributions of the time between failures anywhere in the machine, in hours.

    Args:
        starts: begin of each failure record, in seconds, ascending; records with the same begin are one
            failure.
    """
    between = np.diff(starts)
    if len(np.unique(between[between > 0])) < 2:
        return {}
    shape, scale = failure_time_distributions.fit("weibull", between).parameters
    mean, deviation = failure_time_distributions.fit("log-normal", between).parameters
    return {
        "positive": int((between > 0).sum()),
        "mean": failure_time_distributions.fit("exponential", between).parameters[0] / 3600.0,
        "weibull": {"shape": shape, "scale": scale / 3600.0},
        "log-normal": {"median": float(np.exp(mean)) / 3600.0, "sigma": deviation},
    }


def _fit(predictor: ArrayPredictor) -> dict[str, Any]:
    """Return a predictor's fitted values: parameters in seconds, periods in hours."""
    if isinstance(predictor, Survival):
        whole = predictor.fitted.laws[0]
        return {
            "distribution": whole.name,
            "parameters": whole.parameters if whole.name != "kaplan-meier" else (),
            "distributions": len(predictor.fitted.laws),
            "held_out": predictor.fitted.held_out,
            "frailty_weight": predictor.fitted.frailty,
        }
    if isinstance(predictor, Filtered):
        found = [
            {
                "node": predictor.history.called(node),
                "period": one.period / 3600.0,
                "failures": len(one.events),
                "share": one.share,
            }
            for node, some in sorted(predictor.found.items())
            for one in some
        ]
        return {"periodic": found, "rest": _fit(predictor.rest)}
    if isinstance(predictor, LearnedPredictor):
        return {"trees": len(predictor.model.trees.root)}
    return {}


def scored(score: Judged) -> dict[str, Any]:
    """Return the scores of a predictor's answers as a mapping for JSON."""
    lead = score.alarms.lead
    return {
        "brier": score.brier,
        "skill": score.skill,
        "skill_interval": score.interval,
        "log_loss": score.log_loss,
        "auc": score.ranking,
        "calibration_error": score.calibration.error,
        "calibration": {
            "said": score.calibration.said,
            "happened": score.calibration.happened,
            "questions": score.calibration.questions,
        },
        "precision": score.alarms.precision,
        "recall": score.alarms.recall,
        "alarms": score.alarms.alarms,
        "lead_time": {
            "median": float(np.median(lead)) if len(lead) else None,
            "quartiles": np.quantile(lead, [0.25, 0.75]) if len(lead) else None,
        },
    }


def _one(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "fitted": score.fitted,
        **scored(score),
        "skill_in_hindsight": score.hindsight,
        "threshold": score.threshold,
        "f1": score.alarms.f1,
        "aoa": score.alarms.aoa,
        "fit": _fit(score.predictor),
        "fit_seconds": score.fit_seconds,
        "ask_seconds": score.ask_seconds,
    }


def cell(value: object) -> str | int | float | None:
    """Return a value for a table's cell: numbers with three significant digits, None for NaN."""
    if isinstance(value, float):
        return None if np.isnan(value) else float(f"{round(value, 9):.3g}")
    return value if isinstance(value, str | int) else None
