"""Audit of a recorded run on a torus, in plain Python that shares no code with the event loop."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from numpy.typing import NDArray

from whesl.lab.simulators.torus.event_loop import Jobs, Outcome

_NAMES = ("start", "move", "end", "kill")


def _cells(dims: tuple[int, int, int], box: tuple[int, ...]) -> frozenset[tuple[int, int, int]]:
    x, y, z, a, b, c = box
    return frozenset(
        ((x + i) % dims[0], (y + j) % dims[1], (z + k) % dims[2])
        for i in range(a)
        for j in range(b)
        for k in range(c)
    )


def audit(
    dims: tuple[int, int, int],
    jobs: Jobs,
    outcome: Outcome,
    failures: list[tuple[float, int]],
    predictions_keep_head: bool = True,
) -> list[str]:
    """Return one message for each violated rule of a run; an empty list if all rules hold.

    The rules: partitions are boxes of the torus that hold the job; no node runs two jobs; a job starts after
    its arrival, runs for exactly its run time in its last attempt, and is killed exactly when one of its
    nodes fails; node-hours of successful and failed attempts add up; a head starts by its promised time
    unless a failure comes in between.

    Args:
        dims: nodes along each dimension.
        jobs: the simulated jobs.
        outcome: the outcome of a run with ``record``.
        failures: (time in seconds, node) of each failure, ascending.
        predictions_keep_head: whether promised starts are checked.
    """
    wrong: list[str] = []
    place: dict[int, tuple[float, frozenset[tuple[int, int, int]]]] = {}
    owner: dict[tuple[int, int, int], int] = {}
    starts: dict[int, list[float]] = defaultdict(list)
    ended: dict[int, float] = {}
    wasted: dict[int, float] = defaultdict(float)
    killed: list[tuple[float, int]] = []
    events = list(
        zip(
            outcome.event_time.tolist(),
            outcome.event_job.tolist(),
            outcome.event_kind.tolist(),
            outcome.event_box.tolist(),
            strict=True,
        )
    )
    falls: dict[float, list[tuple[int, int, int]]] = defaultdict(list)
    for time, node in failures:
        falls[time].append((node // (dims[1] * dims[2]), node // dims[2] % dims[1], node % dims[2]))
    pending = sorted(falls)
    before = float("-inf")
    index = 0
    while index < len(events):
        now = events[index][0]
        if now < before:
            wrong.append(f"{now}: events go back from {before}")
        wrong += [
            f"{time}: a failed node of job {owner[cell]} did not kill it"
            for time in pending
            if before < time < now
            for cell in falls[time]
            if cell in owner
        ]
        pending = [time for time in pending if time >= now]
        batch = []
        while index < len(events) and events[index][0] == now:
            batch.append(events[index])
            index += 1
        moving = [event for event in batch if event[2] == 1]
        for _, job, _, _ in moving:
            for cell in place[job][1] if job in place else ():
                owner.pop(cell, None)
        for _, job, kind, box in batch:
            cells = _cells(dims, tuple(box))
            label = f"{now}: job {job} {_NAMES[kind]}"
            if kind in (0, 1):
                if len(cells) != box[3] * box[4] * box[5] or any(
                    e > d for e, d in zip(box[3:], dims, strict=True)
                ):
                    wrong.append(f"{label}: {box} is no box of {dims}")
                if len(cells) < jobs.size[job] or len(cells) != jobs.volume[job]:
                    wrong.append(f"{label}: {len(cells)} nodes for {jobs.size[job]}")
                wrong += [f"{label}: on {cell} of job {owner[cell]}" for cell in cells if cell in owner]
            if kind == 0:
                if job in place or job in ended or now < jobs.submit[job]:
                    wrong.append(f"{label}: runs, has ended, or has not arrived")
                starts[job].append(now)
                place[job] = (now, cells)
            elif job not in place:
                wrong.append(f"{label}: does not run")
                continue
            elif kind == 1:
                place[job] = (place[job][0], cells)
            else:
                begun, had = place.pop(job)
                if had != cells:
                    wrong.append(f"{label}: not where it was")
                for cell in had:
                    owner.pop(cell, None)
                if kind == 2:
                    ended[job] = now
                    if now != begun + jobs.time[job]:
                        wrong.append(f"{label}: after {now - begun}, not {jobs.time[job]}")
                else:
                    wasted[job] += float(jobs.size[job]) * (now - begun)
                    killed.append((now, job))
                    if not set(falls.get(now, ())) & had:
                        wrong.append(f"{label}: none of its nodes failed")
            if kind in (0, 1):
                owner.update(dict.fromkeys(cells, job))
        if now in falls:
            fallen = set(falls[now])
            for job, (begun, cells) in place.items():
                if begun < now and fallen & cells and not moving:
                    wrong.append(f"{now}: job {job} outlived a failure of its nodes")
        before = now
    wrong += _ends(jobs, outcome, starts, ended, wasted)
    if predictions_keep_head:
        wrong += _promises(outcome.promised, killed, starts)
    return wrong


def _ends(
    jobs: Jobs,
    outcome: Outcome,
    starts: dict[int, list[float]],
    ended: dict[int, float],
    wasted: dict[int, float],
) -> list[str]:
    wrong = []
    for job in range(len(jobs.submit)):
        if ended.get(job) != outcome.end[job] or starts[job][-1:] != [outcome.start[job]]:
            wrong.append(f"job {job}: its record is not its events")
        if len(starts[job]) != outcome.attempts[job]:
            wrong.append(f"job {job}: {outcome.attempts[job]} attempts, {len(starts[job])} starts")
        if abs(wasted[job] - outcome.wasted[job]) > 1e-6 * (1.0 + wasted[job]):
            wrong.append(f"job {job}: {outcome.wasted[job]} node-seconds lost, {wasted[job]} by its events")
    return wrong


def _promises(
    promised: NDArray[Any], killed: list[tuple[float, int]], starts: dict[int, list[float]]
) -> list[str]:
    """Return messages about promised starts that were broken without a failure in between."""
    wrong = []
    for job, made, by in promised.tolist():
        job = int(job)
        begun = next((time for time in starts[job] if time >= made), None)
        if begun is None or begun > by:
            upset = any(made <= time <= by for time, _ in killed)
            if not upset:
                wrong.append(f"{made}: job {job} was promised {by}, started {begun}")
    return wrong
