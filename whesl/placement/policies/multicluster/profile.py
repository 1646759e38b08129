"""Free processors of each cluster over time, as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.placement.policies.conservative_backfilling import earliest as earliest_start
from whesl.placement.policies.conservative_backfilling import occupy
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    """Return profiles with room for at least ``room`` steps of each cluster."""
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
    """Set a cluster's profile to ``capacity`` free processors from ``now`` on, in seconds."""
    profiles.steps[cluster] = 1
    profiles.time[cluster, 0] = now
    profiles.free[cluster, 0] = capacity


@jit
def copied(profiles: Profiles, source: int, target: Profiles, cluster: int) -> None:
    """Copy the steps of cluster ``source`` to ``cluster`` of other profiles, which have room for them."""
    count = profiles.steps[source]
    target.steps[cluster] = count
    for i in range(count):
        target.time[cluster, i] = profiles.time[source, i]
        target.free[cluster, i] = profiles.free[source, i]


@jit
def forget(profiles: Profiles, cluster: int, now: float) -> None:
    """Drop the steps of a cluster's profile that ended by ``now``, in seconds."""
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
    """Take processors out of a cluster's profile.

    Args:
        profiles: the profiles, which are changed.
        cluster: index of the cluster.
        start: begin of the time in seconds, not before the first step.
        end: end of the time in seconds.
        cpus: number of processors.
    """
    times, free, steps = profiles.time[cluster], profiles.free[cluster], profiles.steps[cluster]
    profiles.steps[cluster] = occupy(times, free, 0, steps, start, end, cpus)


@jit
def earliest(profiles: Profiles, cluster: int, now: float, time: float, cpus: int) -> float:
    """Return the earliest start in seconds at which processors are free on a cluster; ``inf`` for never.

    Args:
        profiles: the profiles.
        cluster: index of the cluster.
        now: the current time, in seconds, the first possible start.
        time: how long the processors are needed, in seconds.
        cpus: number of processors.
    """
    times, free, steps = profiles.time[cluster], profiles.free[cluster], profiles.steps[cluster]
    return earliest_start(times, free, 0, steps, now, cpus, time, np.inf, np.inf)
