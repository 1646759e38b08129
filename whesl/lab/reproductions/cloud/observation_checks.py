"""Comparison of the document's observations 1 to 8 and Table 3.4 with the rows of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.lab.reproductions.registry import Finding
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Cell, Table
from whesl.lab.simulators.cloud.evaluate import ADAPTIVE, BICER, CLOUD, PARSL, WITHOUT, Row

SOURCE = "HPC+Cloud, section 3.5.2"
NAMES = ("OAI", "RNASEQ")
_LOGS = "Theta's and Curie's logs, or a generated one, in place of Lassen's; run times are stated, not traced"
# Printed quartiles (Q1, Q3) of the completion in per cent, for OAI and RNASEQ.
COMPLETION = {
    ADAPTIVE: ((97.79, 99.99), (94.44, 99.99)),
    BICER: ((72.1, 93.6), (36.01, 77.77)),
    PARSL: ((0.0, 100.0), (0.0, 0.0)),
    "without preloading": ((93.27, 99.97), (85.17, 99.28)),
    "without rebalancing": ((89.11, 97.15), (84.11, 97.3)),
    "without backup": ((97.18, 99.99), (91.32, 99.9)),
}
DELAYS = {ADAPTIVE: (0.0, 0.12), BICER: (0.23, 0.99), PARSL: (0.08, 0.40)}
ERROR_MEAN, ERROR = (14.75, 7.11), ((-8.22, 30.38), (-6.69, 44.21))
SAVINGS = {ADAPTIVE: (23.96, 28.59), BICER: (16.82, 26.5)}
BACKUP_Q3, BACKUP_LIFE, BACKUP_TASKS = (4.0, 14.0), (0.4, 0.5), (2.7, 3.26)
BENCHMARK_MEAN, BENCHMARK = (3.24, 3.13), ((0.26, 1.48), (0.25, 1.45))
# Largest difference between a measured and a printed quartile that agree, in percentage points.
_NEAR = 5.0


class Rows:
    """The rows of an evaluation, grouped by workflow and scheduler.

    Args:
        rows: all rows of the evaluation.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            self._rows.setdefault((row.workflow, row.scheduler), []).append(row)
        self.names = [name for name in NAMES if any(key[0] == name for key in self._rows)]

    def of(self, workflow: str, scheduler: str) -> list[Row]:
        """Return the rows of one workflow under one scheduler.

        Args:
            workflow: the workflow's name.
            scheduler: the scheduler's name.
        """
        return self._rows.get((workflow, scheduler), [])

    def values(self, workflow: str, scheduler: str, value: Callable[[Row], float | None]) -> NDArray[Any]:
        """Return a value of each row, without the rows that lack the value.

        Args:
            workflow: the workflow's name.
            scheduler: the scheduler's name.
            value: returns the value of a row, or None if the row lacks the value.
        """
        found = [value(row) for row in self.of(workflow, scheduler)]
        return np.array([one for one in found if one is not None], dtype=np.float64)

    def completion(self, workflow: str, scheduler: str) -> NDArray[Any]:
        """Return the completion of every stage of every run, in per cent.

        Args:
            workflow: the workflow's name.
            scheduler: the scheduler's name.
        """
        return 100 * np.array([share for row in self.of(workflow, scheduler) for share in row.completion])

    def delays(self, scheduler: str) -> NDArray[Any]:
        """Return (hours of delay, nodes) of the production jobs due during each run, shape (jobs, 2)."""
        found = [late for name in self.names for row in self.of(name, scheduler) for late in row.delays]
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def savings(self, workflow: str, scheduler: str) -> NDArray[Any]:
        """Return each run's saving in per cent of the cost of the same case in the cloud alone.

        Args:
            workflow: the workflow's name.
            scheduler: the scheduler's name.
        """
        pairs = zip(self.of(workflow, scheduler), self.of(workflow, CLOUD), strict=True)
        return np.array([100 * (1 - row.cost / alone.cost) for row, alone in pairs if alone.cost > 0])


