"""A broker that gives jobs to machines which fail, as a compiled loop.

Every ``BEAT`` seconds the broker sees which machines are up and which attempts are over, and tries the
queue in order. A job that is replicated in space runs on all of its machines at once, and has failed when
all copies have; in time it runs on one after the other, and has failed when the machines that its
reliability asked for are used up. Attempts are killed at the time of a failure, and known of at the next
beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.model.errors import WheslError
from whesl.placement.policies.job_replication import key_of, select
from whesl.prediction.failures.compiled_predictor import by_node
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.simulators.desktop.synthetic_machines import Jobs
    from whesl.prediction.failures.compiled_predictor import Compiled
    from whesl.prediction.failures.failure_history import History

# The document: machines report every five minutes.
BEAT = 300.0
WAITING, RUNNING, DONE, FAILED = range(4)


class Rules(NamedTuple):
    """How jobs are given to machines.

    Attributes:
        required: the reliability that each job asks for, from 0 to 1.
        space: copies at once, not one after the other.
        attempts: in time, how many at most; 0 for as many as the reliability asks for.
        seed: of the order in which machines are tried.
        surest: the most reliable machines first, not random ones.
    """

    required: float
    space: bool
    attempts: int
    seed: int
    surest: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """What a run measured; arrays of shape (jobs,) unless said otherwise.

    Attributes:
        status: how each job stands at the end: 2 done, 3 failed, else not over.
        finish: when it was over, in seconds; nan where it is not.
        attempts: how many machines it had.
        used: machine-seconds.
        beat: times of the broker's passes, in seconds, shape (beats,).
        queue: jobs that waited after each, shape (beats,).
        rows: (job, node) of each attempt, shape (attempts, 2).
        span: (start, end) of each, in seconds, shape (attempts, 2).
        completed: whether it was not killed, shape (attempts,).
    """

    status: NDArray[np.int8]
    finish: NDArray[np.float64]
    attempts: NDArray[np.int64]
    used: NDArray[np.float64]
    beat: NDArray[np.float64]
    queue: NDArray[np.int64]
    rows: NDArray[np.int64]
    span: NDArray[np.float64]
    completed: NDArray[np.bool_]


class _State(NamedTuple):
    status: NDArray[np.int8]
    finish: NDArray[np.float64]
    attempts: NDArray[np.int64]
    used: NDArray[np.float64]
    risk: NDArray[np.float64]
    copies: NDArray[np.int64]
    last: NDArray[np.float64]
    queue: NDArray[np.int64]
    job: NDArray[np.int64]
    start: NDArray[np.float64]
    upcoming: NDArray[np.int64]
    rows: NDArray[np.int64]
    span: NDArray[np.float64]
    completed: NDArray[np.bool_]


def simulate(jobs: Jobs, history: History, compiled: Compiled, rules: Rules, finish: float) -> Outcome:
    """Run jobs until all are over, or a time.

    Args:
        jobs: in the order of their submission.
        history: the failures of the machines.
        compiled: the predictor.
        rules: how jobs are given to machines.
        finish: the last pass, in seconds.

    Raises:
        WheslError: the predictor is of another number of machines.
    """
    nodes, count = history.nodes, len(jobs.submit)
    if len(compiled.event_offsets) != nodes + 1:
        raise WheslError(
            f"the predictor knows {len(compiled.event_offsets) - 1} machines, and there are {nodes}"
        )
    order, offsets = by_node(nodes, history.node, history.start)
    begin = np.floor(jobs.submit[0] / BEAT) * BEAT if count else finish
    passes = max(1, int((finish - begin) / BEAT))
    beats: NDArray[np.float64] = np.arange(1, passes + 1, dtype=np.float64) * BEAT + begin
    room = 4 * count + nodes
    while True:
        state = _State(
            np.zeros(count, dtype=np.int8),
            np.full(count, np.nan),
            np.zeros(count, dtype=np.int64),
            np.zeros(count),
            np.ones(count),
            np.zeros(count, dtype=np.int64),
            np.zeros(count),
            np.zeros(count, dtype=np.int64),
            np.full(nodes, -1, dtype=np.int64),
            np.zeros(nodes),
            offsets[:-1].copy(),
            np.zeros((room, 2), dtype=np.int64),
            np.zeros((room, 2)),
            np.zeros(room, dtype=np.bool_),
        )
        depth = np.zeros(len(beats), dtype=np.int64)
        failures = (offsets, history.start[order], history.end[order])
        over = _run(jobs, failures, compiled, rules, beats, state, depth)
        if over >= 0:
            break
        room *= 2
    return Outcome(
        state.status,
        state.finish,
        state.attempts,
        state.used,
        beats,
        depth,
        state.rows[:over],
        state.span[:over],
        state.completed[:over],
    )


@jit
def _ends(
    jobs: Jobs,
    failures: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    now: float,
    state: _State,
    over: int,
    free: NDArray[np.int64],
) -> tuple[int, int]:
    """End the attempts that are over, and return how many there are now, and how many machines are free."""
    offsets, start, end = failures
    left = 0
    for node in range(len(state.job)):
        job = state.job[node]
        last = offsets[node + 1]
        if job >= 0:
            stop = state.start[node] + jobs.duration[job]
            index = state.upcoming[node]
            while index < last and start[index] < state.start[node]:
                index += 1
            killed = index < last and start[index] < stop
            if killed:
                stop = start[index]
            if stop <= now:
                state.rows[over, 0] = job
                state.rows[over, 1] = node
                state.span[over, 0] = state.start[node]
                state.span[over, 1] = stop
                state.completed[over] = not killed
                over += 1
                state.used[job] += stop - state.start[node]
                state.copies[job] -= 1
                state.last[job] = max(state.last[job], stop)
                if not killed:
                    state.status[job] = DONE
                    state.finish[job] = stop
                state.job[node] = -1
        while state.upcoming[node] < last and end[state.upcoming[node]] <= now:
            state.upcoming[node] += 1
        index = state.upcoming[node]
        if state.job[node] < 0 and not (index < last and start[index] <= now):
            free[left] = node
            left += 1
    return over, left


@jit
def _again(rules: Rules, state: _State, submitted: int, waiting: int) -> int:
    """Put jobs whose attempt was killed at the queue's head, or let them fail; return its length."""
    back = 0
    for job in range(submitted):
        if state.status[job] == RUNNING and state.copies[job] == 0:
            spent = state.attempts[job] >= rules.attempts
            if rules.attempts == 0:
                spent = state.risk[job] <= (1.0 - rules.required) * (1.0 + 1e-12)
            if rules.space or spent:
                state.status[job] = FAILED
                state.finish[job] = state.last[job]
            else:
                state.status[job] = WAITING
                for position in range(waiting + back, back, -1):
                    state.queue[position] = state.queue[position - 1]
                state.queue[back] = job
                back += 1
    return waiting + back


