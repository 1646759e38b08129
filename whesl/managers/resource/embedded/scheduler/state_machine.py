"""The local resource manager's state machine: events in, actions out, no clock, no process, no file.

Each method is one event and takes the event's time. After each round of events the server calls ``take``,
stores the changed records, and then carries out the actions. Any action may be lost with the server: a node
that registers again names the jobs that it has, and ``node_registered`` repeats the actions that it lacks.

States, reasons and side effects follow Slurm 22.05: a ``no_kill`` job survives the loss of any node, but when
the lost node is its batch host, the job has no script any more and stays RUNNING until its time limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec

from whesl.managers.resource.embedded.scheduler.actions import StartBatch
from whesl.managers.resource.embedded.scheduler.backfill import Machine, release_of, schedule
from whesl.managers.resource.embedded.scheduler.eligibility import not_ready
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, StepWish
from whesl.managers.resource.embedded.scheduler.user_requests import UserRequests
from whesl.model.errors import RefusedError
from whesl.model.states import JobState

replace = msgspec.structs.replace


# Sorts nodes into the order in which a job takes them. Arguments: seconds since the epoch; node names; the
# job's time limit in seconds, None for unlimited.
Ranking = Callable[[float, Sequence[str], float | None], Sequence[str]]


class Core(UserRequests):
    """The state machine of one cluster.

    ``rank``: sorts nodes into the order in which jobs take them; None keeps the partition's order.
    """

    rank: Ranking | None = None

    # Nodes' reports ----------------------------------------------------------------------------------

    def node_registered(
        self, name: str, boot: str, incarnations: Iterable[tuple[int, int]], now: float
    ) -> None:
        """Handle a node's registration: its first, a reconnection, or one after a reboot (another ``boot``).

        Args:
            name: the node.
            boot: identifies the life of the node's daemon; after a new one, the node's processes are lost.
            incarnations: (job, restart) of each job that the node has started and not cleared.
            now: seconds since the epoch.
        """
        node = self.nodes[name]
        if node.boot != boot and (node.up or self._uses(name)):
            self._node_lost(name, "Node unexpectedly rebooted", "root", now)
            node = self.nodes[name]
        self.heard[name] = now
        if not node.up or node.boot != boot:
            booted = now if node.boot != boot else node.booted
            fresh = replace(node, up=True, boot=boot, booted=booted)
            if not node.drain:
                fresh = replace(fresh, reason="", reason_time=0.0, reason_user="")
            self._put_node(fresh)
            self._look = True
        known = set(incarnations)
        for job_id, restart in known:
            job = self.jobs.get(job_id)
            here = job is not None and job.restarts == restart and name in job.nodes
            if job is None or not here or job.state is not JobState.RUNNING:
                self._terminate(name, job_id, restart)
        for job_id in sorted(self._active):
            job = self.jobs[job_id]
            if (
                name in job.open_nodes
                and job.state is JobState.COMPLETING
                and (job_id, job.restarts) not in known
            ):
                self._terminate(name, job_id, job.restarts)
            script_here = name == job.batch_host and name in job.nodes and not job.spec.interactive
            if job.state is JobState.RUNNING and script_here and not job.batch_ended:
                self.actions.append(StartBatch(job_id, name))

    def node_heard(self, name: str, now: float) -> None:
        """Record a sign of life of a node, unless the node is down.

        Args:
            name: the node's name.
            now: seconds since the epoch.
        """
        if self.nodes[name].up:
            self._look = self._look or not self.responds(name, now)
            self.heard[name] = now

    def excuse_silence(self, now: float) -> None:
        """Count all nodes' silence from ``now``, after this process was stopped or the clock was set."""
        self.heard = dict.fromkeys(self.heard, now)

    def batch_started(self, job_id: int, restart: int) -> None:
        """Record that a job's script has started.

        Args:
            job_id: the job's id.
            restart: the job's restart count.
        """
        job = self._incarnation(job_id, restart)
        if job is not None and not job.batch_started:
            self._put(replace(job, batch_started=True))

    def batch_ended(self, job_id: int, restart: int, code: int, signum: int, now: float) -> None:
        """Record the end of a job's script; a running job ends with it.

        Args:
            job_id: the job's id.
            restart: the job's restart count.
            code: the exit code.
            signum: number of the signal that ended the script, 0 for none.
            now: seconds since the epoch.
        """
        job = self._incarnation(job_id, restart)
        if job is None or job.batch_ended:
            return
        job = replace(job, batch_started=True, batch_ended=True, exit_code=code, exit_signal=signum)
        if job.state is JobState.RUNNING:
            self._end_by_exit(job, now)
        else:
            self._put(job)

    def cleared(self, name: str, job_id: int, restart: int, now: float) -> None:
        """Record that no process of a job's incarnation is left on a node.

        Args:
            name: the node's name.
            job_id: the job's id.
            restart: the job's restart count.
            now: seconds since the epoch.
        """
        for step in self.steps.of(job_id, restart):
            self.actions += self.steps.node_done(step, name, 0, now)
        job = self._incarnation(job_id, restart)
        if job is not None and name in job.open_nodes:
            self._close(job, name, now)

    def step_ended(self, name: str, job_id: int, restart: int, step_id: int, code: int, now: float) -> None:
        """Record that all tasks of a step on a node have ended.

        Args:
            name: the node's name.
            job_id: the job's id.
            restart: the job's restart count when the step began.
            step_id: the step's number in the job.
            code: the step's exit code on the node.
            now: seconds since the epoch.
        """
        step = self.steps.get(job_id, restart, step_id)
        if step is not None:
            self.actions += self.steps.node_done(step, name, code, now)
            self._retry_steps(job_id, now)

    # Steps ------------------------------------------------------------------------------------------------

    def request_step(self, request: int, wish: StepWish, now: float) -> None:
        """Ask for a step; StepGranted, StepDelayed or StepRefused answers with the same ``request``.

        Args:
            request: number of the request.
            wish: the requested step.
            now: seconds since the epoch.

        Raises RefusedError when the job does not run.
        """
        job = self.jobs.get(wish.job)
        if job is not None and job.state is JobState.PENDING:
            raise RefusedError("Job is pending execution")
        if job is None or job.state is not JobState.RUNNING:
            raise RefusedError(
                "Invalid job id specified" if job is None else "Job/step already completing or completed"
            )
        self.actions += self.steps.request(request, wish, job, now)

    def forget_request(self, request: int) -> None:
        """Drop a request for a step whose srun has ended."""
        self.steps.forget(request)

    # Time -------------------------------------------------------------------------------------------------

    def advance(self, now: float) -> float:
        """Apply timeouts and time limits, start jobs that fit; return the latest time of the next call."""
        for name, node in self.nodes.items():
            if node.up and now - self.heard[name] > self.settings.node_timeout:
                self._node_lost(name, "Not responding", "root", now)
        for job_id in sorted(self._active):
            self._check_limit(self.jobs[job_id], now)
        if self._look or now >= self._wake:
            self._schedule(now)
        if self._look:
            return now
        return min(self._wake, *self._deadlines(), now + 60.0)

    def _deadlines(self) -> Iterable[float]:
        yield math.inf
        for name, node in self.nodes.items():
            if node.up:
                yield self.heard[name] + self.settings.node_timeout + 0.001
        for job_id in self._active:
            job = self.jobs[job_id]
            if job.state is JobState.RUNNING and job.time_limit is not None:
                yield job.started + job.time_limit
                if job.spec.warning is not None and not job.warned:
                    yield job.started + job.time_limit - job.spec.warning[1]

    def _check_limit(self, job: Job, now: float) -> None:
        if job.state is not JobState.RUNNING or job.time_limit is None:
            return
        end = job.started + job.time_limit
        if now >= end:
            self._end(
                job, JobState.TIMEOUT, now, note="CANCELLED AT {time} DUE TO TIME LIMIT", reason="TimeLimit"
            )
        elif job.spec.warning is not None and not job.warned and now >= end - job.spec.warning[1]:
            number, _, batch_only = job.spec.warning
            self.signal(job.id, number, batch=batch_only, steps=not batch_only)
            self._put(replace(job, warned=True))

    def _schedule(self, now: float) -> None:
        """Start jobs that fit. Of a long queue, only the front is looked at while no CPU is free."""
        self._look, self._wake = False, math.inf
        hopeless: list[Job] = []
        looked: set[int] = set()
        usable = {
            name
            for name, node in self.nodes.items()
            if node.up and not node.drain and self.responds(name, now)
        }
        free = self.free_cpus()
        machine = Machine(
            {partition.name: partition.nodes for partition in self.settings.partitions},
            {name: free[name] for name in self.nodes if name in usable},
            {name: self.nodes[name].cpus for name in usable},
            self.settings.whole_nodes,
            None if self.rank is None else partial(self.rank, now),
        )
        decision = schedule(
            self._ready(now, looked, hopeless),
            [release_of(self.jobs[job_id], now, self.settings.kill_wait) for job_id in self._active],
            machine,
            easy=self.settings.policy == "easy",
            now=now,
            kill_wait=self.settings.kill_wait,
        )
        self.shadows = decision.shadows
        for job, shares in decision.starts:
            self._start(job, shares, now)
        for job_id, reason in decision.reasons.items():
            if self.jobs[job_id].reason != reason:
                self._put(replace(self.jobs[job_id], reason=reason))
        self._look_at_others(now, looked, hopeless)
        for job in hopeless:
            self._pending.remove(job.id)
            # The next pass looks at the jobs that depend on the cancelled one.
            self._look = True
            self._put(replace(job, state=JobState.CANCELLED, reason="DependencyNeverSatisfied", ended=now))

    def _ready(self, now: float, looked: set[int], hopeless: list[Job]) -> Iterator[Job]:
        """Yield the pending jobs that may start, in queue order; add each examined job's id to ``looked``."""
        running_tasks: dict[int, int] = {}
        for job_id in self._active:
            array = self.jobs[job_id].array_job
            running_tasks[array] = running_tasks.get(array, 0) + 1
        for job_id in self._pending:
            job = self.jobs[job_id]
            reason = self._reason_to_wait(job, now, hopeless)
            if (
                reason is None
                and job.spec.array_limit
                and running_tasks.get(job.array_job, 0) >= job.spec.array_limit
            ):
                reason = "JobArrayTaskLimit"
            if reason is None:
                if job.spec.array_limit:
                    running_tasks[job.array_job] = running_tasks.get(job.array_job, 0) + 1
                yield job
            elif reason != job.reason:
                self._put(replace(job, reason=reason))
            # Added after the yield: the job at which the consumer stops does not count as examined.
            looked.add(job_id)

    def _look_at_others(self, now: float, looked: set[int], hopeless: list[Job]) -> None:
        """Set the reasons of jobs that this pass did not reach: new, changed, or with dependencies."""
        others = [job_id for job_id in self._unseen | self._dependent if job_id not in looked]
        self._unseen.clear()
        for job_id in others:
            job = self.jobs[job_id]
            if job.state is not JobState.PENDING:
                continue
            reason = self._reason_to_wait(job, now, hopeless) or "Priority"
            if reason != job.reason:
                self._put(replace(job, reason=reason))

    def _reason_to_wait(self, job: Job, now: float, hopeless: list[Job]) -> str | None:
        reason, wake = not_ready(job, now, self.select)
        self._wake = min(self._wake, wake)
        if reason == "DependencyNeverSatisfied" and job.spec.kill_invalid_dependency:
            hopeless.append(job)
        return reason
