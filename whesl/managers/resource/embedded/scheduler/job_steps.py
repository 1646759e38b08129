"""The steps of all jobs: the nodes and CPUs that each step holds inside its job, and the waiting requests.

As in Slurm since 20.11, a step holds the CPUs of its tasks on a node until the node reports the tasks' end;
only ``--overlap`` steps share CPUs with others. So a step on a lost node holds its CPUs until the resource
manager notices the loss.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable

import msgspec

from whesl.managers.resource.embedded.scheduler.actions import (
    Action,
    SignalTasks,
    StepChanged,
    StepDelayed,
    StepGranted,
    StepRefused,
    ToNode,
)
from whesl.managers.resource.embedded.scheduler.fitting import spread
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Step, StepShare, StepWish

replace = msgspec.structs.replace
KILLED = 128 + signal.SIGKILL


class StepTable:
    """All steps by job and restart count, and the waiting requests for steps."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps: dict[tuple[int, int], dict[int, Step]] = {}
        self._waiting: dict[int, list[tuple[int, StepWish]]] = {}
        self._changed: dict[tuple[int, int, int], Step] = {}
        for step in steps:
            self._steps.setdefault((step.job, step.restart), {})[step.id] = step

    def get(self, job: int, restart: int, step: int) -> Step | None:
        """Return a step, None when it does not exist.

        Args:
            job: the job's id.
            restart: the job's restart count.
            step: the step's number.
        """
        return self._steps.get((job, restart), {}).get(step)

    def of(self, job: int, restart: int) -> list[Step]:
        """Return the steps of a job's incarnation that have not ended.

        Args:
            job: the job's id.
            restart: the job's restart count.
        """
        return [step for step in self._steps.get((job, restart), {}).values() if not step.ended]

    def all_of(self, job: int, restart: int) -> list[Step]:
        """Return all steps of a job's incarnation.

        Args:
            job: the job's id.
            restart: the job's restart count.
        """
        return list(self._steps.get((job, restart), {}).values())

    def open(self) -> list[Step]:
        """Return every step that has not ended."""
        return [step for steps in self._steps.values() for step in steps.values() if not step.ended]

    def waiting(self, job: int) -> bool:
        """Whether a request for a step waits in a job."""
        return bool(self._waiting.get(job))

    def request(self, request: int, wish: StepWish, job: Job, now: float) -> list[Action]:
        """Create a step, or let its request wait, or refuse it.

        Args:
            request: number of the request.
            wish: the requested step.
            job: the running job.
            now: seconds since the epoch.
        """
        answer = self._answer(request, wish, job, now)
        if isinstance(answer, StepDelayed):
            self._waiting.setdefault(job.id, []).append((request, wish))
        return [answer]

    def retry(self, job: Job, now: float) -> list[Action]:
        """Decide again on a job's waiting requests, in order; return the final answers.

        Args:
            job: the running job.
            now: seconds since the epoch.
        """
        actions: list[Action] = []
        left = []
        for request, wish in self._waiting.pop(job.id, []):
            answer = self._answer(request, wish, job, now)
            if isinstance(answer, StepDelayed):
                left.append((request, wish))
            else:
                actions.append(answer)
        if left:
            self._waiting[job.id] = left
        return actions

    def refuse_waiting(self, job: int, text: str) -> list[Action]:
        """Refuse all requests that wait in a job.

        Args:
            job: the job's id.
            text: the error's text.
        """
        return [StepRefused(request, text) for request, _ in self._waiting.pop(job, [])]

    def forget(self, request: int) -> None:
        """Drop a waiting request whose srun has ended."""
        for job, waiting in list(self._waiting.items()):
            self._waiting[job] = [entry for entry in waiting if entry[0] != request]

    def node_done(self, step: Step, node: str, code: int, now: float) -> list[Action]:
        """Record that a step's tasks on a node have ended.

        Args:
            step: the step.
            node: the node's name.
            code: highest exit status of the tasks on the node, 128+N for signal N.
            now: seconds since the epoch.
        """
        if node not in step.open_nodes:
            return []
        left = tuple(name for name in step.open_nodes if name != node)
        return self._put(replace(step, open_nodes=left, code=max(step.code, code)), now)

    def node_lost(self, step: Step, node: str, now: float) -> list[Action]:
        """Record the loss of a step's node; the tasks there count as killed.

        Args:
            step: the step.
            node: the node's name.
            now: seconds since the epoch.
        """
        if node not in step.open_nodes:
            return []
        return self.node_done(replace(step, lost=(*step.lost, node)), node, KILLED, now)

    def cancel(self, step: Step) -> list[Action]:
        """Kill a step on all its nodes."""
        actions = self._put(replace(step, cancelled=True), 0.0)
        kill = SignalTasks(
            job=step.job,
            restart=step.restart,
            number=signal.SIGKILL,
            batch=False,
            steps=True,
            step=step.id,
            note="CANCELLED AT {time}",
        )
        return [*actions, *(ToNode(node, kill) for node in step.open_nodes)]

    def take(self) -> list[Step]:
        """Return the steps that changed since the last call."""
        changed = list(self._changed.values())
        self._changed = {}
        return changed

    def _put(self, step: Step, now: float) -> list[Action]:
        if not step.open_nodes and not step.ended:
            step = replace(step, ended=now)
        self._steps.setdefault((step.job, step.restart), {})[step.id] = step
        self._changed[step.job, step.restart, step.id] = step
        return [StepChanged(step)]

    def _answer(self, request: int, wish: StepWish, job: Job, now: float) -> Action:
        refused = f"Unable to create step for job {job.id}: "
        shares = {share.node: share for share in job.shares if share.node not in wish.exclude}
        if not set(wish.nodelist) <= shares.keys():
            return StepRefused(request, refused + "Requested node configuration is not available")
        count = wish.nodes if wish.nodes is not None else len(wish.nodelist) or len(job.shares)
        count = max(count, len(wish.nodelist))
        if count > len(job.shares):
            return StepRefused(request, f"Only allocated {len(job.shares)} nodes asked for {count}")
        if count > len(shares):
            return StepRefused(request, refused + "Requested node configuration is not available")
        tasks = wish.tasks if wish.tasks is not None else count * (wish.tasks_per_node or 1)
        count = min(count, tasks)
        order = [*wish.nodelist, *(node for node in shares if node not in wish.nodelist)]

        def room(cpus: int) -> int:
            if wish.overcommit:
                return tasks
            fitting = cpus // wish.cpus_per_task
            return fitting if wish.tasks_per_node is None else min(fitting, wish.tasks_per_node)

        capacity = {node: room(shares[node].cpus) for node in order}
        if self._place(order, capacity, wish, count, tasks) is None:
            return StepRefused(request, refused + "More processors requested than permitted")
        if not wish.overlap:
            used = self._used(job)
            capacity = {node: room(shares[node].cpus - used.get(node, 0)) for node in order}
        placed = self._place(order, capacity, wish, count, tasks)
        if placed is None:
            return StepDelayed(request)
        nodes = sorted(placed, key=job.nodes.index)
        first = 0
        step_shares = []
        for node, number in zip(nodes, spread(tasks, [capacity[node] for node in nodes]), strict=True):
            step_shares.append(StepShare(node=node, tasks=tuple(range(first, first + number))))
            first += number
        step = Step(
            job=job.id,
            restart=job.restarts,
            id=max(self._steps.get((job.id, job.restarts), {}), default=-1) + 1,
            name=wish.name,
            token=wish.token,
            launcher=wish.launcher,
            shares=tuple(step_shares),
            cpus_per_task=wish.cpus_per_task,
            overlap=wish.overlap,
            open_nodes=tuple(nodes),
            started=now,
        )
        self._put(step, now)
        return StepGranted(request, step)

    def _used(self, job: Job) -> dict[str, int]:
        used: dict[str, int] = {}
        for step in self.of(job.id, job.restarts):
            for share in step.shares:
                if share.node in step.open_nodes and not step.overlap:
                    used[share.node] = used.get(share.node, 0) + len(share.tasks) * step.cpus_per_task
        return used

    @staticmethod
    def _place(
        order: list[str], capacity: dict[str, int], wish: StepWish, count: int, tasks: int
    ) -> list[str] | None:
        """Choose ``count`` nodes with room, those of ``wish.nodelist`` first; None for too little room."""
        if any(capacity[node] < 1 for node in wish.nodelist):
            return None
        roomy = [node for node in order if capacity[node] >= 1]
        chosen = roomy[:count]
        if sum(capacity[node] for node in chosen) < tasks:
            named = len(wish.nodelist)
            rest = sorted(roomy[named:], key=lambda node: -capacity[node])
            chosen = roomy[:named] + rest[: max(0, count - named)]
        enough = len(chosen) == count and sum(capacity[node] for node in chosen) >= tasks
        return chosen if enough else None
