"""Courses that a plan may take: free nodes and run times are drawn, the scaler's rules are followed.

Tasks are divisible here, and reach the next stage at once when they are done. What tasks as a whole add to
the end is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.cloud.core.pace import critical_path
from whesl.cloud.core.records import HOUR, FreeForecast, PriceList, Profile, Settings
from whesl.cloud.core.scaler import LATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.cloud.core.events import ScalerState
    from whesl.cloud.core.pace import Pace

# How much of an hour's rank among its quantiles carries over to the next hour (chosen).
PERSISTENCE = 0.9
# Standard deviation of a mean run time's logarithm: of a measured one beyond its sampling error, of one that
# the workflow states, of one that was estimated otherwise (chosen).
MEASURED, STATED, GUESSED = 0.02, 0.10, 0.30
# What tasks as a whole add to the end of a flow, in units of the pipeline's length: mean, standard deviation.
# Measured once on simulated cases; docs/cloud/evaluation.md says how far the probabilities then hold.
BIAS, SPREAD = -0.35, 0.35
_STEP = 300.0


class Courses(NamedTuple):
    """What became of a plan in each course.

    Attributes:
        finished: when the last task was done, seconds after the start; infinite if not by the deadline.
        cost: of the instances, files and transfers.
        backup: the backup's part of it.
        cluster_hours, cloud_hours: node-hours.
    """

    finished: NDArray[np.float64]
    cost: NDArray[np.float64]
    backup: NDArray[np.float64]
    cluster_hours: NDArray[np.float64]
    cloud_hours: NDArray[np.float64]


class Draws(NamedTuple):
    """What is not known beforehand.

    Attributes:
        ranks: of the free nodes, shape (courses, hours).
        factors: of the run times, shape (courses, stages), the same on both sides.
        lateness: of the last task in units of ``SPREAD``, normal, shape (courses,).
    """

    ranks: NDArray[np.float64]
    factors: NDArray[np.float64]
    lateness: NDArray[np.float64]


def draws(paces: tuple[Pace, ...], profile: Profile, hours: int, courses: int, seed: int) -> Draws:
    """Return what is drawn for courses; the same for every plan that is compared.

    Args:
        paces: of the stages.
        profile: which of its entries are estimates.
        hours: of the longest plan.
        courses: how many.
        seed: of all draws.
    """
    source = np.random.default_rng(seed)
    normal = np.empty((courses, hours))
    normal[:, 0] = source.standard_normal(courses)
    fresh = np.sqrt(1 - PERSISTENCE**2)
    for hour in range(1, hours):
        normal[:, hour] = PERSISTENCE * normal[:, hour - 1] + fresh * source.standard_normal(courses)
    spread = np.array([_spread(pace, profile) for pace in paces])
    factors = np.exp(spread * source.standard_normal((courses, len(paces))))
    return Draws(_normal_rank(normal), factors, source.standard_normal(courses))


def _spread(pace: Pace, profile: Profile) -> float:
    """Return the standard deviation of the logarithm of a stage's mean run time."""
    entries = [one for one in profile.measurements if one.stage == pace.stage.name]
    measured = [one for one in entries if one.count]
    if measured:
        best = max(measured, key=lambda one: one.count)
        relative = best.deviation / max(best.seconds, 1e-9)
        return float(np.hypot(MEASURED, relative / np.sqrt(best.count)))
    return STATED if pace.stage.seconds is not None else GUESSED


