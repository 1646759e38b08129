"""Verdicts say nothing where other cases would have said something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whesl.lab.reproductions.cloud import probability_calibration
from whesl.lab.reproductions.cloud.observation_checks import Rows
from whesl.lab.reproductions.cloud.verdicts import verdicts
from whesl.lab.reproductions.registry import Finding
from whesl.lab.simulators.cloud.evaluate import ADAPTIVE, Row


def row(cost: float) -> Row:
    return Row(
        workflow="OAI",
        scheduler=ADAPTIVE,
        inputs=1,
        deadline=6,
        trace="t",
        completion=(1.0,),
        finished=1.0,
        cost=cost,
        predicted=cost,
        backup=0.0,
        backup_hours=None,
        backup_tasks=0.0,
        benchmark=0.0,
        probability=None,
        by_cluster=0.0,
        delays=(),
    )


def dear(rows: Rows) -> list[Finding]:
    mean = float(rows.values("OAI", ADAPTIVE, lambda one: one.cost).mean())
    return [Finding("dear", "s", "it costs more than 10", "10", f"{mean:.2f}", mean > 10)]


@pytest.mark.parametrize(("mean", "holds"), [(8.0, False), (12.0, True), (10.02, None)])
def test_a_verdict_that_another_seed_would_turn_is_open(mean: float, holds: bool | None) -> None:
    """Three of 35 verdicts came out the other way with another seed."""
    drawn = np.random.default_rng(1).normal(0, 3, size=200)
    rows = [row(float(cost)) for cost in drawn - drawn.mean() + mean]
    (found,) = verdicts(rows, dear)
    assert found.holds is holds
    assert "% of the resamples" in found.difference and found.measured == f"{mean:.2f}"


@pytest.mark.parametrize(
    ("met", "holds"), [(910, True), (890, True), (921, None), (879, None), (850, False), (945, False)]
)
def test_a_stated_probability_is_met_within_two_points(met: int, holds: Any) -> None:
    came = np.arange(1000) < met
    assert probability_calibration.within(np.full(1000, 0.9), came) is holds
