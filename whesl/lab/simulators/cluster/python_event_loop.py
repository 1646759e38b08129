"""The event loop for policies in plain Python, which are objects with ``decide(view, predictor, now)``.

The rules are those of the event loop in C. The loop updates a view's arrays in place between events, so a
policy may read but neither keep nor change them. A job's identifier is its index in the workload.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.cluster import simulation_records
from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
from whesl.model.errors import WheslError
from whesl.placement.policies.port import Decisions, Nodes, Policy, Queue, Running, View
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.port import Predictor


class _Queue:
    """The waiting jobs in order of arrival: a window of arrays that moves on as jobs leave at the front."""

    def __init__(self, work: Workload) -> None:
        self.work = work
        self.limit = work.estimate.copy()
        # Rows of the tables: job, size; submission, estimate, interval between checkpoints.
        self.whole, self.real = np.empty((2, 64), np.int64), np.empty((3, 64))
        self.lo = self.hi = 0

    def add(self, job: int) -> None:
        """Insert a job at its place by arrival."""
        if self.hi == self.whole.shape[1]:
            count = self.hi - self.lo
            room = max(64, 2 * count)
            whole, real = np.empty((2, room), np.int64), np.empty((3, room))
            whole[:, :count], real[:, :count] = self.whole[:, self.lo :], self.real[:, self.lo :]
            self.whole, self.real, self.lo, self.hi = whole, real, 0, count
        at = self.hi
        if at > self.lo and self.whole[0, at - 1] > job:
            at = self.place(job)
            for table in (self.whole, self.real):
                table[:, at + 1 : self.hi + 1] = table[:, at : self.hi]
        work = self.work
        self.whole[:, at] = job, work.size[job]
        self.real[:, at] = work.submit[job], self.limit[job], work.checkpoint[job]
        self.hi += 1

    def place(self, job: int) -> int:
        """Return the index at which a waiting job is, or would be inserted."""
        return self.lo + int(self.whole[0, self.lo : self.hi].searchsorted(job))

    def remove(self, at: int) -> None:
        """Remove the job at an index."""
        if at == self.lo:
            self.lo += 1
            return
        for table in (self.whole, self.real):
            table[:, at : self.hi - 1] = table[:, at + 1 : self.hi]
        self.hi -= 1

    def view(self) -> Queue:
        """Return the waiting jobs as the policy's view."""
        job, size = self.whole[:, self.lo : self.hi]
        submit, estimate, checkpoint = self.real[:, self.lo : self.hi]
        return Queue(job, submit, size, estimate, checkpoint)


class _Running:
    """The running attempts in order of start."""

    def __init__(self, nodes: int) -> None:
        self.job, self.attempt = np.empty((2, nodes + 1), np.int64)
        self.start, self.end = np.empty((2, nodes + 1))
        self.offsets = np.zeros(nodes + 2, np.int64)
        self.nodes = np.empty(nodes, np.int64)
        self.count = 0

    def add(self, job: int, attempt: int, start: float, end: float, nodes: NDArray[np.int64]) -> None:
        """Append an attempt that starts now.

        Args:
            job: index of the job.
            attempt: index of the attempt.
            start: start of the attempt, in seconds.
            end: latest end of the attempt, in seconds.
            nodes: the attempt's nodes, shape (nodes,).
        """
        at = self.count
        begin = int(self.offsets[at])
        self.job[at], self.attempt[at], self.start[at], self.end[at] = job, attempt, start, end
        self.nodes[begin : begin + len(nodes)] = nodes
        self.offsets[at + 1] = begin + len(nodes)
        self.count += 1

    def remove(self, attempt: int) -> NDArray[np.int64]:
        """Remove an attempt and return its nodes."""
        count = self.count
        at = int(self.attempt[:count].searchsorted(attempt))
        begin, end, last = int(self.offsets[at]), int(self.offsets[at + 1]), int(self.offsets[count])
        nodes: NDArray[np.int64] = self.nodes[begin:end].copy()
        for values in (self.job, self.attempt, self.start, self.end):
            values[at : count - 1] = values[at + 1 : count]
        self.nodes[begin : last - len(nodes)] = self.nodes[end:last]
        self.offsets[at + 1 : count] = self.offsets[at + 2 : count + 1] - len(nodes)
        self.count -= 1
        return nodes

    def view(self) -> Running:
        """Return the running jobs as the policy's view."""
        count = self.count
        offsets = self.offsets[: count + 1]
        return Running(
            self.job[:count], self.start[:count], self.end[:count], offsets, self.nodes[: offsets[-1]]
        )


