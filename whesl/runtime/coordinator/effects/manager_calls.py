"""The calls of schedulers and workflow managers that the core asks for, made by worker threads.

Calls never block the event loop: worker threads wait for schedulers, workflow managers and handlers. Each
call results in an event, even when it fails.
"""

from __future__ import annotations

import logging
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
from whesl.runtime.wire.blocking_call_worker import Worker

LOG = logging.getLogger(__name__)
# The list has events; lists are invariant, so ``list[Event]`` would not accept a list of one kind of event.
Work = Callable[[], Event | list[Any]]
Failure = Callable[[str], Event | list[Any]]
_MOST_LOOKS = 500  # jobs in one query: their ids are one argument of a command


class Calls:
    """Hands calls to worker threads, and takes their results, which are events.

    A handler that hangs does not keep the coordinator from ending: its step is recorded as begun, and the
    next start continues it.

    Args:
        workers: the threads.
        take: takes the events of a call, in the event loop.
        ports: schedulers and workflow managers.
        log: takes the standard error of handlers.
    """

    def __init__(
        self, workers: Worker, take: Callable[[list[Event]], None], ports: Ports, log: IO[Any] | int
    ) -> None:
        self._workers = workers
        self._take = take
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
        self._submit(partial(answer, command, state, self._ports, self._log), partial(_unexpected, command))

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
                self._submit(
                    partial(workflow_recovery_steps.look_at_jobs, self._ports, rjms, some, dict(environment)),
                    partial(_unseen, some),
                )

    def _submit(self, work: Work, failed: Failure) -> None:
        self._workers.submit(partial(_events, work, failed), self._take)


def _events(work: Work, failed: Failure) -> list[Event]:
    """Make a call; an error in a plug-in (a third party's scheduler) fails its step, not the daemon."""
    try:
        events = work()
    except Exception as error:
        LOG.exception("a step failed in a way that it should not")
        events = failed(f"{type(error).__name__}: {error}")
    return events if isinstance(events, list) else [events]


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