def _normal_rank(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal distribution's function (Abramowitz and Stegun 26.2.17, error below 7.5e-8)."""
    size = np.abs(value)
    part = 1 / (1 + 0.2316419 * size)
    series = part * (
        0.319381530
        + part * (-0.356563782 + part * (1.781477937 + part * (-1.821255978 + part * 1.330274429)))
    )
    tail = np.exp(-(size**2) / 2) / np.sqrt(2 * np.pi) * series
    return np.asarray(np.where(value >= 0, 1 - tail, tail), dtype=np.float64)


def free_nodes(forecast: FreeForecast, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return free nodes at ranks of their distribution, linear between the quantiles.

    Beyond the outer quantiles the distribution goes on as far again as to its middle, within 0 and the
    cluster's nodes; hours behind the last one are as the last.

    Args:
        forecast: the quantiles.
        ranks: shape (courses, hours), or one rank for every hour: shape (1, hours).
    """
    found = np.empty_like(ranks)
    levels = np.array(forecast.levels)
    for hour in range(ranks.shape[1]):
        row = np.array(forecast.nodes[min(hour, len(forecast.nodes) - 1)], dtype=np.float64)
        low = max(0.0, row[0] - (row[len(row) // 2] - row[0]))
        high = min(float(forecast.capacity), row[-1] + (row[-1] - row[len(row) // 2]))
        found[:, hour] = np.interp(ranks[:, hour], [0, *levels, 1], [low, *row, high])
    return np.floor(np.clip(found, 0, forecast.capacity))


def at_quantile(forecast: FreeForecast, quantile: float, hours: int) -> tuple[float, ...]:
    """Return the free nodes of each hour at one quantile."""
    found = free_nodes(forecast, np.full((1, hours), quantile))
    return tuple(float(nodes) for nodes in found[0])


class _Stages:
    """The tables of a scaler's state as arrays, one column for each stage."""

    def __init__(self, state: ScalerState, paces: tuple[Pace, ...]) -> None:
        tables = state.tables
        self.tasks = np.array([table.tasks for table in tables], dtype=np.float64)
        self.hpc = np.array([table.hpc or np.inf for table in tables])
        self.cloud = np.array([table.cloud or np.inf for table in tables])
        self.price = np.array([pace.platform.price if pace.platform else 0.0 for pace in paces])
        self.end = np.array([table.end - state.start for table in tables])
        self.delay = np.array([pace.platform.start if pace.platform else 0.0 for pace in paces])
        self.limit = np.array([float(table.limit) for table in tables])
        self.nodes = np.array([table.nodes for table in tables], dtype=np.float64)
        self.instances = np.array([table.instances for table in tables], dtype=np.float64)
        self.planned = np.array([table.planned for table in tables], dtype=np.float64)
        # Each stage's parents, itself in place of none.
        most = max(1, *(len(table.parents) for table in tables))
        self.parents = np.tile(np.arange(len(tables))[:, None], (1, most))
        self.barrier = np.zeros((len(tables), most), dtype=bool)
        self.fed = np.zeros((len(tables), most), dtype=bool)
        for at, table in enumerate(tables):
            for number, (parent, barrier) in enumerate(table.parents):
                self.parents[at, number] = parent
                self.barrier[at, number] = barrier
                self.fed[at, number] = True

    def reach(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of each stage that its parents feed, from the share of each stage that is done."""
        there = share[:, self.parents]
        there = np.where(self.barrier, there >= 1 - 1e-9, there)
        return np.asarray(np.where(self.fed, there, 1.0).min(axis=2))


def courses(
    state: ScalerState,
    paces: tuple[Pace, ...],
    prices: PriceList,
    free: NDArray[np.float64],
    drawn: Draws,
) -> Courses:
    """Return what becomes of a plan in each course.

    Args:
        state: the scaler's, before its first event.
        paces: of the stages.
        prices: of the cloud's files and transfers.
        free: nodes of each course and hour.
        drawn: run times and lateness.
    """
    stages, settings = _Stages(state, paces), state.settings
    count = len(free)
    length = state.deadline - state.start
    factors = drawn.factors
    clouded = np.zeros((count, len(paces)))
    hpc, cloud = stages.hpc * factors, stages.cloud * factors
    share = np.zeros((count, len(paces)))
    finished = np.full((count, len(paces)), np.inf)
    cost, backup_cost, cluster, cloudy = (np.zeros(count) for _ in range(4))
    scheduled = np.zeros_like(share)
    for hour in range(int(np.ceil(length / HOUR - 1e-9))):
        begin = hour * HOUR
        room = min(HOUR, length - begin)
        # After the first hour the scaler counts on the run times that it has seen.
        known = (hpc, cloud) if hour else (stages.hpc + 0 * factors, stages.cloud + 0 * factors)
        late = np.maximum(stages.end - begin, LATE * settings.short)
        rooms = np.maximum(60.0, np.minimum(room, late))
        asked, wanted, backup = _asked(stages, settings, share, known, hour, rooms)
        granted = np.minimum(asked, np.maximum(0, free[:, [hour]] - (np.cumsum(asked, axis=1) - asked)))
        fresh = np.maximum(0, wanted - scheduled)
        scheduled = wanted
        now = begin
        while now < begin + room - 1e-6:
            span = min(_STEP, begin + room - now)
            left = (1 - share) * stages.tasks
            # What is idle at the end of a stage is given back, the backup first.
            useful = np.maximum(0, np.ceil(left - 1e-6) - granted)
            own = np.minimum(scheduled, useful)
            spare = np.minimum(backup, np.maximum(0, useful - own))
            # New instances and the backup start late.
            lost = np.minimum(stages.delay, span) if now == begin else 0.0
            work = (own - np.minimum(fresh, own)) * span + np.minimum(fresh, own) * (span - lost)
            work += spare * (span - lost)
            there = work / cloud
            done = granted * span / hpc + there
            allowed = np.maximum(0.0, stages.reach(share) - share) * stages.tasks
            step = np.minimum(done, allowed)
            clouded += step * np.divide(there, done, out=np.zeros_like(done), where=done > 0)
            share = np.minimum(1.0, share + step / stages.tasks)
            over = (share >= 1 - 1e-9) & np.isinf(finished)
            part = np.divide(step, done, out=np.ones_like(done), where=done > 0)
            finished[over] = now + span * part[over]
            paid = (own + spare) * span / HOUR
            cost += (paid * stages.price).sum(axis=1)
            backup_cost += (spare * stages.price).sum(axis=1) * span / HOUR
            cloudy += paid.sum(axis=1)
            cluster += (granted * (left > 0)).sum(axis=1) * span / HOUR
            backup = np.minimum(backup, np.ceil(settings.backup * (asked - granted)))
            now += span
        if (share >= 1 - 1e-9).all():
            break
    pipeline = critical_path(paces)[0] + settings.short
    last = finished.max(axis=1) + pipeline * (BIAS + SPREAD * drawn.lateness)
    cost += _data(stages, paces, prices, clouded)
    return Courses(last, cost, backup_cost, cluster, cloudy)


def _data(
    stages: _Stages, paces: tuple[Pace, ...], prices: PriceList, clouded: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what files and transfers cost in each course, from its tasks in the cloud of each stage."""
    read = np.array([pace.stage.input_bytes for pace in paces]) / 1e9
    written = np.array([pace.stage.output_bytes for pace in paces]) / 1e9
    out = prices.leaving + prices.read
    found = clouded @ (read * prices.read + written * prices.write)
    fed = {int(parent) for parent in stages.parents[stages.fed]}
    share = clouded / stages.tasks
    for at, pace in enumerate(paces):
        if at not in fed:
            found += clouded[:, at] * written[at] * out
        parents = stages.parents[at][stages.fed[at]]
        for parent in parents if len(parents) else (-1,):
            before = share[:, parent] if parent >= 0 else 0.0
            there = (share[:, at] - before) * pace.stage.tasks * read[at] / max(1, len(parents))
            found += np.where(there > 0, there * prices.write, -there * out)
    return np.asarray(found, dtype=np.float64)


def _asked(
    stages: _Stages,
    settings: Settings,
    share: NDArray[np.float64],
    known: tuple[NDArray[np.float64], NDArray[np.float64]],
    hour: int,
    room: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return what the scaler asks for in an hour: nodes, instances by the schedule, instances as backup."""
    hours, (hpc, cloud) = stages.nodes.shape[1], known
    done = share * stages.tasks
    planned = stages.planned[:, hour] if hour < hours else stages.tasks
    before = stages.planned[:, min(hour, hours) - 1] if hour else np.zeros(len(stages.tasks))
    need = np.broadcast_to(planned - before, done.shape) if not settings.rebalance else planned - done
    reached = share.copy()
    for stage in range(len(stages.tasks)):
        fed = np.ones(len(share))
        for number in np.flatnonzero(stages.fed[stage]):
            there = reached[:, stages.parents[stage, number]]
            fed = np.minimum(fed, there >= 1 - 1e-9 if stages.barrier[stage, number] else there)
        most = np.maximum(0.0, np.minimum(1.0, fed) * stages.tasks[stage] - done[:, stage])
        reached[:, stage] += np.clip(need[:, stage], 0, most) / stages.tasks[stage]
    need = (reached - share) * stages.tasks
    left = np.maximum(0.0, stages.tasks - done)
    asked = np.minimum(stages.nodes[:, hour] if hour < hours else 0.0, np.ceil(left - 1e-6))
    alone = np.isinf(stages.cloud)
    asked = np.where(alone, np.maximum(asked, np.ceil(need * hpc / room - 1e-6)), asked)
    asked = np.where(np.isinf(stages.hpc), 0.0, asked)
    if settings.rebalance:
        rest = need - asked * room / hpc
        instances = np.ceil(np.where(alone, 0.0, rest) * np.where(alone, 0.0, cloud) / room - 1e-9)
    else:
        instances = np.broadcast_to(stages.instances[:, hour] if hour < hours else 0.0, done.shape)
    instances = np.clip(instances, 0, stages.limit)
    backup = np.where(alone, 0.0, np.ceil(settings.backup * asked - 1e-9))
    return asked, instances, np.minimum(backup, stages.limit - instances)
