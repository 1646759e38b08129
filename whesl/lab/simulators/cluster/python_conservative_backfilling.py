"""Conservative backfilling in plain Python, for machines without a C compiler.

The rules, attempts and first reservations are those of ``whesl/lab/native/cluster_event_loop.c``.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.cluster import simulation_records
from whesl.lab.simulators.cluster.python_event_loop import Machine
from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
from whesl.placement.policies.multicluster.profile import earliest, empty, forget, reset, roomy, take
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


class _Reserving(Machine):
    """A machine whose waiting jobs have reservations, which move forward when nodes become free early."""

    def __init__(self, work: Workload, nodes: int, faults: simulation_records.Faults) -> None:
        super().__init__(work, nodes, faults)
        self.size: list[int] = work.size.tolist()
        self.profile = empty(1, 64)
        reset(self.profile, 0, -math.inf, nodes)
        self.begin = [math.inf] * len(self.size)
        self.promise = [math.inf] * len(self.size)
        self.moved = self.anew = False

    def release(self, attempt: int, now: float) -> None:
        """Free the nodes of an attempt that ends now; its job gives back the rest of its reservation."""
        super().release(attempt, now)
        job = self.job[attempt]
        latest = self.start[attempt] + float(self.queue.limit[job])
        if latest > now:
            forget(self.profile, 0, now)
            self._take(now, latest, -self.size[job])
        self.moved = True

    def fault(self, node: int, now: float, *, up: bool) -> None:
        """Take a node out of service or bring it back, upon which all reservations are made anew."""
        super().fault(node, now, up=up)
        self.anew = True

    def start_jobs(self, now: float, fresh: int) -> float:
        """Start the jobs whose reservations begin now; return the begin of the next reservation."""
        waiting = self.queue.view().job.tolist()
        forget(self.profile, 0, now)
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
            begin = self.begin[job] = float(earliest(self.profile, 0, now, limit, size))
            if self.promise[job] == math.inf:
                self.promise[job] = begin
            if begin < math.inf:
                self._take(begin, begin + limit, size)
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
        new = float(earliest(self.profile, 0, now, limit, size, old))
        if new < old:
            if old < math.inf:
                self._take(old, old + limit, -size)
            self._take(new, new + limit, size)
            self.begin[job] = new

    def _rebuild(self, now: float) -> None:
        """Rebuild the profile from the running jobs alone."""
        running = self.running.view()
        reset(self.profile, 0, now, self.free_count)
        for latest, count in zip(running.end.tolist(), np.diff(running.offsets).tolist(), strict=True):
            self._take(latest, math.inf, -count)

    def _take(self, begin: float, end: float, size: int) -> None:
        """Take nodes out of the profile, or give nodes back if ``size`` is negative."""
        self.profile = roomy(self.profile, int(self.profile.steps[0]) + 2)
        take(self.profile, 0, begin, end, size)
