"""The server's requests and connections: passes requests to the core, and its actions to the connections."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import file_retry
from whesl.managers.resource.embedded import environment, protocol
from whesl.managers.resource.embedded.artificial_wait import QueueWait
from whesl.managers.resource.embedded.channel import Channel
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.scheduler import actions
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job
from whesl.managers.resource.embedded.scheduler.state_machine import Core
from whesl.managers.resource.embedded.store import Store
from whesl.model.errors import RefusedError, TransientError, WheslError
from whesl.model.states import JobState

# Seconds that srun has to connect, after it submitted its job or the server started again, before its step or
# job counts as abandoned.
OWNER_GRACE = 5.0
_REFERENCE = re.compile(r"(\d{1,12})(?:_(\d{1,9}|\*|\[.*\]))?")

StepKey = tuple[int, int, int]


class Service:
    """Answers messages and performs the core's actions.

    Args:
        cluster: the cluster to serve.
        store: the records on disk.
        drop: closes a connection.
    """

    def __init__(self, cluster: Cluster, store: Store, drop: Callable[[Channel], None]) -> None:
        self.cluster, self.store, self._drop = cluster, store, drop
        self.settings = cluster.settings()
        self.started = time.time()
        self.core = Core(self.settings, self.started, store.jobs, store.steps, store.nodes)
        self.stopping = False
        self._waits = QueueWait(self.settings.queue_wait, self.settings.seed)
        self._nodes: dict[str, Channel] = {}
        self._names: dict[Channel, str] = {}
        self._requests: dict[int, Channel] = {}
        self._last_request = 0
        self._step_owners: dict[StepKey, Channel] = {}
        # When the job of an srun that has not connected yet is cancelled, in seconds since the epoch.
        self._owner_due = {
            job.id: self.started + OWNER_GRACE
            for job in self.core.jobs.values()
            if job.spec.interactive and not job.state.ended
        }
        self._watchers: dict[int, set[Channel]] = {}
        self._owners: dict[int, Channel] = {}
        self._grace_over = False

    # Messages ---------------------------------------------------------------------------------------------

    def handle(self, channel: Channel, message: protocol.AnyMessage, now: float) -> None:
        """Answer one message; a WheslError is sent as Failed.

        Args:
            channel: the connection on which the message arrived.
            message: the message.
            now: seconds since the epoch.
        """
        name = self._names.get(channel)
        try:
            if isinstance(message, protocol.Beat) and name is not None:
                self.core.node_heard(name, now)
            elif isinstance(message, protocol.Report) and name is not None:
                self._report(channel, name, message, now)
            elif isinstance(message, protocol.Register):
                self._register(channel, message, now)
            elif isinstance(message, protocol.CreateStep):
                self._last_request += 1
                self._requests[self._last_request] = channel
                self.core.request_step(self._last_request, message.wish, now)
            elif isinstance(message, protocol.AttachStep):
                self._attach(channel, message)
            elif isinstance(message, protocol.WatchJob):
                self._watch(channel, message)
            else:
                channel.send(self._answer(message, now))
        except WheslError as error:
            channel.send(protocol.Failed(text=error.message))

    def _answer(self, message: protocol.AnyMessage, now: float) -> actions.Message:
        core = self.core
        if isinstance(message, protocol.Submit):
            return self._submit(message, now)
        if isinstance(message, protocol.ListJobs):
            return self._list_jobs(message)
        if isinstance(message, protocol.ListNodes):
            return self._list_nodes(now)
        if isinstance(message, protocol.Find):
            job = core.find(message.token)
            return protocol.Jobs(jobs=(job,) if job else ())
        if isinstance(message, protocol.Try):
            core.check(message.spec)
        elif isinstance(message, protocol.Cancel):
            for job in self._select(message.job):
                if message.step is None:
                    core.cancel(job.id, now)
                else:
                    core.cancel_step(job.id, message.step)
        elif isinstance(message, protocol.SendSignal):
            for job in self._select(message.job):
                core.signal(
                    job.id, message.number, batch=message.batch, steps=message.steps, step=message.step
                )
        elif isinstance(message, protocol.Requeue):
            for job in self._select(message.job):
                core.requeue(job.id, now, at_once=message.at_once)
        elif isinstance(message, protocol.UpdateJob):
            self._update_job(message, now)
        elif isinstance(message, protocol.UpdateNode):
            if message.node not in core.nodes:
                raise RefusedError("Invalid node name specified")
            core.update_node(message.node, message.state, message.reason, message.user, now)
        elif isinstance(message, protocol.Finish):
            core.finish(message.job, message.restart, message.code, now)
        elif isinstance(message, protocol.Ping):
            return protocol.Pong(pid=os.getpid(), since=self.started, host=socket.gethostname())
        elif isinstance(message, protocol.Shutdown):
            core.shut_down(now)
            self.stopping = True
        else:
            raise RefusedError(f"the server does not answer {type(message).__name__}")
        return protocol.Done()

    def _submit(self, message: protocol.Submit, now: float) -> actions.Message:
        spec = message.spec
        known = self.core.find(spec.token) if spec.token else None
        if known is not None:
            return protocol.Submitted(job=known.array_job or known.id)
        number = max(self.core.jobs, default=0) + 1
        # The script is stored before the job's record: a crash in between leaves a directory that the next
        # submission with this number overwrites.
        self._spool(number, message)
        job_id = self.core.submit(spec, self._waits.draw(number), now)
        assert job_id == number
        if spec.interactive:
            self._owner_due[job_id] = now + OWNER_GRACE
        return protocol.Submitted(job=job_id)

    def _spool(self, number: int, message: protocol.Submit) -> None:
        directory = self.cluster.join("spool", str(number))
        try:
            file_retry.retried(lambda: os.makedirs(directory, mode=0o700, exist_ok=True))  # noqa: PTH103  # pathlib slows each command's start
            for name, mode, data in (
                ("slurm_script", 0o700, message.script),
                ("environment.json", 0o600, msgspec.json.encode(message.environment)),
            ):
                path = os.path.join(directory, name)  # noqa: PTH118
                file_retry.replace(path, data, mode=mode, durable=True)
        except OSError as error:
            raise TransientError(f"the job cannot be kept: {file_retry.told(error)}") from error

    def _select(self, reference: str) -> list[Job]:
        match = _REFERENCE.fullmatch(reference)
        task = match[2] if match else None
        if match is None:
            raise RefusedError(f"Invalid job id {reference}")
        jobs = self.core.select(int(match[1]), int(task) if task and task.isdecimal() else None)
        if not jobs:
            raise RefusedError("Invalid job id specified")
        return jobs

    def _list_jobs(self, message: protocol.ListJobs) -> actions.Message:
        chosen: dict[int, Job] = {}
        for reference in message.jobs:
            with contextlib.suppress(RefusedError):
                chosen |= {job.id: job for job in self._select(reference)}
        if not message.jobs:
            chosen = self.core.jobs
        steps: list[Any] = []
        if message.steps:
            steps = [step for job in chosen.values() for step in self.core.steps.all_of(job.id, job.restarts)]
        shadows = {job: time for job, time in self.core.shadows.items() if job in chosen and time < 1e12}
        return protocol.Jobs(jobs=tuple(chosen.values()), steps=tuple(steps), shadows=shadows)

    def _list_nodes(self, now: float) -> actions.Message:
        free = self.core.free_cpus()
        views = []
        for node in self.core.nodes.values():
            used = node.cpus - free[node.name]
            if not node.up:
                base = "down" if node.boot else "unknown"
            elif self.core.busy(node.name) is JobState.COMPLETING:
                base = "completing"
            else:
                base = "idle" if not used else ("allocated" if used >= node.cpus else "mixed")
            views.append(
                protocol.NodeView(
                    base=base,
                    allocated=used,
                    responds=node.up and self.core.responds(node.name, now),
                    **msgspec.structs.asdict(node),
                )
            )
        return protocol.Nodes(nodes=tuple(views), settings=self.settings)

    def _update_job(self, message: protocol.UpdateJob, now: float) -> None:
        limit = message.time_limit
        for job in self._select(message.job):
            self.core.update(
                job.id,
                now,
                comment=message.comment,
                requeue=message.requeue,
                begin=message.begin,
                time_limit=float("inf") if limit is not None and limit < 0 else limit,
                nodelist=message.nodelist,
                held=message.held,
            )

    # Connections ------------------------------------------------------------------------------------------

    def _register(self, channel: Channel, message: protocol.Register, now: float) -> None:
        if message.node not in self.core.nodes:
            raise RefusedError(f"there is no node {message.node} in this cluster")
        old = self._nodes.get(message.node)
        if old is not None and old is not channel:
            self._names.pop(old, None)
            self._drop(old)
        self._nodes[message.node] = channel
        self._names[channel] = message.node
        self.core.node_registered(message.node, message.boot, message.incarnations, now)

    def _report(self, channel: Channel, name: str, message: protocol.Report, now: float) -> None:
        core, job, restart = self.core, message.job, message.restart
        core.node_heard(name, now)
        if message.what == "batch-started":
            core.batch_started(job, restart)
        elif message.what == "batch-ended":
            core.batch_ended(job, restart, message.code, message.signal, now)
        elif message.what == "step-ended":
            core.step_ended(name, job, restart, message.step, message.code, now)
        elif message.what == "cleared":
            core.cleared(name, job, restart, now)
        # Like every message, the acknowledgement is sent only after the next commit.
        channel.send(protocol.Acknowledge(number=message.number))

    def _attach(self, channel: Channel, message: protocol.AttachStep) -> None:
        step = self.core.steps.get(message.job, message.restart, message.step)
        if step is None:
            raise RefusedError("Invalid job id specified")
        if not step.ended:
            self._step_owners[step.job, step.restart, step.id] = channel
        channel.send(protocol.StepState(step=step))

    def _watch(self, channel: Channel, message: protocol.WatchJob) -> None:
        job = self._select(message.job)[0]
        self._watchers.setdefault(job.id, set()).add(channel)
        if message.owner:
            self._owners[job.id] = channel
            self._owner_due.pop(job.id, None)
        channel.send(protocol.Jobs(jobs=(job,)))

    def forget(self, channel: Channel, now: float) -> None:
        """Handle a closed connection: drop its requests, abandon its steps, cancel the jobs that it owns.

        Args:
            channel: the closed connection.
            now: seconds since the epoch.
        """
        name = self._names.pop(channel, None)
        if name is not None and self._nodes.get(name) is channel:
            # The node counts as lost only after ``node_timeout`` seconds of silence.
            del self._nodes[name]
        for request in [number for number, asker in self._requests.items() if asker is channel]:
            del self._requests[request]
            self.core.forget_request(request)
        for key in [key for key, owner in self._step_owners.items() if owner is channel]:
            del self._step_owners[key]
            self._abandon(key)
        for job_id in [job for job, watchers in self._watchers.items() if channel in watchers]:
            self._watchers[job_id].discard(channel)
        for job_id in [job for job, owner in self._owners.items() if owner is channel]:
            del self._owners[job_id]
            self.core.cancel(job_id, now)

    def _abandon(self, key: StepKey) -> None:
        step = self.core.steps.get(*key)
        if step is None or step.ended:
            return
        for node in step.open_nodes:
            self._to_node(node, protocol.WatchStep(job=key[0], restart=key[1], step=key[2]))

    def check_owners(self, now: float) -> float:
        """Abandon steps and cancel jobs whose srun has not connected within OWNER_GRACE seconds.

        Returns the time of the next call, in seconds since the epoch.
        """
        for job_id in [job_id for job_id, due in self._owner_due.items() if now >= due]:
            del self._owner_due[job_id]
            self.core.cancel(job_id, now)
        due = self.started + OWNER_GRACE
        if not self._grace_over and now >= due:
            self._grace_over = True
            for step in self.core.steps.open():
                if (step.job, step.restart, step.id) not in self._step_owners:
                    self._abandon((step.job, step.restart, step.id))
        return min([now + 3600 if self._grace_over else due, *self._owner_due.values()])

    # Actions ----------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Store the changed records, then perform the core's actions."""
        while True:
            changes = self.core.take()
            if changes.jobs or changes.steps or changes.nodes:
                self.store.write(changes.jobs, changes.steps, changes.nodes)
            if not changes.actions:
                return
            for action in changes.actions:
                self._perform(action)

    def _perform(self, action: actions.Action) -> None:
        if isinstance(action, actions.StartBatch):
            self._start_batch(self.core.jobs[action.job], action.node)
        elif isinstance(action, actions.ToNode):
            note = action.message.note.replace("{time}", time.strftime("%Y-%m-%dT%H:%M:%S"))
            self._to_node(action.node, msgspec.structs.replace(action.message, note=note))
        elif isinstance(action, actions.DropNode):
            channel = self._nodes.pop(action.node, None)
            if channel is not None:
                self._names.pop(channel, None)
                self._drop(channel)
        elif isinstance(action, actions.StepGranted):
            self._granted(action)
        elif isinstance(action, actions.StepDelayed):
            self._reply(action.request, protocol.StepWaits(), last=False)
        elif isinstance(action, actions.StepRefused):
            self._reply(action.request, protocol.Failed(text=action.text), last=True)
        elif isinstance(action, actions.StepChanged):
            key = (action.step.job, action.step.restart, action.step.id)
            owner = self._step_owners.get(key)
            if owner is not None:
                owner.send(protocol.StepState(step=action.step))
                if action.step.ended:
                    del self._step_owners[key]
        else:
            for channel in self._watchers.get(action.job, ()):
                channel.send(protocol.Jobs(jobs=(self.core.jobs[action.job],)))

    def _granted(self, action: actions.StepGranted) -> None:
        step = action.step
        channel = self._requests.get(action.request)
        if channel is not None:
            self._step_owners[step.job, step.restart, step.id] = channel
            self._reply(action.request, protocol.StepState(step=step), last=True)
        else:
            self._abandon((step.job, step.restart, step.id))

    def _reply(self, request: int, message: actions.Message, *, last: bool) -> None:
        channel = self._requests.pop(request, None) if last else self._requests.get(request)
        if channel is not None:
            channel.send(message)

    def _to_node(self, name: str, message: actions.Message) -> None:
        channel = self._nodes.get(name)
        # A disconnected node gets its actions when it registers again.
        if channel is not None:
            channel.send(message)

    def _start_batch(self, job: Job, node: str) -> None:
        if node not in self._nodes:
            return
        spool = self.cluster.join("spool", str(job.array_job or job.id))
        content = file_retry.retried(Path(spool, "environment.json").read_bytes)
        base = msgspec.json.decode(content, type=dict[str, str])
        spec = job.spec
        pattern = spec.output or ("slurm-%A_%a.out" if job.array_task is not None else "slurm-%j.out")
        output = environment.file_name(pattern, job, node=node)
        error = environment.file_name(spec.error, job, node=node) if spec.error else output
        self._to_node(
            node,
            protocol.Launch(
                job=job.id,
                restart=job.restarts,
                script=os.path.join(spool, "slurm_script"),  # noqa: PTH118
                arguments=spec.arguments,
                environment=environment.of_job(self.settings, self.cluster.path, job, base),
                workdir=spec.workdir,
                input=environment.file_name(spec.input, job, node=node) if spec.input else "/dev/null",
                output=output,
                error=error,
                append=spec.append,
            ),
        )
