"""FCFS, FCFS-LB and EASY over several clusters: one pass as a function of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.placement.policies.draws import draw
from whesl.placement.policies.easy import reservation as shadow_time
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


class Waiting(NamedTuple):
    """Waiting jobs in order of arrival, each array of shape (waiting,).

    Attributes:
        job: identifiers.
        cpus: processors.
        time: how long they run, in seconds.
        kind: rows of the table of suitable clusters.
    """

    job: Integers
    cpus: Integers
    time: Floats
    kind: Integers


class Running(NamedTuple):
    """Running jobs, each array of shape (running,).

    Attributes:
        cluster: where they run.
        cpus: processors.
        end: in seconds.
    """

    cluster: Integers
    cpus: Integers
    end: Floats


class Pass(NamedTuple):
    """What a pass decides.

    Attributes:
        position: jobs to start or cancel, as indices of the queue, in order, shape (decided,).
        cluster: where each starts; -1 for those to cancel, which no cluster that suits can hold.
        shadow: when the head's reservation begins, in seconds; ``inf`` without one.
        reserved: its cluster; -1 without one.
    """

    position: Integers
    cluster: Integers
    shadow: float
    reserved: int


@jit
def fitting(
    suits: Flags, preference: Integers, free: Integers, cpus: int, balance: bool, seed: int, job: int
) -> int:
    """Return the cluster that a job starts on now, -1 for none.

    Args:
        suits: whether each cluster suits it.
        preference: clusters, the fastest first, of equal ones the largest.
        free: free processors of each cluster.
        cpus: that it needs.
        balance: draw one of those that can start it (FCFS-LB), instead of the first.
        seed: of the draw.
        job: its identifier, for the draw.
    """
    able = 0
    for cluster in preference:
        if suits[cluster] and free[cluster] >= cpus:
            if not balance:
                return int(cluster)
            able += 1
    if able == 0:
        return -1
    pick = int(draw(seed, job, able, 0) * able)
    for cluster in preference:
        if suits[cluster] and free[cluster] >= cpus:
            if pick == 0:
                return int(cluster)
            pick -= 1
    return -1


@jit
def reservation(
    suits: Flags, preference: Integers, free: Integers, running: Running, cpus: int
) -> tuple[float, int, int]:
    """Return the earliest start of a job that cannot start now, its cluster, and what is left there then.

    Args:
        suits: whether each cluster suits it.
        preference: see ``fitting``.
        free: free processors of each cluster.
        running: running jobs.
        cpus: that it needs.

    Returns:
        ``inf`` and -1 where all ends do not make room.
    """
    best, where, extra = np.inf, -1, 0
    for cluster in preference:
        if not suits[cluster]:
            continue
        own = np.flatnonzero(running.cluster == cluster)
        own = own[np.argsort(running.end[own])]
        time, left = shadow_time(running.end[own], running.cpus[own], len(own), free[cluster], cpus)
        if time < best:
            best, where, extra = time, int(cluster), int(left)
    return best, where, extra


@jit
def decide(
    waiting: Waiting,
    running: Running,
    free: Integers,
    capacity: Integers,
    suits: Flags,
    preference: Integers,
    now: float,
    backfill: bool,
    balance: bool,
    seed: int,
) -> Pass:
    """Decide which waiting jobs start now, and where.

    Args:
        waiting: in order.
        running: what runs.
        free: free processors of each cluster, shape (clusters,).
        capacity: processors in service of each cluster, shape (clusters,).
        suits: whether a kind of job may run on a cluster, shape (kinds, clusters).
        preference: clusters, the fastest first, of equal ones the largest.
        now: the current time, in seconds.
        backfill: whether jobs may overtake the head when they do not delay it (EASY).
        balance: whether the cluster is drawn (FCFS-LB).
        seed: seed of the random draws.
    """
    count = len(waiting.job)
    position, cluster = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    left = free.copy()
    decided = started = 0
    shadow, reserved, extra = np.inf, -1, 0
    ran = len(running.cluster)
    where = np.empty(ran + count, dtype=np.int64)
    cpus = np.empty(ran + count, dtype=np.int64)
    end = np.empty(ran + count)
    where[:ran], cpus[:ran], end[:ran] = running.cluster, running.cpus, running.end
    head = 0
    while head < count:
        needs, row = waiting.cpus[head], suits[waiting.kind[head]]
        chosen = fitting(row, preference, left, needs, balance, seed, waiting.job[head])
        if chosen < 0:
            possible = False
            for c in range(len(capacity)):
                possible = possible or (row[c] and capacity[c] >= needs)
            if possible:
                break
        else:
            left[chosen] -= needs
            where[ran + started], cpus[ran + started] = chosen, needs
            end[ran + started] = now + waiting.time[head]
            started += 1
        position[decided], cluster[decided] = head, chosen
        decided += 1
        head += 1
    if head < count and backfill:
        held = ran + started
        shadow, reserved, extra = reservation(
            suits[waiting.kind[head]],
            preference,
            left,
            Running(where[:held], cpus[:held], end[:held]),
            waiting.cpus[head],
        )
        for job in range(head + 1, count):
            needs, row = waiting.cpus[job], suits[waiting.kind[job]]
            brief = now + waiting.time[job] <= shadow
            for c in preference:
                if not row[c] or left[c] < needs or (c == reserved and not brief and needs > extra):
                    continue
                if c == reserved and not brief:
                    extra -= needs
                left[c] -= needs
                position[decided], cluster[decided] = job, c
                decided += 1
                break
    return Pass(position[:decided], cluster[:decided], shadow, reserved)
