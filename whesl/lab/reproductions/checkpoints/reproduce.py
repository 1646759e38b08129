"""Reproduction of the dissertation's chapter 2: ratios of met failures, overheads, and the bound on alpha."""

from __future__ import annotations

import re

from whesl.lab.reproductions.checkpoints import migration_break_even
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Table
from whesl.lab.simulators.checkpoints import prediction_lead_times, studies
from whesl.lab.simulators.checkpoints.evaluate import Summary, reduction, times
from whesl.lab.simulators.checkpoints.machine_and_application_files import Application, Leads, Machine, load
from whesl.lab.simulators.checkpoints.published_values import CALIBRATED, PREDICTED, RATIOS, REDUCTIONS

SOURCE = "the dissertation, chapter 2"
SEED = 20260101
MODELS = ("M1", "M2", "P1", "P2")
LARGEST_MIGRATION_SHARE = 0.948  # derived from the printed lengthening of the interval by 340 %


def calibrated(machine: Machine, applications: dict[str, Application]) -> tuple[float, Leads]:
    """Return the recall and lead times that the rows 0 % and -10 % of Tables 2.2 and 2.4 imply.

    Args:
        machine: the machine.
        applications: the applications by name.
    """
    level = [ratio for change in CALIBRATED for ratio in RATIOS[change]["POP"]]
    recall = round(sum(level) / len(level) / LARGEST_MIGRATION_SHARE, 3)
    points = []
    for change in CALIBRATED:
        for name, ratios in RATIOS[change].items():
            took = times(machine, applications[name])
            waits = (took.all_write, took.migration, took.one_write, took.one_write)
            points += [(wait / (1.0 + change), ratio) for wait, ratio in zip(waits, ratios, strict=True)]
    return recall, prediction_lead_times.calibrate(recall, points)


def bench_of(given: Inputs) -> tuple[studies.Bench, dict[str, Application]]:
    machine, applications = load(None, None)
    bench = studies.Bench(machine, SEED, 100 if given.quick else 1000, given.progress)
    return bench, {application.name: application for application in applications}


@experiment("ckpt-ratios", SOURCE, "Shares of failures met in time, with longer and shorter lead times")
def ratios(given: Inputs) -> Report:
    """Calibrate the lead times on two rows of Tables 2.2 and 2.4, and predict the other three rows."""
    bench, applications = bench_of(given)
    recall, curve = calibrated(bench.machine, applications)
    again = curve == bench.machine.leads and recall == bench.machine.recall
    named = [applications[name] for name in ("CHIMERA", "XGC", "POP")]
    found = studies.lead_changes(bench, named, bench.machine.failures[0], tuple(RATIOS), MODELS)
    rows, errors = [], []
    for change in RATIOS:
        for name, printed in RATIOS[change].items():
            for model, ratio in zip(MODELS, printed, strict=True):
                met, half = found[name, model, change].met
                use = "calibrated" if change in CALIBRATED else "predicted"
                rows.append(
                    (f"{change:+.0%}", name, model, use, ratio, round(met, 3), round(half, 3), met - ratio)
                )
                if change in PREDICTED:
                    errors.append(abs(met - ratio))
    mean, worst = sum(errors) / len(errors), max(errors)
    table = Table(
        "ratios",
        "Share of failures met in time (FT ratio)",
        ("lead times", "application", "model", "row", "printed", "here", "±", "error"),
        rows,
    )
    findings = [
        Finding(
            "calibration",
            "Tables 2.2 and 2.4",
            "recall and lead times of the shipped machine are those that the rows 0 % and -10 % ask for",
            f"recall {recall}",
            f"recall {bench.machine.recall}",
            again,
        ),
        Finding(
            "mean error",
            "Tables 2.2 and 2.4",
            "the other three rows are predicted, mean absolute error of 36 cells",
            "0.03 at most",
            f"{mean:.3f}",
            mean <= 0.03,
        ),
        Finding(
            "largest error",
            "Tables 2.2 and 2.4",
            "the other three rows are predicted, largest error of a cell",
            "0.10 at most",
            f"{worst:.3f}",
            worst <= 0.10,
        ),
    ]
    values = {"recall": recall, "cells": len(errors), "mean_error": mean, "largest_error": worst}
    return Report(findings, [table], [_lead_figure(found)], values)


def _lead_figure(found: dict[tuple[str, str, float], Summary]) -> Figure:
    changes = sorted(RATIOS)
    series = []
    for name in ("CHIMERA", "XGC"):
        for index, model in enumerate(MODELS):
            x = [100 * change for change in changes]
            series.append(
                Series(f"{name} {model}", x, [found[name, model, change].met[0] for change in changes])
            )
            if model in ("M2", "P1"):
                printed = [RATIOS[change][name][index] for change in changes]
                series.append(Series(f"{name} {model}, printed", x, printed, dashed=True))
    return Figure(
        "ratios", "Failures met in time", "change of lead times (%)", "share of failures met", series
    )


