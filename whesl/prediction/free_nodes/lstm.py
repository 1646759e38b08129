"""A small LSTM in NumPy: one layer, the last state gives all outputs.

Written here because PyTorch would be a hundred times the size of all else that is needed, for the model that
the document itself finds worse than trees. Gradients are checked against differences in the tests.
Source: S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997, with forget
    gates;
D. P. Kingma, J. Ba, "Adam", ICLR 2015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from whesl.prediction.free_nodes.job_history import Floats

_BATCH = 64
_RATE = {"adam": 2e-3, "sgd": 5e-2}
_HUBER = 0.05  # share of the capacity beyond which the loss is linear
_SMALL = 0.02  # share of the capacity that percentages are at least taken of
_LONGEST = 5.0  # of a gradient: longer ones are cut


class Network(NamedTuple):
    """Weights.

    Attributes:
        gates: of input and state, for input, forget, output gate and candidate, shape (inputs + units, 4
            units).
        bias: shape (4 units,).
        out: shape (units, outputs).
        shift: shape (outputs,).
    """

    gates: Floats
    bias: Floats
    out: Floats
    shift: Floats

    @classmethod
    def new(cls, inputs: int, units: int, outputs: int, seed: int) -> Network:
        """Return random weights; forget gates begin open."""
        generator = np.random.default_rng(seed)
        gates = generator.normal(0.0, 1.0 / np.sqrt(inputs + units), (inputs + units, 4 * units))
        bias = np.zeros(4 * units)
        bias[units : 2 * units] = 1.0
        out = generator.normal(0.0, 1.0 / np.sqrt(units), (units, outputs))
        return cls(gates, bias, out, np.zeros(outputs))

    def predict(self, inputs: Floats) -> Floats:
        """Return outputs, shape (samples, outputs), of inputs of shape (samples, steps, inputs)."""
        parts = [self._forward(inputs[at : at + 1024])[0] for at in range(0, len(inputs), 1024)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.shift)))

    def _forward(self, inputs: Floats) -> tuple[Floats, list[tuple[Floats, ...]]]:
        units = len(self.out)
        hidden = np.zeros((len(inputs), units))
        cell = np.zeros_like(hidden)
        steps: list[tuple[Floats, ...]] = []
        for step in range(inputs.shape[1]):
            joined = np.concatenate([inputs[:, step], hidden], axis=1)
            raw = joined @ self.gates + self.bias
            gate = 1.0 / (1.0 + np.exp(-np.clip(raw[:, : 3 * units], -30, 30)))
            taken, kept, shown = gate[:, :units], gate[:, units : 2 * units], gate[:, 2 * units :]
            candidate = np.tanh(raw[:, 3 * units :])
            before, cell = cell, kept * cell + taken * candidate
            bent = np.tanh(cell)
            hidden = shown * bent
            steps.append((joined, taken, kept, shown, candidate, before, bent))
        steps.append((hidden,))
        return hidden @ self.out + self.shift, steps

    def gradient(self, inputs: Floats, target: Floats, loss: str) -> tuple[float, Network]:
        """Return a loss and its gradient by each weight.

        Args:
            inputs: shape (samples, steps, inputs).
            target: shape (samples, outputs).
            loss: ``mape``, ``rmse``, ``rmsle`` or ``huber``.
        """
        said, steps = self._forward(inputs)
        value, slope = losses(said, target, loss)
        hidden = steps[-1][0]
        units = len(self.out)
        by_gates, by_bias = np.zeros_like(self.gates), np.zeros_like(self.bias)
        d_hidden = slope @ self.out.T
        d_cell = np.zeros_like(d_hidden)
        for joined, taken, kept, shown, candidate, before, bent in reversed(steps[:-1]):
            d_cell = d_cell + d_hidden * shown * (1 - bent**2)
            d_raw = np.concatenate(
                [
                    d_cell * candidate * taken * (1 - taken),
                    d_cell * before * kept * (1 - kept),
                    d_hidden * bent * shown * (1 - shown),
                    d_cell * taken * (1 - candidate**2),
                ],
                axis=1,
            )
            by_gates += joined.T @ d_raw
            by_bias += d_raw.sum(axis=0)
            d_hidden = (d_raw @ self.gates.T)[:, -units:]
            d_cell = d_cell * kept
        return value, Network(by_gates, by_bias, hidden.T @ slope, slope.sum(axis=0))


def losses(said: Floats, target: Floats, loss: str) -> tuple[float, Floats]:
    """Return a loss and its gradient by each output; see ``Network.gradient``.

    Raises:
        ValueError: an unknown loss.
    """
    error = said - target
    count = error.size
    if loss == "huber":
        far = np.abs(error) > _HUBER
        value = np.where(far, _HUBER * (np.abs(error) - _HUBER / 2), error**2 / 2)
        return float(value.mean()), np.clip(error, -_HUBER, _HUBER) / count
    if loss == "mape":
        scale = np.maximum(np.abs(target), _SMALL)
        return float((np.abs(error) / scale).mean()), np.sign(error) / scale / count
    if loss == "rmsle":
        low = np.maximum(said, 0.0)
        error = np.log1p(low) - np.log1p(np.maximum(target, 0.0))
        root = np.sqrt((error**2).mean()) + 1e-12
        # Below 0 the logarithm has no slope; a small one leads back.
        return float(root), np.where(said > 0, error / (1 + low), said - 0.0) / (root * count)
    if loss == "rmse":
        root = np.sqrt((error**2).mean()) + 1e-12
        return float(root), error / (root * count)
    raise ValueError(f"no loss {loss!r}")


def train(
    network: Network,
    inputs: Floats,
    target: Floats,
    loss: str,
    optimizer: str,
    *,
    seed: int,
    epochs: int,
    advance: Callable[[float], None] = lambda steps: None,
) -> Network:
    """Return a network after training.

    Args:
        network: where it begins.
        inputs: shape (samples, steps, inputs).
        target: shape (samples, outputs).
        loss: see ``Network.gradient``.
        optimizer: ``sgd`` or ``adam``.
        seed: of the order of samples.
        epochs: times that every sample is seen.
        advance: called for each of them.
    """
    generator = np.random.default_rng(seed)
    mean = [np.zeros_like(one) for one in network]
    square = [np.zeros_like(one) for one in network]
    rate, count = _RATE[optimizer], 0
    for _ in range(epochs):
        order = generator.permutation(len(inputs))
        for at in range(0, len(order), _BATCH):
            batch = order[at : at + _BATCH]
            _, slope = network.gradient(inputs[batch], target[batch], loss)
            length = float(np.sqrt(sum((one**2).sum() for one in slope)))
            cut = min(1.0, _LONGEST / max(length, 1e-12))
            count += 1
            moved = []
            for place, (weight, by) in enumerate(zip(network, slope, strict=True)):
                change = by * cut
                if optimizer == "adam":
                    mean[place] = 0.9 * mean[place] + 0.1 * change
                    square[place] = 0.999 * square[place] + 0.001 * change**2
                    change = (mean[place] / (1 - 0.9**count)) / (
                        np.sqrt(square[place] / (1 - 0.999**count)) + 1e-8
                    )
                moved.append(weight - rate * change)
            network = Network(*moved)
        advance(1)
    return network
