"""The calls of schedulers and workflow managers that the core asks for, made by worker threads.

Calls never block the event loop: worker threads wait for schedulers, workflow managers and handlers. Each
call results in an event, even when it fails.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import socket
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any

from whesl.model.outcomes import OrderStatus, OwnStepOutcome
from whesl.runtime.coordinator.core.events_and_commands import (
    Event,
    JobSeen,
    LookAtJob,
    RunStep,
    StepEnded,
)
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.coordinator.effects import workflow_recovery_steps
from whesl.runtime.coordinator.effects.scheduler_and_manager_lookup import Ports
from whesl.runtime.coordinator.effects.workflow_recovery_steps import Order

LOG = logging.getLogger(__name__)
# The list has events; lists are invariant, so ``list[Event]`` would not accept a list of one kind of event.
Work = Callable[[], Event | list[Any]]
Failure = Callable[[str], Event | list[Any]]
_MOST_LOOKS = 500  # jobs in one query: their ids are one argument of a command


class Calls:
    """Hands calls to the workers, whose results are events.

    Args:
        workers: the threads.
        ports: schedulers and workflow managers.
        log: takes the standard error of handlers.
    """

    def __init__(self, workers: Workers, ports: Ports, log: IO[Any] | int) -> None:
        self._workers = workers
        self._ports = ports
        self._log = log
        self._looks: list[LookAtJob] = []

    def make(self, command: Call, state: State) -> None:
        """Start a call; queries about jobs are collected until ``look_at_jobs``.

        Args:
            command: the command of the core.
            state: the coordinator's state at the time of the command.
        """
        if isinstance(command, LookAtJob):
            self._looks.append(command)
            return
        self._workers.submit(
            partial(answer, command, state, self._ports, self._log), partial(_unexpected, command)
        )

    def look_at_jobs(self, state: State) -> None:
        """Query all jobs of a cluster together: a network failure makes thousands of tasks silent at once."""
        clusters: dict[tuple[str, tuple[tuple[str, str], ...]], list[LookAtJob]] = {}
        for look in self._looks:
            where = state.environment_of(look.task)
            clusters.setdefault((look.rjms, tuple(sorted(where.items()))), []).append(look)
        self._looks.clear()
        for (rjms, environment), looks in clusters.items():
            for first in range(0, len(looks), _MOST_LOOKS):
                some = tuple(looks[first : first + _MOST_LOOKS])
                self._workers.submit(
                    partial(workflow_recovery_steps.look_at_jobs, self._ports, rjms, some, dict(environment)),
                    partial(_unseen, some),
                )


def answer(command: Call, state: State, ports: Ports, log: IO[Any] | int) -> Event:
    """Make one call and return its result as an event.

    Args:
        command: the command of the core.
        state: the coordinator's state at the time of the command.
        ports: schedulers and workflow managers.
        log: takes the standard error of handlers.
    """
    if isinstance(command, RunStep):
        return workflow_recovery_steps.perform(state, command.recovery, command.index, ports, log)
    environment = state.environment_of(command.task)
    if isinstance(command, LookAtJob):
        return workflow_recovery_steps.look_at_jobs(ports, command.rjms, [command], environment)[0]
    return workflow_recovery_steps.carry_out(command, ports, environment)


def _unexpected(command: RunStep | Order, why: str) -> Event:
    if isinstance(command, RunStep):
        key, index = command.recovery, command.index
        return StepEnded(recovery=key, index=index, outcome=OwnStepOutcome.FAIL, note=why)
    return workflow_recovery_steps.not_done(command, OrderStatus.REFUSED, why)


def _unseen(looks: Sequence[LookAtJob], why: str) -> list[Event]:
    return [JobSeen(task=look.task, job_id=look.job_id, unseen=why) for look in looks]


Call = RunStep | LookAtJob | Order


class Workers:
    """A few daemon threads, which return results through a queue that wakes the loop.

    Daemon threads let the coordinator end while a handler hangs: its step is recorded as begun, and the next
    start continues it.

    Args:
        count: the number of threads.
    """

    def __init__(self, count: int = 4) -> None:
        self._work: queue.SimpleQueue[tuple[Work, Failure]] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        for number in range(count):
            threading.Thread(target=self._run, name=f"worker-{number}", daemon=True).start()

    def fileno(self) -> int:
        """Return the descriptor that is readable when results wait."""
        return self._woken.fileno()

    def submit(self, work: Work, failed: Failure) -> None:
        """Run a call in a thread; its events, or the event of its failure, join the results.

        Args:
            work: the call, which returns its events.
            failed: makes the event of a call that raised an exception.
        """
        self._work.put((work, failed))

    def results(self) -> list[Event]:
        """Return the events that have come since the last call."""
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass
        found = []
        while not self._results.empty():
            found.append(self._results.get())
        return found

    def _run(self) -> None:
        while True:
            work, failed = self._work.get()
            try:
                events = work()
            except Exception as error:
                # An error in a plug-in (a third party's scheduler or manager) fails its step, not the daemon.
                LOG.exception("a step failed in a way that it should not")
                events = failed(f"{type(error).__name__}: {error}")
            for event in events if isinstance(events, list) else [events]:
                self._results.put(event)
            with contextlib.suppress(BlockingIOError):
                # A full socket means that the loop is about to wake anyway.
                self._wake.send(b".")
