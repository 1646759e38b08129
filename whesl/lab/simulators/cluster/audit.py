"""Audit of a cluster's simulation from its attempts, with no code shared with the simulators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.native.cluster_event_loop import apart
from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
from whesl.prediction.failures.failure_history import History

Indices = NDArray[np.int64]

_BLOCK = 512  # nodes that are checked at a time, which bounds the memory
_SHOWN = 20  # largest number of messages of one kind


class _Held(NamedTuple):
    """Pairs of a node and an attempt on it, ordered by node and then by start; arrays of shape (held,)."""

    node: Indices
    attempt: Indices


def audit(work: Workload, nodes: int, attempts: Attempts, history: History | None = None) -> list[str]:
    """Return one message for each violated rule of a simulation; an empty list if all rules hold.

    The rules: no node runs two jobs, or a job while the node is down; each job gets as many nodes as it
    requests, starts no earlier than its submission, and never runs twice at a time; the progress that a job's
    attempts keep adds up to its run time; an attempt is killed exactly when one of its nodes fails; events
    are in order. Of each kind at most 20 messages are returned.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        attempts: the simulation's attempts.
        history: the failures of the simulation; None for none.
    """
    wrong = [*_events(work, attempts), *_sizes(work, nodes, attempts), *_jobs(work, attempts)]
    explained = np.zeros(len(attempts.job), dtype=bool)
    arrays = (attempts.start, attempts.end, attempts.offsets, attempts.first, attempts.length)
    # The slow check by blocks of nodes makes the messages; the C code tells quickly that there are none.
    if history is not None or wrong or not apart(nodes, *arrays):
        for low in range(0, nodes, _BLOCK):
            held = _held(attempts, low, min(low + _BLOCK, nodes))
            wrong += _shared(attempts, held)
            if history is not None:
                wrong += _failures(attempts, held, history, explained)
    wrong += _say(
        attempts.killed & ~explained,
        lambda i: f"attempt {i} is killed at {attempts.end[i]}, and no node of it fails then",
    )
    return wrong


def _say(where: NDArray[np.bool_], sentence: Callable[[int], str]) -> Iterator[str]:
    return (sentence(int(index)) for index in np.flatnonzero(where)[:_SHOWN])


def _events(work: Workload, attempts: Attempts) -> Iterator[str]:
    later = np.diff(attempts.start, prepend=-np.inf) < 0
    yield from _say(later, lambda i: f"attempt {i} starts before the one ahead of it")
    early = attempts.start < work.submit[attempts.job]
    yield from _say(early, lambda i: f"job {attempts.job[i]} starts before it is submitted")


def _sizes(work: Workload, nodes: int, attempts: Attempts) -> Iterator[str]:
    first, length = attempts.first.astype(np.int64), attempts.length.astype(np.int64)
    total = np.concatenate([[0], np.cumsum(length)])
    sizes = total[attempts.offsets[1:]] - total[attempts.offsets[:-1]]

    def asked(index: int) -> str:
        job = attempts.job[index]
        return f"job {job} has nodes {attempts.nodes(index).tolist()}, and asks for {int(work.size[job])}"

    yield from _say(sizes != work.size[attempts.job], asked)
    owner = np.repeat(np.arange(len(attempts.job)), np.diff(attempts.offsets))
    absent = (first < 0) | (first + length > nodes)
    yield from _say(absent, lambda run: f"job {attempts.job[owner[run]]} is on a node that there is not")
    order = np.lexsort((first, owner))
    same = owner[order][1:] == owner[order][:-1]
    twice = same & (first[order][1:] < (first + length)[order][:-1])
    yield from _say(twice, lambda run: asked(int(owner[order][run])))


def _held(attempts: Attempts, low: int, high: int) -> _Held:
    """Return the attempts on the nodes from ``low`` to ``high - 1``."""
    owner = np.repeat(np.arange(len(attempts.job)), np.diff(attempts.offsets))
    first = np.maximum(attempts.first.astype(np.int64), low)
    length = np.minimum(attempts.first.astype(np.int64) + attempts.length, high) - first
    some = np.flatnonzero(length > 0)
    some = some[np.argsort(attempts.start[owner[some]], kind="stable")]
    owner, first, length = owner[some], first[some], length[some]
    attempt = np.repeat(owner, length)
    node = np.arange(len(attempt)) + np.repeat(first - low - (np.cumsum(length) - length), length)
    order = np.argsort(node.astype(np.uint16), kind="stable")  # NumPy sorts 16-bit integers in linear time
    return _Held(node[order] + low, attempt[order])


def _shared(attempts: Attempts, held: _Held) -> Iterator[str]:
    node, attempt = held
    start, end = attempts.start[attempt], attempts.end[attempt]
    shared = (node[1:] == node[:-1]) & (start[1:] < end[:-1])
    yield from _say(
        shared, lambda i: f"node {node[i]} holds attempts {attempt[i]} and {attempt[i + 1]} at {start[i + 1]}"
    )


def _failures(
    attempts: Attempts, held: _Held, history: History, explained: NDArray[np.bool_]
) -> Iterator[str]:
    """Yield messages about failures of these nodes; set ``explained`` for attempts that a failure ended."""
    if not len(held.node):
        return
    start, end = attempts.start[held.attempt], attempts.end[held.attempt]
    here = (history.node >= held.node[0]) & (history.node <= held.node[-1])
    down = zip(
        history.node[here].tolist(), history.start[here].tolist(), history.end[here].tolist(), strict=True
    )
    for node, begin, back in down:
        low, high = np.searchsorted(held.node, (node, node + 1))
        before = low + int(np.searchsorted(start[low:high], begin))
        until = low + int(np.searchsorted(start[low:high], back))
        for row in range(before, until):
            yield f"attempt {held.attempt[row]} starts at {start[row]} on node {node}, which is down"
        if before > low and begin <= end[before - 1]:
            index = int(held.attempt[before - 1])
            if begin == end[before - 1]:
                explained[index] = True
            else:
                yield f"attempt {index} outlives the failure of node {node} at {begin}"


def _jobs(work: Workload, attempts: Attempts) -> Iterator[str]:
    order = np.lexsort((np.arange(len(attempts.job)), attempts.job))
    job, killed = attempts.job[order], attempts.killed[order]
    start, end = attempts.start[order], attempts.end[order]
    interval = work.checkpoint[job]
    written = killed & np.isfinite(interval)
    elapsed = np.where(np.isfinite(end), end - start, 0.0)
    kept = np.zeros(len(job))
    kept[written] = elapsed[written] // interval[written] * interval[written]
    again = np.append(job[1:] == job[:-1], False) if len(job) else np.zeros(0, dtype=bool)
    yield from _say(again & ~killed, lambda i: f"job {job[i]} is started again, and was not killed")
    following = np.append(start[1:], np.inf)
    yield from _say(again & (following < end), lambda i: f"job {job[i]} is started while it runs")
    ran = np.bincount(job, weights=kept, minlength=len(work.run))[job] + elapsed
    close = np.abs(ran - work.run[job]) <= np.maximum(1e-9 * np.maximum(ran, work.run[job]), 1e-6)
    yield from _say(
        ~killed & np.isfinite(end) & ~close,
        lambda i: f"job {job[i]} ran {ran[i]} s in all, and needs {float(work.run[job[i]])}",
    )
