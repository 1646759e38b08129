"""The event loop of a torus: each event is followed by a pass of ``whesl.placement.policies.torus``.

At equal times the order is: ends of jobs, failures of nodes, arrivals. Failures are transient: the node is
usable at once, and the job on the node returns to its place by arrival and starts from its beginning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.growing_arrays import grown
from whesl.placement.policies.torus.boxes import Torus, holds
from whesl.placement.policies.torus.choice import RELIABLE
from whesl.placement.policies.torus.scheduling_pass import Pass, Running, Settings, plan
from whesl.prediction.failures.compiled_predictor import Compiled
from whesl.prediction.numba_jit import jit

START = 0
MOVE = 1
END = 2
KILL = 3


class Jobs(NamedTuple):
    """Jobs in order of arrival, each array of shape (jobs,).

    Attributes:
        submit: times of submission in seconds, ascending.
        size: number of nodes that each job requests.
        volume: number of nodes of the smallest box that holds the job.
        time: run time of each job, in seconds.
    """

    submit: NDArray[np.float64]
    size: NDArray[np.int64]
    volume: NDArray[np.int64]
    time: NDArray[np.float64]


class Outcome(NamedTuple):
    """The outcome of a run, each array of shape (jobs,) unless another shape is given.

    Attributes:
        start: start of each job's last attempt, in seconds.
        end: end of each job, in seconds.
        box: box of each job at its end, shape (jobs, 6).
        attempts: number of attempts at each job.
        wasted: node-seconds of each job's attempts that failures ended.
        unused: integral of the free nodes beyond the waiting jobs' requests, in node-seconds.
        hits: number of failures of nodes that held a job.
        migrations: number of passes that moved running jobs.
        event_time: time of each event, in seconds, shape (events,); empty if not recorded.
        event_job: job of each event, shape (events,).
        event_kind: kind of each event: START, MOVE, END or KILL, shape (events,).
        event_box: box of the job from the event on, or up to its end, shape (events, 6).
        promised: the head, the time, and the begin of the head's reservation, for each pass that left a job
            waiting, shape (passes, 3); empty if not recorded, and under "reliable", which may delay the head
            again.
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    box: NDArray[np.int64]
    attempts: NDArray[np.int64]
    wasted: NDArray[np.float64]
    unused: float
    hits: int
    migrations: int
    event_time: NDArray[np.float64]
    event_job: NDArray[np.int64]
    event_kind: NDArray[np.int8]
    event_box: NDArray[np.int64]
    promised: NDArray[np.float64]


