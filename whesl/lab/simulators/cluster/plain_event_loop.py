"""FCFS and EASY in plain Python, for machines without a C compiler.

The rules and attempts are those of ``whesl/lab/native/event_loop.c``. Numbers are Python's own, since the
loop reads and writes single numbers, for which arrays are slow. A set of nodes is an integer with one bit per
node.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from whesl.lab.simulators.cluster import simulation_records
from whesl.lab.simulators.cluster.simulation_records import Attempts

if TYPE_CHECKING:
    from whesl.lab.simulators.cluster.simulation_records import Workload
    from whesl.prediction.failures.failure_history import History

_BLOCK = 128  # largest number of jobs of a block


def simulate(work: Workload, nodes: int, policy: str, *, history: History | None = None) -> Attempts:
    """Simulate a workload.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        policy: ``fcfs`` or ``easy``.
        history: failures of the nodes, on the clock of the workload; None for none.
    """
    faults = simulation_records.faults(history, nodes)
    machine = Machine(work, nodes, backfill=policy == "easy")
    machine.run(list(zip(*(values.tolist() for values in faults), strict=True)))
    return machine.attempts()


class _Block:
    """Consecutive waiting jobs, with lower bounds of their sizes in nodes and their estimates in seconds."""

    __slots__ = ("jobs", "limit", "size")

    def __init__(self) -> None:
        self.jobs: list[int] = []
        self.size, self.limit = math.inf, math.inf


class _Waiting:
    """The waiting jobs by arrival, in blocks that a search skips if no job within the bounds could start."""

    def __init__(self, size: list[int], limit: list[float]) -> None:
        self.size, self.limit = size, limit
        self.blocks: list[_Block] = []

    def append(self, job: int) -> None:
        """Append a job that arrives now."""
        if not self.blocks or len(self.blocks[-1].jobs) >= _BLOCK:
            self.blocks.append(_Block())
        self._bound(self.blocks[-1], job)
        self.blocks[-1].jobs.append(job)

    def insert(self, job: int) -> None:
        """Add a job at its place by arrival."""
        at = bisect_left(self.blocks, job, key=_last)
        if at == len(self.blocks):
            self.append(job)
        else:
            self._bound(self.blocks[at], job)
            insort(self.blocks[at].jobs, job)

    def _bound(self, block: _Block, job: int) -> None:
        size, limit = self.size[job], self.limit[job]
        if size < block.size:
            block.size = size
        if limit < block.limit:
            block.limit = limit


def _last(block: _Block) -> int:
    return block.jobs[-1]


class Machine:
    """A machine's nodes, running attempts and waiting jobs.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        backfill: whether jobs overtake the head.
    """

    def __init__(self, work: Workload, nodes: int, *, backfill: bool) -> None:
        self.backfill = backfill
        self.submit: list[float] = work.submit.tolist()
        self.size: list[int] = work.size.tolist()
        self.checkpoint: list[float] = work.checkpoint.tolist()
        self.left: list[float] = work.run.tolist()
        self.limit: list[float] = work.estimate.tolist()
        self.free, self.free_bits = nodes, (1 << nodes) - 1
        self.queue = _Waiting(self.size, self.limit)
        self.ends: list[tuple[float, int]] = []  # heap of (end, attempt); may hold killed attempts
        self.running: list[tuple[float, int, int]] = []  # (latest end, attempt, number of nodes), ascending
        self.held: dict[int, tuple[int, float]] = {}  # bit set of nodes and latest end by attempt
        # Time of the next reservation in seconds, and whether a pass follows every event.
        self.due, self.always = math.inf, False
        # The first waiting job, which does not fit, its shadow time, and the nodes that it leaves free then.
        # Valid until a node is released.
        self.head, self.shadow, self.extra = -1, math.inf, 0
        # Columns of the attempts, and of the runs of consecutive nodes that they hold.
        self.job: list[int] = []
        self.start: list[float] = []
        self.end: list[float] = []
        self.killed: set[int] = set()
        self.offsets: list[int] = [0]
        self.first: list[int] = []
        self.length: list[int] = []

    def run(self, faults: list[tuple[float, int, bool]]) -> None:
        """Simulate until the end."""
        submit, size, ends, killed, queue = self.submit, self.size, self.ends, self.killed, self.queue
        arrived, change, count, changes = 0, 0, len(submit), len(faults)
        while arrived < count or self.running or queue.blocks:
            while killed and ends and ends[0][1] in killed:
                heappop(ends)
            now = submit[arrived] if arrived < count else math.inf
            if ends and ends[0][0] < now:
                now = ends[0][0]
            if change < changes and faults[change][0] < now:
                now = faults[change][0]
            if self.due < now:
                now = self.due
            if now == math.inf:
                return
            while ends and ends[0][0] == now:
                attempt = heappop(ends)[1]
                if attempt not in killed:
                    self._release(attempt, now)
            while change < changes and faults[change][0] == now:
                self._fault(faults[change][1], now, up=faults[change][2])
                change += 1
            fresh = arrived
            while arrived < count and submit[arrived] == now:
                if queue.blocks or size[arrived] > self.free or self.always:
                    queue.append(arrived)
                else:
                    self._start(arrived, now)
                arrived += 1
            if self.always or (self.free and queue.blocks):
                self._pass(now, fresh)

    def _release(self, attempt: int, now: float) -> None:
        bits, latest = self.held.pop(attempt)
        self.free_bits |= bits
        at = bisect_left(self.running, (latest, attempt))
        self.free += self.running[at][2]
        del self.running[at]
        self.head = -1

    def _fault(self, node: int, now: float, *, up: bool) -> None:
        self.head = -1
        if up:
            self.free_bits |= 1 << node
            self.free += 1
            return
        for attempt, (bits, _) in self.held.items():
            if bits >> node & 1:
                job = self.job[attempt]
                self._release(attempt, now)
                self.killed.add(attempt)
                self.end[attempt] = now
                interval, elapsed = self.checkpoint[job], now - self.start[attempt]
                kept = 0.0 if interval in (0.0, math.inf) else math.floor(elapsed / interval) * interval
                self.left[job] -= kept
                self.limit[job] -= kept
                self.queue.insert(job)
                break
        self.free_bits &= ~(1 << node)
        self.free -= 1

    def _pass(self, now: float, fresh: int) -> None:
        """Start the jobs that may start; ``fresh`` is the first job that arrived at this time."""
        if self.head < 0:
            self._in_order(now)
            if self.head < 0:
                return
            fresh = self.head + 1
            if self.backfill:
                self._reserve(self.size[self.head])
        if self.backfill and self.free and _last(self.queue.blocks[-1]) >= fresh:
            self._overtake(now, fresh)

    def _in_order(self, now: float) -> None:
        """Start jobs in order of arrival until one, the head, does not fit."""
        waiting, size = self.queue, self.size
        while waiting.blocks:
            jobs = waiting.blocks[0].jobs
            fits = 0
            for job in jobs:
                if size[job] > self.free:
                    self.head = job
                    break
                self._start(job, now)
                fits += 1
            del jobs[:fits]
            if not jobs:
                del waiting.blocks[0]
            if self.head >= 0:
                return

    def _reserve(self, need: int) -> None:
        """Set the head's shadow time, and the number of nodes that the head leaves free then."""
        free, shadow = self.free, math.inf
        for latest, _, count in self.running:
            if free >= need and latest != shadow:
                break
            free += count
            if free >= need:
                shadow = latest
        self.shadow = shadow
        self.extra = free - need if shadow < math.inf else 0

    def _overtake(self, now: float, since: int) -> None:
        """Start jobs, from the job ``since`` on, that do not delay the head."""
        blocks, shadow = self.queue.blocks, self.shadow
        at = 0 if since == self.head + 1 else bisect_left(blocks, since, key=_last)
        while at < len(blocks) and self.free:
            block = blocks[at]
            if block.size <= self.free and (block.size <= self.extra or now + block.limit <= shadow):
                self._from_block(block, now, since)
            if block.jobs:
                at += 1
            else:
                del blocks[at]

    def _from_block(self, block: _Block, now: float, since: int) -> None:
        """Start the jobs of one block that may overtake the head."""
        size, limit, shadow, free, extra = self.size, self.limit, self.shadow, self.free, self.extra
        jobs = block.jobs
        begin = bisect_left(jobs, since)
        started = []
        for place in range(begin, len(jobs)):
            job = jobs[place]
            need = size[job]
            if need > free:
                continue
            if now + limit[job] > shadow:
                if need > extra:
                    continue
                extra -= need
            self._start(job, now)
            started.append(place)
            free -= need
            if not free:
                break
        self.extra = extra
        for place in reversed(started):
            del jobs[place]
        if not started and not begin:
            block.size = min([size[job] for job in jobs])
            block.limit = min([limit[job] for job in jobs])

    def _start(self, job: int, now: float) -> None:
        """Start a job on the lowest free nodes."""
        attempt, need, free = len(self.job), self.size[job], self.free_bits
        low = (free & -free).bit_length() - 1
        bits = ((1 << need) - 1) << low
        if free & bits == bits:
            self.first.append(low)
            self.length.append(need)
        else:
            bits = self._runs(need)
        self.free -= need
        self.free_bits = free ^ bits
        latest, end = now + self.limit[job], now + self.left[job]
        self.held[attempt] = bits, latest
        self.job.append(job)
        self.start.append(now)
        self.end.append(end)
        self.offsets.append(len(self.first))
        heappush(self.ends, (end, attempt))
        insort(self.running, (latest, attempt, need))

    def _runs(self, need: int) -> int:
        """Record the runs of the ``need`` lowest free nodes, and return the bit set of these nodes."""
        left = free = self.free_bits
        while need:
            low = (left & -left).bit_length() - 1
            rest = left >> low
            length = min(need, (~rest & (rest + 1)).bit_length() - 1)
            left &= ~(((1 << length) - 1) << low)
            self.first.append(low)
            self.length.append(length)
            need -= length
        return free ^ left

    def attempts(self) -> Attempts:
        """Return the attempts of the simulation."""
        killed = np.zeros(len(self.job), dtype=np.bool_)
        killed[list(self.killed)] = True
        return Attempts(
            np.array(self.job, dtype=np.int64),
            np.array(self.start, dtype=np.float64),
            np.array(self.end, dtype=np.float64),
            killed,
            np.array(self.offsets, dtype=np.int64),
            np.array(self.first, dtype=np.int32),
            np.array(self.length, dtype=np.int32),
        )
