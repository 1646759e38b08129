"""Audit of a recorded run on several clusters, in plain Python that shares no code with the event loop."""

from __future__ import annotations

from collections import defaultdict

from whesl.lab.simulators.grid.event_loop import Grid, Jobs, Outages, Outcome


def audit(grid: Grid, jobs: Jobs, outages: Outages, outcome: Outcome, policy: str) -> list[str]:
    """Return one message for each violated rule of a run; an empty list if all rules hold.

    The rules: each job ends once, on one suitable cluster, with as many processors as it requests; no
    processor runs two jobs; no job runs on a machine that is out of service; a job is killed exactly when one
    of its machines fails; a job that was not killed ran for exactly its run time; a job is cancelled only
    while no suitable cluster can hold it. CONS starts each job at the place and time of its last reservation,
    and renews reservations only on clusters whose machines changed. EASY's head starts by its reservation
    unless machines change.

    Args:
        grid: the clusters.
        jobs: the simulated jobs.
        outages: the machines' outages.
        outcome: the outcome of a run with ``record``.
        policy: the policy's name.
    """
    wrong: list[str] = []
    home = [c for c in range(len(grid.first) - 1) for _ in range(grid.first[c + 1] - grid.first[c])]
    down = [
        (int(m), float(s), float(e))
        for m, s, e in zip(outages.machine, outages.start, outages.end, strict=True)
        if e > s
    ]
    use: dict[int, list[tuple[float, int, int, int]]] = defaultdict(list)
    spans: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for job in range(len(jobs.submit)):
        start, end, state = float(outcome.start[job]), float(outcome.end[job]), int(outcome.state[job])
        cluster, offset = int(outcome.cluster[job]), int(outcome.part_offset[job])
        parts = [
            (int(outcome.part_machine[i]), int(outcome.part_cpus[i]))
            for i in range(offset, offset + int(outcome.part_count[job]))
        ]
        if state == 2:
            if cluster >= 0 or start == start or _possible(grid, jobs, down, job, end):
                wrong.append(f"job {job} was cancelled at {end}, though a cluster can hold it, or it ran")
            continue
        if not jobs.submit[job] <= start <= end or not jobs.suits[jobs.kind[job], cluster]:
            wrong.append(f"job {job}: {start} to {end} on cluster {cluster}")
        if sum(cpus for _, cpus in parts) != jobs.cpus[job] or len({m for m, _ in parts}) != len(parts):
            wrong.append(f"job {job}: {parts} for {jobs.cpus[job]} processors")
        if any(home[machine] != cluster or cpus < 1 for machine, cpus in parts):
            wrong.append(f"job {job}: {parts} are not on cluster {cluster}")
        if state == 0 and end != start + jobs.time[job]:
            wrong.append(f"job {job} ran for {end - start}, not {jobs.time[job]}")
        failed = [s for m, s, _ in down if start < s < start + jobs.time[job] and m in {m for m, _ in parts}]
        if (state == 1) != bool(failed) or (failed and end != min(failed)):
            wrong.append(f"job {job}: state {state} at {end}, its machines failed at {failed}")
        for machine, cpus in parts:
            use[machine] += [(start, 1, cpus, job), (end, 0, -cpus, job)]
            spans[machine].append((start, end, job))
    for machine, changes in use.items():
        held = 0
        for time, _, cpus, job in sorted(changes):
            held += cpus
            if held > grid.cpus[machine]:
                wrong.append(f"{time}: machine {machine} holds {held} of {grid.cpus[machine]} with job {job}")
    for machine, begin, finish in down:
        for start, end, job in spans[machine]:
            if start < finish and end > begin:
                wrong.append(f"job {job} ran from {start} to {end} on machine {machine}, down from {begin}")
    return wrong + _kept(grid, home, jobs, down, outcome, policy)


def _possible(grid: Grid, jobs: Jobs, down: list[tuple[int, float, float]], job: int, time: float) -> bool:
    out = {machine for machine, start, end in down if start <= time < end}
    for cluster in range(len(grid.first) - 1):
        machines = range(int(grid.first[cluster]), int(grid.first[cluster + 1]))
        if jobs.suits[jobs.kind[job], cluster] and jobs.cpus[job] <= sum(
            int(grid.cpus[m]) for m in machines if m not in out
        ):
            return True
    return False


def _kept(
    grid: Grid,
    home: list[int],
    jobs: Jobs,
    down: list[tuple[int, float, float]],
    outcome: Outcome,
    policy: str,
) -> list[str]:
    """Return messages about reservations that were broken, or renewed without cause."""
    wrong = []
    changes: dict[int, set[float]] = defaultdict(set)
    for machine, start, end in down:
        changes[home[machine]] |= {start, end}
    last: dict[int, tuple[float, int, float]] = {}
    for row in outcome.promised.tolist():
        job, made, cluster, start = int(row[0]), row[1], int(row[2]), row[3]
        if policy == "cons" and job in last and made not in changes[last[job][1]]:
            wrong.append(f"{made}: job {job} got another reservation, and no machine of its cluster changed")
        if policy == "easy":
            begun = float(outcome.start[job])
            upset = any(made <= time <= start for times in changes.values() for time in times)
            if not upset and not begun <= start:
                wrong.append(f"{made}: job {job} was promised {start}, started {begun}")
        last[job] = (made, cluster, start)
    if policy == "cons":
        for job in range(len(jobs.submit)):
            if outcome.state[job] == 2:
                continue
            if job not in last or last[job][1:] != (int(outcome.cluster[job]), float(outcome.start[job])):
                wrong.append(f"job {job} did not start as its reservation {last.get(job)} says")
    return wrong
