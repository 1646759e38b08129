"""Random run times of jobs, drawn from the past run times of similar jobs as shares of their time limits.

Similar jobs are of four kinds: of the same user with the same limit and size, of the same user with the same
limit, of the same user, and of all users with a limit of the same order. A run time is drawn from the latest
jobs of the first kind with enough jobs that ran longer than the present job has run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.free_nodes.job_history import Floats, Ints, Jobs
from whesl.prediction.numba_jit import jit

KINDS = 4
ENOUGH = 3  # least number of jobs of a kind to draw from


@dataclass(frozen=True, eq=False, slots=True)
class Past:
    """Ended jobs by kind.

    Attributes:
        group: the group of each job in each kind, shape (kinds, jobs).
        offsets: index of each group's first job, shape (groups + 1,); groups are numbered through all kinds.
        end: end time of each job in seconds, ascending within a group, shape (kinds x ended jobs,).
        share: run time of each job as a share of its limit, in the order of ``end``.
    """

    group: NDArray[np.int64]
    offsets: Ints
    end: Floats
    share: Floats


def past(history: Jobs) -> Past:
    """Return the ended jobs of a history by kind; a draw at a moment uses only jobs ended by then."""
    user, limit, size = history.user, history.limit, history.size
    order = np.round(2 * np.log2(np.maximum(limit, 60.0)))
    columns = ([user, limit, size], [user, limit], [user], [order])
    ended = np.isfinite(history.end) & np.isfinite(history.start)
    share = np.where(ended, history.run, 0.0) / history.limit
    group, offsets, end, shares, before, taken = [], [], [], [], 0, 0
    for some in columns:
        _, number = np.unique(np.stack([one.astype(np.float64) for one in some]), axis=1, return_inverse=True)
        number = number.reshape(-1)
        own = np.flatnonzero(ended)
        own = own[np.lexsort((history.end[own], number[own]))]
        count = int(number.max()) + 1
        offsets.append(taken + np.searchsorted(number[own], np.arange(count)))
        group.append(number + before)
        end.append(history.end[own])
        shares.append(share[own])
        before, taken = before + count, taken + len(own)
    return Past(
        np.stack(group).astype(np.int64),
        np.append(np.concatenate(offsets), taken).astype(np.int64),
        np.concatenate(end),
        np.concatenate(shares),
    )


def draw(known: Past, job: Ints, limit: Floats, elapsed: Floats, now: float, level: Floats) -> Floats:
    """Return random run times in seconds, longer than ``elapsed``, shape (draws, jobs).

    Args:
        known: the ended jobs; see ``past``.
        job: indices of the jobs in the history, shape (jobs,).
        limit: their time limits in seconds, shape (jobs,).
        elapsed: how long each job has run, in seconds, shape (jobs,).
        now: the moment, in seconds.
        level: level of the quantile to take, from 0 to 1, shape (draws, jobs).
    """
    return np.asarray(
        _draw(known.group, known.offsets, known.end, known.share, job, limit, elapsed, now, level)
    )


@jit
def _draw(
    group: NDArray[np.int64],
    offsets: Ints,
    end: Floats,
    share: Floats,
    job: Ints,
    limit: Floats,
    elapsed: Floats,
    now: float,
    level: Floats,
) -> Floats:
    draws = len(level)
    found = np.empty((draws, len(job)))
    pool = np.empty(40)
    for place in range(len(job)):
        least = elapsed[place] / limit[place]
        count = 0
        for kind in range(len(group)):
            own = group[kind, job[place]]
            first = offsets[own]
            low, high = first, offsets[own + 1]
            while low < high:
                middle = (low + high) // 2
                if end[middle] <= now:
                    low = middle + 1
                else:
                    high = middle
            count = 0
            looked = 0
            at = low - 1
            while at >= first and count < len(pool) and looked < 4 * len(pool):
                if share[at] > least:
                    pool[count] = share[at]
                    count += 1
                looked += 1
                at -= 1
            if count >= 3:
                break
        if draws > 1:  # a single draw is taken without sorting
            pool[:count].sort()
        for one in range(draws):
            if count == 0:
                left = max(limit[place] - elapsed[place], 60.0)
            else:
                left = pool[min(int(level[one, place] * count), count - 1)] * limit[place] - elapsed[place]
            found[one, place] = elapsed[place] + max(left, 1.0)
    return found
