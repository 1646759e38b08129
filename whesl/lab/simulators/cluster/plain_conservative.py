"""Conservative backfilling in plain Python, for machines without a C compiler.

The rules, attempts and first reservations are those of ``whesl/lab/native/event_loop.c``.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Any

import numpy as np

from whesl.lab.simulators.cluster import simulation_records
from whesl.lab.simulators.cluster.plain_event_loop import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
    from whesl.prediction.failures.failure_history import History


def simulate(
    work: Workload, nodes: int, *, history: History | None = None
) -> tuple[Attempts, NDArray[np.float64]]:
    """Simulate a workload.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        history: failures of the nodes, on the clock of the workload; None for none.

    Returns:
        All attempts, and each job's first reservation in seconds.
    """
    faults = simulation_records.faults(history, nodes)
    machine = _Reserving(work, nodes)
    machine.run(list(zip(*(values.tolist() for values in faults), strict=True)))
    return machine.attempts(), np.array(machine.promise, dtype=np.float64)


class _Queue:
    """The waiting jobs in order of arrival."""

    def __init__(self) -> None:
        self.blocks: list[int] = []

    def append(self, job: int) -> None:
        """Append a job that arrives now."""
        self.blocks.append(job)

    def insert(self, job: int) -> None:
        """Add a job at its place by arrival."""
        insort(self.blocks, job)


class _Profile:
    """The number of free nodes over time: begin in seconds and free nodes of each part, in order of time."""

    def __init__(self, nodes: int) -> None:
        self.times, self.free = [-math.inf], [nodes]

    def forget(self, now: float) -> None:
        """Remove the parts that ended before ``now``."""
        over = bisect_right(self.times, now) - 1
        del self.times[:over], self.free[:over]

    def occupy(self, begin: float, end: float, size: int) -> None:
        """Take ``size`` nodes from ``begin`` to ``end``; a negative size gives nodes back.

        Args:
            begin: begin of the time, in seconds.
            end: end of the time, in seconds; ``inf`` for no end.
            size: number of nodes to take; negative to give nodes back.
        """
        first, last = self._cut(begin), self._cut(end) if end < math.inf else len(self.times)
        for at in range(first, last):
            self.free[at] -= size

    def _cut(self, time: float) -> int:
        """Return the index of the part that begins at ``time``; insert that part if it does not exist."""
        at = bisect_left(self.times, time)
        if at == len(self.times) or self.times[at] != time:
            self.times.insert(at, time)
            self.free.insert(at, self.free[at - 1])
        return at

    def earliest(self, now: float, size: int, duration: float, before: float) -> float:
        """Return the earliest start of a job before ``before``, else ``before``; in seconds.

        Args:
            now: present time, in seconds.
            size: the job's number of nodes.
            duration: the job's estimate, in seconds.
            before: bound of the start, in seconds.
        """
        times, free = self.times, self.free
        start, fits = now, False
        for at, begin in enumerate(times):
            if begin >= before:
                break
            if free[at] < size:
                fits = False
                continue
            if not fits:
                fits, start = True, max(now, begin)
            if at + 1 < len(times) and times[at + 1] >= start + duration:
                return start
        return start if fits else before


class _Reserving(Machine):
    """A machine whose waiting jobs have reservations, which move forward when nodes become free early."""

    def __init__(self, work: Workload, nodes: int) -> None:
        super().__init__(work, nodes, backfill=True)
        self.queue: Any = _Queue()
        self.always = True
        self.profile = _Profile(nodes)
        self.begin = [math.inf] * len(self.submit)
        self.promise = [math.inf] * len(self.submit)
        self.moved = self.anew = False

    def _release(self, attempt: int, now: float) -> None:
        super()._release(attempt, now)
        job = self.job[attempt]
        latest = self.start[attempt] + self.limit[job]
        if latest > now:
            self.profile.forget(now)
            self.profile.occupy(now, latest, -self.size[job])
        self.moved = True

    def _fault(self, node: int, now: float, *, up: bool) -> None:
        super()._fault(node, now, up=up)
        self.anew = True

    def _pass(self, now: float, fresh: int) -> None:
        profile, waiting = self.profile, self.queue.blocks
        profile.forget(now)
        behind = bisect_left(waiting, fresh)
        if self.anew:
            self._rebuild(now)
            behind = 0
        elif self.moved:
            for job in waiting[:behind]:
                self._move(job, now)
        self.moved = self.anew = False
        for job in waiting[behind:]:
            size, limit = self.size[job], self.limit[job]
            begin = self.begin[job] = profile.earliest(now, size, limit, math.inf)
            if self.promise[job] == math.inf:
                self.promise[job] = begin
            if begin < math.inf:
                profile.occupy(begin, begin + limit, size)
        self.due = math.inf
        left = []
        for job in waiting:
            if self.begin[job] <= now:
                self._start(job, now)
            else:
                left.append(job)
                self.due = min(self.due, self.begin[job])
        self.queue.blocks = left

    def _move(self, job: int, now: float) -> None:
        """Move a job's reservation to the earliest possible time."""
        old, size, limit = self.begin[job], self.size[job], self.limit[job]
        if old <= now:
            return
        new = self.profile.earliest(now, size, limit, old)
        if new < old:
            if old < math.inf:
                self.profile.occupy(old, old + limit, -size)
            self.profile.occupy(new, new + limit, size)
            self.begin[job] = new

    def _rebuild(self, now: float) -> None:
        """Rebuild the profile from the running jobs alone."""
        profile = self.profile
        profile.times, profile.free = [now], [self.free]
        for latest, _, count in self.running:
            if profile.times[-1] != latest:
                profile.times.append(latest)
                profile.free.append(profile.free[-1])
            profile.free[-1] += count
