"""Gradients of the LSTM against differences of its loss."""

from __future__ import annotations

import numpy as np
import pytest

from whesl.prediction.free_nodes import lstm
from whesl.prediction.free_nodes.published_predictor import LOSSES, OPTIMIZERS


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_the_loss(loss: str) -> None:
    generator = np.random.default_rng(3)
    network = lstm.Network.new(3, 4, 2, 5)._replace(shift=np.full(2, 2.0))  # outputs above 0, as rmsle needs
    inputs, target = generator.normal(size=(5, 6, 3)), generator.random((5, 2)) + 0.5
    _, slope = network.gradient(inputs, target, loss)
    for place, weights in enumerate(network):
        for at in generator.integers(weights.size, size=6):
            moved = []
            for step in (1e-6, -1e-6):
                changed = weights.copy()
                changed.flat[at] += step
                other = network._replace(**{network._fields[place]: changed})
                moved.append(other.gradient(inputs, target, loss)[0])
            assert slope[place].flat[at] == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_it_learns_what_has_to_be_remembered(optimizer: str) -> None:
    """The outcome is the first of five inputs: without a state it could not be told."""
    generator = np.random.default_rng(4)
    inputs = generator.random((512, 5, 1))
    target = inputs[:, 0]
    first = lstm.Network.new(1, 8, 1, 0)
    found = lstm.train(first, inputs, target, "rmse", optimizer, seed=0, epochs=40)
    before = np.abs(first.predict(inputs) - target).mean()
    assert np.abs(found.predict(inputs) - target).mean() < min(0.8 * before, 0.25)
    if optimizer == "adam":
        assert np.abs(found.predict(inputs) - target).mean() < 0.1
