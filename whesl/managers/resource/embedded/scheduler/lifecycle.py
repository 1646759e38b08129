"""State transitions of jobs: a job starts, ends, shrinks or loses a node, with the actions on its nodes.

An ending job is COMPLETING until each of its nodes has reported that none of the job's processes is left, or
is lost; then the job has ended, or is pending again.
"""

from __future__ import annotations

import msgspec

from whesl.managers.resource.embedded.scheduler.actions import DropNode, EndJob, StartBatch, ToNode
from whesl.managers.resource.embedded.scheduler.cluster_state import Ledger
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Share
from whesl.model.errors import RefusedError
from whesl.model.states import JobState

replace = msgspec.structs.replace


class Lifecycle(Ledger):
    """State transitions of jobs, caused by the events of ``Core`` and ``UserRequests``."""

    def _start(self, job: Job, shares: tuple[Share, ...], now: float) -> None:
        self._pending.remove(job.id)
        self._active.add(job.id)
        host = shares[0].node
        self._put(
            replace(
                job,
                state=JobState.RUNNING,
                reason="None",
                started=now,
                ended=0.0,
                shares=shares,
                lost=(),
                open_nodes=(),
                batch_host=host,
                batch_started=False,
                batch_ended=False,
                warned=False,
                exit_code=0,
                exit_signal=0,
                outcome=None,
            )
        )
        if not job.spec.interactive:
            self.actions.append(StartBatch(job.id, host))

    def _end(
        self,
        job: Job,
        outcome: JobState,
        now: float,
        *,
        again: bool = False,
        note: str = "",
        reason: str = "None",
    ) -> None:
        """Begin to end a running job: terminate its processes on all its nodes."""
        begin = now + self.settings.requeue_delay if again else job.begin
        job = replace(
            job,
            state=JobState.COMPLETING,
            outcome=outcome,
            again=again,
            begin=begin,
            open_nodes=job.nodes,
            ended=now,
            reason=reason,
        )
        self._put(job)
        for node in job.nodes:
            self._terminate(node, job.id, job.restarts, note)
        self.actions += self.steps.refuse_waiting(job.id, "Job/step already completing or completed")
        if not job.open_nodes:
            self._finish(job, now)

    def _terminate(self, node: str, job: int, restart: int, note: str = "") -> None:
        message = EndJob(job=job, restart=restart, grace=self.settings.kill_wait, note=note)
        self.actions.append(ToNode(node, message))

    def _end_by_exit(self, job: Job, now: float) -> None:
        failed = job.exit_code or job.exit_signal
        outcome = JobState.FAILED if failed else JobState.COMPLETED
        self._end(job, outcome, now, reason="NonZeroExitCode" if failed else "None")

    def _close(self, job: Job, name: str, now: float) -> None:
        job = replace(job, open_nodes=tuple(node for node in job.open_nodes if node != name))
        self._put(job)
        self._look = True
        if not job.open_nodes:
            self._finish(job, now)

    def _finish(self, job: Job, now: float) -> None:
        self._active.discard(job.id)
        self._look = True
        if not job.again:
            assert job.outcome is not None
            self._put(replace(job, state=job.outcome, outcome=None))
            return
        again = replace(
            job,
            state=JobState.PENDING,
            reason="BeginTime",
            outcome=None,
            again=False,
            restarts=job.restarts + 1,
            shares=(),
            lost=(),
            batch_host="",
            started=0.0,
            ended=0.0,
        )
        self._put(again)
        self._pending.append(job.id)
        self._pending.sort()

    def _shrink(self, job: Job, keep: tuple[str, ...], now: float) -> None:
        if job.state is not JobState.RUNNING or not keep or not set(keep) <= set(job.nodes):
            raise RefusedError("Invalid node name specified")
        for name in [node for node in job.nodes if node not in keep]:
            self._terminate(name, job.id, job.restarts)
            self._lose_share(job.id, name, now)

    def _lose_share(self, job_id: int, name: str, now: float) -> None:
        job = self.jobs[job_id]
        shares = tuple(share for share in job.shares if share.node != name)
        self._put(replace(job, shares=shares, lost=(*job.lost, name)))
        for step in self.steps.of(job_id, job.restarts):
            self.actions += self.steps.node_lost(step, name, now)
        self._look = True
        self._retry_steps(job_id, now)

    def _node_lost(self, name: str, reason: str, user: str, now: float) -> None:
        node = self.nodes[name]
        fresh = replace(node, up=False)
        if not node.drain:
            fresh = replace(fresh, reason=reason, reason_time=now, reason_user=user)
        self._put_node(fresh)
        self.actions.append(DropNode(name))
        for job_id in sorted(self._active):
            job = self.jobs[job_id]
            if job.state is JobState.COMPLETING and name in job.open_nodes:
                for step in self.steps.of(job_id, job.restarts):
                    self.actions += self.steps.node_lost(step, name, now)
                self._close(job, name, now)
            elif job.state is JobState.RUNNING and name in job.nodes:
                self._job_lost_node(job, name, now)

    def _job_lost_node(self, job: Job, name: str, now: float) -> None:
        never_ran = name == job.batch_host and not job.batch_started and not job.spec.interactive
        survives = job.spec.no_kill and len(job.nodes) > 1 and not never_ran
        self._lose_share(job.id, name, now)
        if survives:
            return
        again = (job.requeue or never_ran) and not job.spec.interactive
        self._end(
            self.jobs[job.id],
            JobState.PENDING if again else JobState.NODE_FAIL,
            now,
            again=again,
            note="CANCELLED AT {time} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
            reason="NodeDown",
        )

    def _uses(self, name: str) -> bool:
        return any(name in self.jobs[job_id].nodes for job_id in self._active)

    def _retry_steps(self, job_id: int, now: float) -> None:
        job = self.jobs[job_id]
        if job.state is JobState.RUNNING and self.steps.waiting(job_id):
            self.actions += self.steps.retry(job, now)
