"""The queue rolled forward: its order, what runs on, and draws that are spread evenly."""

from __future__ import annotations

import numpy as np

from tests.prediction.free_nodes.made import EPOCH, NODES, cluster
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Jobs, jobs
from whesl.prediction.free_nodes.rollforward import _days, _spread, index, roll, state

NONE = np.zeros((0, 2))
NOW = EPOCH + 10 * DAY


def queue() -> Jobs:
    """One job of 6 of 10 nodes has run half of its two hours; three wait: of 8, 5 and 2 nodes."""
    submit = NOW - HOUR * np.array([1.0, 0.9, 0.8, 0.7])
    start = np.array([submit[0], np.inf, np.inf, np.inf])
    end, limit = np.full(4, np.inf), np.array([2.0, 2.0, 2.0, 30.0]) * HOUR
    return jobs(submit, start, end, np.array([6.0, 8.0, 5.0, 2.0]), limit, np.arange(4))


def test_the_queue_is_in_the_order_that_is_asked_for() -> None:
    """The job of 2 nodes would start at once in either order: it is held."""
    pools = np.array([10.0])
    first = state(queue(), NOW, pools, NONE)
    assert (first.waiting.tolist(), first.held.tolist()) == ([1, 2], [3])
    small = state(queue(), NOW, pools, NONE, smallest_first=True)
    assert (small.waiting.tolist(), small.held.tolist()) == ([2, 1], [3])


def test_the_order_decides_what_is_free() -> None:
    """No run time is known: limits count. The job of 8 takes hours 2 and 3, or the one of 5 takes them."""
    history, pools = queue(), np.array([10.0])
    free = []
    for order in (False, True):
        at = state(history, NOW, pools, NONE, smallest_first=order)
        at = type(at)(at.now, at.running, at.waiting, at.held[:0])
        rolled = roll(index(history), at, 10.0, pools, NONE, 2, np.random.default_rng(0))
        assert rolled.still.tolist() == [6.0] + [0.0] * 23
        free.append(rolled.least[0, :6].tolist())
    assert free == [[4.0, 2.0, 2.0, 5.0, 5.0, 10.0], [4.0, 5.0, 5.0, 2.0, 2.0, 10.0]]


def test_what_runs_on_falls_with_the_hours_and_is_none_at_the_limits() -> None:
    history = cluster()
    now = EPOCH + 70.3 * DAY
    at = state(history, now, np.array([NODES]), NONE)
    rolled = roll(index(history), at, NODES, np.array([NODES]), NONE, 8, np.random.default_rng(0))
    assert rolled.still[0] == history.size[at.running].sum() > 0
    assert (np.diff(rolled.still) <= 0).all()
    assert rolled.still[6:].max() == 0  # no limit is longer than six hours


def test_half_of_all_draws_take_the_weekday_of_the_latest_weeks() -> None:
    history = cluster(150)
    now = EPOCH + 140.5 * DAY
    days = _days(history, now, 1000, np.random.default_rng(0)) / DAY
    latest = np.isin(days, [7, 14, 21, 28])
    others = 4 * 4 / (4 * 16 + 96)  # of the other half: four of sixteen weekdays, four times as likely
    assert abs(latest.mean() - (0.5 + others / 2)) < 0.01
    assert days.max() <= 112
    assert np.isnan(_days(history, EPOCH, 3, np.random.default_rng(0))).all()


def test_draws_are_spread_over_the_whole_range() -> None:
    found = _spread(8, 5, np.random.default_rng(0))
    assert np.sort(np.floor(found * 8), axis=0).T.tolist() == [list(range(8))] * 5
