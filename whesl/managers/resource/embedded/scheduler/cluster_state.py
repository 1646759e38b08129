"""The records of one cluster: look-up, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from whesl.managers.resource.embedded.scheduler.actions import Action, JobChanged
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Node, Settings, Step
from whesl.managers.resource.embedded.scheduler.job_steps import StepTable
from whesl.model.states import JobState

replace = msgspec.structs.replace
_ACTIVE = (JobState.RUNNING, JobState.COMPLETING)


class Changes(NamedTuple):
    """New actions, and the changed records, which are stored before the actions are carried out."""

    actions: list[Action]
    jobs: list[Job]
    steps: list[Step]
    nodes: list[Node]


class Ledger:
    """All jobs, steps and nodes of one cluster.

    Args:
        settings: how the cluster was started.
        now: seconds since the epoch; the nodes' silence counts from this time.
        jobs: stored records of jobs from an earlier server process.
        steps: stored records of steps.
        nodes: stored records of nodes.
    """

    def __init__(
        self,
        settings: Settings,
        now: float,
        jobs: Iterable[Job] = (),
        steps: Iterable[Step] = (),
        nodes: Iterable[Node] = (),
    ) -> None:
        self.settings = settings
        self.jobs: dict[int, Job] = {job.id: job for job in sorted(jobs, key=lambda job: job.id)}
        known = {node.name: node for node in nodes}
        self.nodes: dict[str, Node] = {
            name: known.get(name, Node(name=name, cpus=settings.cpus)) for name in settings.nodes
        }
        self.steps = StepTable(steps)
        self.actions: list[Action] = []
        self.heard: dict[str, float] = dict.fromkeys(self.nodes, now)
        self.shadows: dict[int, float] = {}
        self._changed_jobs: dict[int, None] = {}
        self._changed_nodes: dict[str, None] = {}
        self._tokens = {job.spec.token: job.id for job in reversed(self.jobs.values()) if job.spec.token}
        self._arrays: dict[int, list[int]] = {}  # array's id: ids of its tasks, in order
        for job in self.jobs.values():
            if job.array_job:
                self._arrays.setdefault(job.array_job, []).append(job.id)
        self._pending = [job.id for job in self.jobs.values() if job.state is JobState.PENDING]
        self._active = {job.id for job in self.jobs.values() if job.state in _ACTIVE}
        # ids of pending jobs that are new or changed since the last pass over the queue
        self._unseen = set(self._pending)
        self._dependent = {job_id for job_id in self._pending if self.jobs[job_id].spec.dependencies}
        self._look = True
        self._wake = now
        self._fit_to_settings(now)

    def _fit_to_settings(self, now: float) -> None:
        """End stored jobs whose nodes or partition are no longer in the settings."""
        parts = {partition.name for partition in self.settings.partitions}
        for job in [job for job in self.jobs.values() if not job.state.ended]:
            if not set(job.nodes) <= self.nodes.keys():
                self._active.discard(job.id)
                gone = replace(job, state=JobState.NODE_FAIL, ended=now, open_nodes=(), reason="NodeDown")
                self._put(gone)
            elif job.partition not in parts and job.state is JobState.PENDING:
                self._pending.remove(job.id)
                self._put(replace(job, state=JobState.CANCELLED, ended=now, reason="PartitionDown"))

    def find(self, token: str) -> Job | None:
        """Return the job that was submitted with a token, None when there is none."""
        return self.jobs[self._tokens[token]] if token in self._tokens else None

    def select(self, job_id: int, task: int | None = None) -> list[Job]:
        """Return the job with an id, one task of an array, or all its tasks; an empty list for none.

        Args:
            job_id: id of a job or an array.
            task: index of an array task; None for the job, or all tasks.
        """
        array = [self.jobs[member] for member in self._arrays.get(job_id, ())]
        if task is not None:
            return [job for job in array if job.array_task == task]
        return array or [job for job in (self.jobs.get(job_id),) if job is not None]

    def responds(self, name: str, now: float) -> bool:
        """Whether a node has sent a message within half of ``node_timeout``.

        Args:
            name: the node's name.
            now: seconds since the epoch.
        """
        return now - self.heard[name] <= self.settings.node_timeout / 2

    def take(self) -> Changes:
        """Return the actions and changed records since the last call."""
        changes = Changes(
            self.actions,
            [self.jobs[job_id] for job_id in self._changed_jobs],
            self.steps.take(),
            [self.nodes[name] for name in self._changed_nodes],
        )
        self.actions = []
        self._changed_jobs, self._changed_nodes = {}, {}
        return changes

    def free_cpus(self) -> dict[str, int]:
        """Return the number of CPUs that no job holds, by node."""
        free = {name: node.cpus for name, node in self.nodes.items()}
        for job_id in self._active:
            for share in self.jobs[job_id].held_shares:
                free[share.node] -= share.cpus
        return free

    def busy(self, name: str) -> JobState | None:
        """Return RUNNING when a job runs on a node, COMPLETING when jobs there are only ending, else None."""
        states = {
            job.state
            for job in (self.jobs[job_id] for job_id in self._active)
            if any(share.node == name for share in job.held_shares)
        }
        if JobState.RUNNING in states:
            return JobState.RUNNING
        return JobState.COMPLETING if states else None

    def _incarnation(self, job_id: int, restart: int) -> Job | None:
        job = self.jobs.get(job_id)
        return job if job is not None and job.restarts == restart and job_id in self._active else None

    def _put(self, job: Job) -> None:
        before = self.jobs.get(job.id)
        if before == job:
            return
        self.jobs[job.id] = job
        if before is None and job.array_job:
            self._arrays.setdefault(job.array_job, []).append(job.id)
        self._changed_jobs[job.id] = None
        if job.state is JobState.PENDING:
            self._unseen.add(job.id)
            if job.spec.dependencies:
                self._dependent.add(job.id)
        else:
            self._unseen.discard(job.id)
            self._dependent.discard(job.id)
        if before is None or (before.state, before.shares, before.restarts) != (
            job.state,
            job.shares,
            job.restarts,
        ):
            self.actions.append(JobChanged(job.id))

    def _put_node(self, node: Node) -> None:
        self.nodes[node.name] = node
        self._changed_nodes[node.name] = None