def simulate(
    work: Workload,
    nodes: int,
    policy: Policy,
    *,
    history: History | None = None,
    predictor: Predictor | None = None,
) -> Attempts:
    """Simulate a workload under a policy in plain Python, asked whenever a job waits and a node is free.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        policy: the policy.
        history: failures of the nodes, on the clock of the workload; None for none.
        predictor: the predictor that the policy may ask; None for none.

    Raises:
        WheslError: the policy starts a job that does not wait, on nodes that are not free, or on too few or
            too many nodes.
    """
    return _Asking(work, nodes, simulation_records.faults(history, nodes), policy, predictor).run()


class Machine:
    """The machine's nodes, and the running and waiting jobs; a subclass says which jobs start.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        faults: failures and repairs of the nodes.
    """

    def __init__(self, work: Workload, nodes: int, faults: simulation_records.Faults) -> None:
        self.work = work
        self.up, self.free = np.ones((2, nodes), dtype=np.bool_)
        self.free_count = nodes
        self.faults = list(zip(*(values.tolist() for values in faults), strict=True))
        self.left = work.run.copy()
        self.queue, self.running = _Queue(work), _Running(nodes)
        self.ends: list[tuple[float, int]] = []
        # Columns of the attempts.
        self.job: list[int] = []
        self.start: list[float] = []
        self.end: list[float] = []
        self.killed: list[bool] = []
        self.nodes: list[NDArray[np.int64]] = []

    def start_jobs(self, now: float, fresh: int) -> float:
        """Start the jobs that may start after the events of a time.

        Args:
            now: the time in seconds.
            fresh: the first job that arrived at this time.

        Returns:
            The time of the next call if there is no event before it, in seconds.
        """
        raise NotImplementedError

    def run(self) -> Attempts:
        """Simulate until the end; return all attempts."""
        submit = self.work.submit.tolist()
        arrived, change, count, changes = 0, 0, len(submit), len(self.faults)
        ends, queue, again = self.ends, self.queue, math.inf
        while arrived < count or self.running.count or queue.hi > queue.lo:
            while ends and self.killed[ends[0][1]]:
                heapq.heappop(ends)
            now = submit[arrived] if arrived < count else math.inf
            if ends and ends[0][0] < now:
                now = ends[0][0]
            if change < changes and self.faults[change][0] < now:
                now = self.faults[change][0]
            now = min(now, again)
            if now == math.inf:
                break
            while ends and ends[0][0] == now:
                attempt = heapq.heappop(ends)[1]
                if not self.killed[attempt]:
                    self.release(attempt, now)
            while change < changes and self.faults[change][0] == now:
                self.fault(self.faults[change][1], now, up=self.faults[change][2])
                change += 1
            fresh = arrived
            while arrived < count and submit[arrived] == now:
                queue.add(arrived)
                arrived += 1
            again = self.start_jobs(now, fresh)
        return self._attempts()

    def release(self, attempt: int, now: float) -> None:
        """Free the nodes of an attempt that ends now.

        Args:
            attempt: index of the running attempt.
            now: the time in seconds, on the clock of the workload.
        """
        nodes = self.running.remove(attempt)
        self.end[attempt] = now
        self.free[nodes] = True
        self.free_count += len(nodes)

    def fault(self, node: int, now: float, *, up: bool) -> None:
        """Take a node out of service, and kill the job on it, or bring the node back.

        A killed job waits again, with the work since its last checkpoint still to do.

        Args:
            node: index of the node.
            now: the time in seconds, on the clock of the workload.
            up: whether the node comes back.
        """
        if not up:
            running = self.running.view()
            at = np.flatnonzero(running.nodes == node)
            if len(at):
                place = int(running.offsets.searchsorted(at[0], side="right")) - 1
                attempt = int(self.running.attempt[place])
                job = self.job[attempt]
                self.release(attempt, now)
                self.killed[attempt] = True
                interval, kept = float(self.work.checkpoint[job]), 0.0
                if 0 < interval < math.inf:
                    kept = math.floor((now - self.start[attempt]) / interval) * interval
                self.left[job] -= kept
                self.queue.limit[job] -= kept
                self.queue.add(job)
        self.up[node] = self.free[node] = up
        self.free_count += 1 if up else -1

    def start_job(self, at: int, job: int, nodes: NDArray[np.int64], now: float) -> None:
        """Start a waiting job on free nodes.

        Args:
            at: index of the job in the queue's tables.
            job: index of the job in the workload.
            nodes: indices of the free nodes that the job gets, shape (nodes,).
            now: the time in seconds, on the clock of the workload.
        """
        self.free[nodes] = False
        self.free_count -= len(nodes)
        attempt = len(self.job)
        self.running.add(job, attempt, now, now + float(self.queue.limit[job]), nodes)
        self.queue.remove(at)
        self.job.append(job)
        self.start.append(now)
        self.end.append(math.inf)
        self.killed.append(False)
        self.nodes.append(nodes.copy())
        heapq.heappush(self.ends, (now + float(self.left[job]), attempt))

    def _attempts(self) -> Attempts:
        nodes = np.concatenate([np.zeros(0, np.int64), *map(np.sort, self.nodes)])
        sizes = np.array([len(part) for part in self.nodes], dtype=np.int64)
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        # A run of consecutive nodes begins at an attempt's first node, and wherever a node does not follow
        # its predecessor.
        fresh = np.ones(len(nodes), dtype=np.bool_)
        fresh[1:] = np.diff(nodes) != 1
        fresh[begins[:-1]] = True
        runs = np.flatnonzero(fresh)
        return Attempts(
            np.array(self.job, dtype=np.int64),
            np.array(self.start),
            np.array(self.end),
            np.array(self.killed, dtype=np.bool_),
            np.searchsorted(runs, begins).astype(np.int64),
            nodes[runs].astype(np.int32),
            np.diff(np.append(runs, len(nodes))).astype(np.int32),
        )


