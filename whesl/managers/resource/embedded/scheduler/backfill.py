"""One pass over the queue: first come, first served, with or without EASY backfilling.

EASY (Lifka, "The ANL/IBM SP scheduling system", 1995): the first job that does not fit gets a reservation at
its shadow time, the earliest time at which jobs that run to their limits have freed enough nodes. A later job
may start before it only when the later job ends by the shadow time or leaves enough nodes for the first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from whesl.managers.resource.embedded.scheduler.fitting import choose
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Share
from whesl.model.states import JobState


class Release(NamedTuple):
    """CPUs that a job gives back at ``time`` at the latest; infinity for a job without a time limit."""

    time: float
    shares: tuple[Share, ...]


def release_of(job: Job, now: float, kill_wait: float) -> Release:
    """Return the CPUs of a running or completing job, and the latest time at which they become free.

    Args:
        job: the job.
        now: seconds since the epoch.
        kill_wait: seconds that a job may take to die after its limit.
    """
    if job.state is JobState.COMPLETING:
        return Release(now + kill_wait, job.held_shares)
    if job.time_limit is None:
        return Release(math.inf, job.held_shares)
    return Release(max(job.started + job.time_limit, now) + kill_wait, job.held_shares)


# Sorts nodes into the order in which a job takes them. Arguments: node names; the job's time limit in
# seconds, None for unlimited.
Rank = Callable[[Sequence[str], float | None], Sequence[str]]


class Machine(NamedTuple):
    """The nodes of a cluster.

    ``order``: node names by partition. ``free``, ``total``: number of CPUs by usable node. ``whole_nodes``:
    jobs always take whole nodes. ``rank``: sorts a partition's nodes for a job; None keeps their order.
    """

    order: Mapping[str, Sequence[str]]
    free: Mapping[str, int]
    total: Mapping[str, int]
    whole_nodes: bool
    rank: Rank | None = None


class Decision(NamedTuple):
    """The result of one pass over the queue.

    ``starts``: jobs to start, in order. ``reasons``: why other jobs wait, by job id. ``shadows``: shadow
    times of the jobs with a reservation, by job id.
    """

    starts: list[tuple[Job, tuple[Share, ...]]]
    reasons: dict[int, str]
    shadows: dict[int, float]


_Fit = Callable[[Job, Mapping[str, int]], tuple[Share, ...] | None]


class _Reservation:
    def __init__(self, job: Job, time: float, free: dict[str, int]) -> None:
        self.job, self.time, self.free = job, time, free


def schedule(
    queue: Iterable[Job],
    releases: Sequence[Release],
    machine: Machine,
    *,
    easy: bool,
    now: float,
    kill_wait: float,
) -> Decision:
    """Decide which jobs start now.

    Args:
        queue: jobs that may start, in order of submission; read only while more of them could start.
        releases: latest releases of the running jobs' CPUs, the wait for SIGKILL included.
        machine: nodes and free CPUs.
        easy: whether later jobs may start before a blocked one.
        now: seconds since the epoch.
        kill_wait: seconds that a job may take to die after its limit.
    """
    free = dict(machine.free)
    held = list(releases)
    decision = Decision([], {}, {})
    blocked: set[str] = set()
    reservations: list[_Reservation] = []
    hopeless: set[tuple[object, ...]] = set()

    def fit(job: Job, available: Mapping[str, int]) -> tuple[Share, ...] | None:
        whole = machine.whole_nodes or job.spec.exclusive
        order = machine.order[job.partition]
        if machine.rank is None:
            return choose(job.spec, order, available, machine.total, whole)
        ranked = machine.rank(order, job.time_limit)
        found = choose(job.spec, ranked, available, machine.total, whole)
        return found and tuple(sorted(found, key=lambda share: order.index(share.node)))

    left = sum(free.values())
    for job in queue:
        if left <= 0 and blocked.issuperset(machine.order):
            break
        if job.partition in blocked and not easy:
            decision.reasons[job.id] = "Priority"
            continue
        shape = _shape(job)
        shares = None if shape in hopeless or (shape, job.time_limit) in hopeless else fit(job, free)
        if shares is None:
            if job.partition in blocked:
                hopeless.add(shape)
                decision.reasons[job.id] = "Priority"
            elif fit(job, machine.total) is None:
                # The job needs nodes that are down or drained, so it must not block the jobs behind it.
                decision.reasons[job.id] = "ReqNodeNotAvail"
            else:
                hopeless.add(shape)
                blocked.add(job.partition)
                decision.reasons[job.id] = "Resources"
                reservation = _reserve(job, free, held, machine, fit)
                decision.shadows[job.id] = reservation.time
                reservations.append(reservation)
            continue
        end = now + job.time_limit + kill_wait if job.time_limit is not None else math.inf
        late = [r for r in reservations if end > r.time or end == math.inf]
        if not all(_still_fits(r, shares, fit) for r in late):
            shares = fit(job, _beside(free, late, fit))
            if shares is None or not all(_still_fits(r, shares, fit) for r in late):
                hopeless.add((shape, job.time_limit))
                decision.reasons[job.id] = "Priority"
                continue
        decision.starts.append((job, shares))
        held.append(Release(end, shares))
        for share in shares:
            free[share.node] -= share.cpus
            left -= share.cpus
            for reservation in late:
                reservation.free[share.node] -= share.cpus
    return decision


def _shape(job: Job) -> tuple[object, ...]:
    spec = job.spec
    return (
        job.partition,
        spec.nodes,
        spec.tasks,
        spec.cpus_per_task,
        spec.tasks_per_node,
        spec.exclusive,
        spec.exclude,
        spec.nodelist,
    )


def _reserve(
    job: Job, free: Mapping[str, int], held: Sequence[Release], machine: Machine, fit: _Fit
) -> _Reservation:
    """Find a job's shadow time: the earliest at which it fits, if every running job ends at its limit."""
    then = dict(free)
    by_time = sorted(held, key=lambda release: release.time)
    for time, together in itertools.groupby(by_time, key=lambda release: release.time):
        for share in itertools.chain.from_iterable(release.shares for release in together):
            if share.node in then:
                then[share.node] = min(then[share.node] + share.cpus, machine.total[share.node])
        if fit(job, then) is not None:
            return _Reservation(job, time, then)
    # The start cannot be foreseen: the job does not fit even after all running jobs have ended.
    return _Reservation(job, math.inf, dict(machine.total))


def _still_fits(reservation: _Reservation, shares: tuple[Share, ...], fit: _Fit) -> bool:
    then = dict(reservation.free)
    for share in shares:
        then[share.node] -= share.cpus
    return fit(reservation.job, then) is not None


def _beside(free: Mapping[str, int], late: Sequence[_Reservation], fit: _Fit) -> dict[str, int]:
    """Return the number of CPUs by node that are free now and stay free once the reserved jobs start."""
    left = dict(free)
    for reservation in late:
        then = dict(reservation.free)
        for share in fit(reservation.job, then) or ():
            then[share.node] -= share.cpus
        left = {node: min(cpus, then[node]) for node, cpus in left.items()}
    return left
