"""FCFS, FCFS-LB and EASY over several clusters: one scheduling pass as a function of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.hash_based_random_numbers import draw
from whesl.prediction.easy_backfilling import reservation as shadow_time
from whesl.prediction.numba_jit import jit

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Waiting(NamedTuple):
    """Waiting jobs in order of arrival, each array of shape (waiting,).

    Attributes:
        job: identifiers of the jobs.
        cpus: number of processors of each job.
        time: run time of each job, in seconds.
        kind: each job's row in the table of suitable clusters.
    """

    job: Integers
    cpus: Integers
    time: Floats
    kind: Integers


class Running(NamedTuple):
    """Running jobs, each array of shape (running,).

    Attributes:
        cluster: cluster of each job.
        cpus: number of processors of each job.
        end: end of each job, in seconds.
    """

    cluster: Integers
    cpus: Integers
    end: Floats


class Pass(NamedTuple):
    """The decisions of a scheduling pass.

    Attributes:
        position: jobs to start or cancel, as indices of the queue, in order, shape (decided,).
        cluster: cluster on which each job starts; -1 for jobs to cancel, which are too large for all suitable
            clusters.
        shadow: begin of the head's reservation, in seconds; ``inf`` without a reservation.
        reserved: cluster of the head's reservation; -1 without a reservation.
    """

    position: Integers
    cluster: Integers
    shadow: float
    reserved: int


@jit
def fitting(
    suits: Flags, preference: Integers, free: Integers, cpus: int, balance: bool, seed: int, job: int
) -> int:
    """Return the cluster on which a job starts now, -1 for no cluster.

    Args:
        suits: whether each cluster suits the job.
        preference: clusters, the fastest first, of equally fast ones the largest first.
        free: number of free processors of each cluster.
        cpus: number of processors that the job needs.
        balance: whether a random cluster that can start the job is taken (FCFS-LB) instead of the first.
        seed: seed of the random draw.
        job: identifier of the job, for the random draw.
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
    """Return the reservation of a job that cannot start now.

    Args:
        suits: whether each cluster suits the job.
        preference: see ``fitting``.
        free: number of free processors of each cluster.
        running: the running jobs.
        cpus: number of processors that the job needs.

    Returns:
        The earliest start in seconds, its cluster, and the processors left over there then; ``inf`` and -1 if
        the end of all running jobs does not make room.
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
        waiting: the waiting jobs in order.
        running: the running jobs.
        free: number of free processors of each cluster, shape (clusters,).
        capacity: processors in service of each cluster, shape (clusters,).
        suits: whether a kind of job may run on a cluster, shape (kinds, clusters).
        preference: clusters, the fastest first, of equally fast ones the largest first.
        now: the current time, in seconds.
        backfill: whether jobs that do not delay the head may overtake it (EASY).
        balance: whether a job's cluster is drawn at random (FCFS-LB).
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
