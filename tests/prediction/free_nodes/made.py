"""A made-up cluster of 64 nodes: users with habits, replayed under FCFS and EASY backfilling."""

from __future__ import annotations

from functools import cache

import numpy as np

from whesl.prediction.free_nodes.job_history import HOUR, Jobs, jobs, replayed

NODES = 64
EPOCH = 1_698_796_800.0  # 2023-11-01 00:00 UTC


@cache
def cluster(days: int = 80, seed: int = 1) -> Jobs:
    """Return a history; use rises and falls with the day, users run shares of their limits of their own."""
    generator = np.random.default_rng(seed)
    count = 140 * days
    submit = np.sort(generator.random(count)) * days * 86400
    day = 0.5 + 0.5 * np.sin(submit / 86400 * 2 * np.pi)
    keep = generator.random(count) < 0.25 + 0.75 * day
    submit = EPOCH + submit[keep]
    user = generator.integers(12, size=len(submit))
    size = np.asarray(2.0 ** generator.integers(0, 5, size=len(submit)), dtype=np.float64)
    limit = np.asarray((1.0 + user % 6) * HOUR, dtype=np.float64)
    run = limit * np.clip(generator.normal(0.3 + 0.05 * user, 0.1), 0.05, 1.0)
    covered = np.array([[EPOCH + 86400.0, EPOCH + days * 86400.0]])
    made = jobs(submit, submit, submit + run, size, limit, user, covered=covered)
    return replayed(made, NODES)


def swf(history: Jobs) -> str:
    """Return a history as an SWF log."""
    lines = [f"; UnixStartTime: {int(EPOCH)}", f"; MaxNodes: {NODES}"]
    for place in range(len(history)):
        wait = history.start[place] - history.submit[place]
        numbers = [place + 1, history.submit[place] - EPOCH, wait, history.run[place], history.size[place]]
        rest = [-1, -1, history.size[place], history.limit[place], -1, 1, history.user[place], *[-1] * 6]
        lines.append(" ".join(f"{one:.0f}" for one in (*numbers, *rest)))
    return "\n".join(lines) + "\n"


def sacct(history: Jobs) -> str:
    """Return a history as ``sacct -P`` prints it, in UTC."""
    lines = ["JobID|User|Partition|State|Submit|Start|End|TimelimitRaw|NNodes"]
    for place in range(len(history)):
        times = [
            str(np.datetime64(int(one), "s")) if np.isfinite(one) else "Unknown"
            for one in (history.submit[place], history.start[place], history.end[place])
        ]
        ended, begun = np.isfinite(history.end[place]), np.isfinite(history.start[place])
        state = "COMPLETED" if ended else "RUNNING" if begun else "PENDING"
        limit, size = int(history.limit[place] // 60), int(history.size[place])
        lines.append(
            "|".join(
                [str(place + 1), f"user{history.user[place]}", "batch", state, *times, f"{limit}|{size}"]
            )
        )
    return "\n".join(lines) + "\n"
