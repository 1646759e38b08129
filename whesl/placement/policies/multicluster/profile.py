"""Free processors of each cluster over time, as steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.numba_jit import jit


class Profiles(NamedTuple):
    """Steps of each cluster: ``free[c, i]`` processors are free from ``time[c, i]`` to the next step.

    Attributes:
        time: begin of each step in seconds, ascending within a cluster, shape (clusters, room).
        free: number of free processors in each step, shape (clusters, room).
        steps: number of steps of each cluster, shape (clusters,).
    """

    time: NDArray[np.float64]
    free: NDArray[np.int64]
    steps: NDArray[np.int64]


@jit
def empty(clusters: int, room: int) -> Profiles:
    """Return profiles without any steps.

    Args:
        clusters: number of clusters.
        room: largest number of steps of a cluster.
    """
    return Profiles(
        np.zeros((clusters, room)),
        np.zeros((clusters, room), dtype=np.int64),
        np.zeros(clusters, dtype=np.int64),
    )


@jit
def roomy(profiles: Profiles, room: int) -> Profiles:
    """Return profiles with room for at least ``room`` steps of each cluster; the same where they suffice.

    Args:
        profiles: steps of each cluster, which are copied to larger arrays where the room is too small.
        room: number of steps of a cluster; new arrays get twice as much.
    """
    clusters, present = profiles.time.shape
    if room <= present:
        return profiles
    larger = empty(clusters, 2 * room)
    larger.time[:, :present] = profiles.time
    larger.free[:, :present] = profiles.free
    larger.steps[:] = profiles.steps
    return larger


@jit
def reset(profiles: Profiles, cluster: int, now: float, capacity: int) -> None:
    """Set a cluster's profile to ``capacity`` free processors from ``now`` on, in seconds.

    Args:
        profiles: steps of each cluster, which are changed.
        cluster: the cluster's index.
        now: begin of the only step, in seconds.
        capacity: number of free processors.
    """
    profiles.steps[cluster] = 1
    profiles.time[cluster, 0] = now
    profiles.free[cluster, 0] = capacity


@jit
def copied(profiles: Profiles, source: int, target: Profiles, cluster: int) -> None:
    """Copy the steps of cluster ``source`` to ``cluster`` of other profiles, which have room for them.

    Args:
        profiles: the steps to copy from.
        source: index of the cluster in ``profiles``.
        target: profiles that are changed, with room for all steps of the source.
        cluster: index of the cluster in ``target``.
    """
    count = profiles.steps[source]
    target.steps[cluster] = count
    for i in range(count):
        target.time[cluster, i] = profiles.time[source, i]
        target.free[cluster, i] = profiles.free[source, i]


@jit
def forget(profiles: Profiles, cluster: int, now: float) -> None:
    """Drop the steps of a cluster's profile that ended by ``now``; the last step stays.

    Args:
        profiles: steps of each cluster, which are changed.
        cluster: the cluster's index.
        now: the current time, in seconds.
    """
    over = 0
    while over + 1 < profiles.steps[cluster] and profiles.time[cluster, over + 1] <= now:
        over += 1
    if over:
        profiles.steps[cluster] -= over
        for i in range(profiles.steps[cluster]):
            profiles.time[cluster, i] = profiles.time[cluster, i + over]
            profiles.free[cluster, i] = profiles.free[cluster, i + over]


@jit
def take(profiles: Profiles, cluster: int, start: float, end: float, cpus: int) -> None:
    """Take processors out of a cluster's profile, which has room for two more steps.

    Args:
        profiles: the profiles, which are changed.
        cluster: index of the cluster.
        start: begin of the time in seconds, not before the first step.
        end: end of the time in seconds; ``inf`` for no end.
        cpus: number of processors; a negative number gives processors back.
    """
    free = profiles.free[cluster]
    first = _cut(profiles, cluster, start)
    last = _cut(profiles, cluster, end) if end < np.inf else profiles.steps[cluster]
    for at in range(first, last):
        free[at] -= cpus
    if last < profiles.steps[cluster] and free[last] == free[last - 1]:
        _shift(profiles, cluster, last + 1, -1)
    if first > 0 and free[first] == free[first - 1]:
        _shift(profiles, cluster, first + 1, -1)


@jit
def _cut(profiles: Profiles, cluster: int, time: float) -> int:
    """Return the index of the step that begins at a time; a step is split if none begins then."""
    times, free = profiles.time[cluster], profiles.free[cluster]
    at = int(np.searchsorted(times[: profiles.steps[cluster]], time, side="right")) - 1
    if times[at] == time:
        return at
    _shift(profiles, cluster, at + 1, 1)
    times[at + 1], free[at + 1] = time, free[at]
    return at + 1


@jit
def _shift(profiles: Profiles, cluster: int, begin: int, by: int) -> None:
    """Move the steps from the index ``begin`` on by ``by`` places, which is 1 or -1."""
    end = profiles.steps[cluster]
    profiles.time[cluster, begin + by : end + by] = profiles.time[cluster, begin:end].copy()
    profiles.free[cluster, begin + by : end + by] = profiles.free[cluster, begin:end].copy()
    profiles.steps[cluster] += by


@jit
def earliest(
    profiles: Profiles, cluster: int, now: float, time: float, cpus: int, before: float = np.inf
) -> float:
    """Return the earliest start in seconds at which processors are free on a cluster.

    Args:
        profiles: the profiles.
        cluster: index of the cluster.
        now: the current time, in seconds, the first possible start.
        time: how long the processors are needed, in seconds.
        cpus: number of processors.
        before: bound of the start in seconds, which is the result if there is no earlier start.
    """
    times, free, steps = profiles.time[cluster], profiles.free[cluster], profiles.steps[cluster]
    start = now
    fits = False
    for at in range(steps):
        if times[at] >= before:
            break
        if free[at] < cpus:
            fits = False
            continue
        if not fits:
            fits = True
            start = max(now, times[at])
        if at + 1 < steps and times[at + 1] >= start + time:
            return start
    return start if fits else before
