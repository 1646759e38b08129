"""The calls of schedulers and workflow managers that the core asks for, made by worker threads.

None of them may keep the loop from its messages; each ends in an event, whatever happens to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any

from whesl.coordinator.core.events import (
    AllowRequeue,
    AskRequeue,
    CancelJob,
    Command,
    Event,
    JobCancelled,
    JobSeen,
    LookAtJob,
    Requeue,
    RequeueAllowed,
    RequeueEnded,
    RunStep,
    StepEnded,
)
from whesl.coordinator.core.state import State
from whesl.coordinator.effects import recovery_steps
from whesl.coordinator.effects.ports import Ports
from whesl.coordinator.effects.workers import Workers
from whesl.model.outcomes import OrderStatus, OwnStepOutcome

_MOST_LOOKS = 500  # at jobs with one question: their ids are one argument of a command


class Calls:
    """Hands calls to the workers, whose results are the events.

    Args:
        workers: the threads.
        ports: schedulers and workflow managers.
        log: takes what handlers print on standard error.
    """

    def __init__(self, workers: Workers, ports: Ports, log: IO[Any] | int) -> None:
        self._workers = workers
        self._ports = ports
        self._log = log
        self._looks: list[LookAtJob] = []

    def make(self, command: Command, state: State) -> None:
        """Make a call; looks at jobs wait for ``look_at_jobs``.

        Args:
            command: one of ``CALLS``.
            state: at the time of the command.
        """
        CALLS[type(command)](self, command, state)

    def look_at_jobs(self, state: State) -> None:
        """Ask for all jobs of a cluster together: a network that was away makes thousands of tasks silent."""
        clusters: dict[tuple[str, tuple[tuple[str, str], ...]], list[LookAtJob]] = {}
        for look in self._looks:
            where = state.environment_of(look.task)
            clusters.setdefault((look.rjms, tuple(sorted(where.items()))), []).append(look)
        self._looks.clear()
        for (rjms, environment), looks in clusters.items():
            for first in range(0, len(looks), _MOST_LOOKS):
                some = tuple(looks[first : first + _MOST_LOOKS])
                self._workers.submit(
                    partial(recovery_steps.look_at_jobs, self._ports, rjms, some, dict(environment)),
                    partial(_unseen, some),
                )

    def _look(self, command: LookAtJob, _state: State) -> None:
        self._looks.append(command)

    def _run_step(self, command: RunStep, state: State) -> None:
        ports, log = self._ports, self._log
        self._workers.submit(
            lambda: recovery_steps.perform(state, command.recovery, command.index, ports, log),
            lambda why: StepEnded(
                recovery=command.recovery, index=command.index, outcome=OwnStepOutcome.FAIL, note=why
            ),
        )

    def _ask_requeue(self, command: AskRequeue, state: State) -> None:
        where = _cluster_of(state, command.token)
        self._workers.submit(
            lambda: recovery_steps.ask_requeue(
                self._ports, command.token, command.rjms, command.job_id, where
            ),
            lambda why: RequeueEnded(token=command.token, outcome=OrderStatus.REFUSED, reason=why),
        )

    def _requeue(self, command: Requeue, state: State) -> None:
        where = _cluster_of(state, command.token)
        self._workers.submit(
            lambda: recovery_steps.requeue(
                self._ports,
                command.token,
                command.rjms,
                command.job_id,
                command.restarts,
                command.exclude,
                where,
            ),
            lambda why: RequeueEnded(token=command.token, outcome=OrderStatus.REFUSED, reason=why),
        )

    def _allow_requeue(self, command: AllowRequeue, state: State) -> None:
        task, job_id = command.task, command.job_id
        where = state.environment_of(task)
        self._workers.submit(
            lambda: recovery_steps.allow_requeue(
                self._ports, task, command.rjms, job_id, where, allowed=command.allowed
            ),
            lambda why: RequeueAllowed(
                task=task, allowed=command.allowed, outcome=OrderStatus.REFUSED, reason=why
            ),
        )

    def _cancel_job(self, command: CancelJob, state: State) -> None:
        task, job_id = command.task, command.job_id
        where = state.environment_of(task)
        self._workers.submit(
            lambda: recovery_steps.cancel_job(self._ports, task, command.rjms, job_id, where),
            lambda why: JobCancelled(task=task, job_id=job_id, outcome=OrderStatus.REFUSED, reason=why),
        )


def _cluster_of(state: State, token: str) -> dict[str, str]:
    return state.environment_of(state.requeues[token].task)


def _unseen(looks: Sequence[LookAtJob], why: str) -> list[Event]:
    return [JobSeen(task=look.task, job_id=look.job_id, unseen=why) for look in looks]


CALLS: dict[type[Command], Callable[[Calls, Any, State], None]] = {
    RunStep: Calls._run_step,
    LookAtJob: Calls._look,
    AskRequeue: Calls._ask_requeue,
    Requeue: Calls._requeue,
    AllowRequeue: Calls._allow_requeue,
    CancelJob: Calls._cancel_job,
}
