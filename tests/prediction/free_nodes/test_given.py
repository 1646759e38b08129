"""Forecasts that were given calibrate the later ones: outcomes when they are known, and the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.prediction.free_nodes.made import EPOCH, NODES, cluster
from whesl.model.errors import WheslError
from whesl.prediction.free_nodes import past_forecasts
from whesl.prediction.free_nodes.conformal import Scores
from whesl.prediction.free_nodes.hourly_free_node_history import supply
from whesl.prediction.free_nodes.past_forecasts import Forecast, Given

NOW = EPOCH + 50 * 86400.0


def made(now: float, low: float, high: float) -> Forecast:
    nodes = NODES * np.tile([low, 0.5, high], (24, 1))
    shares = np.repeat([[low], [0.5], [high]], 24, axis=1)
    return Forecast(now, NODES, (0.1, 0.5, 0.9), nodes, 0, 0, 0, shares)


def test_an_outcome_is_learned_when_its_day_is_over() -> None:
    history = cluster()
    one = Given.none().added(made(NOW, 0.0, 1.0))
    assert one.learned(history, NOW + 86399.0) is one
    known = one.learned(history, NOW + 86400.0)
    hours = supply(history, NODES)
    first = int((NOW - hours.begin) // 3600)
    assert known.truth[0] * NODES == pytest.approx(hours.least[first : first + 24])
    assert (known.aim < 0.8).all()  # all were inside: the next intervals aim at less
    assert len(known.scores(Scores.none(), NOW + 86400.0).time) == 1
    assert known.learned(history, NOW + 2 * 86400.0) is known


def test_outcomes_outside_widen_what_follows() -> None:
    found = Given.none()
    for hour in range(60):
        found = found.added(made(NOW + 3600.0 * hour, 0.999, 1.0))
    found = found.learned(cluster(), NOW + 4 * 86400.0)
    assert (found.aim > 0.9).all()


def test_what_the_log_does_not_cover_stays_unknown() -> None:
    history = cluster()
    gap = replace(history, covered=np.array([[EPOCH, NOW + 3600.0], [NOW + 90000.0, EPOCH + 80 * 86400.0]]))
    one = Given.none().added(made(NOW, 0.0, 1.0))
    assert one.learned(gap, NOW + 5 * 86400.0) is one


def test_moments_go_forward_and_old_ones_are_dropped() -> None:
    one = Given.none().added(made(NOW, 0.0, 1.0))
    assert one.added(made(NOW - 1.0, 0.0, 1.0)) is one
    assert one.added(made(NOW + 61 * 86400.0, 0.0, 1.0)).time.tolist() == [NOW + 61 * 86400.0]


def test_the_file_holds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "free-nodes.given.npz"
    assert not len(past_forecasts.load(path).time)
    one = (
        Given.none().added(made(NOW, 0.1, 0.9)).learned(cluster(), NOW + 86400.0).added(made(NOW + 9e4, 0, 1))
    )
    past_forecasts.save(one, path)
    again = past_forecasts.load(path)
    for name in Given.__slots__:
        np.testing.assert_array_equal(getattr(again, name), getattr(one, name))


@pytest.mark.parametrize("change", [{"time": [2.0, 1.0]}, {"aim": [0.8]}, {"low": np.full((2, 24), np.nan)}])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    one = Given.none().added(made(NOW, 0.1, 0.9)).added(made(NOW + 1.0, 0.1, 0.9))
    wrong = replace(one, **{name: np.asarray(value, dtype=np.float64) for name, value in change.items()})
    past_forecasts.save(wrong, tmp_path / "x.npz")
    with pytest.raises(WheslError, match="does not hold forecasts of free nodes that were given"):
        past_forecasts.load(tmp_path / "x.npz")
