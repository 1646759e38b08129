"""A running chain of batch jobs: submitted at once with their dependencies, watched until all have ended."""

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

# How many looks in a row a job may be unknown to the scheduler before it counts as ended.
_UNSEEN_LOOKS = 5
# Seconds for which a scheduler without an answer may delay submissions while earlier jobs run.
_AWAY = 600.0
# Seconds for which a cancelled chain waits for a scheduler without an answer.
_LAST_LOOKS = 30.0
# Seconds of submissions between two calls of ``poll``.
_SUBMITTING = 1.0


class Chain:
    """The jobs of one or several batch scripts."""

    def __init__(self, plan: RunPlan, scheduler: Scheduler) -> None:
        self._plan = plan
        self._scheduler = scheduler
        self._submitter = submitter(plan, scheduler)
        self._tasks: dict[str, Task] = {}  # tasks by job id
        self._states: dict[str, JobState] = {}  # jobs' states by job id
        self._unseen: dict[str, int] = {}
        self._last_look = 0.0
        self._jobs: dict[str, str] = {}  # submitted jobs' ids by task id
        # Monotonic time since which the scheduler does not answer submissions; 0 while it answers.
        self._away = 0.0
        self._uncancelled: deque[str] = deque()  # jobs whose cancellation the scheduler has not answered
        self._cancelled = False
        self._answer = 0.0  # monotonic time of the cancellation, then of the scheduler's last answer
        by_step: dict[str, list[Task]] = {}
        for task in plan.workflow.tasks:
            by_step.setdefault(task.step, []).append(task)
        self._waiting = deque(zip(plan.files, by_step.values(), strict=True))

    @classmethod
    def start(cls, plan: RunPlan) -> Chain:
        """Submit the first scripts and return the chain, whose ``poll`` submits the other scripts.

        Raises RefusedError when a script is refused; the jobs before it are cancelled.
        """
        chain = cls(plan, resource.scheduler(plan.environment["WHESL_RJMS"]))
        chain._submit_some()
        return chain

    def _submit_some(self) -> None:
        """Submit waiting scripts for about ``_SUBMITTING`` seconds, or until the scheduler does not answer.

        Raises RefusedError when a script is refused; the jobs before it are cancelled.
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
                # The submission is repeated later, and finds the job if this call has submitted it after all.
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
        """Return 0 when all jobs have completed, 1 when all have ended without that, None before.

        Raises RefusedError when a waiting script is refused, CouldNotObserveError when the scheduler does not
        answer after ``cancel``.
        """
        self._submit_some()
        self._cancel_some()
        if time.monotonic() - self._last_look >= self._plan.poll:
            self._last_look = time.monotonic()
            self._look()
        left = [job for job, state in self._states.items() if not state.ended]
        if self._cancelled and left and time.monotonic() - self._answer > _LAST_LOOKS:
            raise CouldNotObserveError(
                f"{self._scheduler.name} does not answer, so these jobs may still run: {', '.join(left)}",
                hint="cancel them when it answers again",
            )
        if self._waiting or left:
            return None
        completed = all(state is JobState.COMPLETED for state in self._states.values())
        return 0 if completed and len(self._jobs) == len(self._plan.workflow.tasks) else 1

    def _look(self) -> None:
        open_jobs = [job for job, state in self._states.items() if not state.ended]
        try:
            found = self._scheduler.jobs(open_jobs)
        except (CouldNotObserveError, TransientError):
            # A failed look says nothing on the jobs; the next look follows.
            return
        self._answer = time.monotonic()
        for job in open_jobs:
            if job in found:
                self._states[job] = found[job].state
                self._unseen.pop(job, None)
            else:
                self._unseen[job] = self._unseen.get(job, 0) + 1
                if self._unseen[job] >= _UNSEEN_LOOKS:
                    # The job's end was not seen: it counts as failed, because its success is unknown.
                    self._states[job] = JobState.FAILED
        self._cancel_orphans()

    def _cancel_orphans(self) -> None:
        """Cancel jobs that wait for a failed job: the scheduler would keep them for ever."""
        bad = {
            self._tasks[job].id
            for job, state in self._states.items()
            if state.ended and state is not JobState.COMPLETED
        }
        for job, state in self._states.items():
            if state is JobState.PENDING and bad & set(self._tasks[job].parents):
                self._end(job)

    def _end(self, job: str) -> bool:
        """Cancel a job, and return whether the scheduler answered: without an answer the job stays open."""
        try:
            self._scheduler.cancel(job)
        except (CouldNotObserveError, TransientError):
            return False
        except RefusedError:
            pass
        return True

    def _cancel_some(self) -> None:
        """Cancel the jobs that are to be cancelled, until the scheduler does not answer."""
        while self._uncancelled and self._end(self._uncancelled[0]):
            self._uncancelled.popleft()

    def cancel(self) -> None:
        """Cancel all jobs that have not ended, and submit no more; ``poll`` repeats what was not answered."""
        self._waiting.clear()
        self._uncancelled.extend(job for job, state in self._states.items() if not state.ended)
        self._cancelled, self._answer = True, time.monotonic()
        self._cancel_some()

    def kill(self) -> None:
        """Do nothing: the chain has no processes."""
