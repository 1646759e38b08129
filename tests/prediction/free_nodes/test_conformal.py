"""Intervals cover as often as they say, also where nothing free is common."""

from __future__ import annotations

import numpy as np
import pytest

from whesl.prediction.free_nodes import conformal
from whesl.prediction.free_nodes.conformal import Scores


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


def test_coverage_comes_back_after_a_shift() -> None:
    """What comes is spread three times as wide from a day on: intervals that only look back lag behind."""
    generator = np.random.default_rng(2)
    wide = np.where(np.arange(2000) < 700, 0.1, 0.3)[:, None]
    truth = 0.5 + wide * (generator.random((2000, 24)) - 0.5)
    time = np.arange(2000.0) * 3600.0
    low, high = np.full_like(truth, 0.46), np.full_like(truth, 0.54)
    before = Scores(time[:700], low[:700], high[:700], truth[:700])
    quantiles = np.stack([low, np.full_like(low, 0.5), high])[:, 700:]
    given = conformal.rolling(before, quantiles, time[700:], truth[700:])
    inside = (truth[700:] >= given[0]) & (truth[700:] <= given[2])
    assert inside[:48].mean() < 0.6
    assert inside[96:].mean() == pytest.approx(0.8, abs=0.03)


def test_nothing_that_comes_later_calibrates() -> None:
    """Other outcomes from a day on leave every interval as it was until they are known."""
    past = scored(0.1, 0.4, 0.6)
    time = np.arange(480.0) * 3600.0 + past.time[-1] + 3600.0
    later = scored(0.1, 0.4, 0.6, 1)
    quantiles = np.stack([later.low, np.full_like(later.low, 0.5), later.high])[:, :480]
    truth, other = later.truth[:480], later.truth[:480].copy()
    other[240:] = 1.0
    one, two = (conformal.rolling(past, quantiles, time, each) for each in (truth, other))
    known = time < time[240] + 86400.0
    assert (one[:, known] == two[:, known]).all()
    assert (one != two).any()
