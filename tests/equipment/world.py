"""What stands in for the world of both daemons where no time passes: a clock, journals, a scheduler.

The cores are pure, so that a whole workflow can run in one process: ``Agenda`` is the virtual clock, a
``MemoryJournal`` outlives the daemon that is killed, ``StandInScheduler`` is the resource manager. The unit
tests of the cores and the simulation stand on the same ones (``docs/testing/simulation.md``).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from whesl.managers.resource.port import JobRecord, JobRequest, Limits, NodeRecord
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.model.states import JobState, NodeState
from whesl.runtime.coordinator.core import journal_replay
from whesl.runtime.coordinator.core.state import Settings
from whesl.runtime.coordinator.core.state import State as CoordinatorState
from whesl.runtime.isolator.core import state_machine
from whesl.runtime.isolator.core.state import State as TaskState
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.journal.records import coordinator_records, isolator_records, of_coordinator, of_isolator

START = 1_000_000.0  # seconds since the epoch at which a world begins


class KilledError(Exception):
    """A daemon of a stand-in world was killed here."""


class Agenda:
    """The virtual clock: what is to happen, each at its time; nothing else lets time pass."""

    def __init__(self) -> None:
        self.now = START
        self.events = 0
        self._numbers = itertools.count()
        self._agenda: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def at(self, time: float, call: Callable[..., None], *arguments: Any) -> None:
        """Call at a time (not before now)."""
        heapq.heappush(self._agenda, (max(time, self.now), next(self._numbers), call, arguments))

    def after(self, delay: float, call: Callable[..., None], *arguments: Any) -> None:
        """Call after a delay, seconds."""
        self.at(self.now + delay, call, *arguments)

    def run(self, over: Callable[[], bool], *, longest: float, every: int = 1) -> bool:
        """Let things happen.

        Args:
            over: whether the world has come to rest; asked after each ``every`` events.
            longest: seconds after the beginning at which it has to be.
            every: so many.

        Returns:
            Whether it is over; False when the longest time came first.
        """
        agenda, pop, limit = self._agenda, heapq.heappop, START + longest
        while agenda:
            time, _, call, arguments = pop(agenda)
            if time > limit:
                return False
            self.now = time
            self.events += 1
            call(*arguments)
            if not self.events % every and over():
                return True
        return over()


class MemoryJournal(list[tuple[str, dict[str, Any], float]]):
    """A daemon's journal: kind, content and time of each record, as they are read back from a disk."""

    def write(
        self, records: Iterable[coordinator_records.AnyRecord | isolator_records.AnyRecord], time: float
    ) -> None:
        """Write records down, all or none."""
        # What is read back is what JSON made of it.
        self += [(each.kind, msgspec.json.decode(msgspec.json.encode(each)), time) for each in records]

    def state_of_coordinator(self, settings: Settings = Settings()) -> CoordinatorState:  # noqa: B008 - frozen
        """Return what a coordinator knows that starts on it."""
        return journal_replay.rebuild([(of_coordinator(data), time) for data, time in self._read()], settings)

    def state_of_task(self, setup: Setup) -> TaskState:
        """Return what a task's isolator knows that starts on it."""
        return state_machine.rebuild(setup, [(of_isolator(data), time) for data, time in self._read()])

    def _read(self) -> Iterable[tuple[bytes, float]]:
        return ((msgspec.json.encode({**data, "kind": kind}), time) for kind, data, time in self)


class CoordinatorsScheduler:
    """The calls of the port that a coordinator never makes; one that does is found out.

    A stand-in that inherits from it has all of the port's calls, so a port that changes is seen by mypy.
    """

    def submit(self, request: JobRequest) -> str:
        """See the port."""
        raise AssertionError(f"a coordinator submits no job: {request}")

    def find(self, token: str) -> JobRecord | None:
        """See the port."""
        raise AssertionError(f"a coordinator looks for no token: {token}")

    def unmark_node(self, node: str) -> bool:
        """See the port."""
        raise AssertionError(f"a coordinator returns no node to service: {node}")


class StandInScheduler(CoordinatorsScheduler):
    """A resource manager that does at once what it is asked, and remembers what was really done.

    ``silent`` is how many of the next calls get no answer, ``refuse`` why a requeue is refused.
    """

    name = "fake"

    def __init__(self) -> None:
        self.records: dict[str, JobRecord] = {}
        self.requeued: list[str] = []
        self.limits: dict[str, Limits] = {}
        self.cancelled: list[str] = []
        self.marked: list[str] = []
        self.lifted: list[str] = []
        self.fitted: list[tuple[str, Sequence[str], tuple[int, int]]] = []
        self.allowed: list[str] = []
        self.silent = 0
        self.refuse = ""
        self.down: tuple[str, ...] = ()

    def put(self, job: str, state: JobState = JobState.RUNNING, **more: Any) -> None:
        """Have a job, in that state."""
        self.records[job] = JobRecord(id=job, state=state, **more)

    def _answer(self) -> None:
        if self.silent:
            self.silent -= 1
            raise CouldNotObserveError("no answer")

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """See the port."""
        self._answer()
        return {job: self.records[job] for job in ids if job in self.records}

    def requeue(self, job_id: str) -> None:
        """See the port."""
        if self.refuse:
            raise RefusedError(self.refuse)
        self.requeued.append(job_id)
        self.put(job_id, JobState.PENDING, restarts=self.records[job_id].restarts + 1)

    def requeue_with(self, job_id: str, limits: Limits) -> str:
        """See the port."""
        self.requeue(job_id)
        self.limits[job_id] = limits
        return ""

    def fit_waiting(self, record: JobRecord, used: Sequence[str], sizes: tuple[int, int]) -> None:
        """See the port."""
        self.fitted.append((record.id, used, sizes))

    def lift_hold(self, record: JobRecord) -> None:
        """See the port."""
        self.lifted.append(record.id)

    def allow_requeue(self, job_id: str) -> None:
        """See the port."""
        self._answer()
        self.allowed.append(job_id)

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        """See the port."""
        self._answer()
        self.cancelled.append(job_id)

    def mark_node(self, node: str, reason: str) -> bool:
        """See the port."""
        if node not in self.marked:
            self.marked.append(node)
        return False

    def nodes(self) -> list[NodeRecord]:
        """See the port."""
        return [NodeRecord(name=node, state=NodeState.DOWN) for node in self.down]
