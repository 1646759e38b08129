"""Published forecasts, kept in a file beside the model: their outcomes calibrate later intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.failures import predictor_files
from whesl.prediction.free_nodes import conformal
from whesl.prediction.free_nodes.conformal import COVERAGE, Scores
from whesl.prediction.free_nodes.hourly_free_node_history import least_after
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Floats, Jobs
from whesl.prediction.free_nodes.rollforward import HOURS

_IS = "forecasts of free nodes that were given"
_KEPT = 60 * DAY
_TABLES = ("low", "high", "from_", "to", "truth")


class Forecast(NamedTuple):
    """Quantiles of the least number of free nodes in each of the next hours.

    Attributes:
        now: the time of the forecast, when hour 1 begins, in seconds.
        capacity: number of nodes or processors, whichever the job log counts.
        levels: levels of the quantiles, from 0 to 1.
        nodes: quantiles of the number of free nodes, ascending in each row, shape (hours, levels).
        running: number of running jobs.
        waiting: number of jobs that wait for nodes.
        held: number of jobs that wait for another reason than nodes.
        shares: quantiles before calibration, as shares of the capacity, shape (levels, hours).
    """

    now: float
    capacity: float
    levels: tuple[float, ...]
    nodes: Floats
    running: int
    waiting: int
    held: int
    shares: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Given:
    """Published forecasts in order of time, with their outcomes.

    Attributes:
        time: when each forecast was made, ascending, in seconds, shape (forecasts,).
        capacity: number of nodes as known at each forecast, shape (forecasts,).
        low: lower ends before calibration, as shares of the capacity, shape (forecasts, hours).
        high: upper ends before calibration, like ``low``.
        from_: published lower ends, like ``low``.
        to: published upper ends, like ``low``.
        truth: outcomes, like ``low``; NaN for unknown outcomes.
        aim: target share of outcomes in the next intervals, shape (hours,).
    """

    time: Floats
    capacity: Floats
    low: Floats
    high: Floats
    from_: Floats
    to: Floats
    truth: Floats
    aim: Floats

    @classmethod
    def none(cls) -> Given:
        """Return an empty collection of forecasts."""
        table = np.zeros((0, HOURS))
        return cls(
            np.zeros(0), np.zeros(0), table, table, table, table, table, np.full(HOURS, float(COVERAGE))
        )

    def scores(self, learned: Scores, now: float) -> Scores:
        """Return the scores of the training and of later forecasts whose outcomes are known at a time.

        Args:
            learned: scores that the training has left.
            now: the time in seconds.
        """
        last = learned.time[-1] if len(learned.time) else -np.inf
        use = ~np.isnan(self.truth).any(axis=1) & (self.time > last)
        own = Scores(self.time[use], self.low[use], self.high[use], self.truth[use])
        return learned.joined(own).known(now)

    def learned(self, history: Jobs, now: float) -> Given:
        """Return these forecasts with the outcomes known at a time, and with the updated target share.

        Args:
            history: the job history; nothing after ``now`` is used.
            now: the current time, in seconds.
        """
        past = history.until(now)
        truth, new = self.truth.copy(), []
        for place in np.flatnonzero(np.isnan(truth).any(axis=1) & (self.time + HOURS * HOUR <= now)):
            begin, finish = past.covered[:, 0], past.covered[:, 1]
            first, last = self.time[place], self.time[place] + HOURS * HOUR
            if ((begin <= first) & (finish >= last)).any():
                truth[place] = least_after(past, first, self.capacity[place]) / self.capacity[place]
                new.append(place)
        if not new:
            return self
        held = (truth[new] >= self.from_[new] - 1e-9) & (truth[new] <= self.to[new] + 1e-9)
        before = self.time[new[0] - 1] if new[0] else self.time[new[0]] - HOUR
        aim = conformal.aimed(self.aim, np.append(before, self.time[new]), held)
        return replace(self, truth=truth, aim=aim)

    def added(self, made: Forecast) -> Given:
        """Return these forecasts and one more, unless it is not the latest; old forecasts are dropped."""
        if len(self.time) and made.now <= self.time[-1]:
            return self
        keep = self.time > made.now - _KEPT
        ends = made.nodes[:, [0, -1]].T / made.capacity
        more = (made.shares[0], made.shares[-1], *ends, np.full(HOURS, np.nan))
        tables = {
            name: np.vstack([getattr(self, name)[keep], row]) for name, row in zip(_TABLES, more, strict=True)
        }
        time = np.append(self.time[keep], made.now)
        return Given(time, np.append(self.capacity[keep], made.capacity), **tables, aim=self.aim)


def save(given: Given, path: Path) -> None:
    """Write published forecasts to a file.

    Args:
        given: the forecasts.
        path: the file, usually ``.npz``.

    Raises:
        WheslError: the file cannot be written.
    """
    arrays: dict[str, NDArray[Any]] = {name: getattr(given, name) for name in Given.__slots__}
    predictor_files.write(path, {"is": _IS}, arrays)


def load(path: Path) -> Given:
    """Read published forecasts from a file.

    Args:
        path: the file; a missing file gives no forecasts.

    Raises:
        WheslError: the file cannot be read, or does not hold forecasts.
    """
    if not path.exists():
        return Given.none()
    return predictor_files.read(
        path, _IS, "remove it: calibration then begins with what was trained", _restored
    )


def _restored(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Given:
    if meta.get("is") != _IS:
        raise ValueError("it holds something else")
    found = Given(**{name: arrays[name] for name in Given.__slots__})
    count = len(found.time)
    shapes = {"time": (count,), "capacity": (count,), "aim": (HOURS,)}
    for name in Given.__slots__:
        values = getattr(found, name)
        if values.dtype != np.float64 or values.shape != shapes.get(name, (count, HOURS)):
            raise ValueError(f"{name} has another form")
        if name != "truth" and not np.isfinite(values).all():
            raise ValueError(f"{name} holds what is no number")
    if (np.diff(found.time) <= 0).any() or (found.capacity <= 0).any():
        raise ValueError("its times go back, or a capacity is not above 0")
    return found
