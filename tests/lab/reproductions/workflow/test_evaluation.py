"""FLAW's evaluation, small and on failures that are generated: what is drawn, what is run, what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.lab.reproductions.registry import Inputs, load
from whesl.lab.reproductions.workflow.failure_aware_evaluation import (
    DAY,
    YEARS,
    Plan,
    Row,
    one_window,
    window,
    windows,
)
from whesl.lab.reproductions.workflow.figures import report
from whesl.lab.simulators.workflow.generate import Shape, layered
from whesl.prediction.failures.failure_history import History, merged

# The first call compiles, on a busy machine for minutes.
pytestmark = pytest.mark.timeout(600)

DATA = Path(__file__).parents[5] / "shared" / "data"
SMALL = Shape(tasks=(12, 20), layers=(3, 5))
PLAN = Plan(windows=3, nodes=4, traces=1, mixes=3, concurrent=(1, 2), shape=SMALL)


@given(st.integers(0, 2**32 - 1))
def test_generated_workflows_have_their_size_and_layers(seed: int) -> None:
    found = layered(np.random.default_rng(seed), Shape())
    assert 175 <= len(found) <= 249
    assert (found.runtime >= 300).all()
    assert (found.parent < found.child).all()
    assert len(set(zip(found.parent.tolist(), found.child.tolist(), strict=True))) == len(found.parent)
    assert np.array_equal(found.runtime, layered(np.random.default_rng(seed), Shape()).runtime)


def machine() -> History:
    """Six nodes that fail about every three days in 2001 and 2002."""
    generator = np.random.default_rng(5)
    starts = generator.uniform(*YEARS, 1500)
    return merged(6, *YEARS, [(int(generator.integers(6)), at, at + 3000.0) for at in starts.tolist()])


def rows(plan: Plan) -> list[Row]:
    return [
        row
        for number, (truth, graphs, seed) in enumerate(windows(machine(), plan))
        for row in one_window(number, truth, graphs, seed, plan)
    ]


def test_a_window_is_a_machine_of_its_own() -> None:
    truth = merged(3, 0.0, 100.0, [(0, 5.0, 15.0), (1, 30.0, 31.0), (2, 30.0, 35.0), (2, 60.0, 61.0)])
    part = window(truth, [2, 0], 10.0, 40.0)
    assert (part.nodes, part.begin, part.finish) == (2, 10.0, 50.0)
    assert list(zip(part.node.tolist(), part.start.tolist(), part.end.tolist(), strict=True)) == [
        (1, 10.0, 15.0),
        (0, 30.0, 35.0),
    ]


@pytest.mark.costly
def test_one_seed_gives_one_result_and_another_another() -> None:
    first, again, other = rows(PLAN), rows(PLAN), rows(replace(PLAN, seed=1))
    assert [str(row) for row in first] == [str(row) for row in again]
    assert [str(row) for row in first] != [str(row) for row in other]
    # Two loads of FLAW (none, exact, five levels); at the higher one three other policies and six mixes.
    assert len(first) == 3 * (7 + 7 + 7 + 7 + 7 + 6)


def test_windows_lie_in_the_two_years() -> None:
    for truth, graphs, _ in windows(machine(), PLAN):
        assert YEARS[0] <= truth.begin <= truth.finish - 60 * DAY <= YEARS[1]
        assert len(graphs) == 2


def test_exact_predictions_lose_less_than_none() -> None:
    found = rows(PLAN)
    loss = {
        aoa: sum(row.loss for row in found if row.part == "levels" and row.aoa == aoa) for aoa in (0.0, 1.0)
    }
    assert loss[1.0] < loss[0.0]


def test_the_report_has_a_finding_for_each_figure() -> None:
    found = report(rows(PLAN), PLAN, "generated")
    shown = " ".join(finding.source for finding in found.findings)
    assert all(f"Fig. {number}" in shown for number in (9, 10, 11, 12, 14, 15))
    assert len(found.figures) == 7
    assert {table.name for table in found.tables} >= {"makespan", "loss", "reschedulings", "aaa", "orders"}


@pytest.mark.skipif(not DATA.is_dir(), reason="the directory of traces is not there")
def test_the_experiment_on_the_records() -> None:
    found = load("flaw").run(Inputs(data=DATA, quick=True))
    assert found.values["failures"] == "LANL cluster 2, 32 of 49 nodes"
