"""Failure records of another machine: the count, the place, the time, and what came together."""

from __future__ import annotations

import numpy as np
import pytest

from whesl.lab.simulators.torus.thinning import DAY, rate, thinned, within
from whesl.model.errors import UsageError
from whesl.prediction.failures.failure_history import merged

TRUTH = merged(
    300,
    0.0,
    1000.0,
    [(node, float(time), float(time + 1)) for time in range(0, 1000, 10) for node in (5, 205)],
)


def test_so_many_failures_on_other_nodes_and_in_other_time() -> None:
    found = thinned(TRUTH, 128, 50.0, 250.0, 41, seed=2)
    assert len(found) == 41
    assert set(found.node.tolist()) == {5, 205 % 128}
    assert found.start.min() >= 50.0
    assert found.start.max() <= 250.0
    assert (np.diff(found.start) >= 0).all()
    _, together = np.unique(found.start, return_counts=True)
    assert sorted(together.tolist()) == [1] + [2] * 20  # instants stay whole but for the last
    assert rate(found, 50.0, 50.0 + DAY) == pytest.approx(41 / 128)


def test_fewer_are_a_part_of_more() -> None:
    few, many = (thinned(TRUTH, 128, 0.0, 1.0, count, seed=2) for count in (40, 120))
    assert set(few.start.tolist()) <= set(many.start.tolist())


def test_more_than_there_are_is_an_error() -> None:
    with pytest.raises(UsageError, match="the records hold 200"):
        thinned(TRUTH, 128, 0.0, 1.0, 201, seed=2)
    assert len(within(TRUTH, 100.0, 200.0)) == 20
