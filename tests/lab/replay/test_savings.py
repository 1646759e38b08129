"""What is saved, and how sure that is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from whesl.lab.replay.savings_bootstrap import FEWEST, PerJob, blocks, savings

DAY = 86400.0


def made(kills: NDArray[np.float64]) -> PerJob:
    return PerJob(kills, 2 * kills, np.ones(len(kills)))


def test_totals_and_means() -> None:
    submit = np.arange(20.0) * DAY / 2
    today = PerJob(np.ones(20), np.full(20, 3.0), np.arange(20.0))
    other = PerJob(np.zeros(20), np.full(20, 1.0), np.arange(20.0) / 2)
    found = savings(today, other, submit, seed=1)
    assert found["kills"][:3] == (20.0, 0.0, 20.0)
    assert found["lost"][:3] == (60.0, 20.0, 40.0)
    assert found["wait"][:3] == (9.5, 4.75, 4.75)
    assert found["wait"].blocks == 10
    assert (found["kills"].low, found["kills"].high) == pytest.approx((20.0, 20.0)), "each day saves the same"
    assert found["wait"].low < 4.75 < found["wait"].high


def test_a_job_that_did_not_start_counts_in_neither_waiting() -> None:
    submit = np.arange(10.0) * DAY
    today = PerJob(np.zeros(10), np.zeros(10), np.full(10, 2.0))
    wait = np.full(10, 1.0)
    wait[3] = math.nan
    found = savings(today, PerJob(np.zeros(10), np.zeros(10), wait), submit, seed=1)
    assert found["wait"][:3] == (2.0, 1.0, 1.0)


def test_a_short_log_has_no_interval() -> None:
    submit = np.arange(FEWEST - 1.0) * DAY
    found = savings(made(np.ones(FEWEST - 1)), made(np.zeros(FEWEST - 1)), submit, seed=1)
    assert math.isnan(found["kills"].low)
    assert found["kills"].saved == FEWEST - 1


def test_one_seed_gives_one_interval() -> None:
    rng = np.random.default_rng(5)
    submit = np.sort(rng.uniform(0, 30 * DAY, 300))
    today, other = made(rng.poisson(0.2, 300).astype(float)), made(rng.poisson(0.1, 300).astype(float))
    assert savings(today, other, submit, seed=1) == savings(today, other, submit, seed=1)
    assert savings(today, other, submit, seed=1)["kills"] != savings(today, other, submit, seed=2)["kills"]


def test_long_logs_have_weeks() -> None:
    assert blocks(np.arange(10.0) * DAY).tolist() == list(range(10))
    assert blocks(np.arange(100.0) * DAY).tolist() == [day // 7 for day in range(100)]


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Days differ in how much they save; of 200 logs, the 95 % intervals of most hold the true mean."""
    rng = np.random.default_rng(11)
    held = 0
    for log in range(200):
        daily = rng.gamma(2.0, 1.0, 40)  # mean 2
        submit = np.repeat(np.arange(40.0) * DAY, 5)
        today = made(np.repeat(daily, 5) / 5)
        found = savings(today, made(np.zeros(200)), submit, seed=log, draws=400)["kills"]
        held += found.low <= 80.0 <= found.high
    assert 170 <= held <= 198


@given(st.lists(st.tuples(st.floats(0, 60), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=80))
def test_an_interval_holds_what_was_found(rows: list[tuple[float, int, int]]) -> None:
    submit = np.sort(np.array([row[0] for row in rows])) * DAY
    today, other = (made(np.array([float(row[i]) for row in rows])) for i in (1, 2))
    found = savings(today, other, submit, seed=3, draws=200)["kills"]
    assert found.saved == pytest.approx(sum(row[1] - row[2] for row in rows))
    assert math.isnan(found.low) or found.low <= found.high
    same = savings(today, today, submit, seed=3, draws=50)
    assert all(saving.saved == 0 for saving in same.values())
