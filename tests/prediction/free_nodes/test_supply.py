"""Capacity, outages, and the least number of free nodes."""

from __future__ import annotations

import numpy as np
import pytest

from whesl.model.errors import UsageError
from whesl.prediction.free_nodes import runtimes
from whesl.prediction.free_nodes.hourly_free_node_history import rolling_capacity, supply, windows
from whesl.prediction.free_nodes.job_history import HOUR, Jobs, jobs


def made(rows: list[tuple[float, float, float]], hours: float = 60, user: list[str] | None = None) -> Jobs:
    """Return jobs of (start, end, size), times in hours."""
    start, end, size = np.array(rows, dtype=float).T
    start, end = start * HOUR, end * HOUR
    covered = np.array([[0.0, hours * HOUR]])
    return jobs(start, start, end, size, end - start, user or ["a"] * len(rows), covered=covered)


def test_the_least_of_an_hour_is_where_most_is_in_use() -> None:
    found = supply(made([(0, 60, 4), (2.25, 2.5, 5), (2.5, 2.75, 3), (2.5, 2.6, 2)]), 10)
    assert found.least[:4].tolist() == [6, 6, 1, 6]
    assert found.free[:4].tolist() == [6, 6, 6, 6]


def test_a_node_that_is_handed_on_is_used_once() -> None:
    assert supply(made([(0, 2, 10), (2, 4, 10), (0, 9, 0.5)]), 20).least[1:3].tolist() == [9.5, 9.5]


def test_capacity_is_what_was_in_use_before_and_does_not_look_ahead() -> None:
    use = np.concatenate([np.full(200, 50.0), np.full(200, 100.0)])
    found = rolling_capacity(use)
    assert found[199] == 50
    assert found[399] == 100
    assert found[200] < 100
    assert rolling_capacity(use[:250]).tolist() == found[:250].tolist()


def test_hours_without_use_are_an_outage_and_not_free() -> None:
    history = made([(0, 30, 10), (33.5, 60, 10)])
    found = supply(history)
    assert np.flatnonzero(found.out).tolist() == [30, 31, 32, 33]
    assert not found.least[30:34].any()
    assert found.seen_out.tolist().count(True) == 1  # known when three hours are over, not before
    assert found.seen_out[33]
    assert windows(found).tolist() == [[30 * HOUR, 34 * HOUR]]
    assert not supply(made([(0, 30, 10), (32.5, 60, 10)])).out.any()


def test_times_that_go_back_are_refused() -> None:
    ones = np.ones(2)
    with pytest.raises(UsageError, match="1 jobs have times that go back; the first is job 2"):
        jobs(ones, np.array([1.0, 5.0]), np.array([2.0, 4.0]), ones, ones, ["a", "b"])


def test_nothing_that_came_later_is_known() -> None:
    known = made([(0, 5, 1), (3, 9, 1), (7, 8, 1)]).until(6 * HOUR)
    assert known.end.tolist() == [5 * HOUR, np.inf]
    assert known.start.tolist() == [0.0, 3 * HOUR]


def test_run_times_are_those_of_the_user_and_longer_than_what_has_passed() -> None:
    rows = [(float(one), one + 0.2, 1.0) for one in range(10)]
    rows += [(float(one), one + 0.8, 1.0) for one in range(10)]
    start, end, size = np.array(rows).T * np.array([[HOUR], [HOUR], [1.0]])
    user = ["short"] * 10 + ["long"] * 10
    history = jobs(start, start, end, size, np.full(20, HOUR), user)
    past = runtimes.past(history)
    level = np.random.default_rng(0).random((50, 20))
    drawn = runtimes.draw(past, np.arange(20), np.full(20, HOUR), np.zeros(20), 100 * HOUR, level) / HOUR
    short = history.user == history.user[np.argmin(history.end - history.start)]
    assert drawn[:, short] == pytest.approx(0.2)
    assert drawn[:, ~short] == pytest.approx(0.8)
    # One of the short user that has run for half of its limit is like all others that ran as long.
    place = np.flatnonzero(short)[:1]
    later = runtimes.draw(past, place, np.array([HOUR]), np.array([0.5 * HOUR]), 100 * HOUR, level[:, :1])
    assert later / HOUR == pytest.approx(0.8)
    early = runtimes.draw(past, place, np.array([HOUR]), np.zeros(1), 0.0, level[:, :1])
    assert early / HOUR == pytest.approx(1.0)  # nothing had ended: the limit
