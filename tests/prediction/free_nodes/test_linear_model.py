"""The linear model beside the trees: what it finds, what it says beyond what was seen, what gaps do to it."""

from __future__ import annotations

import numpy as np
import pytest

from whesl.prediction.free_nodes import linear_model
from whesl.prediction.free_nodes.features import COLUMNS
from whesl.prediction.free_nodes.linear_model import TERMS, Linear
from whesl.prediction.free_nodes.rollforward import HOURS

NOW, ROLLED = COLUMNS.index("free now"), COLUMNS.index("rolled forward, 50%")


def planted(count: int, highest: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels: what will be free follows two of the features, differently in each hour."""
    generator = np.random.default_rng(seed)
    values = np.zeros((count, HOURS, len(COLUMNS)), dtype=np.float32)
    values[:, :, NOW] = generator.uniform(0, highest, (count, 1))
    values[:, :, ROLLED] = generator.uniform(0, highest, (count, HOURS))
    part = np.linspace(0.8, 0.2, HOURS)
    return values, 0.05 + part * values[:, :, NOW] + (0.8 - part) * values[:, :, ROLLED]


def test_a_planted_relation_is_found_and_goes_on_beyond_what_was_seen() -> None:
    """A tenth of the labels is far off: the least absolute error takes no notice, least squares would."""
    values, truth = planted(600, 0.3, 1)
    truth[::10] = 1.0
    learned = linear_model.fit(values, truth)
    later, came = planted(100, 0.9, 2)
    assert came.max() > 0.6 > truth[truth < 1].max()
    assert np.abs(learned.score(later) - came).max() < 0.03


def test_what_is_said_is_a_share() -> None:
    zeros = np.zeros((HOURS, TERMS))
    values = np.zeros((2, HOURS, len(COLUMNS)), dtype=np.float32)
    for constant, said in ((-1.0, 0.0), (0.25, 0.25), (7.0, 1.0)):
        learned = Linear(np.full(HOURS, constant), zeros, zeros)
        assert learned.score(values).tolist() == np.full((2, HOURS), said).tolist()


def test_what_is_not_known_counts_as_its_mean() -> None:
    values, truth = planted(600, 0.3, 1)
    values[::3, :, COLUMNS.index("a week before")] = np.nan
    values[:, :, COLUMNS.index("a day before")] = np.nan
    learned = linear_model.fit(values, truth)
    unknown, mean = values[:1].copy(), values[:1].copy()
    unknown[..., NOW] = np.nan
    mean[..., NOW] = values[:, :, NOW].mean(axis=0)
    said = learned.score(unknown)
    assert np.isfinite(said).all()
    assert said == pytest.approx(learned.score(mean), abs=1e-6)


def test_the_hour_of_the_day_is_a_circle() -> None:
    """Midnight is as near to eleven as to one; a queue ten times as long counts for one step more."""
    values = np.zeros((3, len(COLUMNS)), dtype=np.float32)
    values[:, COLUMNS.index("hour of day then")] = (23, 0, 1)
    values[:, COLUMNS.index("waiting jobs")] = (9, 99, 999)
    found = linear_model.terms(values)
    assert found.shape == (3, TERMS)
    circle = found[:, -8:-4]
    assert np.linalg.norm(circle[1] - circle[0]) == pytest.approx(np.linalg.norm(circle[1] - circle[2]))
    steps = np.ptp(np.diff(found, axis=0), axis=0)[found.max(axis=0) > 2]
    assert steps == pytest.approx([0.0], abs=1e-9)
