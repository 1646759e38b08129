"""Measures of a simulation: one row per job, and the usual aggregates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload

BOUND = 10.0
HOUR = 3600.0


class Outcome(NamedTuple):
    """The outcome of each job of the workload.

    Attributes:
        start: start of the job's last attempt, in seconds; nan if the job never started, shape (jobs,).
        end: end of the job's last attempt, in seconds; nan if the job did not end, shape (jobs,).
        attempts: number of attempts at the job, shape (jobs,).
        killed: number of attempts that a node's failure ended, shape (jobs,).
        last: index of the job's last attempt, -1 if the job never started, shape (jobs,).
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    attempts: NDArray[np.int64]
    killed: NDArray[np.int64]
    last: NDArray[np.int64]


def outcome(work: Workload, attempts: Attempts) -> Outcome:
    """Return the outcome of each job.

    Args:
        work: the jobs.
        attempts: the simulation's attempts.
    """
    count = len(work.job)
    last = np.full(count, -1, dtype=np.int64)
    last[attempts.job] = np.arange(len(attempts.job))
    ran = last >= 0
    start, end = np.full(count, np.nan), np.full(count, np.nan)
    start[ran] = attempts.start[last[ran]]
    ended = ran.copy()
    ended[ran] = ~attempts.killed[last[ran]] & np.isfinite(attempts.end[last[ran]])
    end[ended] = attempts.end[last[ended]]
    return Outcome(
        start,
        end,
        np.bincount(attempts.job, minlength=count),
        np.bincount(attempts.job[attempts.killed], minlength=count),
        last,
    )


def nodes_held(
    work: Workload, attempts: Attempts, result: Outcome
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the nodes of each job's last attempt: offsets by job, shape (jobs + 1,), and indices of nodes.

    The job ``i`` held ``nodes[offsets[i]:offsets[i + 1]]``, ascending.

    Args:
        work: the jobs.
        attempts: the simulation's attempts.
        result: the outcome of each job.
    """
    size = np.where(result.last >= 0, work.size, 0)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(size)])
    chosen = result.last[result.last >= 0]
    runs = _ranges(attempts.offsets[chosen], attempts.offsets[chosen + 1] - attempts.offsets[chosen])
    return offsets, _ranges(attempts.first[runs].astype(np.int64), attempts.length[runs]).astype(np.int32)


def _ranges(first: NDArray[np.int64], length: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the concatenated ranges ``first[i]`` to ``first[i] + length[i] - 1``."""
    ends = np.cumsum(length, dtype=np.int64)
    numbers = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
    numbers += np.repeat(first - (ends - length), length)
    return numbers


def lost(work: Workload, attempts: Attempts) -> NDArray[np.float64]:
    """Return the node-seconds of each killed attempt that no checkpoint kept; 0 for other attempts.

    Args:
        work: the jobs.
        attempts: the simulation's attempts.
    """
    elapsed = np.where(attempts.killed, attempts.end - attempts.start, 0.0)
    interval = work.checkpoint[attempts.job]
    own = np.isfinite(interval) & (interval > 0)
    kept = np.zeros(len(elapsed))
    kept[own] = np.floor(elapsed[own] / interval[own]) * interval[own]
    return np.asarray((elapsed - kept) * work.size[attempts.job])


def measures(work: Workload, attempts: Attempts, result: Outcome, nodes: int) -> dict[str, float | int]:
    """Return the measures of one simulation; times in seconds, means over the jobs that ended.

    Args:
        work: the jobs.
        attempts: the simulation's attempts.
        result: the outcome of each job.
        nodes: number of nodes of the machine.

    Returns:
        jobs, ended; mean_wait (last start - submission), mean_response (end - submission), mean_slowdown
        (response / run time), mean_bounded_slowdown (with 10 s at least for response and run time: D.
        Feitelson, L. Rudolph, "Metrics and benchmarking for parallel job scheduling", 1998), max_wait;
        makespan (last end - first submission); utilisation (node-seconds of ended jobs' run times / makespan
        x nodes); kills, jobs_killed, node_hours_lost (node-hours of killed attempts that no checkpoint
        kept), attempts.
    """
    ended = np.isfinite(result.end)
    submit, run = work.submit[ended], work.run[ended]
    wait, response = result.start[ended] - submit, result.end[ended] - submit
    bounded = np.maximum(1.0, np.maximum(response, BOUND) / np.maximum(run, BOUND))
    makespan = float(result.end[ended].max() - work.submit.min()) if ended.any() else 0.0
    useful = float((work.size[ended] * run).sum())

    def mean(values: NDArray[np.float64]) -> float:
        return float(values.mean()) if len(values) else float("nan")

    return {
        "jobs": len(work.job),
        "ended": int(ended.sum()),
        "mean_wait": mean(wait),
        "max_wait": float(wait.max()) if len(wait) else float("nan"),
        "mean_response": mean(response),
        "mean_slowdown": mean(response / run),
        "mean_bounded_slowdown": mean(bounded),
        "makespan": makespan,
        "utilisation": useful / (makespan * nodes) if makespan > 0 else float("nan"),
        "attempts": len(attempts.job),
        "kills": int(attempts.killed.sum()),
        "jobs_killed": int((result.killed > 0).sum()),
        "node_hours_lost": float(lost(work, attempts).sum()) / HOUR,
    }