def quartiles(values: NDArray[Any]) -> tuple[float, float]:
    """Return the quartiles (Q1, Q3); nan for no values."""
    if not len(values):
        return float("nan"), float("nan")
    return float(np.quantile(values, 0.25)), float(np.quantile(values, 0.75))


def shown(pair: tuple[float, float], unit: str = "%") -> str:
    """Return quartiles as readable text.

    Args:
        pair: the quartiles (Q1, Q3).
        unit: the unit.
    """
    return f"({pair[0]:.2f}, {pair[1]:.2f}) {unit}"


def findings(rows: Rows) -> list[Finding]:
    """Return one finding for each observation."""
    found = _completion(rows)
    found += _delays(rows)
    for number, name in enumerate(NAMES):
        if name in rows.names:
            found += _costs(rows, name, number)
            found += _ablation(rows, name, number)
    return found


def _finding(
    name: str, statement: str, printed: str, measured: str, holds: bool, difference: str = ""
) -> Finding:
    return Finding(name, SOURCE, statement, printed, measured, holds, difference, _LOGS)


def _completion(rows: Rows) -> list[Finding]:
    found = []
    for number, name in enumerate(NAMES):
        if name not in rows.names:
            continue
        means = {who: float(rows.completion(name, who).mean()) for who in (ADAPTIVE, BICER, PARSL)}
        for who in (ADAPTIVE, BICER, PARSL):
            printed, here = COMPLETION[who][number], quartiles(rows.completion(name, who))
            holds = abs(here[0] - printed[0]) <= _NEAR and abs(here[1] - printed[1]) <= _NEAR
            difference = f"{here[0] - printed[0]:+.1f}, {here[1] - printed[1]:+.1f} points"
            statement = f"Observation 1: completion of {name} by {who}, (Q1, Q3) within {_NEAR:.0f} points"
            found.append(
                _finding(
                    f"1-{name}-{who}",
                    statement,
                    shown(printed),
                    f"{shown(here)}, mean {means[who]:.2f} %",
                    holds,
                    difference,
                )
            )
        order = means[ADAPTIVE] > means[BICER] > means[PARSL]
        said = ", ".join(f"{who} {mean:.1f} %" for who, mean in means.items())
        statement = f"Observation 1: {name} completes most with Pred+Adap, then Bicer, then Parsl-HPC"
        found.append(_finding(f"1-{name}-order", statement, "in this order", said, order))
    return found


def _delays(rows: Rows) -> list[Finding]:
    found, means = [], {}
    for who, printed in DELAYS.items():
        late = rows.delays(who)
        here = quartiles(late[:, 0])
        means[who] = float(late[:, 0].mean()) if len(late) else float("nan")
        holds = here[0] >= printed[0] - 0.25 and here[1] <= printed[1] + 0.25
        statement = f"Observation 2: production jobs start later under {who}, (Q1, Q3) within 0.25 h"
        found.append(
            _finding(
                f"2-{who}",
                statement,
                shown(printed, "h"),
                f"{shown(here, 'h')}, mean {means[who]:.3f} h",
                holds,
                f"{here[1] - printed[1]:+.2f} h at Q3",
            )
        )
    least = means[ADAPTIVE] <= means[PARSL] <= means[BICER]
    said = ", ".join(f"{who} {mean:.3f} h" for who, mean in means.items())
    statement = "Observation 2: Pred+Adap delays least, then Parsl-HPC, then Bicer (means)"
    found.append(_finding("2-order", statement, "in this order", said, least))
    late = rows.delays(ADAPTIVE)
    nodes = late[:, 1].max() if len(late) else 1.0
    small, large = late[late[:, 1] < 0.01 * nodes, 0], late[late[:, 1] >= 0.08 * nodes, 0]
    grows = bool(len(small) and len(large) and large.mean() > small.mean())
    said = f"small {small.mean() if len(small) else 0:.3f} h, large {large.mean() if len(large) else 0:.3f} h"
    statement = "Observation 2: the delay grows with the size of the job (means under Pred+Adap)"
    found.append(_finding("2-size", statement, "grows", said, grows))
    return found


