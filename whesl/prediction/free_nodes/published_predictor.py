"""The predictor as the document prints it: vectors of the queues, boosted trees with Huber loss, Table 3.2.

Source: dissertation "Adaptive Workflow Scheduling and Fault Tolerance to Manage HPC Resources", 2026, section
    3.4.
What is not printed and chosen here: the depth and number of trees, the LSTM's size and its learning rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whesl.model.errors import UsageError
from whesl.prediction.free_nodes import boosting, lstm
from whesl.prediction.free_nodes.job_history import DAY, HOUR
from whesl.prediction.free_nodes.rollforward import state

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whesl.prediction.free_nodes.job_history import Floats, Ints, Jobs

LENGTH = 64  # hours: the longest job that Lassen's records hold
STEPS = (6, 12, 18, 24)  # of input and of output
RESAMPLED = (30, 60)  # minutes between two samples
LOSSES = ("mape", "rmse", "rmsle", "huber")
OPTIMIZERS = ("sgd", "adam")
_OBJECTIVES = {"rmse": "reg:squarederror", "rmsle": "reg:squaredlogerror", "huber": "reg:pseudohubererror"}
_HUBER = 50.0  # nodes beyond which the loss is linear
_NO_WAIT = np.zeros((0, 2))


@dataclass(frozen=True, slots=True)
class Choice:
    """One combination of Table 3.2.

    Attributes:
        loss: one of ``LOSSES``; trees have no ``mape``.
        input_steps: samples that the LSTM sees.
        output_steps: hours that are predicted.
        minutes: between two samples.
        optimizer: of the LSTM.
    """

    loss: str = "huber"
    input_steps: int = 12
    output_steps: int = 24
    minutes: int = 60
    optimizer: str = "adam"

    def __post_init__(self) -> None:
        """Refuse what the table does not hold.

        Raises:
            UsageError: a value that is not in it.
        """
        for name, values in (
            ("loss", LOSSES),
            ("input_steps", STEPS),
            ("output_steps", STEPS),
            ("minutes", RESAMPLED),
            ("optimizer", OPTIMIZERS),
        ):
            if getattr(self, name) not in values:
                shown = ", ".join(map(str, values))
                raise UsageError(
                    f"{name} {getattr(self, name)!r} is not in Table 3.2", hint=f"it has {shown}"
                )


def run_vector(nodes: Floats, hours: Floats) -> Floats:
    """Return the nodes that running jobs free within 1, 2, ... 64 hours; cumulative.

    Args:
        nodes: of each job.
        hours: that each has left until its limit; parts of an hour count as one.
    """
    return np.cumsum(wait_vector(nodes, hours))


def wait_vector(nodes: Floats, hours: Floats) -> Floats:
    """Return the nodes that waiting jobs ask for, by hours of run time from 1 to 64.

    Args:
        nodes: of each job.
        hours: that each asks for; parts of an hour count as one, more than 64 as 64.
    """
    place = np.clip(np.ceil(np.asarray(hours) - 1e-9), 1, LENGTH).astype(np.int64) - 1
    return np.asarray(np.bincount(place, nodes, LENGTH)[:LENGTH], dtype=np.float64)


def features(history: Jobs, times: Floats, capacity: float) -> NDArray[np.float32]:
    """Return both vectors, day of the week and hour of the day at moments, shape (moments, 130).

    Args:
        history: jobs, usually ``job_history.replayed``.
        times: moments in seconds.
        capacity: nodes.
    """
    found = np.empty((len(times), 2 * LENGTH + 2), dtype=np.float32)
    pools = np.array([capacity])
    for place, now in enumerate(times.tolist()):
        at = state(history, now, pools, _NO_WAIT)
        run, wait = at.running, np.concatenate([at.waiting, at.held])
        left = (history.start[run] + history.limit[run] - now) / HOUR
        found[place, :LENGTH] = run_vector(history.size[run], left)
        found[place, LENGTH:-2] = wait_vector(history.size[wait], history.limit[wait] / HOUR)
        found[place, -2:] = (int(now // DAY) + 3) % 7, (now % DAY) // HOUR
    return found


def trees(
    rows: NDArray[np.float32], truth: Floats, later: NDArray[np.float32], choice: Choice, *, seed: int = 0
) -> Floats:
    """Return what trees for each hour predict of later moments, in nodes, shape (moments, output steps).

    Args:
        rows: features to learn from.
        truth: least free nodes of the hours after them, shape (moments, hours).
        later: features of other moments.
        choice: its loss and output steps count.
        seed: of the trees.

    Raises:
        UsageError: the loss is MAPE, which the document leaves out for trees.
    """
    if choice.loss not in _OBJECTIVES:
        raise UsageError("trees are not trained with MAPE (Table 3.2)", hint="accepted: rmse, rmsle, huber")
    settings = {"max_depth": 6, "eta": 0.1, "max_bin": 64, "objective": _OBJECTIVES[choice.loss]}
    if choice.loss == "huber":
        settings["huber_slope"] = _HUBER
    hours = range(choice.output_steps)
    found = [
        boosting.fit(rows, truth[:, hour], settings=settings, rounds=80, seed=seed).score(later)
        for hour in hours
    ]
    return np.maximum(np.stack(found, axis=1), 0.0)


def recurrent(
    rows: NDArray[np.float32],
    truth: Floats,
    known: Ints,
    asked: Ints,
    choice: Choice,
    capacity: float,
    *,
    seed: int = 0,
    epochs: int = 8,
    advance: Callable[[float], None] = lambda steps: None,
) -> Floats:
    """Return what an LSTM predicts of moments, in nodes, shape (moments, output steps).

    Args:
        rows: features of all moments in order, without a gap.
        truth: least free nodes of the hours after them.
        known: places of moments to learn from.
        asked: places of moments to predict.
        choice: of Table 3.2.
        capacity: nodes: features and outcomes are taken as shares of it.
        seed: of the first weights and of the order of samples.
        epochs: times that every sample is seen.
        advance: called for each of them.
    """
    scale = np.append(np.full(2 * LENGTH, capacity), [7.0, 24.0])
    inputs = (rows / scale).astype(np.float64)
    inputs[:, LENGTH:-2] = np.minimum(inputs[:, LENGTH:-2], 4.0)
    back = np.arange(1 - choice.input_steps, 1)

    def windows(places: Ints) -> Floats:
        return np.asarray(inputs[np.maximum(places[:, None] + back, 0)], dtype=np.float64)

    target = truth[known, : choice.output_steps] / capacity
    network = lstm.Network.new(inputs.shape[1], 32, choice.output_steps, seed)
    trained = lstm.train(
        network,
        windows(known),
        target,
        choice.loss,
        choice.optimizer,
        seed=seed,
        epochs=epochs,
        advance=advance,
    )
    return np.asarray(np.clip(trained.predict(windows(asked)), 0.0, 1.0) * capacity)
