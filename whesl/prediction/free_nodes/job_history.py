"""A job history as arrays, and the history as known at a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction.free_nodes.backfill_simulation import simulate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOUR = 3600.0
DAY = 86400.0
_POOL_WORK = 0.002  # least share of all work that makes a partition a pool of its own
UNLIMITED = 30 * DAY  # time limit in seconds that is assumed for a job without one


@dataclass(frozen=True, eq=False, slots=True)
class Jobs:
    """Jobs in order of submission.

    Attributes:
        submit: submission times in seconds since 1970, not descending, shape (jobs,).
        start: start times in seconds; ``inf`` for a job that has not started, shape (jobs,).
        end: end times in seconds; ``inf`` for a job that has not ended, shape (jobs,). A job that was
            cancelled while waiting has an end and no start.
        size: number of nodes, or of processors on machines whose jobs share nodes, shape (jobs,).
        limit: time limits in seconds, shape (jobs,).
        user: number of each job's user, shape (jobs,).
        pool: number of each job's pool, a set of nodes such as a partition, shape (jobs,).
        covered: begin and end in seconds of the times in which every job is known, shape (spans, 2).
    """

    submit: Floats
    start: Floats
    end: Floats
    size: Floats
    limit: Floats
    user: Ints
    pool: Ints
    covered: Floats

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.submit)

    @property
    def run(self) -> Floats:
        """Return run times in seconds; ``inf`` for jobs that have not ended."""
        ended = np.isfinite(self.end) & np.isfinite(self.start)
        return np.where(ended, np.where(ended, self.end, 0.0) - np.where(ended, self.start, 0.0), np.inf)

    def until(self, time: float) -> Jobs:
        """Return the history as it was known at a time, in seconds, without later events."""
        keep = self.submit <= time
        start, end = self.start[keep], self.end[keep]
        covered = self.covered[self.covered[:, 0] < time]
        return Jobs(
            self.submit[keep],
            np.where(start <= time, start, np.inf),
            np.where(end <= time, end, np.inf),
            self.size[keep],
            self.limit[keep],
            self.user[keep],
            self.pool[keep],
            np.minimum(covered, time),
        )


def jobs(
    submit: Floats,
    start: Floats,
    end: Floats,
    size: Floats,
    limit: Floats,
    user: Sequence[str] | NDArray[np.generic],
    *,
    partition: Sequence[str] | NDArray[np.generic] | None = None,
    covered: Floats | None = None,
) -> Jobs:
    """Return jobs in order of submission.

    Args:
        submit: submission times in seconds.
        start: start times in seconds; NaN or ``inf`` for a job that has not started.
        end: end times in seconds; NaN or ``inf`` for a job that has not ended.
        size: number of nodes or processors of each job.
        limit: time limits in seconds; ``inf``, 0 or less for no limit.
        user: name or number of each job's user.
        partition: name or number of each job's partition; see ``pools``.
        covered: begin and end in seconds of the times in which every job is known, shape (spans, 2); None for
            the time from the first start to the last event.

    Raises:
        UsageError: there is no job, or times go back.
    """
    start, end = np.where(np.isnan(start), np.inf, start), np.where(np.isnan(end), np.inf, end)
    wrong = np.flatnonzero((start < submit - 1) | (end < np.where(np.isfinite(start), start, submit)))
    if len(wrong):
        raise UsageError(
            f"{len(wrong)} jobs have times that go back; the first is job {wrong[0] + 1}",
            hint="a job is submitted, then starts, then ends",
        )
    keep = size > 0
    if not keep.any():
        raise UsageError("no job with a size in it", hint="a job has a number of nodes above 0")
    order = np.flatnonzero(keep)[np.argsort(submit[keep], kind="stable")]
    limit = np.where((limit > 0) & (limit < UNLIMITED), limit, UNLIMITED)
    _, number = np.unique(np.asarray(user), return_inverse=True)
    if covered is None:
        known = np.concatenate([one[np.isfinite(one)] for one in (start, end, submit)])
        begun = start[np.isfinite(start)]
        covered = np.array([[begun.min() if len(begun) else known.min(), known.max()]])
    columns = (submit, start, end, size, limit)
    sent, begun, ended, sizes, limits = (np.asarray(one, dtype=np.float64)[order] for one in columns)
    users = number.reshape(-1)[order].astype(np.int64)
    pool = np.zeros(len(order), dtype=np.int64)
    if partition is not None:
        pool = pools(np.asarray(partition)[order], begun, ended, sizes)
    spans = np.asarray(covered, dtype=np.float64)
    return Jobs(sent, begun, ended, sizes, limits, users, pool, spans)


def pools(partition: NDArray[np.generic], start: Floats, end: Floats, size: Floats) -> Ints:
    """Return the number of the pool, a set of nodes, that each job runs on.

    A partition with a minimum share of the work is a pool of its own, numbered from 1; jobs of all other
    partitions have pool 0. Logs do not tell which partitions share nodes; rarely used ones mostly do.

    Args:
        partition: name or number of each job's partition.
        start: start times in seconds.
        end: end times in seconds.
        size: number of nodes or processors of each job.
    """
    ended = np.isfinite(start) & np.isfinite(end)
    work = np.where(ended, size * (np.where(ended, end, 0.0) - np.where(ended, start, 0.0)), 0.0)
    names, number = np.unique(partition, return_inverse=True)
    number = number.reshape(-1)
    share = np.bincount(number, work, len(names)) / max(work.sum(), 1.0)
    own = share >= _POOL_WORK
    if own.sum() < 2:
        return np.zeros(len(partition), dtype=np.int64)
    return np.asarray(np.where(own, np.cumsum(own), 0)[number], dtype=np.int64)


def replayed(history: Jobs, capacity: float) -> Jobs:
    """Return the history as FCFS with EASY backfilling would have run it, on a machine that never fails.

    The machine is empty at the begin. Jobs that never ran or ask for more than the capacity are left out.

    Args:
        history: recorded jobs.
        capacity: number of nodes or processors.
    """
    keep = np.isfinite(history.end) & np.isfinite(history.start) & (history.size <= capacity)
    submit, size, limit = history.submit[keep], history.size[keep], history.limit[keep]
    user = history.user[keep]
    run = history.run[keep]
    none = np.zeros(0)
    begin = submit[0] if len(submit) else 0.0
    start = simulate(begin, np.inf, capacity, none, none, none, submit, size, limit, run, none, none)
    pool = np.zeros(len(submit), dtype=np.int64)
    return Jobs(submit, start, start + run, size, limit, user, pool, history.covered)
