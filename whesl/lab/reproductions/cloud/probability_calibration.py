"""Calibration of the plans' stated probabilities: the share of plans at 90 % that meet their deadline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from whesl.lab.reproductions.cloud.observation_checks import Rows
from whesl.lab.reproductions.registry import Finding
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Cell, Table
from whesl.lab.simulators.cloud.evaluate import ADAPTIVE, ASKED, OURS

# Largest difference, chosen in advance, between the mean stated probability and the share of met deadlines.
NEAR = 0.02
_EDGES = (0.0, 0.5, 0.8, 0.88, 0.94, 1.0)


def stated(rows: Rows, workflows: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each plan's stated probability, and whether the plan met its deadline.

    Args:
        rows: the rows of an evaluation.
        workflows: names of the workflows.
    """
    found = [row for name in workflows for row in rows.of(name, OURS) if row.probability is not None]
    said = np.array([row.probability for row in found], dtype=np.float64)
    return said, np.array([row.finished is not None for row in found], dtype=np.bool_)


def within(said: NDArray[np.float64], met: NDArray[np.bool_]) -> bool | None:
    """Return whether the share of met deadlines is within ``NEAR`` of the mean stated probability.

    Args:
        said: each plan's stated probability.
        met: whether each plan met its deadline.

    Returns:
        True within ``NEAR``; False if the whole 95 % interval lies outside; None if only the share does.
    """
    if not len(met):
        return None
    far = abs(float(met.mean() - said.mean())) - NEAR
    return True if far <= 0 else False if far > error(met) else None


def error(met: NDArray[np.bool_]) -> float:
    """Return the half-width of the 95 % interval of the share of met deadlines."""
    share = float(met.mean()) if len(met) else float("nan")
    return 1.96 * float(np.sqrt(max(share * (1 - share), 1e-9) / max(1, len(met))))


def findings(rows: Rows) -> list[Finding]:
    """Return findings on how often plans at 90 % meet their deadlines, and on the costs of these plans."""
    found = []
    for names in ([rows.names] if len(rows.names) > 1 else []) + [[name] for name in rows.names]:
        said, met = stated(rows, names)
        offered = said >= ASKED
        said, met = said[offered], met[offered]
        share, mean = (float(met.mean()), float(said.mean())) if len(met) else (float("nan"),) * 2
        found.append(
            Finding(
                f"calibrated-{'-'.join(names)}",
                "WHESL",
                f"Of the plans for {' and '.join(names)} that say {100 * ASKED:.0f} % or more, as many"
                f" meet the deadline as they say, within {100 * NEAR:.0f} points",
                f"{100 * mean:.1f} %",
                f"{100 * share:.1f} % (+- {100 * error(met):.1f}) of {len(met)} plans",
                within(said, met),
                f"{100 * (share - mean):+.1f} points",
                "free nodes by persistence with empirical errors",
            )
        )
    for name in rows.names:
        ours = rows.values(name, OURS, lambda row: row.cost)
        plain = rows.values(name, ADAPTIVE, lambda row: row.cost)
        if not len(plain):
            continue
        done = rows.values(name, OURS, lambda row: float(row.finished is not None))
        before = rows.values(name, ADAPTIVE, lambda row: float(row.finished is not None))
        found.append(
            Finding(
                f"cheaper-{name}",
                "WHESL",
                f"{name}: the plans meet more deadlines with all tasks than the document's for no more",
                f"{100 * before.mean():.1f} % of the runs, {plain.mean():.0f} USD",
                f"{100 * done.mean():.1f} % of the runs, {ours.mean():.0f} USD",
                bool(done.mean() > before.mean() and ours.mean() <= plain.mean()),
                f"{100 * (ours.mean() / plain.mean() - 1):+.1f} % cost",
            )
        )
    return found


def tables(rows: Rows) -> list[Table]:
    """Return the reliability table: number of plans and share of met deadlines by stated probability."""
    lines: list[tuple[Cell, ...]] = []
    for name in rows.names:
        said, met = stated(rows, [name])
        for low, high in pairwise(_EDGES):
            here = (said >= low) & (said < high)
            if here.any():
                lines.append(
                    (name, low, high, int(here.sum()), float(said[here].mean()), float(met[here].mean()))
                )
    columns = ("workflow", "from", "below", "plans", "stated, mean", "met")
    return [Table("reliability", "Stated probabilities and what came of them", columns, lines)]


def figures(rows: Rows) -> list[Figure]:
    """Return the reliability diagram."""
    series = [Series("perfect", [0.0, 1.0], [0.0, 1.0], dashed=True)]
    for table in tables(rows):
        for name in rows.names:
            own = [row for row in table.rows if row[0] == name]
            series.append(
                Series(name, [float(row[4] or 0) for row in own], [float(row[5] or 0) for row in own])
            )
    return [
        Figure(
            "reliability",
            "Stated and observed probability of meeting a deadline",
            "stated",
            "observed",
            series,
        )
    ]