@jit
def _run(
    jobs: Jobs,
    failures: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    compiled: Compiled,
    rules: Rules,
    beats: NDArray[np.float64],
    state: _State,
    depth: NDArray[np.int64],
) -> int:
    """Run all passes; return how many attempts there were, or -1 where their record has no room left."""
    nodes = len(state.job)
    free = np.empty(nodes, dtype=np.int64)
    chosen = np.empty(nodes, dtype=np.int64)
    over = 0
    waiting = 0
    submitted = 0
    for beat in range(len(beats)):
        now = beats[beat]
        if over + nodes > len(state.completed):
            return -1
        over, left = _ends(jobs, failures, now, state, over, free)
        waiting = _again(rules, state, submitted, waiting)
        while submitted < len(jobs.submit) and jobs.submit[submitted] <= now:
            state.queue[waiting] = submitted
            waiting += 1
            submitted += 1
        kept = 0
        # A job for which no set of machines suffices: no longer one finds any either, as risk only grows.
        hopeless = np.inf
        for position in range(waiting):
            job = state.queue[position]
            count = 0
            first = 0.0
            if left > 0 and (jobs.duration[job] < hopeless or state.risk[job] < 1.0):
                key = key_of(rules.seed, job, state.attempts[job])
                count, first = select(
                    free[:left],
                    compiled,
                    now,
                    jobs.duration[job],
                    rules.required,
                    state.risk[job],
                    key,
                    rules.surest,
                    chosen,
                )
                if count == 0 and state.risk[job] == 1.0:
                    hopeless = min(hopeless, jobs.duration[job])
            if count == 0:
                state.queue[kept] = job
                kept += 1
                continue
            if not rules.space:
                count = 1
                if rules.attempts == 0:
                    state.risk[job] = first
            for index in range(count):
                node = chosen[index]
                state.job[node] = job
                state.start[node] = now
                place = np.searchsorted(free[:left], node)
                for other in range(place, left - 1):
                    free[other] = free[other + 1]
                left -= 1
            state.status[job] = RUNNING
            state.attempts[job] += count
            state.copies[job] = count
        waiting = kept
        depth[beat] = waiting
    return over
