"""Reproduction of FLAW's Figures 9 to 15 from an evaluation's rows: tables, figures and findings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whesl.lab.reproductions.registry import Finding, Report
from whesl.lab.reproductions.workflow.failure_aware_evaluation import LEVELS, MIXED_LEVELS, Plan, Row
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Cell, Table

_ALL = (0.0, *LEVELS, 1.0)
_HOUR = 3600.0
_MEASURES = (
    ("makespan", "mean makespan of a workflow, hours", _HOUR),
    ("loss", "loss time, node-hours", _HOUR),
    ("reschedulings", "jobs that were rescheduled", 1.0),
    ("aaa", "AAA: each free node counted once in a pass, %", 0.01),
    ("aaa_asked", "AAA: each question of the policy, %", 0.01),
)


class _Rows:
    """An evaluation's rows; means are taken over each window first, to give all windows equal weight."""

    def __init__(self, rows: Sequence[Row], plan: Plan) -> None:
        self._plan = plan
        sums: dict[tuple[str, int, float, int], list[Row]] = {}
        for row in rows:
            sums.setdefault((row.part, row.concurrent, row.aoa, row.window), []).append(row)
        self._groups = sums

    def by_window(self, part: str, concurrent: int, aoa: float, measure: str) -> NDArray[np.float64]:
        """Return the mean of a measure in each window, shape (windows,).

        Args:
            part: the part of the rows, ``levels`` for example.
            concurrent: number of workflows that ran at once.
            aoa: accuracy of the predictions, from 0 to 1.
            measure: name of a field of ``Row``.
        """
        return np.array(
            [
                np.nanmean([getattr(row, measure) for row in self._groups[part, concurrent, aoa, window]])
                for window in range(self._plan.windows)
            ]
        )

    def mean(self, part: str, concurrent: int, aoa: float, measure: str) -> float:
        """Return the mean of a measure over all windows.

        Args:
            part: the part of the rows, ``levels`` for example.
            concurrent: number of workflows that ran at once.
            aoa: accuracy of the predictions, from 0 to 1.
            measure: name of a field of ``Row``.
        """
        return float(self.by_window(part, concurrent, aoa, measure).mean())

    def against(self, aoa: float, measure: str) -> tuple[float, float]:
        """Return the saving of ``reliable`` against FLAW in per cent, and the half-width of its interval.

        Args:
            aoa: accuracy of the predictions, from 0 to 1.
            measure: name of a field of ``Row``.
        """
        most = max(self._plan.concurrent)
        return _less(
            self.by_window("levels", most, aoa, measure), self.by_window("reliable", most, aoa, measure)
        )

    def saved(self, part: str, concurrent: int, aoa: float, measure: str) -> tuple[float, float]:
        """Return the fall of a measure from AOA 0 to ``aoa`` in per cent, and the half-width of its interval.

        The 95 % interval comes from a bootstrap over windows with 2,000 samples.

        Args:
            part: the part of the rows, ``levels`` for example.
            concurrent: number of workflows that ran at once.
            aoa: accuracy of the predictions, from 0 to 1.
            measure: name of a field of ``Row``.
        """
        return _less(
            self.by_window(part, concurrent, 0.0, measure), self.by_window(part, concurrent, aoa, measure)
        )


