"""Evaluation of free-node forecasts, month by month; resumable.

Rolling origin: for each of the last months the model is fitted to the data known before the month began, and
forecasts each hour of the month. The forecast is compared with persistence (the present number of free
nodes), and with the median and the median by hour of the day of the training data; the tables also show the
least number of free nodes in the last hour. Confidence intervals come from resampling blocks of three days.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.files.whole_file import whole
from whesl.lab.execution.progress_interface import Progress
from whesl.model.errors import UsageError
from whesl.prediction.free_nodes import conformal, features, forecast, forecast_ensemble, published_predictor
from whesl.prediction.free_nodes.forecast import Learnable
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Jobs
from whesl.prediction.free_nodes.rollforward import HOURS

Floats = NDArray[np.float64]

COMPARED = ("persistence", "median", "climatology")
ALL = ("forecast", *COMPARED, "last hour", "rolled forward")
TREES = "document's trees"
SHOWN = (1, 2, 3, 6, 12, 24)  # hours ahead that the table shows
_MOST = 3000  # largest number of moments that the document's trees are fitted to
_ENOUGH = 120  # least hours of data of a month that is forecast
_BLOCK = 3 * DAY
_RESAMPLED = 1000
_VERSION = "4"  # version of the cached files; files of other versions are computed again


class Fold(NamedTuple):
    """The forecasts of one month and their errors.

    Attributes:
        name: the month, ``2012-07``.
        time: moments of the forecasts in seconds, shape (moments,).
        methods: names of the methods: ``ALL``, and ``TREES`` where the user requested the document's trees.
        error: absolute errors of each method as shares of the capacity, shape (methods, moments, hours).
        inside: whether the 80 % interval contained the outcome, shape (moments, hours).
        capacity: capacity at each moment, shape (moments,).
        seconds: duration of the fit, in seconds.
    """

    name: str
    time: Floats
    methods: tuple[str, ...]
    error: Floats
    inside: NDArray[np.bool_]
    capacity: Floats
    seconds: float


class Printed(NamedTuple):
    """The input of the document's trees.

    Attributes:
        values: the document's features at all moments, shape (moments, features).
        loss: name of the trees' loss function.
    """

    values: NDArray[np.float32]
    loss: str


class Row(NamedTuple):
    """The scores of one hour ahead over all months.

    Attributes:
        hour: hours ahead, from 1.
        error: mean absolute error by method, in nodes of the log.
        skill: 1 - the forecast's error / the least error of ``COMPARED``, from -inf to 1.
        low: lower end of the skill's 95 % confidence interval.
        high: upper end of the skill's 95 % confidence interval.
        covered: share of the outcomes inside the 80 % interval.
    """

    hour: int
    error: dict[str, float]
    skill: float
    low: float
    high: float
    covered: float


def moments(
    history: Jobs,
    closed: Floats,
    *,
    capacity: float | None,
    draws: int,
    seed: int,
    every: int,
    keep: Path | None,
    progress: Progress,
) -> Learnable:
    """Return all moments of a history, from an earlier run's file if there is one.

    Args:
        history: the jobs.
        closed: windows of announced maintenance.
        capacity: capacity of a machine that never fails; None to derive the capacity over time from the jobs.
        draws: number of simulations of the queue from each moment.
        seed: random seed of the simulations.
        every: hours between two moments.
        keep: a directory for computed arrays; None to keep nothing.
        progress: progress display.
    """

    def made() -> dict[str, NDArray[Any]]:
        with progress.stage("roll the queue forward", 1) as advance:
            found = forecast.learnable(
                history,
                closed,
                capacity=capacity,
                draws=draws,
                seed=seed,
                every=every,
                begin=lambda about, steps: lambda done: advance(done / steps),
            )
        rows = {name: getattr(found.rows, name) for name in ("time", "capacity", "free", "values")}
        return rows | {"truth": found.truth}

    about = f"{_VERSION} {capacity} {draws} {seed} {every} {features.COLUMNS}"
    of = (history.submit, history.start, history.end, history.size, history.limit, closed)
    parts = _kept(keep, "moments", about, of, made)
    truth = parts.pop("truth")
    return forecast.Learnable(features.Rows(**parts), truth)


def printed(history: Jobs, known: Learnable, loss: str, *, keep: Path | None, progress: Progress) -> Printed:
    """Return the document's features of all moments, from an earlier run's file if there is one.

    Args:
        history: the jobs.
        known: all moments of the history, an hour apart.
        loss: name of the trees' loss function.
        keep: the directory of ``moments``; None to keep nothing.
        progress: progress display.
    """
    nodes = float(known.rows.capacity.max())

    def made() -> dict[str, NDArray[Any]]:
        with progress.stage("the document's features", len(known.rows.time)) as advance:
            parts = []
            for times in np.array_split(known.rows.time, -(-len(known.rows.time) // 100)):
                parts.append(published_predictor.features(history, times, nodes))
                advance(len(times))
        return {"values": np.concatenate(parts)}

    of = (known.rows.time, history.submit, history.start, history.end, history.size, history.limit)
    return Printed(_kept(keep, "printed", f"{_VERSION} {nodes}", of, made)["values"], loss)


def months(known: Learnable, count: int, until: float = np.inf) -> list[tuple[str, float, float]]:
    """Return the last months that can be forecast: each month's name, and its begin and end in seconds.

    Args:
        known: all moments.
        count: largest number of months.
        until: latest end of a month, in seconds.

    Raises:
        UsageError: no month has enough days of data before it.
    """
    times = known.rows.time
    names = [datetime.fromtimestamp(one, timezone.utc).strftime("%Y-%m") for one in times.tolist()]
    found = []
    for name in sorted(set(names)):
        year, month = int(name[:4]), int(name[5:])
        begin = datetime(year, month, 1, tzinfo=timezone.utc).timestamp()
        finish = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=timezone.utc).timestamp()
        own = int(((times >= begin) & (times < finish)).sum())
        step = float(np.median(np.diff(times))) / HOUR if len(times) > 1 else 1.0
        before = int((times < begin - HOURS * HOUR).sum()) * step / 24
        if own * step >= _ENOUGH and before >= 2 * forecast_ensemble.LEAST_DAYS and finish <= until:
            found.append((name, begin, finish))
    if not found:
        raise UsageError(
            f"no month has {2 * forecast_ensemble.LEAST_DAYS} days before it to learn from",
            hint="give a longer job log; an evaluation needs three months, better a year",
        )
    return found[-count:]


def fold(
    known: Learnable,
    month: tuple[str, float, float],
    *,
    seed: int,
    keep: Path | None,
    beside: Printed | None = None,
    advance: Callable[[float], None] = lambda steps: None,
) -> Fold:
    """Fit the model to the time before a month, and forecast the month; reuse an earlier run's file.

    Args:
        known: all moments.
        month: one of ``months``.
        seed: random seed of the trees.
        keep: the directory of ``moments``; None to keep nothing.
        beside: input of the document's trees, to score them also; None to leave them out.
        advance: called with the finished share of the month.
    """
    name, begin, finish = month

    def made() -> dict[str, NDArray[Any]]:
        times = known.rows.time
        past, then = times < begin - HOURS * HOUR, (times >= begin) & (times < finish)
        before, asked = known.select(past), known.select(then)
        work = 4 if beside is not None else 3
        started = time.monotonic()
        learned = forecast_ensemble.fit(
            before.rows, before.truth, seed=seed, advance=lambda steps: advance(steps / work)
        )
        parts = {"seconds": np.array(time.monotonic() - started)} | _scored(learned, asked)
        if beside is not None:
            said = _printed(known, beside, np.flatnonzero(past), np.flatnonzero(then), seed)
            parts["error"] = np.concatenate([parts["error"], np.abs(said - asked.truth)])
            advance(1 / work)
        return parts

    about = f"{_VERSION} {name} {seed} {beside.loss if beside is not None else ''}"
    parts = _kept(keep, f"month-{name}", about, (known.truth, known.rows.values), made, advance)
    methods = ALL + ((TREES,) if beside is not None else ())
    return Fold(name, methods=methods, seconds=float(parts.pop("seconds")), **parts)


def _scored(learned: forecast_ensemble.Model, asked: Learnable) -> dict[str, NDArray[Any]]:
    rows, truth = asked.rows, asked.truth
    quantiles = forecast_ensemble.predict(learned, rows)
    low, _, high = conformal.rolling(learned.scores, quantiles, rows.time, truth)
    inside = (truth >= low - 1e-9) & (truth <= high + 1e-9)
    compared = forecast_ensemble.baselines(learned, rows)
    rolled = rows.values[:, :, features.COLUMNS.index("rolled forward, 50%")].astype(np.float64)
    said = {"forecast": quantiles[1], "rolled forward": rolled} | compared
    error = np.stack([np.abs(said[method] - truth) for method in ALL])
    return {"time": rows.time, "error": error, "inside": inside, "capacity": rows.capacity}


def _printed(
    known: Learnable, beside: Printed, past: NDArray[np.int64], then: NDArray[np.int64], seed: int
) -> Floats:
    """Return the forecasts of the document's trees as shares of the capacity, shape (1, moments, hours)."""
    nodes = known.truth * known.rows.capacity[:, None]
    past = past[:: -(-len(past) // _MOST)]
    values = beside.values
    said = published_predictor.trees(values[past], nodes[past], values[then], beside.loss, seed=seed)
    return (said / known.rows.capacity[then][:, None])[None]


def summary(folds: list[Fold], *, unit: float = 1.0, seed: int = 0) -> list[Row]:
    """Return the scores of each hour ahead over all months.

    Args:
        folds: the months.
        unit: processors of a node.
        seed: random seed of the bootstrap.
    """
    nodes = np.concatenate([one.capacity for one in folds]) / unit
    error = np.concatenate([one.error for one in folds], axis=1) * nodes[:, None]
    inside = np.concatenate([one.inside for one in folds])
    blocks = np.concatenate([one.time for one in folds]) // _BLOCK
    _, number = np.unique(blocks, return_inverse=True)
    number = number.reshape(-1)
    count = int(number.max()) + 1
    sums = np.zeros((count, *error.shape[::2]))
    np.add.at(sums, number, error.transpose(1, 0, 2))
    sizes = np.bincount(number, minlength=count)
    generator = np.random.default_rng(seed)
    picked = generator.integers(count, size=(_RESAMPLED, count))
    means = sums[picked].sum(axis=1) / sizes[picked].sum(axis=1)[:, None, None]
    methods = folds[0].methods
    places = [methods.index(method) for method in COMPARED]
    again = 1.0 - means[:, 0] / np.maximum(means[:, places].min(axis=1), 1e-12)
    found = []
    for hour in range(HOURS):
        mean = {method: float(error[place, :, hour].mean()) for place, method in enumerate(methods)}
        best = min(mean[method] for method in COMPARED)
        low, high = np.quantile(again[:, hour], (0.025, 0.975))
        skill = 1.0 - mean["forecast"] / best if best > 0 else 0.0
        found.append(Row(hour + 1, mean, skill, float(low), float(high), float(inside[:, hour].mean())))
    return found


def _kept(
    keep: Path | None,
    name: str,
    about: str,
    of: Sequence[NDArray[Any]],
    made: Callable[[], dict[str, NDArray[Any]]],
    advance: Callable[[float], None] = lambda steps: None,
) -> dict[str, NDArray[Any]]:
    """Return the arrays that ``made`` computes from ``of``, or read them from an earlier run's file."""
    if keep is None:
        return made()
    own = hashlib.sha256(about.encode())
    for one in of:
        own.update(np.ascontiguousarray(one).tobytes())
    path = keep / f"{name}-{own.hexdigest()[:16]}.npz"
    if path.exists():
        advance(1)
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    parts = made()
    with whole(path) as file:
        np.savez(file, allow_pickle=False, **parts)
    return parts
