"""A second simulator, slow and simple, that shares nothing with the compiled ones.

Jobs are (submit, size, run, estimate, checkpoint), faults (time, node, up). Nodes are the free ones of the
lowest index.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Job = tuple[float, int, float, float, float]
Fault = tuple[float, int, bool]


@dataclass
class Run:
    """One attempt."""

    job: int
    start: float
    nodes: list[int]
    end: float
    latest: float
    stopped: float = math.inf
    killed: bool = False


@dataclass
class Reference:
    """The machine; ``attempts`` is the result, in order of start."""

    jobs: list[Job]
    nodes: int
    faults: list[Fault] = field(default_factory=list)
    policy: str = "easy"

    def __post_init__(self) -> None:
        self.up = set(range(self.nodes))
        self.free = set(range(self.nodes))
        self.left = [job[2] for job in self.jobs]
        self.limit = [job[3] for job in self.jobs]
        self.waiting: list[int] = []
        self.running: list[Run] = []
        self.attempts: list[Run] = []
        self.promise: dict[int, float] = {}
        self.begin: dict[int, float] = {}

    def simulate(self) -> list[Run]:
        """Run to the end."""
        order = sorted(range(len(self.jobs)), key=lambda job: self.jobs[job][0])
        times = {job[0] for job in self.jobs} | {fault[0] for fault in self.faults}
        while True:
            later = [time for time in times if time > getattr(self, "now", -math.inf)]
            later += [run.end for run in self.running]
            later += [time for time in self.begin.values() if time < math.inf]
            busy = self.running or self.waiting or any(self.jobs[job][0] in later for job in order)
            if not later or not busy:
                return self.attempts
            self.now = min(later)
            self.event(order)

    def event(self, order: list[int]) -> None:
        """Ends, faults, arrivals, one pass."""
        ended = [run for run in self.running if run.end == self.now]
        for run in ended:
            run.stopped = self.now
            self.running.remove(run)
            self.free |= set(run.nodes)
        changed = False
        for time, node, up in self.faults:
            if time == self.now:
                changed = True
                self.fault(node, up)
        arriving = [job for job in order if self.jobs[job][0] == self.now]
        if self.policy == "conservative":
            if changed:
                self.begin.clear()
                self.waiting = sorted({*self.waiting, *arriving}, key=order.index)
                for job in self.waiting:
                    self.reserve(job)
            else:
                if ended:
                    for job in list(self.waiting):
                        if self.begin[job] > self.now:
                            del self.begin[job]
                            self.reserve(job)
                for job in arriving:
                    self.waiting.append(job)
                    self.reserve(job)
            for job in list(self.waiting):
                if self.begin[job] == self.now:
                    del self.begin[job]
                    self.start(job)
            return
        self.waiting = sorted({*self.waiting, *arriving}, key=order.index)
        while self.waiting and self.jobs[self.waiting[0]][1] <= len(self.free):
            self.start(self.waiting[0])
        if self.policy == "easy" and self.waiting:
            self.backfill()

    def fault(self, node: int, up: bool) -> None:
        """A node comes back, or goes down and kills what runs on it."""
        if up:
            self.up.add(node)
            self.free.add(node)
            return
        for run in [run for run in self.running if node in run.nodes]:
            run.stopped, run.killed = self.now, True
            self.running.remove(run)
            self.free |= set(run.nodes)
            interval = self.jobs[run.job][4]
            kept = 0.0 if math.isinf(interval) else (self.now - run.start) // interval * interval
            self.left[run.job] -= kept
            self.limit[run.job] -= kept
            self.waiting.append(run.job)
        self.up.discard(node)
        self.free.discard(node)

    def start(self, job: int) -> None:
        """Start a job on the free nodes of the lowest index."""
        nodes = sorted(self.free)[: self.jobs[job][1]]
        assert len(nodes) == self.jobs[job][1]
        self.free -= set(nodes)
        self.waiting.remove(job)
        run = Run(job, self.now, nodes, self.now + self.left[job], self.now + self.limit[job])
        self.running.append(run)
        self.attempts.append(run)

    def backfill(self) -> None:
        """Start what leaves enough nodes to the head at its shadow time, if estimates are used up."""
        head = self.waiting[0]
        need = self.jobs[head][1]

        def at(time: float) -> int:
            return len(self.free) + sum(len(run.nodes) for run in self.running if run.latest <= time)

        shadow = min((run.latest for run in self.running if at(run.latest) >= need), default=math.inf)
        for job in self.waiting[1:]:
            size = self.jobs[job][1]
            if size > len(self.free):
                continue
            over = self.now + self.limit[job] > shadow
            if not over or at(shadow) - size >= need:
                self.start(job)

    def reserve(self, job: int) -> None:
        """Give a job the earliest start beside all running and reserved ones."""
        size, limit = self.jobs[job][1], self.limit[job]
        taken = [(run.start, run.latest, len(run.nodes)) for run in self.running]
        taken += [(t, t + self.limit[k], self.jobs[k][1]) for k, t in self.begin.items() if k != job]
        for start in sorted({self.now} | {end for _, end, _ in taken if self.now < end < math.inf}):
            points = [start, *(begin for begin, _, _ in taken if start < begin < start + limit)]
            if all(
                sum(held for begin, end, held in taken if begin <= point < end) + size <= len(self.up)
                for point in points
            ):
                self.begin[job] = start
                break
        else:
            self.begin[job] = math.inf
        self.promise.setdefault(job, self.begin[job])