class _Asking(Machine):
    """A machine on which a policy says which jobs start."""

    def __init__(
        self,
        work: Workload,
        nodes: int,
        faults: simulation_records.Faults,
        policy: Policy,
        predictor: Predictor | None,
    ) -> None:
        super().__init__(work, nodes, faults)
        self.policy, self.predictor = policy, predictor

    def start_jobs(self, now: float, fresh: int) -> float:
        """Ask the policy if a job waits and a node is free."""
        if self.queue.hi == self.queue.lo or not self.free_count:
            return math.inf
        view = View(Nodes(self.up, self.free), self.queue.view(), self.running.view())
        decisions = self.policy.decide(view, self.predictor, now)
        if len(decisions.job):
            self._start(decisions, now)
        if decisions.again <= now:
            raise WheslError(
                f"policy {self.policy.name} wants to be asked again at {decisions.again}, and it is {now}"
            )
        return decisions.again

    def _start(self, decisions: Decisions, now: float) -> None:
        queue, policy = self.queue, self.policy
        offsets = decisions.offsets.tolist()
        for index, job in enumerate(decisions.job.tolist()):
            nodes = decisions.nodes[offsets[index] : offsets[index + 1]]
            at = queue.place(job)
            if at == queue.hi or queue.whole[0, at] != job:
                raise WheslError(f"policy {policy.name} starts job {job} at {now}, which does not wait")
            size = len(nodes)
            if size != self.work.size[job]:
                raise WheslError(
                    f"policy {policy.name} gives job {job} {size} nodes at {now}; it asks for "
                    f"{self.work.size[job]}"
                )
            if size and not 0 <= nodes.min() <= nodes.max() < len(self.free):
                raise WheslError(
                    f"policy {policy.name} gives job {job} nodes {nodes.tolist()} at {now}; there are "
                    f"{len(self.free)}"
                )
            if not self.free[nodes].all():
                wrong = nodes[~self.free[nodes]].tolist()
                raise WheslError(f"policy {policy.name} starts job {job} at {now} on nodes {wrong}, not free")
            self.start_job(at, job, nodes, now)
            if int(np.count_nonzero(self.free)) != self.free_count:
                raise WheslError(f"policy {policy.name} gives job {job} a node twice at {now}")
