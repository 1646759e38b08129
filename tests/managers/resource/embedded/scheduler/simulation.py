"""The core on a virtual clock: nodes that run scripts for a time, die, and come back."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import TypeVar

from whesl.managers.resource.embedded.scheduler.actions import (
    Action,
    EndJob,
    SignalTasks,
    StartBatch,
    StepGranted,
    ToNode,
)
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, JobSpec, Partition, Settings
from whesl.managers.resource.embedded.scheduler.state_machine import Core

START = 1000.0
M = TypeVar("M", EndJob, SignalTasks)


class Simulation:
    """A cluster whose nodes answer at once and whose scripts take the time that they are told.

    ``seconds`` maps a job's id to how long its script runs and its exit code.
    """

    def __init__(self, nodes: int = 4, **fields: object) -> None:
        names = tuple(f"n{number:02}" for number in range(1, nodes + 1))
        values: dict[str, object] = {
            "nodes": names,
            "cpus": 2,
            "partitions": (Partition(name="main", nodes=names),),
            "node_timeout": 10.0,
            "kill_wait": 2.0,
            "requeue_delay": 0.0,
            **fields,
        }
        self.settings = Settings(**values)  # type: ignore[arg-type]  # a test's own keyword arguments
        self.now = START
        self.core = Core(self.settings, self.now)
        self.dead: set[str] = set()
        self.seconds: dict[int, tuple[float, int]] = {}
        self.running: dict[int, tuple[int, str]] = {}
        self.actions: list[Action] = []
        self.starts: list[tuple[float, int]] = []
        self.on_step: Callable[[], None] = lambda: None
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._boots = itertools.count()
        for name in names:
            self.core.node_registered(name, f"boot{next(self._boots)}", (), self.now)
        self.settle()

    def submit(self, seconds: float = 10.0, code: int = 0, *, wait: float = 0.0, **fields: object) -> int:
        """Submit a job whose script runs for some seconds."""
        spec = JobSpec(**fields)  # type: ignore[arg-type]  # as above
        number = self.core.submit(spec, wait, self.now)
        for job in self.core.select(number):
            self.seconds.setdefault(job.id, (seconds, code))
        self.settle()
        return number

    def job(self, number: int) -> Job:
        """Return a job."""
        return self.core.jobs[number]

    def state(self, number: int) -> str:
        """Return a job's state."""
        return self.core.jobs[number].state.value

    def kill(self, name: str) -> None:
        """Let a node die."""
        self.dead.add(name)
        self.running = {job: where for job, where in self.running.items() if where[1] != name}

    def revive(self, name: str) -> None:
        """Bring a node back, empty."""
        self.dead.discard(name)
        self.core.node_registered(name, f"boot{next(self._boots)}", (), self.now)
        self.settle()

    def at(self, time: float, what: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(self._events, (time, next(self._order), what))

    def settle(self) -> float:
        """Let the core do all that is due now; returns when it wants to be called."""
        while True:
            for name in self.core.nodes:
                if name not in self.dead:
                    self.core.node_heard(name, self.now)
            wake = self.core.advance(self.now)
            changes = self.core.take()
            self.on_step()
            if not changes.actions:
                return wake
            self.actions += changes.actions
            for action in changes.actions:
                self._perform(action)

    def _perform(self, action: Action) -> None:
        if isinstance(action, StartBatch) and action.node not in self.dead:
            job = self.job(action.job)
            if self.running.get(job.id, (-1, ""))[0] == job.restarts:
                return
            self.running[job.id] = (job.restarts, action.node)
            self.starts.append((self.now, job.id))
            seconds, code = self.seconds[job.id]
            self.core.batch_started(job.id, job.restarts)
            incarnation = job.restarts
            self.at(self.now + seconds, lambda: self._script_ends(job.id, incarnation, code))
        elif isinstance(action, ToNode) and action.node not in self.dead:
            if not isinstance(action.message, EndJob):
                return
            job_id, restart = action.message.job, action.message.restart
            self.running.pop(job_id, None)
            self.at(self.now + 0.1, lambda: self.core.cleared(action.node, job_id, restart, self.now))

    def _script_ends(self, job: int, restart: int, code: int) -> None:
        if self.running.get(job, (-1, ""))[0] == restart:
            del self.running[job]
            self.core.batch_ended(job, restart, code, 0, self.now)

    def run(self, until: float) -> None:
        """Let time pass up to ``until`` seconds after the start."""
        end = START + until
        wake = self.settle()
        while True:
            # Living nodes are heard of every second.
            beat = self.now + 1.0
            due = min(self._events[0][0] if self._events else end, max(wake, self.now + 0.001), beat, end)
            self.now = max(due, self.now)
            while self._events and self._events[0][0] <= self.now:
                heapq.heappop(self._events)[2]()
            wake = self.settle()
            if self.now >= end:
                return

    def sent(self, kind: type[M]) -> list[tuple[str, M]]:
        """Return the messages of one kind to nodes, each with the node's name."""
        return [
            (action.node, action.message)
            for action in self.actions
            if isinstance(action, ToNode) and isinstance(action.message, kind)
        ]

    def granted(self) -> list[StepGranted]:
        """Return the steps that were created."""
        return [action for action in self.actions if isinstance(action, StepGranted)]