def _costs(rows: Rows, name: str, number: int) -> list[Finding]:
    error = rows.values(name, ADAPTIVE, lambda row: 100 * (row.cost - row.predicted) / row.cost)
    mean = float(error.mean())
    saved, bicer = rows.savings(name, ADAPTIVE), rows.savings(name, BICER)
    deadlines = np.array([row.deadline for row in rows.of(name, ADAPTIVE)])
    short, long = saved[deadlines == deadlines.min()].mean(), saved[deadlines == deadlines.max()].mean()
    backup = rows.values(name, ADAPTIVE, lambda row: 100 * row.backup / row.cost)
    inputs = np.array([row.inputs for row in rows.of(name, ADAPTIVE)])
    few, many = (backup[inputs < np.median(inputs)].mean(), backup[inputs >= np.median(inputs)].mean())
    life = rows.values(name, ADAPTIVE, lambda row: row.backup_hours)
    done = 100 * rows.values(name, ADAPTIVE, lambda row: row.backup_tasks)
    share = rows.values(name, ADAPTIVE, lambda row: 100 * row.benchmark / row.cost)
    printed = ERROR_MEAN[number]
    return [
        _finding(
            f"3-{name}",
            f"Observation 3: the cost of {name} is underestimated in the mean, by twice as printed at most",
            f"mean {printed} %, {shown(ERROR[number])}",
            f"mean {mean:.2f} %, {shown(quartiles(error))}",
            0 < mean <= 2 * printed,
            f"{mean - printed:+.2f} points",
        ),
        _finding(
            f"4-{name}",
            f"Observation 4: {name} is cheaper than in the cloud alone in more than 75 % of the runs",
            f"mean {SAVINGS[ADAPTIVE][number]} %",
            f"mean {saved.mean():.2f} %, {100 * (saved > 0).mean():.0f} % of the runs above 0",
            bool((saved > 0).mean() > 0.75),
            f"{saved.mean() - SAVINGS[ADAPTIVE][number]:+.2f} points",
        ),
        _finding(
            f"4-{name}-bicer",
            f"Observation 4: {name} saves more with Pred+Adap than with Bicer",
            f"{SAVINGS[ADAPTIVE][number]} % and {SAVINGS[BICER][number]} %",
            f"{saved.mean():.2f} % and {bicer.mean():.2f} %; Bicer leaves more tasks undone",
            bool(saved.mean() > bicer.mean()),
        ),
        _finding(
            f"4-{name}-deadline",
            f"Observation 4: savings of {name} grow with the deadline",
            "grow",
            f"{short:.1f} % at {deadlines.min()} h, {long:.1f} % at {deadlines.max()} h",
            bool(long > short),
        ),
        _finding(
            f"5-{name}",
            f"Observation 5: the backup of {name} costs at most the printed share in 75 % of the runs",
            f"0 to {BACKUP_Q3[number]:.0f} %, mean of both 10.5 %",
            f"Q3 {quartiles(backup)[1]:.2f} %, mean {backup.mean():.2f} %",
            quartiles(backup)[1] <= BACKUP_Q3[number],
            f"{quartiles(backup)[1] - BACKUP_Q3[number]:+.2f} points",
        ),
        _finding(
            f"5-{name}-inputs",
            f"Observation 5: the backup's share of {name} falls with the inputs",
            "falls",
            f"{few:.2f} % for the smaller half, {many:.2f} % for the larger",
            bool(many < few),
        ),
        _finding(
            f"7-{name}",
            f"Observation 7: a backup instance of {name} lives less than an hour and does few tasks",
            f"{BACKUP_LIFE[number]} h, {BACKUP_TASKS[number]} % of the tasks",
            f"{life.mean() if len(life) else 0:.2f} h, {done.mean():.2f} % of the tasks",
            bool((not len(life) or life.mean() < 2 * BACKUP_LIFE[number]) and done.mean() < 10),
        ),
        _finding(
            f"8-{name}",
            f"Observation 8: the benchmark of {name} costs little",
            f"mean {BENCHMARK_MEAN[number]} %, {shown(BENCHMARK[number])}",
            f"mean {share.mean():.2f} %, {shown(quartiles(share))}",
            bool(share.mean() <= 2 * BENCHMARK_MEAN[number]),
            f"{share.mean() - BENCHMARK_MEAN[number]:+.2f} points",
        ),
    ]


