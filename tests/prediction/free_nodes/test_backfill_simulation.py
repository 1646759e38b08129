"""FCFS with EASY backfilling on counted nodes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.alike import examples
from whesl.prediction.free_nodes.backfill_simulation import held, simulate

NONE = np.zeros(0)
Rows = list[tuple[int, int, int, int]]


def starts(rows: Rows, capacity: float, closed: tuple[list[float], list[float]] = ([], [])) -> list[float]:
    submit, size, limit, run = np.array(rows, dtype=float).T
    windows = (np.array(closed[0], dtype=float), np.array(closed[1], dtype=float))
    found = simulate(0.0, np.inf, capacity, NONE, NONE, NONE, submit, size, limit, run, *windows)
    return [float(one) for one in found]


def test_a_later_job_fills_a_hole_when_the_first_is_not_delayed() -> None:
    """The head starts at 100: the third job could last until 101, the fourth until 99."""
    rows = [(0, 6, 100, 100), (1, 8, 50, 50), (2, 4, 99, 50), (3, 4, 96, 50)]
    assert starts(rows, 10) == [0, 100, 150, 3]


def test_a_job_that_needs_no_more_than_is_left_over_starts() -> None:
    """The head takes 8 of 10 at 100: two nodes are left over, whatever a job on them lasts."""
    assert starts([(0, 6, 100, 100), (1, 8, 50, 50), (2, 2, 900, 900)], 10) == [0, 100, 2]


def test_an_early_end_lets_the_head_start_early() -> None:
    assert starts([(0, 6, 100, 30), (1, 8, 50, 50)], 10) == [0, 30]


def test_a_job_that_is_too_large_is_left_out() -> None:
    assert starts([(0, 11, 10, 10), (0, 10, 10, 10)], 10) == [np.inf, 0]


def test_no_job_starts_that_could_run_into_maintenance() -> None:
    assert starts([(0, 1, 60, 5), (0, 1, 40, 40)], 10, ([50], [80])) == [80, 0]


def test_running_jobs_keep_their_nodes() -> None:
    busy, planned, end = np.array([7.0]), np.array([500.0]), np.array([20.0])
    one = np.array([0.0]), np.array([5.0]), np.array([10.0]), np.array([10.0])
    found = simulate(0.0, np.inf, 10.0, busy, planned, end, *one, NONE, NONE)
    assert found.tolist() == [20.0]
    assert simulate(0.0, 19.0, 10.0, busy, planned, end, *one, NONE, NONE).tolist() == [np.inf]


job = st.tuples(st.integers(0, 200), st.integers(1, 12), st.integers(1, 80), st.integers(1, 80))


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(job, min_size=1, max_size=25))
def test_no_more_nodes_than_there_are_and_none_idle_for_the_head(rows: Rows) -> None:
    rows = sorted((submit, size, max(limit, run), run) for submit, size, limit, run in rows)
    found = starts(rows, 12)
    times = {*found, *(start + row[3] for start, row in zip(found, rows, strict=True))}
    for time in times:
        on = [row[1] for start, row in zip(found, rows, strict=True) if start <= time < start + row[3]]
        assert sum(on) <= 12
        waiting = [row for start, row in zip(found, rows, strict=True) if row[0] <= time < start]
        assert not waiting or waiting[0][1] > 12 - sum(on)
    assert all(start >= row[0] and np.isfinite(start) for start, row in zip(found, rows, strict=True))


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(job, min_size=1, max_size=12), st.lists(job, max_size=6))
def test_under_this_very_scheduler_nothing_is_held(rows: Rows, running: Rows) -> None:
    """A job that waits although the scheduler has just looked is one that it does not start."""
    size, limit = (np.array([row[place] for row in rows], dtype=float) for place in (1, 2))
    busy, planned = busy_jobs(running)
    started = simulate(
        0.0, 0.0, 12.0, busy, planned, planned, np.zeros(len(rows)), size, limit, limit, NONE, NONE
    )  # fmt: skip
    now = np.isfinite(started)
    busy, planned = np.append(busy, size[now]), np.append(planned, limit[now])
    assert not held(0.0, 12.0, busy, planned, size[~now], limit[~now], NONE, NONE).any()


def busy_jobs(running: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    kept: list[tuple[float, float]] = []
    for _, size, limit, _ in running:
        if sum(one[0] for one in kept) + size <= 12:
            kept.append((size, limit))
    return np.array([one[0] for one in kept], dtype=float), np.array([one[1] for one in kept], dtype=float)


def test_a_waiting_job_that_fits_is_held_and_hides_nothing() -> None:
    """The first would start at once; the second does not fit and is the head; the third would delay it."""
    size, limit = np.array([2.0, 9.0, 4.0]), np.array([10.0, 10.0, 1000.0])
    found = held(0.0, 10.0, np.array([5.0]), np.array([100.0]), size, limit, NONE, NONE)
    assert found.tolist() == [True, False, False]
