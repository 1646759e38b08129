"""The state of a simulated machine with workflows, and its transitions, as functions of arrays.

The model: transfers begin when a task is dispatched, run in parallel, and count as its execution. A task's
output lies on the task's node: out of reach while the node is down, in reach again afterwards. A failure of a
node kills the task on the node and the tasks elsewhere that still read from the node; killed tasks return to
the pool and start over. At equal times the order is: ends of tasks, repairs, failures, arrivals, decisions of
the policy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.workflow.workload import Failures, Workload
from whesl.prediction.failures.compiled_predictor import Compiled, probability
from whesl.prediction.numba_jit import jit

BLOCKED, READY, RUNNING, DONE = range(4)
# Indices into ``State.counts``.
POOLED, ENDED, RESCHEDULED, ATTEMPTS, ASKED, RIGHT, NODES_ASKED, NODES_RIGHT = range(8)


class State(NamedTuple):
    """The state of a simulated machine; the transitions change its arrays in place.

    Attributes:
        clock: the present time, in seconds, shape (1,).
        status: status of each task: BLOCKED, READY, RUNNING or DONE, shape (tasks,).
        missing: number of unfinished parents of each task, shape (tasks,).
        since: time at which each task last entered the pool, in seconds, shape (tasks,).
        node: node that each task runs on or has run on; -1 before, shape (tasks,).
        start: time of each task's last dispatch, in seconds, shape (tasks,).
        finish: time at which each task ends or ended, in seconds, shape (tasks,).
        lost: total time of each task's killed attempts, in seconds, shape (tasks,).
        killed: number of killed attempts at each task, shape (tasks,).
        pool: ready tasks in the policy's order, in the first ``counts[POOLED]`` elements, shape (tasks,).
        waiting: number of ready tasks of each workflow, shape (workflows,).
        arrived: whether each workflow has arrived.
        task: task on each node, or -1, shape (nodes,).
        down: whether each node is down, shape (nodes,).
        back: time at which each node that is down comes back, in seconds, shape (nodes,).
        upcoming: index of each node's next failure, shape (nodes,).
        counts: numbers of pooled tasks, ended tasks, killed attempts, ended attempts, questions to the
            predictor, right answers, nodes counted once in each pass, and right answers about these nodes,
            shape (8,).
        attempt: task and node of each ended attempt, shape (room, 2).
        span: dispatch and end of each ended attempt, in seconds, shape (room, 2).
        completed: whether each ended attempt completed, shape (room,).
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
    """Put a task into the pool, in order of arrival or by descending rank; ties are broken by index.

    Args:
        workload: the tasks.
        state: the state, changed in place.
        task: index of the task.
        arrival: whether the pool is in order of arrival, not by rank.
    """
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
    """Remove a task from the pool.

    Args:
        workload: the tasks.
        state: the state, changed in place.
        position: the task's position in the pool.
    """
    state.waiting[workload.workflow[state.pool[position]]] -= 1
    pooled = state.counts[POOLED] - 1
    for other in range(position, pooled):
        state.pool[other] = state.pool[other + 1]
    state.counts[POOLED] = pooled


@jit
def _over(state: State, task: int, completed: bool) -> None:
    """Record an attempt that has ended, and free its node."""
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
    """Kill the task on a failed node, and the tasks that still read from the node."""
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
    """Return the time of the next event, in seconds; ``inf`` if there is none.

    Args:
        workload: the tasks.
        failures: the down times of the nodes.
        state: the state.
    """
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
    """Advance the clock to a time, and perform all events that are due.

    Args:
        workload: the tasks.
        failures: the down times of the nodes.
        state: the state, changed in place.
        now: the time in seconds, at most that of the next event.
        arrival: whether the pool is in order of arrival, not by rank.
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
    """Compute a task's duration on each free node; return whether all of the task's inputs are in reach.

    Args:
        workload: the tasks.
        state: the machine's state.
        task: index of a ready task.
        free: whether each node is free, shape (nodes,).
        out: filled with the durations including transfers, in seconds; ``inf`` on other nodes, shape
            (nodes,).
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
    """Compute, for each free node, the probability that a source of a task's input fails during the transfer.

    Args:
        workload: the tasks.
        state: the machine's state.
        compiled: the predictor.
        task: index of a ready task.
        free: whether each node is free, shape (nodes,).
        out: filled with the probabilities; 0 on other nodes, shape (nodes,).
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
    """Return the time until the next running task ends, in seconds; ``inf`` if no task runs."""
    wait = np.inf
    for node in range(len(state.task)):
        if state.task[node] >= 0:
            wait = min(wait, state.finish[state.task[node]] - state.clock[0])
    return float(wait)


@jit
def dispatch(workload: Workload, state: State, position: int, node: int, duration: float) -> None:
    """Start a ready task on a free node.

    Args:
        workload: the tasks.
        state: the state, changed in place.
        position: the task's position in the pool.
        node: index of the node.
        duration: the task's duration, in seconds.
    """
    task = state.pool[position]
    leave(workload, state, position)
    state.status[task] = RUNNING
    state.node[task] = node
    state.start[task] = state.clock[0]
    state.finish[task] = state.clock[0] + duration
    state.task[node] = task