@experiment(
    "ckpt-overheads",
    SOURCE,
    "Overheads of five checkpoint models, six applications, three machines' failures",
)
def overheads(given: Inputs) -> Report:
    """Reproduce Figures 2.10, 2.15 and 2.16 under both readings of the failure rate."""
    bench, applications = bench_of(given)
    findings, tables, figures = [], [], []
    values: dict[str, dict[str, list[float]]] = {}
    for whole in (False, True):
        reading = "as it is" if whole else "by nodes"
        for failures in bench.machine.failures:
            found = studies.overheads(bench, list(applications.values()), failures, whole=whole)
            title = f"Overheads, failures of {failures.name}, {reading}"
            name = re.sub(r"\W+", "-", f"overheads {failures.name} {reading}".lower())
            tables.append(studies.overhead_table(found, name, title))
            if not whole:
                figures.append(studies.overhead_figure(found, name, title))
            for model, printed in REDUCTIONS[failures.name].items():
                each = [
                    100 * reduction(found[application, "B"], found[application, model])
                    for application in applications
                ]
                low, high = min(each), max(each)
                values.setdefault(f"{failures.name}, {reading}", {})[model] = [round(low, 1), round(high, 1)]
                findings.append(
                    Finding(
                        f"{model}, {failures.name}, {reading}",
                        "observations 2 and 7",
                        f"{model} reduces the overhead of B under {failures.name}'s failures ({reading})",
                        f"{printed.low:g} to {printed.high:g} %",
                        f"{low:.1f} to {high:.1f} %",
                        abs(low - printed.low) <= 5 and abs(high - printed.high) <= 5,
                        f"{low - printed.low:+.1f} and {high - printed.high:+.1f} points",
                        _why(model),
                    )
                )
    return Report(findings, tables, figures, values)


def _why(model: str) -> str:
    if model in ("P1", "M1"):
        return (
            "it leaves checkpoints as they are, so that at most recomputation's share of B (a half, by "
            "Young's interval) times the share of failures met can be saved; the printed range asks for a "
            "share of 0.60 to 0.64"
        )
    return "within 5 points counts as holding; lead times and the I/O matrix are pictures in the document"


@experiment("ckpt-alpha", SOURCE, "When prioritized checkpoints beat migration: (2.7) and (2.8)")
def alpha(given: Inputs) -> Report:
    """Compare the bound on alpha that follows from (2.7) with the printed bound (2.8)."""
    sigmas = (0.1, 0.3, 0.5, 0.6)
    rows = [
        (
            sigma,
            round(migration_break_even.least_alpha(sigma), 3),
            round(migration_break_even.least_alpha_printed(sigma), 3),
        )
        for sigma in sigmas
    ]
    table = Table("alpha", "Least alpha for p-ckpt to win", ("sigma", "from (2.7)", "(2.8) as printed"), rows)
    apart = max(abs(derived - printed) for _, derived, printed in rows)
    findings = [
        Finding(
            "(2.8)",
            "equations (2.7) and (2.8)",
            "(2.8) is (2.7) with as much recomputation as checkpoints",
            "the same",
            f"up to {apart:.2f} apart for sigma of {sigmas[0]} to {sigmas[-1]}",
            apart < 0.005,
            why="(2.7) gives alpha > (1 - sigma) / (sqrt(1 - sigma) - sigma), for sigma below 0.618",
        ),
        Finding(
            "range",
            "section 2.7",
            "for sigma of 0 to 0.61 the least alpha goes from 1.04 to 1.30",
            "1.04 to 1.30",
            f"{migration_break_even.least_alpha_printed(0):.2f} to "
            f"{migration_break_even.least_alpha_printed(0.61):.2f} as printed, 1.00 to "
            f"{migration_break_even.least_alpha(0.61):.1f} from (2.7)",
            False,
            why="at sigma = 0 both give 1.00",
        ),
    ]
    points = [index / 100 for index in range(60)]
    figure = Figure(
        "alpha",
        "p-ckpt wins above the line",
        "sigma, share of failures that migration avoids",
        "alpha, data of a migration in checkpoints",
        [
            Series("from (2.7)", points, [migration_break_even.least_alpha(sigma) for sigma in points]),
            Series(
                "(2.8) as printed",
                points,
                [migration_break_even.least_alpha_printed(sigma) for sigma in points],
                dashed=True,
            ),
        ],
    )
    values = {"sigma": list(sigmas), "derived": [row[1] for row in rows], "printed": [row[2] for row in rows]}
    return Report(findings, [table], [figure], values)
