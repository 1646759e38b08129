"""The predictor as the document prints it: vectors of the queues, boosted trees with Huber loss, Table 3.2.

Source: dissertation "Adaptive Workflow Scheduling and Fault Tolerance to Manage HPC Resources", 2026, section
    3.4.
What is not printed and chosen here: the depth and number of trees. The LSTM beside them is not here: it was
    the worse one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.prediction.free_nodes import boosting
from whesl.prediction.free_nodes.job_history import DAY, HOUR
from whesl.prediction.free_nodes.rollforward import state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.prediction.free_nodes.job_history import Floats, Jobs

LENGTH = 64  # hours: the longest job that Lassen's records hold
OBJECTIVES = {"rmse": "reg:squarederror", "rmsle": "reg:squaredlogerror", "huber": "reg:pseudohubererror"}
_HUBER = 50.0  # nodes beyond which the loss is linear
_NO_WAIT = np.zeros((0, 2))


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
    rows: NDArray[np.float32], truth: Floats, later: NDArray[np.float32], loss: str, *, seed: int = 0
) -> Floats:
    """Return what trees for each hour predict of later moments, in nodes, shape (moments, hours).

    Args:
        rows: features to learn from.
        truth: least free nodes of the hours after them, shape (moments, hours).
        later: features of other moments.
        loss: one of ``OBJECTIVES``.
        seed: of the trees.
    """
    settings = {"max_depth": 6, "eta": 0.1, "max_bin": 64, "objective": OBJECTIVES[loss]}
    if loss == "huber":
        settings["huber_slope"] = _HUBER
    found = [
        boosting.fit(rows, truth[:, hour], settings=settings, rounds=80, seed=seed).score(later)
        for hour in range(truth.shape[1])
    ]
    return np.maximum(np.stack(found, axis=1), 0.0)
