"""The event loop of workflow simulations, compiled for ranked policies, else in plain Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.workflow.state import (
    ASKED,
    ATTEMPTS,
    ENDED,
    NODES_ASKED,
    NODES_RIGHT,
    POOLED,
    RIGHT,
    State,
    advance,
    dispatch,
    durations,
    exposures,
    grown,
    initial,
    until_next,
    upcoming,
)
from whesl.lab.simulators.workflow.workload import Failures, Workload
from whesl.model.errors import WheslError
from whesl.placement.policies.list_scheduling import Ranked, Ready, TaskPolicy, earliest_safe, least_expected
from whesl.prediction.failures.compiled_predictor import Compiled
from whesl.prediction.numba_jit import jit

_GOING, _OVER, _STUCK, _FULL = range(4)
# Interval in seconds at which a predictor whose answers depend on a node's age is asked again.
AGAIN = 300.0
# Time in seconds after the last event in which a task without a safe node may still start.
PATIENCE = 30 * 86400.0


@jit
def _fails(failures: Failures, node: int, start: float, duration: float) -> bool:
    """Return whether a node really fails in [start, start + duration)."""
    first = failures.offsets[node]
    last = failures.offsets[node + 1]
    index = first + np.searchsorted(failures.start[first:last], start, side="left")
    return bool(index < last and failures.start[index] < start + duration)


@jit
def _several(state: State) -> bool:
    """Return whether the pool holds tasks of several workflows."""
    found = 0
    for waiting in state.waiting:
        if waiting > 0:
            found += 1
    return found > 1


@jit
def _count(
    failures: Failures,
    state: State,
    compiled: Compiled,
    duration: NDArray[np.float64],
    answers: NDArray[np.int8],
    seen: NDArray[np.bool_],
) -> None:
    """Count the answers about one task, and those that are the first about a node in this pass."""
    now = state.clock[0]
    for node in range(len(answers)):
        if answers[node] >= 0:
            right = (answers[node] == 1) == _fails(failures, node, now, duration[node])
            state.counts[ASKED] += 1
            state.counts[RIGHT] += right
            if not seen[node]:
                seen[node] = True
                state.counts[NODES_ASKED] += 1
                state.counts[NODES_RIGHT] += right


@jit
def _pass(
    workload: Workload, failures: Failures, state: State, compiled: Compiled, hybrid: bool, weighs: bool
) -> int:
    """Seek nodes for the ready tasks in order; return the number of started tasks.

    For the accuracy that the scheduler sees (AAA), each free node counts once in a pass with a ready task:
    for the first task that the policy asked about, or for the first ready task if the policy did not ask.
    """
    nodes = len(state.task)
    free = np.zeros(nodes, dtype=np.bool_)
    left = 0
    for node in range(nodes):
        free[node] = state.task[node] < 0 and not state.down[node]
        left += free[node]
    duration = np.empty(nodes)
    foremost = np.empty(nodes)
    exposed = np.zeros(nodes)
    wait = until_next(state)
    answers = np.empty(nodes, dtype=np.int8)
    seen = ~free
    started = 0
    found = False
    backwards = hybrid and _several(state)
    position = state.counts[POOLED] - 1 if backwards else 0
    while left > 0 and 0 <= position < state.counts[POOLED]:
        node = -1
        if durations(workload, state, state.pool[position], free, duration):
            if not found:
                found = True
                foremost[:] = duration
            if weighs:
                exposures(workload, state, compiled, state.pool[position], free, exposed)
                node = least_expected(duration, exposed, compiled, state.clock[0], wait, answers)
            else:
                node = earliest_safe(duration, compiled, state.clock[0], answers)
            _count(failures, state, compiled, duration, answers, seen)
        if node >= 0:
            dispatch(workload, state, position, node, duration[node])
            free[node] = False
            left -= 1
            started += 1
        if backwards:
            position -= 1
        elif node < 0:
            position += 1
    if found:
        for node in range(nodes):
            if not seen[node]:
                single = np.full(nodes, np.inf)
                single[node] = foremost[node]
                said = earliest_safe(single, compiled, state.clock[0], answers) < 0
                right = said == _fails(failures, node, state.clock[0], foremost[node])
                state.counts[NODES_ASKED] += 1
                state.counts[NODES_RIGHT] += right
    return started


@jit
def _wake(state: State, compiled: Compiled) -> float:
    """Return the time at which an answer about a free node may change without an event, in seconds."""
    now = state.clock[0]
    time = np.inf
    if state.counts[POOLED] == 0:
        return time
    for node in range(len(state.task)):
        if state.task[node] < 0 and not state.down[node]:
            first = compiled.event_offsets[node]
            last = compiled.event_offsets[node + 1]
            index = first + np.searchsorted(compiled.events[first:last], now, side="left")
            if index < last:
                time = min(time, np.nextafter(compiled.events[index], np.inf))
            if len(compiled.ages) > 0 or len(compiled.period) > 0:
                time = min(time, now + AGAIN)
    return time


@jit
def _run(
    workload: Workload,
    failures: Failures,
    state: State,
    compiled: Compiled,
    arrival: bool,
    hybrid: bool,
    weighs: bool,
    last: float,
) -> tuple[int, float]:
    """Run until the tasks are done, no task can start, or the record of attempts is full.

    Returns the reason, and the time of the last start or event; ``last`` is that time before the call.
    """
    tasks = len(state.status)
    while state.counts[ENDED] < tasks:
        if state.counts[ATTEMPTS] + 2 * len(state.task) > len(state.completed):
            return _FULL, last
        event = upcoming(workload, failures, state)
        wake = _wake(state, compiled)
        time = min(event, wake)
        if time == np.inf or (event == np.inf and time - last > PATIENCE):
            return _STUCK, last
        advance(workload, failures, state, time, arrival)
        if _pass(workload, failures, state, compiled, hybrid, weighs) > 0:
            last = time
        elif event <= wake:
            last = max(last, time)
    return _OVER, last


def ready(workload: Workload, state: State, compiled: Compiled) -> Ready:
    """Return the view of a policy in plain Python.

    Args:
        workload: the tasks.
        state: the machine's state.
        compiled: the predictor, asked about the sources of a task's input.
    """
    task = state.pool[: state.counts[POOLED]].copy()
    free = (state.task < 0) & ~state.down
    duration = np.empty((len(task), len(free)))
    exposed = np.zeros((len(task), len(free)))
    for row, one in enumerate(task):
        if durations(workload, state, int(one), free, duration[row]):
            exposures(workload, state, compiled, int(one), free, exposed[row])
    return Ready(
        task,
        workload.workflow[task],
        workload.rank[task],
        state.since[task],
        duration,
        exposed,
        until_next(state),
    )


def decide(workload: Workload, state: State, policy: TaskPolicy, compiled: Compiled) -> int:
    """Ask a policy once and start the tasks that it chooses; return the number of tasks.

    Args:
        workload: the tasks.
        state: the machine's state, changed in place.
        policy: the policy.
        compiled: the predictor that the policy asks about nodes.

    Raises:
        WheslError: the policy starts a task that is not ready, or on a node that is not free.
    """
    view = ready(workload, state, compiled)
    if not len(view.task):
        return 0
    rows = {int(task): row for row, task in enumerate(view.task)}
    chosen = policy.decide(view, compiled, float(state.clock[0]))
    taken = set()
    for task, node in zip(chosen.task.tolist(), chosen.node.tolist(), strict=True):
        row = rows.get(task)
        if row is None or not 0 <= node < view.duration.shape[1] or node in taken:
            raise WheslError(f"{policy.name}: task {task} is not ready, or node {node} is not free")
        duration = view.duration[row, node]
        if not np.isfinite(duration):
            raise WheslError(f"{policy.name}: task {task} cannot start on node {node} at {state.clock[0]} s")
        taken.add(node)
        position = int(np.flatnonzero(state.pool[: state.counts[POOLED]] == task)[0])
        dispatch(workload, state, position, node, duration)
        del rows[task]
    return len(chosen.task)


def run(
    workload: Workload, failures: Failures, policy: TaskPolicy, compiled: Compiled, plain: bool = False
) -> State:
    """Simulate all tasks to their ends.

    Args:
        workload: the tasks.
        failures: the down times of the nodes.
        policy: the policy; a ``Ranked`` policy runs compiled, other policies in plain Python.
        compiled: the predictor that the policy asks about nodes.
        plain: whether a ``Ranked`` policy also runs in plain Python, which does not count answers.

    Returns:
        The state at the end.

    Raises:
        WheslError: some tasks never start, since the policy finds no node or no node comes back.
    """
    state = initial(workload, failures)
    last = float(workload.arrival.max())
    reason = _GOING
    if isinstance(policy, Ranked) and not plain:
        while reason != _OVER:
            choices = (policy.arrival, policy.hybrid, policy.weighs)
            reason, last = _run(workload, failures, state, compiled, *choices, last)
            if reason == _STUCK:
                raise _stuck(state, policy)
            if reason == _FULL:
                state = grown(state)
        return state
    in_order = isinstance(policy, Ranked) and policy.arrival
    while state.counts[ENDED] < len(state.status):
        if state.counts[ATTEMPTS] + 2 * len(state.task) > len(state.completed):
            state = grown(state)
        event = upcoming(workload, failures, state)
        wake = _wake(state, compiled)
        time = min(event, wake)
        if time == np.inf or (event == np.inf and time - last > PATIENCE):
            raise _stuck(state, policy)
        advance(workload, failures, state, time, in_order)
        if decide(workload, state, policy, compiled) or event <= wake:
            last = max(last, time)
    return state


def _stuck(state: State, policy: TaskPolicy) -> WheslError:
    waiting = int(state.counts[POOLED])
    left = len(state.status) - int(state.counts[ENDED])
    return WheslError(
        f"{policy.name}: {left} tasks never end: {waiting} are ready, and no node is safe or comes back",
        hint="take a predictor with another threshold, shorter tasks, or nodes that come back",
    )
