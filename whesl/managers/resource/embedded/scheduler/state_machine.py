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

from whesl.managers.resource.embedded.scheduler.actions import SignalTasks, StartBatch, ToNode
from whesl.managers.resource.embedded.scheduler.backfill import Machine, release_of, schedule
from whesl.managers.resource.embedded.scheduler.eligibility import not_ready
from whesl.managers.resource.embedded.scheduler.fitting import choose
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, JobSpec, Partition, StepWish
from whesl.managers.resource.embedded.scheduler.lifecycle import Lifecycle
from whesl.model.errors import RefusedError
from whesl.model.states import JobState

replace = msgspec.structs.replace


# Sorts nodes into the order in which a job takes them. Arguments: seconds since the epoch; node names; the
# job's time limit in seconds, None for unlimited.
Ranking = Callable[[float, Sequence[str], float | None], Sequence[str]]


class Core(Lifecycle):
    """The state machine of one cluster.

    ``rank``: sorts nodes into the order in which jobs take them; None keeps the partition's order.
    """

    rank: Ranking | None = None

    # Submission and users' changes -----------------------------------------------------------------

    def check(self, spec: JobSpec) -> tuple[Partition, float | None]:
        """Return the partition of a job and its time limit in seconds, None for unlimited.

        Raises RefusedError in Slurm's words for a job that can never run on this cluster.
        """
        partition = self.settings.partition(spec.partition)
        if partition is None:
            raise RefusedError("Invalid partition name specified")
        limit = spec.time_limit if spec.time_limit is not None else partition.max_time
        if limit is not None and partition.max_time is not None and limit > partition.max_time:
            raise RefusedError("Requested time limit is invalid (missing or exceeds some limit)")
        for name in (*spec.nodelist, *spec.exclude):
            if name not in self.nodes:
                raise RefusedError("Invalid node name specified")
        total = {name: self.nodes[name].cpus for name in partition.nodes}
        whole = self.settings.whole_nodes or spec.exclusive
        if choose(spec, partition.nodes, total, total, whole) is None:
            raise RefusedError("Requested node configuration is not available")
        for dependency in spec.dependencies:
            if not self.select(dependency.job):
                raise RefusedError("Job dependency problem")
        return partition, limit

    def submit(self, spec: JobSpec, wait: float, now: float) -> int:
        """Queue a job, or an array of jobs, and return its id.

        A known token returns the id of its first submission.

        Raises RefusedError in Slurm's words.
        """
        if spec.token and spec.token in self._tokens:
            return self._tokens[spec.token]
        partition, limit = self.check(spec)
        first = max(self.jobs, default=0) + 1
        array = (len(spec.array), min(spec.array), max(spec.array)) if spec.array else (0, 0, 0)
        own = replace(spec, array=())
        for offset, task in enumerate(spec.array or (None,)):
            job = Job(
                id=first + offset,
                spec=own,
                array_job=first if spec.array else 0,
                array_task=task,
                array=array,
                submitted=now,
                eligible=now + wait,
                begin=spec.begin,
                held=spec.hold,
                partition=partition.name,
                comment=spec.comment,
                requeue=spec.requeue,
                time_limit=limit,
                reason="JobHeldUser" if spec.hold else "None",
            )
            self._put(job)
            self._pending.append(job.id)
        if spec.token:
            self._tokens[spec.token] = first
        self._look = True
        return first

    def cancel(self, job_id: int, now: float) -> None:
        """End a job for good. A job that has ended stays as it is.

        Args:
            job_id: the job's id.
            now: seconds since the epoch.
        """
        job = self.jobs[job_id]
        if job.state is JobState.PENDING:
            self._pending.remove(job.id)
            self._put(replace(job, state=JobState.CANCELLED, ended=now, reason="None"))
            self._look = True
        elif job.state is JobState.RUNNING:
            self._end(job, JobState.CANCELLED, now, note="CANCELLED AT {time}")
        elif job.state is JobState.COMPLETING and job.again:
            self._put(replace(job, again=False, outcome=JobState.CANCELLED))

    def signal(self, job_id: int, number: int, *, batch: bool, steps: bool, step: int | None = None) -> None:
        """Send a signal to a running job's script or steps. Raises RefusedError for a pending job."""
        job = self.jobs[job_id]
        if job.state is JobState.PENDING:
            raise RefusedError("Job is pending execution")
        if job.state is not JobState.RUNNING:
            return
        for node in job.nodes:
            script = batch and node == job.batch_host
            message = SignalTasks(
                job=job.id, restart=job.restarts, number=number, batch=script, steps=steps, step=step
            )
            self.actions.append(ToNode(node, message))

    def cancel_step(self, job_id: int, step_id: int) -> None:
        """Kill one step. Raises RefusedError when that step does not run.

        Args:
            job_id: the job's id.
            step_id: the step's number.
        """
        job = self.jobs[job_id]
        step = self.steps.get(job.id, job.restarts, step_id)
        if step is None or step.ended:
            raise RefusedError("Invalid job id specified")
        self.actions += self.steps.cancel(step)

    def requeue(self, job_id: int, now: float, *, at_once: bool = False) -> None:
        """Run a job again under its id.

        Raises RefusedError when the job may not be requeued or is pending already.
        """
        job = self.jobs[job_id]
        if job.state is JobState.PENDING and not at_once:
            raise RefusedError("Job is pending execution")
        if job.spec.interactive or not (job.requeue or at_once):
            raise RefusedError("Requested operation is presently disabled")
        if job.state is JobState.RUNNING:
            self._end(job, JobState.PENDING, now, again=True, note="CANCELLED AT {time} DUE TO JOB REQUEUE")
        elif job.state is not JobState.PENDING:
            self._put(replace(job, again=True, begin=now + self.settings.requeue_delay))
        if at_once:
            self._put(replace(self.jobs[job_id], requeue=True, begin=now))
            self._look = True
        if self.jobs[job_id].state.ended:
            self._finish(self.jobs[job_id], now)

    def update(
        self,
        job_id: int,
        now: float,
        *,
        comment: str | None = None,
        requeue: bool | None = None,
        begin: float | None = None,
        time_limit: float | None = None,
        nodelist: Sequence[str] | None = None,
        held: bool | None = None,
    ) -> None:
        """Change a job's fields; None leaves one unchanged.

        Raises RefusedError for a change that the job's state does not allow.
        """
        job = self.jobs[job_id]
        if job.state.ended and requeue is None:
            raise RefusedError("Job has already finished")
        if comment is not None:
            job = replace(job, comment=comment)
        if requeue is not None:
            job = replace(job, requeue=requeue)
        if time_limit is not None:
            job = replace(job, time_limit=None if math.isinf(time_limit) else time_limit, warned=False)
        if begin is not None:
            # A requeued job may get a begin time while it completes; the time counts once the job is pending.
            if job.state is not JobState.PENDING and not job.again:
                raise RefusedError("Job is no longer pending execution")
            job = replace(job, begin=begin)
        if held is not None:
            if job.state is not JobState.PENDING:
                raise RefusedError("Job is no longer pending execution")
            job = replace(job, held=held, reason="JobHeldUser" if held else "None")
        self._put(job)
        self._look = True
        if nodelist is not None:
            self._shrink(job, tuple(nodelist), now)

    def update_node(self, name: str, state: str, reason: str, user: str, now: float) -> None:
        """Set a node's state. Raises RefusedError for an unknown state or a missing reason."""
        node = self.nodes[name]
        if state in ("drain", "down") and not reason:
            raise RefusedError("You must specify a reason when DOWNING or DRAINING a node. Request denied")
        if state == "drain":
            self._put_node(replace(node, drain=True, reason=reason, reason_time=now, reason_user=user))
        elif state in ("resume", "undrain", "idle"):
            self._put_node(replace(node, drain=False, reason="", reason_time=0.0, reason_user=""))
        elif state == "down":
            self._node_lost(name, reason, user, now)
        else:
            raise RefusedError("Invalid node state specified")
        self._look = True

    def finish(self, job_id: int, restart: int, code: int, now: float) -> None:
        """End a running interactive job, whose srun reports its command's exit code.

        Args:
            job_id: the job's id.
            restart: the job's restart count; another one than the present is ignored.
            code: the exit code.
            now: seconds since the epoch.
        """
        job = self.jobs.get(job_id)
        if job and job.spec.interactive and job.restarts == restart and job.state is JobState.RUNNING:
            self._end_by_exit(replace(job, exit_code=code), now)

    def shut_down(self, now: float) -> None:
        """Cancel all jobs that have not ended, because the cluster stops."""
        for job in [job for job in self.jobs.values() if not job.state.ended]:
            self._put(replace(job, state=JobState.CANCELLED, ended=now, open_nodes=(), reason="None"))
        self._pending.clear()
        self._active.clear()

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
        """Record that all tasks of a step on a node have ended."""
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
