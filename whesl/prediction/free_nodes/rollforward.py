"""Simulates the scheduler from the known queue on, many times, with random run times and arrivals.

The queue is ordered by submission or by size, since logs do not tell a site's priorities.
Source of the Latin hypercube sampling: M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of three
methods for selecting values of input variables in the analysis of output from a computer code", Technometrics
21, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whesl.prediction.free_nodes import runtimes
from whesl.prediction.free_nodes.backfill_simulation import held, simulate
from whesl.prediction.free_nodes.job_history import DAY, HOUR, Floats, Ints, Jobs
from whesl.prediction.free_nodes.runtimes import Past
from whesl.prediction.numba_jit import jit

HOURS = 24
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
_JUST = 300.0  # least waiting time in seconds of a job that counts as held
_BACK = 112  # number of past days from which arrivals are drawn
_LATEST = 28  # number of past days whose same weekdays make half of all draws
_WEEKDAY = 4.0  # factor by which a day of the same weekday is likelier than another day
_RELEASED = 12 * HOUR  # mean time in seconds until a held job is released


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """The jobs that a resource manager knows at a moment.

    Attributes:
        now: the current time, in seconds.
        running: indices of running jobs in the history.
        waiting: indices of waiting jobs, in the order of the queue, without held jobs.
        held: indices of held jobs: another reason than a lack of nodes keeps them from starting.
    """

    now: float
    running: Ints
    waiting: Ints
    held: Ints


class Rolled(NamedTuple):
    """The result of rolling a queue forward.

    Attributes:
        least: least number of free nodes in each of the next hours, for each draw; shape (draws, hours).
        still: mean number of nodes whose running jobs still run at the begin of each hour, shape (hours,).
    """

    least: Floats
    still: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Index:
    """A job history with an index of past run times.

    Attributes:
        jobs: the history.
        past: the past run times by kind of job.
    """

    jobs: Jobs
    past: Past


def index(history: Jobs) -> Index:
    """Return a job history with the index that ``roll`` needs."""
    return Index(history, runtimes.past(history))


def state(history: Jobs, now: float, pools: Floats, closed: Floats, *, smallest_first: bool = False) -> State:
    """Return the running, waiting and held jobs at a moment.

    Args:
        history: the job history; nothing after ``now`` is used.
        now: the moment in seconds.
        pools: number of nodes of each pool, shape (pools,).
        closed: announced maintenance, shape (windows, 2), in seconds.
        smallest_first: whether the queue is ordered by size, not by submission.
    """
    until = int(np.searchsorted(history.submit, now, side="right"))
    start, end = history.start[:until], history.end[:until]
    present = end > now
    running = np.flatnonzero(present & (start <= now))
    waiting = np.flatnonzero(present & (start > now))
    if smallest_first:
        waiting = waiting[np.argsort(history.size[waiting], kind="stable")]
    which = np.zeros(len(waiting), dtype=np.bool_)
    for pool, capacity in enumerate(pools):
        run, wait = running[history.pool[running] == pool], history.pool[waiting] == pool
        planned = np.maximum(start[run] + history.limit[run], now)
        own = waiting[wait]
        which[wait] = held(
            now, capacity, history.size[run], planned, history.size[own], history.limit[own],
            closed[:, 0], closed[:, 1],
        )  # fmt: skip
    which &= history.submit[waiting] < now - _JUST
    return State(now, running, waiting[~which], waiting[which])


def roll(
    known: Index,
    at: State,
    capacity: float,
    pools: Floats,
    closed: Floats,
    draws: int,
    generator: np.random.Generator,
) -> Rolled:
    """Return the free nodes of the next day in random simulations.

    Args:
        known: the job history; see ``index``.
        at: the jobs at the begin of the day; see ``state``.
        capacity: number of nodes of all pools.
        pools: number of nodes of each pool, shape (pools,).
        closed: announced maintenance, shape (windows, 2), in seconds.
        draws: number of simulations.
        generator: generator of the random numbers.
    """
    history, now = known.jobs, at.now
    until = now + HOURS * HOUR
    run, wait = at.running, at.waiting
    both = np.concatenate([run, wait])
    elapsed = np.concatenate([now - history.start[run], np.zeros(len(wait))])
    level = _levels(history.user[both], draws, generator)
    lasting = runtimes.draw(known.past, both, history.limit[both], elapsed, now, level)
    planned = np.maximum(history.start[run] + history.limit[run], now + 60.0)
    least = np.empty((draws, HOURS))
    windows = closed[(closed[:, 1] > now) & (closed[:, 0] < until + 7 * DAY)]
    mine = history.pool[run]
    days = _days(history, now, draws, generator)
    for one in range(draws):
        new, submit = _joined(_arrivals(history, now, days[one]), _released(at, generator))
        later = runtimes.draw(
            known.past, new, history.limit[new], np.zeros(len(new)), now, generator.random((1, len(new)))
        )[0]
        jobs = np.concatenate([wait, new])
        submit = np.concatenate([np.full(len(wait), now), submit])
        size, limit, runs = (
            history.size[jobs],
            history.limit[jobs],
            np.append(lasting[one, len(run) :], later),
        )
        ends = history.start[run] + lasting[one, : len(run)]
        start = np.full(len(jobs), np.inf)
        for pool, nodes in enumerate(pools):
            busy, own = mine == pool, history.pool[jobs] == pool
            start[own] = simulate(
                now, until, nodes, history.size[run][busy], planned[busy], ends[busy],
                submit[own], size[own], limit[own], runs[own], windows[:, 0], windows[:, 1],
            )  # fmt: skip
        least[one] = _least(now, capacity, history.size[run], ends, start, size, start + runs, HOURS)
    over = history.start[run] + lasting[:, : len(run)] - now
    still = [float((history.size[run] * (over > hour * HOUR)).sum()) / draws for hour in range(HOURS)]
    return Rolled(_closed(least, now, windows), np.array(still))


def _levels(user: Ints, draws: int, generator: np.random.Generator) -> Floats:
    """Return the quantile level of each job's run time in each draw, shape (draws, jobs).

    In each draw, half of the users have one level for all of their jobs. Each job's levels are spread evenly
    over the draws (Latin hypercube sampling), so that fewer draws are needed.
    """
    _, number = np.unique(user, return_inverse=True)
    number = number.reshape(-1)
    users = int(number.max()) + 1 if len(number) else 0
    own = _spread(draws, len(user), generator)
    shared = _spread(draws, users, generator)
    together = generator.random((draws, users)) < 0.5
    return np.asarray(np.where(together[:, number], shared[:, number], own))


def _spread(draws: int, count: int, generator: np.random.Generator) -> Floats:
    """Return random numbers from 0 to 1: each column has one number in each of ``draws`` equal parts."""
    place = np.argsort(generator.random((draws, count)), axis=0)
    return np.asarray((place + generator.random((draws, count))) / draws)


def _days(history: Jobs, now: float, draws: int, generator: np.random.Generator) -> Floats:
    """Return how many seconds ago the day was whose jobs each draw takes as future jobs; NaN for no day.

    Half of the draws take the same weekday of the last four weeks; the other half take any past day, with the
    same weekday likelier. Each day is taken in proportion to its probability, give or take one.
    """
    days = np.arange(1, _BACK + 1)
    first = now - days * DAY
    inside = np.zeros(len(days), dtype=np.bool_)
    for begin, finish in history.covered:
        inside |= (first >= begin) & (first + DAY <= finish + HOUR)
    days = days[inside]
    if not len(days):
        return np.full(draws, np.nan)
    same = days % 7 == 0
    likely = np.where(same, _WEEKDAY, 1.0)
    likely /= likely.sum()
    latest = same & (days <= _LATEST)
    if latest.any():
        likely = (likely + latest / latest.sum()) / 2
    level = (generator.permutation(draws) + generator.random()) / draws
    place = np.searchsorted(np.cumsum(likely), level)
    return np.asarray(DAY * days[np.minimum(place, len(days) - 1)])


def _arrivals(history: Jobs, now: float, shift: float) -> tuple[Ints, Floats]:
    """Return the jobs of a past day as future jobs, with submission times shifted to the next day."""
    if np.isnan(shift):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    low, high = np.searchsorted(history.submit, [now - shift, now - shift + HOURS * HOUR], side="right")
    new = np.arange(low, high)
    return new, history.submit[new] + shift


def _released(at: State, generator: np.random.Generator) -> tuple[Ints, Floats]:
    """Return held jobs with random release times, since logs do not tell release times."""
    return at.held, at.now + generator.exponential(_RELEASED, len(at.held))


def _joined(one: tuple[Ints, Floats], other: tuple[Ints, Floats]) -> tuple[Ints, Floats]:
    """Return the jobs of both lists in order of time."""
    job, time = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    order = np.argsort(time, kind="stable")
    return job[order], time[order]


def _closed(least: Floats, now: float, windows: Floats) -> Floats:
    for begin, finish in windows:
        first = int(max(np.floor((begin - now) / HOUR), 0))
        last = int(min(np.ceil((finish - now) / HOUR), HOURS))
        least[:, first : max(last, first)] = 0.0
    return least


@jit
def _least(
    now: float,
    capacity: float,
    busy: Floats,
    busy_end: Floats,
    start: Floats,
    size: Floats,
    end: Floats,
    hours: int,
) -> Floats:
    # First the changes of use at each moment, then the highest use of each hour.
    moments = np.empty(2 * len(start) + len(busy))
    change = np.empty(len(moments))
    count = 0
    use = 0.0
    for one in range(len(busy)):
        use += busy[one]
        moments[count], change[count] = busy_end[one], -busy[one]
        count += 1
    for one in range(len(start)):
        if start[one] < now + 3600.0 * hours:
            moments[count], change[count] = start[one], size[one]
            moments[count + 1], change[count + 1] = end[one], -size[one]
            count += 2
    order = np.argsort(moments[:count])
    found = np.empty(hours)
    at = 0
    for hour in range(hours):
        finish = now + 3600.0 * (hour + 1)
        # Changes at the very begin of an hour belong to that hour.
        begun = now + 3600.0 * hour
        while at < count and moments[order[at]] <= begun:
            use += change[order[at]]
            at += 1
        highest = use
        while at < count and moments[order[at]] < finish:
            # All changes of one moment count together, so that a node passed on to the next job counts once.
            moment = moments[order[at]]
            while at < count and moments[order[at]] == moment:
                use += change[order[at]]
                at += 1
            highest = max(highest, use)
        found[hour] = max(capacity - highest, 0.0)
    return found
