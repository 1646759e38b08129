"""The published predictor: vectors of the running and waiting jobs, boosted trees with Huber loss, Table 3.2.

Source: dissertation "Adaptive Workflow Scheduling and Fault Tolerance to Manage HPC Resources", 2026,
section 3.4. The source does not give the depth and number of trees, which are chosen here. The source's LSTM
is left out, since it was worse than the trees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.free_nodes import boosting
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Floats, Jobs
from whesl.prediction.free_nodes.rollforward import state

LENGTH = 64  # length of the vectors in hours: the longest job in Lassen's records
OBJECTIVES = {"rmse": "reg:squarederror", "rmsle": "reg:squaredlogerror", "huber": "reg:pseudohubererror"}
_HUBER = 50.0  # error in nodes beyond which the loss is linear
_NO_WAIT = np.zeros((0, 2))


def run_vector(nodes: Floats, hours: Floats) -> Floats:
    """Return the number of nodes that running jobs free within 1, 2, ... 64 hours (cumulative), shape (64,).

    Args:
        nodes: number of nodes of each job.
        hours: hours of each job until its limit, rounded up.
    """
    return np.cumsum(wait_vector(nodes, hours))


def wait_vector(nodes: Floats, hours: Floats) -> Floats:
    """Return the number of nodes that waiting jobs ask for, by hours of run time from 1 to 64, shape (64,).

    Args:
        nodes: number of nodes of each job.
        hours: hours that each job asks for, rounded up; more than 64 count as 64.
    """
    place = np.clip(np.ceil(np.asarray(hours) - 1e-9), 1, LENGTH).astype(np.int64) - 1
    return np.asarray(np.bincount(place, nodes, LENGTH)[:LENGTH], dtype=np.float64)


def features(history: Jobs, times: Floats, capacity: float) -> NDArray[np.float32]:
    """Return run vector, wait vector, day of the week and hour of the day at moments, shape (moments, 130).

    Args:
        history: the job history, usually that of ``job_history.replayed``.
        times: moments in seconds.
        capacity: number of nodes.
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
    """Return the predictions of trees for later moments, in nodes, shape (moments, hours).

    Args:
        rows: features of the training moments.
        truth: least number of free nodes in the hours after each training moment, shape (moments, hours).
        later: features of the moments to predict.
        loss: one of ``OBJECTIVES``.
        seed: seed of the trees' random choices.
    """
    settings = {"max_depth": 6, "eta": 0.1, "max_bin": 64, "objective": OBJECTIVES[loss]}
    if loss == "huber":
        settings["huber_slope"] = _HUBER
    found = [
        boosting.fit(rows, truth[:, hour], settings=settings, rounds=80, seed=seed).score(later)
        for hour in range(truth.shape[1])
    ]
    return np.maximum(np.stack(found, axis=1), 0.0)
