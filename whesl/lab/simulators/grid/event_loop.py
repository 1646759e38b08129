"""The event loop of several clusters: arrivals, ends, failures and repairs, each followed by a pass.

At equal times the order is: ends of jobs, repairs, failures, arrivals. A failure of a machine kills every job
that runs, even in part, on the machine; a killed job is not resubmitted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.growing_arrays import grown
from whesl.placement.policies.multicluster.conservative import Schedule, base, renew
from whesl.placement.policies.multicluster.fcfs_easy import Running, Waiting, decide
from whesl.placement.policies.multicluster.profile import empty, forget, roomy, take
from whesl.placement.policies.multicluster.schedule_local_search import Effort, improve
from whesl.prediction.numba_jit import jit

COMPLETED = 0
KILLED = 1
CANCELLED = 2

FCFS = 0
FCFS_LB = 1
EASY = 2
CONS = 3
LS = 4
POLICIES = {"fcfs": FCFS, "fcfs-lb": FCFS_LB, "easy": EASY, "cons": CONS, "ls": LS}


class Grid(NamedTuple):
    """The clusters' machines, by cluster.

    Attributes:
        first: cluster c has the machines first[c] to first[c + 1] - 1, shape (clusters + 1,).
        cpus: number of processors of each machine, shape (machines,).
        preference: indices of the clusters, the fastest first, then the largest, shape (clusters,).
    """

    first: NDArray[np.int64]
    cpus: NDArray[np.int64]
    preference: NDArray[np.int64]


class Jobs(NamedTuple):
    """Jobs in order of arrival.

    Attributes:
        submit: times of submission in seconds, ascending, shape (jobs,).
        cpus: number of processors that each job requests, shape (jobs,).
        time: run time of each job, in seconds, shape (jobs,).
        kind: kind of each job, a row of ``suits``, shape (jobs,).
        suits: whether a kind of job may run on a cluster, shape (kinds, clusters).
    """

    submit: NDArray[np.float64]
    cpus: NDArray[np.int64]
    time: NDArray[np.float64]
    kind: NDArray[np.int64]
    suits: NDArray[np.bool_]


class Outages(NamedTuple):
    """Outages of machines, without overlaps on one machine; arrays of shape (outages,).

    Attributes:
        machine: index of the machine.
        start: begin of the outage in seconds, ascending.
        end: end of the outage, in seconds.
    """

    machine: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


class Options(NamedTuple):
    """The options of a run.

    Attributes:
        policy: one of ``POLICIES``.
        seed: random seed of the run.
        interval: time between two local searches, in seconds.
        factor: iterations of a local search per waiting job.
        starts: limit of a local search, in computed starts.
        record: whether reservations are recorded.
        seconds: time limit of a local search, in seconds of the wall clock.
    """

    policy: int
    seed: int
    interval: float
    factor: float
    starts: int
    record: bool
    seconds: float = np.inf


class Outcome(NamedTuple):
    """The outcome of a run, each array of shape (jobs,) unless another shape is given.

    Attributes:
        start: start of each job, in seconds; nan for cancelled jobs.
        end: time at which each job completed, was killed or was cancelled, in seconds.
        state: COMPLETED, KILLED or CANCELLED.
        cluster: index of the cluster that each job ran on; -1 for none.
        part_offset: first part of each job; job j has part_count[j] parts.
        part_count: number of machines that each job ran on.
        part_machine: index of each part's machine, shape (parts,).
        part_cpus: number of each part's processors, shape (parts,).
        searches: numbers of iterations and of kept changes of local searches, shape (2,).
        promised: reservations: index of the job, time of the reservation, cluster, start; under EASY only the
            head's reservations; shape (promises, 4); empty if not recorded.
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    state: NDArray[np.int8]
    cluster: NDArray[np.int64]
    part_offset: NDArray[np.int64]
    part_count: NDArray[np.int64]
    part_machine: NDArray[np.int64]
    part_cpus: NDArray[np.int64]
    searches: NDArray[np.int64]
    promised: NDArray[np.float64]


