"""What users ask of the local resource manager: submissions, signals, changes of jobs and nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from whesl.managers.resource.embedded.scheduler.actions import SignalTasks, ToNode
from whesl.managers.resource.embedded.scheduler.fitting import choose
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, JobSpec, Partition
from whesl.managers.resource.embedded.scheduler.lifecycle import Lifecycle
from whesl.model.errors import RefusedError
from whesl.model.states import JobState

replace = msgspec.structs.replace


class UserRequests(Lifecycle):
    """The requests of users, each an event of the state machine of one cluster."""

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

        Args:
            spec: the job, or the array.
            wait: seconds before the job may start.
            now: seconds since the epoch.

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
        """Send a signal to a running job's script or steps.

        Args:
            job_id: the id of a known job.
            number: the signal's number.
            batch: whether the job's script gets it.
            steps: whether steps get it.
            step: the only step that gets it; None for all steps.

        Raises RefusedError for a pending job. A job that has ended gets nothing.
        """
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

        Args:
            job_id: the id of a known job.
            now: seconds since the epoch.
            at_once: whether also a pending job, and one that may not be requeued, runs at once.

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

        Args:
            job_id: the id of a known job.
            now: seconds since the epoch.
            comment: the job's comment.
            requeue: whether the job may be requeued.
            begin: time at which the job may start, in seconds since the epoch.
            time_limit: seconds; infinity for no limit.
            nodelist: the nodes that a running job keeps.
            held: whether a pending job is held.

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
        """Set a node's state.

        Args:
            name: the node's name.
            state: ``drain``, ``down``, ``resume``, ``undrain`` or ``idle``.
            reason: for people; needed for ``drain`` and ``down``.
            user: the user who asks.
            now: seconds since the epoch.

        Raises RefusedError for an unknown state or a missing reason.
        """
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
