"""A chain of batch jobs at work: submitted at once with their dependencies, watched until all have ended."""

from __future__ import annotations

import time
from collections import deque

from whesl.managers import resource
from whesl.managers.resource.port import Scheduler
from whesl.managers.workflow.batch.submitter import submitter
from whesl.managers.workflow.port import RunPlan
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError
from whesl.model.states import JobState
from whesl.model.workflow import Task

# A job that the scheduler does not know (any more) in so many looks running has ended unseen.
_UNSEEN_LOOKS = 5
# Seconds for which a scheduler that does not answer may hold up submissions while earlier jobs run.
_AWAY = 600.0
# Seconds for which scripts are submitted between two looks at what happens.
_SUBMITTING = 1.0


class Chain:
    """The jobs of several scripts."""

    def __init__(self, plan: RunPlan, scheduler: Scheduler) -> None:
        self._plan = plan
        self._scheduler = scheduler
        self._submitter = submitter(plan, scheduler)
        self._tasks: dict[str, Task] = {}  # by job id
        self._states: dict[str, JobState] = {}  # by job id
        self._unseen: dict[str, int] = {}
        self._last_look = 0.0
        self._jobs: dict[str, str] = {}  # jobs by task, as they were submitted
        self._away = 0.0  # since when the scheduler takes no submission, as it does not answer; 0: it does
        by_step: dict[str, list[Task]] = {}
        for task in plan.workflow.tasks:
            by_step.setdefault(task.step, []).append(task)
        self._waiting = deque(zip(plan.files, by_step.values(), strict=True))

    @classmethod
    def start(cls, plan: RunPlan) -> Chain:
        """Submit the scripts; of many, the rest is submitted while the first are watched (``poll``).

        Raises RefusedError when one is refused; those before it are cancelled.
        """
        chain = cls(plan, resource.scheduler(plan.environment["WHESL_RJMS"]))
        chain._submit_some()
        return chain

    def _submit_some(self) -> None:
        """Submit scripts for a while, one at least unless the scheduler does not answer now.

        Raises RefusedError when one is refused; those before it are cancelled.
        """
        begin = time.monotonic()
        while self._waiting:
            file, tasks = self._waiting.popleft()
            beside = dict.fromkeys(self._jobs[parent] for parent in tasks[0].beside)
            parents = dict.fromkeys(self._jobs[parent] for parent in tasks[0].parents)
            try:
                after = [job for job in parents if job not in beside]
                submitted = self._submitter.submit(file, after, list(beside))
            except RefusedError:
                self.cancel()
                raise
            except TransientError as error:
                # The same call finds what an earlier one has submitted after all.
                self._waiting.appendleft((file, tasks))
                self._away = self._away or begin
                if self._jobs and begin - self._away < _AWAY:
                    return
                self.cancel()
                raise RefusedError(error.message) from error
            self._away = 0.0
            for task in tasks:
                job = self._submitter.element(submitted, task.instance) if task.instance else submitted
                self._jobs[task.id] = submitted
                self._tasks[job] = task
                self._states[job] = JobState.PENDING
            if time.monotonic() - begin >= _SUBMITTING:
                return

    def poll(self) -> int | None:
        """Return 0 when all jobs have completed, 1 when all have ended and one has not completed.

        Raises RefusedError when a script that waited to be submitted is refused.
        """
        self._submit_some()
        if time.monotonic() - self._last_look >= self._plan.poll:
            self._last_look = time.monotonic()
            self._look()
        if self._waiting or not all(state.ended for state in self._states.values()):
            return None
        completed = all(state is JobState.COMPLETED for state in self._states.values())
        return 0 if completed and len(self._jobs) == len(self._plan.workflow.tasks) else 1

    def _look(self) -> None:
        open_jobs = [job for job, state in self._states.items() if not state.ended]
        try:
            found = self._scheduler.jobs(open_jobs)
        except (CouldNotObserveError, TransientError):
            # Not seen is not gone: look again in the next round.
            return
        for job in open_jobs:
            if job in found:
                self._states[job] = found[job].state
                self._unseen.pop(job, None)
            else:
                self._unseen[job] = self._unseen.get(job, 0) + 1
                if self._unseen[job] >= _UNSEEN_LOOKS:
                    # Whether the job succeeded is not known, so it is not called a success.
                    self._states[job] = JobState.FAILED
        self._cancel_orphans()

    def _cancel_orphans(self) -> None:
        """Cancel jobs that wait for one that has failed: the scheduler would keep them for ever."""
        bad = {
            self._tasks[job].id
            for job, state in self._states.items()
            if state.ended and state is not JobState.COMPLETED
        }
        for job, state in self._states.items():
            if state is JobState.PENDING and bad & set(self._tasks[job].parents):
                self._end(job)

    def _end(self, job: str) -> None:
        try:
            self._scheduler.cancel(job)
        except (CouldNotObserveError, TransientError, RefusedError):
            # It stays open, so it is tried again at the next look.
            return

    def states(self) -> dict[str, str]:
        """Return the scheduler's state of each task."""
        return {self._tasks[job].name: state.value for job, state in self._states.items()}

    def cancel(self) -> None:
        """Cancel all jobs that have not ended, and submit no more."""
        self._waiting.clear()
        for job, state in self._states.items():
            if not state.ended:
                self._end(job)

    def kill(self) -> None:
        """Nothing runs here beside the jobs: cancel them."""
        self.cancel()