def _ablation(rows: Rows, name: str, number: int) -> list[Finding]:
    found = []
    whole = rows.completion(name, ADAPTIVE)
    for who in WITHOUT:
        here = rows.completion(name, who)
        if not len(here):
            continue
        printed = COMPLETION[who][number]
        fall = float(whole.mean() - here.mean())
        found.append(
            _finding(
                f"6-{name}-{who}",
                f"Observation 6, Table 3.4: {name} completes less {who}",
                f"{shown(printed)} against {shown(COMPLETION[ADAPTIVE][number])}",
                f"{shown(quartiles(here))} against {shown(quartiles(whole))}",
                fall > 0,
                f"{-fall:+.2f} points in the mean",
            )
        )
    return found


def tables(rows: Rows) -> list[Table]:
    """Return the tables of completion, costs and delays by workflow and scheduler."""
    lines: list[tuple[Cell, ...]] = []
    for name in rows.names:
        for who in (ADAPTIVE, BICER, PARSL, CLOUD, *WITHOUT):
            share = rows.completion(name, who)
            if not len(share):
                continue
            cost = rows.values(name, who, lambda row: row.cost)
            whole = rows.values(name, who, lambda row: float(row.finished is not None))
            cluster = rows.values(name, who, lambda row: 100 * row.by_cluster)
            q1, q3 = quartiles(share)
            lines.append(
                (
                    name,
                    who,
                    len(cost),
                    q1,
                    q3,
                    float(share.mean()),
                    100 * float(whole.mean()),
                    float(cost.mean()),
                    float(cluster.mean()),
                )
            )
    columns = (
        "workflow",
        "scheduler",
        "cases",
        "completion Q1, %",
        "Q3, %",
        "mean, %",
        "all tasks done, % of runs",
        "mean cost, USD",
        "tasks on the cluster, %",
    )
    return [Table("completion", "Completion and cost (Figure 3.6, Table 3.4)", columns, lines)]


def figures(rows: Rows) -> list[Figure]:
    """Return the figures: completion as bars, and savings over the deadline."""
    who = (ADAPTIVE, BICER, PARSL, *WITHOUT)
    bars = [
        Series(
            name,
            list(who),
            [float(np.median(share)) if len(share := rows.completion(name, one)) else 0.0 for one in who],
            [quartiles(rows.completion(name, one))[0] for one in who],
            [quartiles(rows.completion(name, one))[1] for one in who],
        )
        for name in rows.names
    ]
    lines = []
    for name in rows.names:
        saved = rows.savings(name, ADAPTIVE)
        deadlines = np.array([row.deadline for row in rows.of(name, ADAPTIVE)])
        hours = sorted(set(deadlines.tolist()))
        lines.append(Series(name, hours, [float(saved[deadlines == one].mean()) for one in hours]))
    return [
        Figure(
            "figure-3-6-completion",
            "Completion by the deadline, median and quartiles",
            "scheduler",
            "tasks, %",
            bars,
            kind="bars",
        ),
        Figure(
            "figure-3-10-savings",
            "Savings against the cloud alone",
            "deadline, hours",
            "mean savings, %",
            lines,
        ),
    ]
