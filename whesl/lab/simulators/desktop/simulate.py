"""Simulation, compiled, of a broker that assigns jobs to machines that fail.

Every ``BEAT`` seconds the broker learns which machines are up and which attempts are over, and tries to start
the queue's jobs in order. Replication in space runs a job on all of its machines at once; the job fails when
all copies have failed. Replication in time runs a job on one machine after the other; the job fails when the
machines for its required reliability are used up. Failures kill attempts at once; the broker learns of it at
the next beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.desktop.synthetic_machines import Jobs
from whesl.model.errors import WheslError
from whesl.placement.policies.job_replication import key_of, select
from whesl.prediction.failures.compiled_predictor import Compiled, by_node
from whesl.prediction.failures.failure_history import History
from whesl.prediction.numba_jit import jit

# Seconds between two reports of a machine; five minutes in the document.
BEAT = 300.0
WAITING, RUNNING, DONE, FAILED = range(4)


class Rules(NamedTuple):
    """The broker's rules.

    Attributes:
        required: the reliability that each job requires, from 0 to 1.
        space: True for replication in space (all copies at once), False for replication in time.
        attempts: largest number of attempts in time; 0 for as many as the required reliability needs.
        seed: random seed of the order in which machines are tried.
        surest: whether the most reliable machines are tried first, instead of a random order.
    """

    required: float
    space: bool
    attempts: int
    seed: int
    surest: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """The results of a run; arrays of shape (jobs,) unless another shape is given.

    Attributes:
        status: status of each job at the end: 2 done, 3 failed, other values not over.
        finish: time at which the job was done or failed, in seconds; nan if the job is not over.
        attempts: number of machines that the job was assigned.
        used: machine-seconds that the job used.
        beat: times of the broker's passes, in seconds, shape (beats,).
        queue: number of waiting jobs after each pass, shape (beats,).
        rows: (job, node) of each attempt, shape (attempts, 2).
        span: (start, end) of each attempt, in seconds, shape (attempts, 2).
        completed: whether each attempt completed, shape (attempts,).
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
    """Simulate jobs up to a time.

    Args:
        jobs: the jobs in order of submission.
        history: the failures of the machines.
        compiled: the predictor.
        rules: the broker's rules.
        finish: time of the last pass, in seconds.

    Raises:
        WheslError: the predictor has another number of machines.
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
    """End the attempts that are over; return the number of ended attempts so far and of free machines."""
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
    """Requeue jobs whose attempts were killed at the head, or let them fail; return the queue's length."""
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
    """Run all passes; return the number of attempts, or -1 if the record of attempts is full."""
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
        # Duration of the shortest job for which no set of machines suffices; risk grows with the duration, so
        # longer jobs find no set either.
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