@jit
def run(grid: Grid, jobs: Jobs, outages: Outages, options: Options) -> Outcome:
    """Simulate all jobs to their ends.

    Args:
        grid: the clusters.
        jobs: the jobs in order of arrival.
        outages: the machines' outages.
        options: options of the run.
    """
    count, clusters, machines = len(jobs.submit), len(grid.first) - 1, len(grid.cpus)
    plans = options.policy >= CONS
    home = np.empty(machines, dtype=np.int64)
    capacity = np.zeros(clusters, dtype=np.int64)
    for c in range(clusters):
        for machine in range(grid.first[c], grid.first[c + 1]):
            home[machine] = c
            capacity[c] += grid.cpus[machine]
    free = capacity.copy()
    idle = grid.cpus.copy()
    up = np.ones(machines, dtype=np.bool_)
    start, end = np.full(count, np.nan), np.full(count, np.nan)
    state, cluster = np.zeros(count, dtype=np.int8), np.full(count, -1, dtype=np.int64)
    offset, number = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    part_machine, part_cpus = np.empty(count + 16, dtype=np.int64), np.empty(count + 16, dtype=np.int64)
    parts = 0
    total = int(capacity.sum())
    ran, until = np.empty(total + 1, dtype=np.int64), np.empty(total + 1)
    where, holds = np.empty(total + 1, dtype=np.int64), np.empty(total + 1, dtype=np.int64)
    held = waiting = arrived = down = promises = turn = 0
    queue, due_at, due_on = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count, dtype=np.int64)
    profiles = empty(clusters, 64)
    for c in range(clusters):
        profiles.steps[c] = 1
        profiles.time[c, 0] = jobs.submit[0] if count else 0.0
        profiles.free[c, 0] = capacity[c]
    back_at = np.full(machines, np.inf)
    promised = np.empty((16, 4))
    searches = np.zeros(2, dtype=np.int64)
    changed = np.zeros(clusters, dtype=np.bool_)
    now = min(jobs.submit[0], outages.start[0]) if len(outages.start) else jobs.submit[0]
    tick = now
    while arrived < count or held > 0 or waiting > 0:
        then = jobs.submit[arrived] if arrived < count else np.inf
        for i in range(held):
            then = min(then, until[i])
        if down < len(outages.start):
            then = min(then, outages.start[down])
        for machine in range(machines):
            then = min(then, back_at[machine])
        if plans:
            for i in range(waiting):
                then = min(then, due_at[i])
        if options.policy == LS and waiting > 0:
            then = min(then, max(tick, now))
        if then == np.inf:  # no machine comes back, so the waiting jobs never fit
            for i in range(waiting):
                state[queue[i]], end[queue[i]] = CANCELLED, now
            break
        now = then
        changed[:] = False
        active = False
        kept = 0
        for i in range(held):
            job = ran[i]
            if until[i] <= now:
                end[job] = now
                free[where[i]] += holds[i]
                for part in range(offset[job], offset[job] + number[job]):
                    idle[part_machine[part]] += part_cpus[part]
                active = True
            else:
                ran[kept], until[kept], where[kept], holds[kept] = job, until[i], where[i], holds[i]
                kept += 1
        held = kept
        for machine in range(machines):
            if back_at[machine] <= now:
                back_at[machine] = np.inf
                up[machine] = True
                c = home[machine]
                idle[machine] = grid.cpus[machine]
                free[c] += grid.cpus[machine]
                capacity[c] += grid.cpus[machine]
                changed[c] = active = True
        while down < len(outages.start) and outages.start[down] <= now:
            machine = outages.machine[down]
            c = home[machine]
            if outages.end[down] > now and up[machine]:
                kept = 0
                for i in range(held):
                    job = ran[i]
                    hit = False
                    if where[i] == c:
                        for part in range(offset[job], offset[job] + number[job]):
                            hit = hit or part_machine[part] == machine
                    if hit:
                        state[job], end[job] = KILLED, now
                        free[c] += holds[i]
                        for part in range(offset[job], offset[job] + number[job]):
                            idle[part_machine[part]] += part_cpus[part]
                    else:
                        ran[kept], until[kept], where[kept], holds[kept] = job, until[i], where[i], holds[i]
                        kept += 1
                held = kept
                up[machine] = False
                back_at[machine] = outages.end[down]
                free[c] -= grid.cpus[machine]
                capacity[c] -= grid.cpus[machine]
                idle[machine] = 0
                changed[c] = active = True
            down += 1
        while arrived < count and jobs.submit[arrived] <= now:
            queue[waiting], due_at[waiting], due_on[waiting] = arrived, np.inf, -1
            waiting += 1
            arrived += 1
            active = True
        order = queue[:waiting]
        jobs_now = Waiting(order, jobs.cpus[order], jobs.time[order], jobs.kind[order])
        busy = Running(where[:held], holds[:held], until[:held])
        chosen = np.full(waiting, -2, dtype=np.int64)  # cluster to start on, -1 to cancel, -2 to wait
        if plans:
            schedule = Schedule(due_on[:waiting], due_at[:waiting])
            if active:
                profiles = roomy(profiles, 2 * (held + waiting) + 4)
                for c in range(clusters):
                    forget(profiles, c, now)
                made = schedule.cluster.copy()
                renew(profiles, schedule, jobs_now, busy, capacity, changed, jobs.suits, grid.preference, now)
                for i in range(waiting):
                    if schedule.cluster[i] < 0:
                        chosen[i] = -1
                    elif options.record and (made[i] < 0 or changed[made[i]]):
                        promised = grown(promised, promises, 1)
                        promised[promises, 0], promised[promises, 1] = order[i], now
                        promised[promises, 2], promised[promises, 3] = schedule.cluster[i], schedule.start[i]
                        promises += 1
            if options.policy == LS and now >= tick:
                tick = now + options.interval
                later = schedule.start > now
                hopeful = later & (schedule.cluster >= 0)
                pending = np.flatnonzero(hopeful)
                if len(pending) > 1 or (len(pending) == 1 and clusters > 1):
                    turn += 1
                    trial = Schedule(schedule.cluster[pending], schedule.start[pending])
                    those = order[pending]
                    begun = np.flatnonzero(~later & (schedule.cluster >= 0))
                    # For the local search, the jobs that start now count as running.
                    everything = Running(
                        np.concatenate((where[:held], schedule.cluster[begun])),
                        np.concatenate((holds[:held], jobs.cpus[order[begun]])),
                        np.concatenate((until[:held], now + jobs.time[order[begun]])),
                    )
                    subset = Waiting(those, jobs.cpus[those], jobs.time[those], jobs.kind[those])
                    iterations, better = improve(
                        trial,
                        subset,
                        jobs.submit[those],
                        everything,
                        capacity,
                        jobs.suits,
                        now,
                        Effort(options.factor, options.starts, options.seed, turn, options.seconds),
                    )
                    searches[0] += iterations
                    searches[1] += better
                    if better:
                        schedule.cluster[pending] = trial.cluster
                        schedule.start[pending] = trial.start
                        for c in range(clusters):
                            base(profiles, c, everything, capacity[c], now)
                        for i in range(len(pending)):
                            take(
                                profiles,
                                trial.cluster[i],
                                trial.start[i],
                                trial.start[i] + subset.time[i],
                                subset.cpus[i],
                            )
            for i in range(waiting):
                if chosen[i] == -2 and schedule.start[i] <= now:
                    chosen[i] = schedule.cluster[i]
        elif active and waiting > 0:
            decided = decide(
                jobs_now,
                busy,
                free,
                capacity,
                jobs.suits,
                grid.preference,
                now,
                options.policy == EASY,
                options.policy == FCFS_LB,
                options.seed,
            )
            for i in range(len(decided.position)):
                chosen[decided.position[i]] = decided.cluster[i]
            if options.record and decided.reserved >= 0:
                head = 0
                while chosen[head] != -2:
                    head += 1
                promised = grown(promised, promises, 1)
                promised[promises, 0], promised[promises, 1] = order[head], now
                promised[promises, 2], promised[promises, 3] = decided.reserved, decided.shadow
                promises += 1
        kept = 0
        for i in range(waiting):
            job = queue[i]
            c = chosen[i]
            if c == -2:
                queue[kept], due_at[kept], due_on[kept] = job, due_at[i], due_on[i]
                kept += 1
            elif c == -1:
                state[job], end[job] = CANCELLED, now
            else:
                start[job], cluster[job] = now, c
                ran[held], until[held] = job, now + jobs.time[job]
                where[held], holds[held] = c, jobs.cpus[job]
                held += 1
                free[c] -= jobs.cpus[job]
                part_machine = grown(part_machine, parts, grid.first[c + 1] - grid.first[c])
                part_cpus = grown(part_cpus, parts, grid.first[c + 1] - grid.first[c])
                offset[job] = parts
                needs = jobs.cpus[job]
                machine = grid.first[c]
                while needs > 0:
                    given = min(needs, idle[machine])
                    if given > 0:
                        idle[machine] -= given
                        part_machine[parts], part_cpus[parts] = machine, given
                        parts += 1
                        needs -= given
                    machine += 1
                number[job] = parts - offset[job]
        waiting = kept
    return Outcome(
        start,
        end,
        state,
        cluster,
        offset,
        number,
        part_machine[:parts],
        part_cpus[:parts],
        searches,
        promised[:promises],
    )
