"""Intervals cover as often as they say, also where nothing free is common."""

from __future__ import annotations

import numpy as np
import pytest

from whesl.predict.freenodes import conformal
from whesl.predict.freenodes.conformal import Scores


def scored(zero: float, low: float, high: float, seed: int = 0) -> Scores:
    generator = np.random.default_rng(seed)
    truth = np.where(generator.random((2000, 24)) < zero, 0.0, generator.random((2000, 24)))
    time = np.arange(2000.0) * 1200.0
    return Scores(time, np.full_like(truth, low), np.full_like(truth, high), truth)


@pytest.mark.parametrize("zero", [0.0, 0.05, 0.3])
@pytest.mark.parametrize(("low", "high"), [(0.4, 0.6), (0.0, 1.0)])
def test_four_fifths_are_inside(zero: float, low: float, high: float) -> None:
    past, later = scored(zero, low, high), scored(zero, low, high, 1)
    quantiles = np.stack([later.low, np.full_like(later.low, 0.5), later.high])
    found = conformal.calibrated(quantiles, conformal.offsets(past))
    inside = (later.truth >= found[0]) & (later.truth <= found[2])
    assert inside.mean() == pytest.approx(0.8, abs=0.02)
    assert (np.diff(found, axis=0) >= 0).all()


def test_few_outcomes_move_nothing() -> None:
    past = scored(0.0, 0.4, 0.6)
    few = Scores(past.time[:10], past.low[:10], past.high[:10], past.truth[:10])
    assert not np.concatenate(conformal.offsets(few)).any()


def test_an_outcome_counts_when_its_last_hour_is_over() -> None:
    past = scored(0.0, 0.4, 0.6)
    assert len(past.known(86400.0).time) == 1
    assert len(past.known(86400.0 - 1).time) == 0
    assert past.latest().time[0] > past.time[-1] - 28 * 86400.0 - 1
