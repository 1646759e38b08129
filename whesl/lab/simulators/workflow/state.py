"""The state of a simulated machine with workflows, and its transitions, as functions of arrays.

The model: transfers begin when a task is dispatched, run in parallel, and count as its execution. What a
task has written lies on its node: out of reach while that is down, and back afterwards. A node that fails
kills the task that runs on it, and those elsewhere that still read from it; they go back into the pool and
start over.
At one instant: ends, nodes that come back, failures, arrivals; then the policy decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.prediction.failures.compiled_predictor import probability
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.simulators.workflow.workload import Failures, Workload
    from whesl.prediction.failures.compiled_predictor import Compiled

BLOCKED, READY, RUNNING, DONE = range(4)
# Positions in State.count.
POOLED, ENDED, RESCHEDULED, ATTEMPTS, ASKED, RIGHT, NODES_ASKED, NODES_RIGHT = range(8)


class State(NamedTuple):
    """Arrays that the transitions change in place.

    Attributes:
        clock: the present time, in seconds, shape (1,).
        status: of each task, one of the four states, shape (tasks,).
        missing: parents of each task that are not done.
        since: when it came into the pool, in seconds.
        node: where it runs, or where its output lies; -1 before.
        start: when it was dispatched last, in seconds.
        finish: when it ends, or has ended, in seconds.
        lost: seconds of attempts that were killed.
        killed: how many attempts of it were killed.
        pool: ready tasks in the policy's order, the first ``counts[POOLED]`` of it.
        waiting: ready tasks of each workflow, shape (workflows,).
        arrived: whether each workflow has arrived.
        task: what each node runs, or -1, shape (nodes,).
        down: whether it is down.
        back: when it is up again, in seconds.
        upcoming: the index of its next failure.
        counts: how many tasks are in the pool, ended, killed attempts, attempts, questions to the predictor,
            right answers, nodes asked about once in each pass, right answers of those; shape (8,).
        attempt: task and node of each attempt that is over, shape (room, 2).
        span: dispatch and end of each, in seconds, shape (room, 2).
        completed: whether it was not killed, shape (room,).
    """

    clock: NDArray[np.float64]
    status: NDArray[np.int8]
    missing: NDArray[np.int64]
    since: NDArray[np.float64]
    node: NDArray[np.int64]
    start: NDArray[np.float64]
    finish: NDArray[np.float64]
    lost: NDArray[np.float64]
    killed: NDArray[np.int64]
    pool: NDArray[np.int64]
    waiting: NDArray[np.int64]
    arrived: NDArray[np.bool_]
    task: NDArray[np.int64]
    down: NDArray[np.bool_]
    back: NDArray[np.float64]
    upcoming: NDArray[np.int64]
    counts: NDArray[np.int64]
    attempt: NDArray[np.int64]
    span: NDArray[np.float64]
    completed: NDArray[np.bool_]


def initial(workload: Workload, failures: Failures) -> State:
    """Return the state before the first workflow arrives.

    Args:
        workload: the tasks.
        failures: the down times of the nodes.
    """
    tasks, nodes = workload.cost.shape
    room = tasks + nodes + 64
    return State(
        np.full(1, -np.inf),
        np.zeros(tasks, dtype=np.int8),
        np.diff(workload.parent_offsets),
        np.full(tasks, np.nan),
        np.full(tasks, -1, dtype=np.int64),
        np.full(tasks, np.nan),
        np.full(tasks, np.nan),
        np.zeros(tasks),
        np.zeros(tasks, dtype=np.int64),
        np.zeros(tasks, dtype=np.int64),
        np.zeros(len(workload.arrival), dtype=np.int64),
        np.zeros(len(workload.arrival), dtype=np.bool_),
        np.full(nodes, -1, dtype=np.int64),
        np.zeros(nodes, dtype=np.bool_),
        np.zeros(nodes),
        failures.offsets[:-1].copy(),
        np.zeros(8, dtype=np.int64),
        np.zeros((room, 2), dtype=np.int64),
        np.zeros((room, 2)),
        np.zeros(room, dtype=np.bool_),
    )


def grown(state: State) -> State:
    """Return the same state with room for twice as many attempts."""
    return state._replace(
        attempt=np.concatenate([state.attempt, np.zeros_like(state.attempt)]),
        span=np.concatenate([state.span, np.zeros_like(state.span)]),
        completed=np.concatenate([state.completed, np.zeros_like(state.completed)]),
    )


@jit
def enter(workload: Workload, state: State, task: int, arrival: bool) -> None:
    """Put a task into the pool: in the order of arrival, or by descending rank; ties by number."""
    now = state.clock[0]
    state.status[task] = READY
    state.since[task] = now
    pooled = state.counts[POOLED]
    low = 0
    high = pooled
    while low < high:
        middle = (low + high) // 2
        other = state.pool[middle]
        key = state.since[other] - now if arrival else workload.rank[task] - workload.rank[other]
        if key < 0 or (key == 0 and other < task):
            low = middle + 1
        else:
            high = middle
    for position in range(pooled, low, -1):
        state.pool[position] = state.pool[position - 1]
    state.pool[low] = task
    state.counts[POOLED] = pooled + 1
    state.waiting[workload.workflow[task]] += 1


@jit
def leave(workload: Workload, state: State, position: int) -> None:
    """Take the task at a position out of the pool."""
    state.waiting[workload.workflow[state.pool[position]]] -= 1
    pooled = state.counts[POOLED] - 1
    for other in range(position, pooled):
        state.pool[other] = state.pool[other + 1]
    state.counts[POOLED] = pooled


@jit
def _over(state: State, task: int, completed: bool) -> None:
    """Write down an attempt, and free its node."""
    index = state.counts[ATTEMPTS]
    node = state.node[task]
    state.attempt[index, 0] = task
    state.attempt[index, 1] = node
    state.span[index, 0] = state.start[task]
    state.span[index, 1] = state.clock[0]
    state.completed[index] = completed
    state.counts[ATTEMPTS] = index + 1
    state.task[node] = -1


@jit
def _kill(workload: Workload, state: State, task: int, arrival: bool) -> None:
    _over(state, task, False)
    state.lost[task] += state.clock[0] - state.start[task]
    state.killed[task] += 1
    state.counts[RESCHEDULED] += 1
    state.node[task] = -1
    state.finish[task] = np.nan
    enter(workload, state, task, arrival)


@jit
def _fail(workload: Workload, state: State, node: int, arrival: bool) -> None:
    """Kill what runs on a node that has failed, and what still reads from it."""
    now = state.clock[0]
    if state.task[node] >= 0:
        _kill(workload, state, state.task[node], arrival)
    for other in range(len(state.task)):
        task = state.task[other]
        if task < 0:
            continue
        for edge in range(workload.parent_offsets[task], workload.parent_offsets[task + 1]):
            if (
                state.node[workload.parents[edge]] == node
                and state.start[task] + workload.transfer[edge] > now
            ):
                _kill(workload, state, task, arrival)
                break


@jit
def upcoming(workload: Workload, failures: Failures, state: State) -> float:
    """Return the time of the next event, in seconds; ``inf`` where there is none."""
    time = np.inf
    for node in range(len(state.task)):
        if state.task[node] >= 0:
            time = min(time, state.finish[state.task[node]])
        if state.down[node]:
            time = min(time, state.back[node])
        elif state.upcoming[node] < failures.offsets[node + 1]:
            time = min(time, failures.start[state.upcoming[node]])
    for workflow in range(len(state.arrived)):
        if not state.arrived[workflow]:
            time = min(time, workload.arrival[workflow])
    return float(max(time, state.clock[0]))


@jit
def advance(workload: Workload, failures: Failures, state: State, now: float, arrival: bool) -> None:
    """Go on to a time, and let all happen that is due.

    Args:
        workload: the tasks.
        failures: the down times.
        state: is changed.
        now: in seconds; not beyond the next event.
        arrival: whether the pool is in the order of arrival, not by rank.
    """
    state.clock[0] = now
    for node in range(len(state.task)):
        task = state.task[node]
        if task >= 0 and state.finish[task] <= now:
            _over(state, task, True)
            state.status[task] = DONE
            state.counts[ENDED] += 1
            for edge in range(workload.child_offsets[task], workload.child_offsets[task + 1]):
                child = workload.children[edge]
                state.missing[child] -= 1
                if state.missing[child] == 0:
                    enter(workload, state, child, arrival)
    for node in range(len(state.task)):
        if state.down[node] and state.back[node] <= now:
            state.down[node] = False
    for node in range(len(state.task)):
        index = state.upcoming[node]
        if not state.down[node] and index < failures.offsets[node + 1] and failures.start[index] <= now:
            state.down[node] = True
            state.back[node] = failures.end[index]
            state.upcoming[node] = index + 1
            _fail(workload, state, node, arrival)
    for workflow in range(len(state.arrived)):
        if not state.arrived[workflow] and workload.arrival[workflow] <= now:
            state.arrived[workflow] = True
            for task in range(len(state.status)):
                if workload.workflow[task] == workflow and state.missing[task] == 0:
                    enter(workload, state, task, arrival)


@jit
def durations(
    workload: Workload, state: State, task: int, free: NDArray[np.bool_], out: NDArray[np.float64]
) -> bool:
    """Fill in what a task would take on each free node; return whether all that it reads is in reach.

    Args:
        workload: the tasks.
        state: of the machine.
        task: a ready one.
        free: nodes that it may have, shape (nodes,).
        out: seconds with its transfers; ``inf`` on the others, shape (nodes,).
    """
    first = workload.parent_offsets[task]
    last = workload.parent_offsets[task + 1]
    out[:] = np.inf
    for edge in range(first, last):
        if state.down[state.node[workload.parents[edge]]]:
            return False
    for node in range(len(free)):
        if free[node]:
            over = 0.0
            for edge in range(first, last):
                if state.node[workload.parents[edge]] != node:
                    over = max(over, workload.transfer[edge])
            out[node] = over + workload.cost[task, node]
    return True


@jit
def exposures(
    workload: Workload,
    state: State,
    compiled: Compiled,
    task: int,
    free: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """Fill in the probability that a node which a task reads from fails meanwhile, on each free node.

    Args:
        workload: the tasks.
        state: of the machine.
        compiled: the predictor.
        task: a ready one.
        free: nodes that it may have, shape (nodes,).
        out: shape (nodes,); 0 on the others.
    """
    out[:] = 0.0
    for edge in range(workload.parent_offsets[task], workload.parent_offsets[task + 1]):
        source = state.node[workload.parents[edge]]
        now = state.clock[0]
        failing = probability(compiled, source, now, workload.transfer[edge], now)
        if failing > 0.0:
            for node in range(len(free)):
                if free[node] and node != source:
                    out[node] = 1.0 - (1.0 - out[node]) * (1.0 - failing)


@jit
def until_next(state: State) -> float:
    """Return the seconds until the next running task ends; ``inf`` where none runs."""
    wait = np.inf
    for node in range(len(state.task)):
        if state.task[node] >= 0:
            wait = min(wait, state.finish[state.task[node]] - state.clock[0])
    return float(wait)


@jit
def dispatch(workload: Workload, state: State, position: int, node: int, duration: float) -> None:
    """Start the ready task at a position of the pool on a free node, for so many seconds."""
    task = state.pool[position]
    leave(workload, state, position)
    state.status[task] = RUNNING
    state.node[task] = node
    state.start[task] = state.clock[0]
    state.finish[task] = state.clock[0] + duration
    state.task[node] = task
