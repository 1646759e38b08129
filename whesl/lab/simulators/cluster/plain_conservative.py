"""Conservative backfilling in plain Python, for machines without a C compiler.

The rules, attempts and first reservations are those of ``whesl/lab/native/event_loop.c``.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from whesl.lab.simulators.cluster import simulation_records
from whesl.lab.simulators.cluster.policy_object_event_loop import Machine

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
    machine = _Reserving(work, nodes, simulation_records.faults(history, nodes))
    return machine.run(), np.array(machine.promise, dtype=np.float64)


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

    def __init__(self, work: Workload, nodes: int, faults: simulation_records.Faults) -> None:
        super().__init__(work, nodes, faults)
        self.size: list[int] = work.size.tolist()
        self.profile = _Profile(nodes)
        self.begin = [math.inf] * len(self.size)
        self.promise = [math.inf] * len(self.size)
        self.moved = self.anew = False

    def release(self, attempt: int, now: float) -> None:
        """Free the nodes of an attempt that ends now; its job gives back the rest of its reservation."""
        super().release(attempt, now)
        job = self.job[attempt]
        latest = self.start[attempt] + float(self.queue.limit[job])
        if latest > now:
            self.profile.forget(now)
            self.profile.occupy(now, latest, -self.size[job])
        self.moved = True

    def fault(self, node: int, now: float, *, up: bool) -> None:
        """Take a node out of service or bring it back, upon which all reservations are made anew."""
        super().fault(node, now, up=up)
        self.anew = True

    def start_jobs(self, now: float, fresh: int) -> float:
        """Start the jobs whose reservations begin now; return the begin of the next reservation."""
        profile, waiting = self.profile, self.queue.view().job.tolist()
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
            size, limit = self.size[job], float(self.queue.limit[job])
            begin = self.begin[job] = profile.earliest(now, size, limit, math.inf)
            if self.promise[job] == math.inf:
                self.promise[job] = begin
            if begin < math.inf:
                profile.occupy(begin, begin + limit, size)
        due = math.inf
        for job in waiting:
            if self.begin[job] <= now:
                self.start_job(self.queue.place(job), job, np.flatnonzero(self.free)[: self.size[job]], now)
            else:
                due = min(due, self.begin[job])
        return due

    def _move(self, job: int, now: float) -> None:
        """Move a job's reservation to the earliest possible time."""
        old, size, limit = self.begin[job], self.size[job], float(self.queue.limit[job])
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
        profile, running = self.profile, self.running.view()
        profile.times, profile.free = [now], [self.free_count]
        order = np.argsort(running.end, kind="stable")
        ends = zip(running.end[order].tolist(), np.diff(running.offsets)[order].tolist(), strict=True)
        for latest, count in ends:
            if profile.times[-1] != latest:
                profile.times.append(latest)
                profile.free.append(profile.free[-1])
            profile.free[-1] += count