def _less(base: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """Return by how many per cent sum(other) is below sum(base), and the half-width of its 95 % interval."""
    if not base.sum():
        return 0.0, 0.0
    generator = np.random.default_rng(0)
    chosen = generator.integers(0, len(base), (2000, len(base)))
    below = base[chosen].sum(axis=1)
    ratio = 1.0 - other[chosen].sum(axis=1)[below > 0] / below[below > 0]
    low, high = np.percentile(100 * ratio, [2.5, 97.5])
    return float(100 * (1.0 - other.sum() / base.sum())), float(high - low) / 2


def report(rows: Sequence[Row], plan: Plan, failures: str) -> Report:
    """Return tables, figures and findings.

    Args:
        rows: the rows of all windows.
        plan: the size of the evaluation.
        failures: the source of the failures, in a few words.
    """
    found = _Rows(rows, plan)
    most = max(plan.concurrent)
    findings = [
        *_against_fifo(found, plan),
        *_falling(found, plan),
        _workload(found, plan),
        *_mixes(rows),
        *_effectiveness(found, plan),
        *_reliable(found, plan),
    ]
    values = {
        "runs": len(rows),
        "failures": failures,
        "concurrent": most,
        "makespan_hours": {str(aoa): found.mean("levels", most, aoa, "makespan") / _HOUR for aoa in _ALL},
        "loss_hours": {str(aoa): found.mean("levels", most, aoa, "loss") / _HOUR for aoa in _ALL},
        "reschedulings": {str(aoa): found.mean("levels", most, aoa, "reschedulings") for aoa in _ALL},
        "aaa": {str(aoa): found.mean("levels", most, aoa, "aaa") for aoa in _ALL},
    }
    return Report(findings, _tables(found, plan), _figures(found, rows, plan), values)


def _tables(found: _Rows, plan: Plan) -> list[Table]:
    tables = []
    for measure, title, unit in _MEASURES:
        table: list[tuple[Cell, ...]] = [
            (concurrent, *(found.mean("levels", concurrent, aoa, measure) / unit for aoa in _ALL))
            for concurrent in plan.concurrent
        ]
        columns = ("workflows at once", *(f"AOA {aoa:.0%}" for aoa in _ALL))
        tables.append(Table(measure.replace("_", "-"), f"FLAW, {title}", columns, table))
    most = max(plan.concurrent)
    orders: list[tuple[Cell, ...]] = [
        (name, *(found.mean(part, most, aoa, "makespan") / _HOUR for aoa in _ALL))
        for part, name in _ORDERS.items()
    ]
    columns = ("order of the ready jobs", *(f"AOA {aoa:.0%}" for aoa in _ALL))
    title = f"Mean makespan in hours, {most} workflows at once, by the order of the ready jobs"
    reliable: list[tuple[Cell, ...]] = [
        (f"{name}, {title}", *(found.mean(part, most, aoa, measure) / unit for aoa in _ALL))
        for measure, title, unit in _MEASURES[:3]
        for part, name in (("levels", "FLAW"), ("reliable", "reliable"))
    ]
    measures = ("policy and measure", *columns[1:])
    return [
        *tables,
        Table("orders", title, columns, orders),
        Table("reliable", f"Our own beside FLAW, {most} workflows at once", measures, reliable),
    ]


_ORDERS = {
    "levels": "descending rank (FLAW's Figure 3)",
    "ascending": "ascending rank (RANK_HYBD as retold)",
    "fifo": "arrival (FIFO)",
    "reliable": "descending rank (reliable)",
}


def _figures(found: _Rows, rows: Sequence[Row], plan: Plan) -> list[Figure]:
    per_cent = [100 * aoa for aoa in _ALL]
    numbers = {"makespan": "10", "loss": "11", "reschedulings": "12", "aaa": "15"}
    figures = [
        Figure(
            f"figure-{numbers[measure]}-{measure}",
            f"{title[0].upper()}{title[1:]}, against the accuracy of the predictions",
            "AOA, %",
            title,
            [
                Series(
                    f"{concurrent} at once",
                    per_cent,
                    [found.mean("levels", concurrent, aoa, measure) / unit for aoa in _ALL],
                )
                for concurrent in plan.concurrent
            ],
        )
        for measure, title, unit in _MEASURES
        if measure in numbers
    ]
    most = max(plan.concurrent)
    orders = [
        Series(name, per_cent, [found.mean(part, most, aoa, "makespan") / _HOUR for aoa in _ALL])
        for part, name in _ORDERS.items()
    ]
    figures.append(
        Figure(
            "figure-09-orders",
            f"The order of the ready jobs decides more than predictions do ({most} workflows at once)",
            "AOA, %",
            "mean makespan of a workflow, hours",
            orders,
        )
    )
    saved = []
    for aoa in (0.5, 0.7, 0.9, 1.0):
        pairs = [found.saved("levels", concurrent, aoa, "makespan") for concurrent in plan.concurrent]
        middle = [pair[0] for pair in pairs]
        low = [pair[0] - pair[1] for pair in pairs]
        high = [pair[0] + pair[1] for pair in pairs]
        saved.append(Series(f"AOA {aoa:.0%}", list(plan.concurrent), middle, low, high))
    figures.append(
        Figure(
            "figure-13-workload",
            "Makespan saved against no prediction, with 95 % intervals over the windows",
            "workflows at once",
            "makespan saved, %",
            saved,
        )
    )
    points = []
    for level in MIXED_LEVELS:
        mixes, relative = _relative(rows, level)
        points.append(Series(f"AOA {level:.0%}", mixes.tolist(), relative.tolist()))
    figures.append(
        Figure(
            "figure-14-mix",
            f"Makespan against the mix of wrong predictions ({most} workflows at once)",
            "false positives' share of wrong predictions",
            "mean makespan over the window's mean",
            points,
            kind="points",
        )
    )
    return figures


def _relative(rows: Sequence[Row], level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each trace's mix, and each trace's makespan divided by the mean makespan of its window."""
    mine = [row for row in rows if row.part == "mixes" and row.aoa == level]
    mix = np.array([row.mix for row in mine])
    makespan = np.array([row.makespan for row in mine])
    number = np.array([row.window for row in mine])
    means = np.bincount(number, makespan) / np.bincount(number)
    return mix, makespan / means[number]


def _against_fifo(found: _Rows, plan: Plan) -> list[Finding]:
    most = max(plan.concurrent)
    findings = []
    for part in ("levels", "ascending"):
        ratios = [
            100 * (1 - found.mean(part, most, aoa, "makespan") / found.mean("fifo", most, aoa, "makespan"))
            for aoa in LEVELS
        ]
        holds = min(ratios) > 0
        findings.append(
            Finding(
                f"FLAW against FIFO, {_ORDERS[part]}",
                "FLAW, Fig. 9",
                f"FLAW ends {most} workflows earlier than failure-aware FIFO, jobs by {_ORDERS[part]}",
                "shorter (no figure printed)",
                f"{min(ratios):+.1f} to {max(ratios):+.1f} % shorter at AOA 50 to 90 %",
                holds,
                "" if holds else f"{-max(ratios):.1f} to {-min(ratios):.1f} % longer",
                ""
                if holds
                else "the highest rank belongs to the workflow that is furthest from its end, so that all"
                " workflows end late together; the mean makespan wants the opposite order",
            )
        )
    return findings


def _falling(found: _Rows, plan: Plan) -> list[Finding]:
    findings = []
    printed = {"makespan": ("Fig. 10", "makespan"), "loss": ("Fig. 11", "loss time")}
    printed["reschedulings"] = ("Fig. 12", "number of reschedulings")
    most = max(plan.concurrent)
    for measure, (figure, name) in printed.items():
        levels = [found.mean("levels", most, aoa, measure) for aoa in _ALL]
        rank = np.corrcoef(np.argsort(np.argsort(levels)), np.arange(len(levels)))[0, 1]
        half, width = found.saved("levels", most, 0.5, measure)
        exact, exact_width = found.saved("levels", most, 1.0, measure)
        holds = bool(exact > exact_width and rank < -0.5)
        findings.append(
            Finding(
                f"{name} against AOA",
                f"FLAW, {figure}",
                f"the {name} falls as AOA rises ({most} workflows at once)",
                "falls (no figure printed)",
                f"{half:.1f} (+- {width:.1f}) % less at AOA 50 %,"
                f" {exact:.1f} (+- {exact_width:.1f}) % at 100 %; rank correlation {rank:.2f}",
                holds,
                "" if holds else "the interval holds 0, or the fall is not steady",
                ""
                if holds
                else "failures are rare beside the jobs: levels differ by less than traces of one level do",
            )
        )
    return findings


def _workload(found: _Rows, plan: Plan) -> Finding:
    per_cent = [found.saved("levels", concurrent, 1.0, "makespan") for concurrent in plan.concurrent]
    values = [value for value, _ in per_cent]
    slope = float(np.polyfit(list(plan.concurrent), values, 1)[0])
    absolute = [
        (found.mean("levels", count, 0.0, "makespan") - found.mean("levels", count, 1.0, "makespan")) / _HOUR
        for count in plan.concurrent
    ]
    shown = ", ".join(f"{value:.2f}" for value in values)
    hours = ", ".join(f"{value:.1f}" for value in absolute)
    holds = bool(slope > 0 and values[-1] > per_cent[-1][1])
    return Finding(
        "the gain grows with the load",
        "FLAW, Figs 10 and 13",
        "the advantage of prediction increases with the number of workflows",
        "increases (no figure printed)",
        f"makespan saved by exact predictions with {', '.join(map(str, plan.concurrent))} workflows:"
        f" {shown} % ({hours} hours)",
        holds,
        "" if holds else f"{slope:+.3f} % for each workflow more",
        ""
        if holds
        else "in hours it changes little, and the makespan grows: with more workflows there is other work for"
        " the nodes while a killed job waits",
    )


def _mixes(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for level in MIXED_LEVELS:
        mix, relative = _relative(rows, level)
        correlation = float(np.corrcoef(mix, relative)[0, 1]) if len(mix) > 2 else 0.0
        # Least significant correlation, two-sided at 5 %, by R. A. Fisher's transform.
        limit = float(np.tanh(1.96 / np.sqrt(max(1, len(mix) - 3))))
        findings.append(
            Finding(
                f"no correlation with the mix, AOA {level:.0%}",
                "FLAW, Fig. 14",
                "the makespan does not correlate with Fp / (Fp + Fn)",
                "no correlation",
                f"r = {correlation:.2f} over {len(mix)} traces ({limit:.2f} would be significant)",
                abs(correlation) <= limit,
                "" if abs(correlation) <= limit else f"r = {correlation:.2f}",
                ""
                if abs(correlation) <= limit
                else "the mix decides how many failures are foreseen (all of them at mix 1) and how many"
                " healthy nodes are left idle",
            )
        )
    return findings


def _effectiveness(found: _Rows, plan: Plan) -> list[Finding]:
    most = max(plan.concurrent)
    half = [100 * found.mean("levels", count, 0.5, "aaa") for count in plan.concurrent]
    asked = [100 * found.mean("levels", count, 0.5, "aaa_asked") for count in plan.concurrent]
    blind = 100 * found.mean("levels", most, 0.0, "aaa")
    levels = [100 * found.mean("levels", most, aoa, "aaa") for aoa in (*LEVELS, 1.0)]
    return [
        Finding(
            "AAA at AOA 50 %",
            "FLAW, Fig. 15",
            "AAA is about 96 % at AOA 50 %",
            "96 %",
            f"{min(half):.1f} to {max(half):.1f} % over the loads",
            min(half) >= 94 and max(half) <= 100,
            f"{min(half) - 96:+.1f} to {max(half) - 96:+.1f} points",
            "each free node counts once in a pass; of the questions that the policy asks itself"
            f" {min(asked):.0f} to {max(asked):.0f} % are answered right: a node that is said to fail is"
            " asked about again for each job that waits",
        ),
        Finding(
            "AAA without prediction",
            "FLAW, Fig. 15",
            "a failure-blind scheduler comes close to an AAA of 50 % under high load",
            "near 50 %",
            f"{blind:.1f} % with {most} workflows",
            blind < 60,
            f"{blind - 50:+.1f} points",
            "the answer 'will not fail' is wrong only where the node fails during the job; with 32 nodes that"
            " fail about 71 times in two months this happens to 1 or 2 jobs in 100, whatever the load",
        ),
        Finding(
            "AAA rises with AOA",
            "FLAW, Fig. 15",
            "AAA increases steadily as AOA improves",
            "rises",
            ", ".join(f"{value:.1f}" for value in levels) + " % at AOA 50, 60, 70, 80, 90, 100 %",
            bool(np.all(np.diff(levels) > -0.1)),
        ),
    ]


def _reliable(found: _Rows, plan: Plan) -> list[Finding]:
    most = max(plan.concurrent)
    findings = []
    for measure, title, _ in _MEASURES[:3]:
        pairs = {aoa: found.against(aoa, measure) for aoa in (*LEVELS, 1.0)}
        shown = ", ".join(f"{value:.1f} (+- {width:.1f})" for value, width in pairs.values())
        wins = all(value > width for value, width in pairs.values())
        worst = min(value - width for value, width in pairs.values())
        findings.append(
            Finding(
                f"reliable against FLAW, {measure}",
                "our own policy on FLAW's measures",
                f"{title.split(',')[0]}: reliable below FLAW at each accuracy ({most} workflows at once)",
                "-",
                f"{shown} % less at AOA 50, 60, 70, 80, 90, 100 %",
                wins,
                "" if wins else f"the lower end of an interval is {worst:.1f} %",
                "it also asks about the nodes that a task reads from; a short task it starts knowingly on a"
                " node that will fail, where to wait costs more than is lost",
            )
        )
    return findings