@jit
def run(
    geometry: Torus,
    settings: Settings,
    predictor: Compiled,
    migration: bool,
    jobs: Jobs,
    failure_time: NDArray[np.float64],
    failure_node: NDArray[np.int64],
    record: bool,
) -> Outcome:
    """Simulate all jobs to their ends.

    Args:
        geometry: the torus.
        settings: settings of the passes.
        predictor: the predictor that the passes ask about nodes.
        migration: whether running jobs may be moved.
        jobs: the jobs in order of arrival; a box exists for each volume.
        failure_time: time of each failure in seconds, ascending.
        failure_node: the node of each failure.
        record: whether events and reservations are recorded.
    """
    count = len(jobs.submit)
    nodes = len(predictor.event_offsets) - 1
    start, end = np.full(count, np.nan), np.full(count, np.nan)
    box = np.zeros((count, 6), dtype=np.int64)
    attempts, wasted = np.zeros(count, dtype=np.int64), np.zeros(count)
    running, until = np.empty(nodes + 1, dtype=np.int64), np.full(nodes + 1, np.inf)
    boxes = np.empty((nodes + 1, 6), dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)
    held = waiting = arrived = failed = events = passes = hits = migrations = wanted = 0
    free = nodes
    log, promised = np.empty((16, 9)), np.empty((16, 3))
    unused = 0.0
    now = jobs.submit[0] if count else 0.0
    refused = -1  # head for which repacking the running jobs failed, reset when a job releases nodes
    while arrived < count or held > 0 or waiting > 0:
        then = jobs.submit[arrived] if arrived < count else np.inf
        for i in range(held):
            then = min(then, until[i])
        while failed < len(failure_time) and failure_time[failed] < now:
            failed += 1
        if failed < len(failure_time):
            then = min(then, failure_time[failed])
        unused += max(0, free - wanted) * (then - now)
        now = then
        changed = False
        kept = 0
        for i in range(held):
            job = running[i]
            if until[i] <= now:
                end[job] = now
                box[job] = boxes[i]
                free += jobs.volume[job]
                changed = True
                if record:
                    log = grown(log, events, 1)
                    log[events, 0], log[events, 1], log[events, 2] = now, job, END
                    log[events, 3:] = boxes[i]
                    events += 1
            else:
                running[kept], until[kept] = job, until[i]
                boxes[kept] = boxes[i]
                kept += 1
        held = kept
        while failed < len(failure_time) and failure_time[failed] <= now:
            for i in range(held):
                if not holds(geometry.dims, boxes[i], failure_node[failed]):
                    continue
                job = running[i]
                hits += 1
                wasted[job] += jobs.size[job] * (now - start[job])
                free += jobs.volume[job]
                changed = True
                if record:
                    log = grown(log, events, 1)
                    log[events, 0], log[events, 1], log[events, 2] = now, job, KILL
                    log[events, 3:] = boxes[i]
                    events += 1
                held -= 1
                running[i:held] = running[i + 1 : held + 1].copy()
                until[i:held] = until[i + 1 : held + 1].copy()
                boxes[i:held] = boxes[i + 1 : held + 1].copy()
                place = int(np.searchsorted(queue[:waiting], job))
                queue[place + 1 : waiting + 1] = queue[place:waiting].copy()
                queue[place] = job
                waiting += 1
                wanted += jobs.size[job]
                break
            failed += 1
        came = False
        while arrived < count and jobs.submit[arrived] <= now:
            queue[waiting] = arrived
            waiting += 1
            wanted += jobs.size[arrived]
            arrived += 1
            came = True
        if changed:
            refused = -1
        if waiting == 0 or not (changed or came):
            continue
        order = queue[:waiting]
        decided = plan(
            Pass(geometry, settings, predictor, now),
            migration and refused != order[0],
            Running(boxes[:held], until[:held]),
            jobs.volume[order],
            jobs.time[order],
            jobs.submit[order] + jobs.time[order],
        )
        started = len(decided.position)
        if decided.moved:
            migrations += 1
            if record:
                log = grown(log, events, held)
                for i in range(held):
                    log[events, 0], log[events, 1], log[events, 2] = now, running[i], MOVE
                    log[events, 3:] = decided.boxes[i]
                    events += 1
        for i in range(started):
            job = order[decided.position[i]]
            start[job] = now
            attempts[job] += 1
            free -= jobs.volume[job]
            wanted -= jobs.size[job]
            running[held + i], until[held + i] = job, now + jobs.time[job]
            if record:
                log = grown(log, events, 1)
                log[events, 0], log[events, 1], log[events, 2] = now, job, START
                log[events, 3:] = decided.boxes[held + i]
                events += 1
        boxes[: held + started] = decided.boxes
        held += started
        keep = np.ones(waiting, dtype=np.bool_)
        keep[decided.position] = False
        left = order[keep]
        waiting = len(left)
        queue[:waiting] = left
        if decided.refused:
            refused = left[0]
        if record and waiting and len(decided.reserved) and settings.rule != RELIABLE:
            promised = grown(promised, passes, 1)
            promised[passes, 0], promised[passes, 1], promised[passes, 2] = left[0], now, decided.shadow
            passes += 1
    log = log[:events]
    return Outcome(
        start,
        end,
        box,
        attempts,
        wasted,
        unused,
        hits,
        migrations,
        log[:, 0].copy(),
        log[:, 1].astype(np.int64),
        log[:, 2].astype(np.int8),
        log[:, 3:].astype(np.int64),
        promised[:passes],
    )
