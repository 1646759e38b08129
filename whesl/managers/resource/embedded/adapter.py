"""The local resource manager behind the port: ``LocalScheduler`` (outside), ``LocalAllocation`` (inside)."""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import select
import signal as signals
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from whesl.managers.resource import command_call
from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.channel import ChannelClosedError
from whesl.managers.resource.embedded.cluster_directory import PATIENCE, Cluster
from whesl.managers.resource.embedded.commands.formats import node_state
from whesl.managers.resource.embedded.daemons import command_prefix
from whesl.managers.resource.embedded.environment import cleaned
from whesl.managers.resource.embedded.protocol import NodeView
from whesl.managers.resource.embedded.scheduler.actions import Message
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Dependency, Job, JobSpec
from whesl.managers.resource.job_step_process import StepProcess, start
from whesl.managers.resource.port import (
    AllocationInfo,
    JobRecord,
    JobRequest,
    NodeRecord,
    Step,
    StepPlace,
    StepRequest,
)
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import for_nodes, for_own_step, nodes_of
from whesl.managers.resource.slurm.slurm_command_output import comment_for, remarked
from whesl.managers.resource.slurm.srun_job_steps import OWN_STEP, step_command
from whesl.managers.resource.slurm.states import reason_text
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError, WheslError
from whesl.model.states import JobState, NodeState

# Seconds for which ``LocalAllocation.signal`` waits for the nodes' answers; a hung node gives none.
NODE_TIMEOUT = 1.0
_Answer = TypeVar("_Answer", bound=Message)


class LocalScheduler:
    """The outside face of the port for the local resource manager.

    Args:
        directory: the cluster's directory; None takes WHESL_LOCAL's, or the default cluster's.
        patience: seconds to wait for a server that is being restarted.
    """

    name = "local"

    def __init__(self, directory: str | None = None, *, patience: float = PATIENCE) -> None:
        self._cluster = Cluster(directory) if directory is not None else Cluster.of(os.environ)
        self._patience = patience

    @classmethod
    def of_cluster(cls, cluster: Mapping[str, str]) -> LocalScheduler:
        """Return the scheduler of the cluster in ``cluster["WHESL_LOCAL"]``, or else of the default one."""
        return cls(cluster.get("WHESL_LOCAL") or None)

    def submit(self, request: JobRequest) -> str:
        """Submit a job and return its id; a known token returns the id of its first submission."""
        try:
            with open(request.script, "rb") as file:  # noqa: PTH123  # pathlib slows each command's start
                script = file.read()
        except OSError as error:
            raise UsageError(f"the script cannot be read: {request.script}: {error.strerror}") from None
        environ = cleaned(os.environ) | request.environment
        message = protocol.Submit(spec=_specification(request), script=script, environment=environ)
        try:
            answer = self._ask(message, protocol.Submitted)
        except CouldNotObserveError:
            # The server may have accepted the job before the connection broke: the token finds it.
            known = self.find(request.token)
            if known is None:
                raise TransientError(
                    "the job was not submitted", hint="the same call may be repeated"
                ) from None
            return known.id
        return str(answer.job)

    def try_request(self, request: JobRequest) -> None:
        """Raise RefusedError when the cluster could never run the job."""
        self._ask(protocol.Try(spec=_specification(request)), protocol.Done)

    def find(self, token: str) -> JobRecord | None:
        """Return the job that was submitted with a token, however long ago; None when there is none."""
        found = self._ask(protocol.Find(token=token), protocol.Jobs).jobs
        return self._records(found)[0] if found else None

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the records of jobs; an array's id stands for all its tasks."""
        if not ids:
            return {}
        found = self._ask(protocol.ListJobs(jobs=tuple(ids)), protocol.Jobs).jobs
        return {record.id: record for record in self._records(found)}

    def nodes(self) -> list[NodeRecord]:
        """Return all nodes."""
        views = self._ask(protocol.ListNodes(), protocol.Nodes).nodes
        return [
            NodeRecord(name=view.name, state=_state(view), raw_state=node_state(view), reason=view.reason)
            for view in views
        ]

    def free_nodes(self, partition: str) -> int:
        """Return the number of idle nodes in a partition. Raises RefusedError for an unknown partition."""
        answer = self._ask(protocol.ListNodes(), protocol.Nodes)
        chosen = answer.settings.partition(partition)
        if chosen is None:
            known = ", ".join(each.name for each in answer.settings.partitions)
            raise RefusedError(f"the cluster has no partition {partition}", hint=f"known: {known}")
        return sum(view.name in chosen.nodes and node_state(view) == "idle" for view in answer.nodes)

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        """Cancel a job, or send a signal to its script. An unknown job is no error.

        Args:
            job_id: the id of a job, of an array's element (``12_3``), or of an array for all its elements.
            signal: a signal's number, which a job that does not run ignores; None ends the job for good.
        """
        message: Message = protocol.Cancel(job=job_id)
        if signal is not None:
            message = protocol.SendSignal(job=job_id, number=signal, batch=True, steps=False)
        with contextlib.suppress(RefusedError):
            self._ask(message, protocol.Done)

    def requeue(self, job_id: str) -> None:
        """Run a job again under its id at once, without the delay that requeueing normally adds."""
        record = self.jobs([job_id]).get(job_id)
        if record is None or record.state is not JobState.PENDING:
            self._ask(protocol.Requeue(job=job_id), protocol.Done)
        with contextlib.suppress(RefusedError):  # refused when the job already runs
            self._ask(protocol.UpdateJob(job=job_id, begin=time.time()), protocol.Done)

    def requeue_lost(self, job_id: str) -> bool:
        """Run a job again whose script is lost; return False when the job may not be requeued."""
        try:
            self._ask(protocol.Requeue(job=job_id), protocol.Done)
        except RefusedError as error:
            if "disabled" in error.message:
                return False
            raise
        return True

    def lift_hold(self, record: JobRecord) -> None:
        """Let a requeued job start now when only its requeue delay keeps it waiting."""
        if record.state is JobState.PENDING and record.restarts and record.reason.startswith("BeginTime"):
            with contextlib.suppress(CouldNotObserveError, TransientError, RefusedError):
                self._ask(protocol.UpdateJob(job=record.id, begin=time.time()), protocol.Done)

    def mark_node(self, node: str, reason: str) -> bool:
        """Drain a node. Return True: every user of the cluster has the right to.

        Args:
            node: the node's name.
            reason: a text for people, which ``nodes`` shows; "whesl" stands in place of an empty one.

        Raises RefusedError for an unknown node.
        """
        return self._update_node(node, "drain", reason or "whesl")

    def unmark_node(self, node: str) -> bool:
        """Take the drain mark from a node."""
        return self._update_node(node, "resume", "")

    def _update_node(self, node: str, state: str, reason: str) -> bool:
        message = protocol.UpdateNode(node=node, state=state, reason=reason, user=getpass.getuser())
        self._ask(message, protocol.Done)
        return True

    def _records(self, jobs: Sequence[Job]) -> list[JobRecord]:
        down: set[str] = set()
        if any(job.state is JobState.RUNNING for job in jobs):
            views = self._ask(protocol.ListNodes(), protocol.Nodes).nodes
            down = {view.name for view in views if view.base == "down"}
        return [_record(job, down) for job in jobs]

    def _ask(self, message: Message, kind: type[_Answer]) -> _Answer:
        return self._cluster.ask(message, kind, patience=self._patience)


class LocalStep(StepProcess):
    """A step, represented by its srun process."""

    def __init__(self, process: subprocess.Popen[bytes], token: str, nodes: tuple[str, ...]) -> None:
        super().__init__(process)
        self.token, self.nodes = token, nodes


class LocalAllocation:
    """The inside face of the port: the nodes and steps of one job of the local resource manager.

    Args:
        environ: environment of the job's script.
        patience: seconds to wait for a server that is being restarted.

    Raises UsageError outside a job, CouldNotObserveError for a damaged environment.
    """

    name = "local"

    def __init__(self, environ: Mapping[str, str], *, patience: float = PATIENCE) -> None:
        self._environ = dict(environ)
        self._job_id = environ.get("SLURM_JOB_ID", "")
        if not self._job_id.isdecimal() or not environ.get("WHESL_LOCAL"):
            raise UsageError("this is not inside a job of the local resource manager")
        self._cluster = Cluster(environ["WHESL_LOCAL"])
        self._patience = patience
        self._nodes = nodes_of(environ)
        self._prefix = command_prefix()

    def describe(self) -> AllocationInfo:
        """Return the job's allocation, read from its environment without asking the server."""
        return AllocationInfo(
            rjms=self.name,
            job_id=self._job_id,
            nodes=self._nodes,
            batch_host=self._nodes[0],
            restart_count=int(_number(self._environ.get("SLURM_RESTART_COUNT")) or 0),
            tasks=int(tasks) if (tasks := _number(self._environ.get("SLURM_NTASKS"))) is not None else None,
        )

    def launch(self, request: StepRequest) -> LocalStep:
        """Start a step on exactly the nodes of ``request``, beside the steps that already run there."""
        token = secrets.token_hex(8)
        command = [*self._prefix, *step_command(request, f"{OWN_STEP}{token}")]
        environ = for_own_step({**self._environ, **request.environment})
        environ |= {"SLURM_JOB_ID": self._job_id, "WHESL_STEP_TOKEN": token}
        return LocalStep(start(command, environ, "srun"), token, request.nodes)

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the step's tasks on every node that answers; SIGKILL goes to its srun first.

        This process asks the nodes directly, so that neither the server nor srun has to live. A node that
        received SIGKILL for a step does not start that step later.

        Args:
            step: a step from ``launch``; an ended one gets SIGKILL alone, for tasks that outlived its srun.
            signum: the signal's number.

        Returns when all nodes have answered, or after NODE_TIMEOUT seconds. Raises UsageError for a step of
        another resource manager.
        """
        if not isinstance(step, LocalStep):
            raise UsageError(f"not a step of the local resource manager: {step!r}")
        if signum == signals.SIGKILL:
            command_call.send_group(step.pid, signals.SIGKILL)
        elif step.poll() is not None:
            return
        message = protocol.SignalToken(token=step.token, number=signum)
        asked = []
        for node in step.nodes:
            with contextlib.suppress(OSError, ChannelClosedError):
                channel = self._cluster.sockets.connect(node)
                channel.send(message)
                channel.flush()
                asked.append(channel)
        deadline = time.monotonic() + NODE_TIMEOUT
        while asked and (left := deadline - time.monotonic()) > 0:
            for channel in select.select(asked, [], [], left)[0]:
                with contextlib.suppress(ChannelClosedError):
                    channel.receive()
                channel.close()
                asked.remove(channel)
        for channel in asked:
            channel.close()

    def node_states(self) -> dict[str, NodeState]:
        """Return the nodes' states as the server reports them; DOWN for a node that the job has lost."""
        answer = self._ask(protocol.ListNodes(), protocol.Nodes)
        seen = {view.name: _state(view) for view in answer.nodes}
        kept = self._job().nodes
        return {
            node: seen.get(node, NodeState.UNKNOWN) if node in kept else NodeState.DOWN
            for node in self._nodes
        }

    def step_places(self) -> list[StepPlace]:
        """Return launcher and nodes, lost ones included, of each running step that is not WHESL's own."""
        found = self._ask(protocol.ListJobs(jobs=(self._job_id,), steps=True), protocol.Jobs).steps
        return [
            StepPlace(step.launcher, tuple(share.node for share in step.shares))
            for step in found
            if not step.ended and not step.name.startswith(OWN_STEP)
        ]

    def gone(self, node: str) -> bool | None:
        """Return True when the node's daemon has ended: the kernel then refuses connections to its socket.

        False when the socket accepts connections, as a hung daemon's does; None when that is unknown.
        """
        try:
            self._cluster.sockets.connect(node).close()
        except ConnectionRefusedError:
            return True
        except (OSError, ChannelClosedError):
            return None
        return False

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make ``active`` look like the whole allocation.

        Args:
            active: the nodes in use, in the order of ranks.
            base: the script's environment, which prevails over the environment that the job began with.
        """
        return for_nodes(active, {**self._environ, **base})

    def release(self, node: str) -> bool:
        """Give a node of the job back; return False for the batch host, the last node, or after an error."""
        try:
            kept = self._job().nodes
            rest = tuple(name for name in kept if name != node)
            if node not in kept:
                return True
            if not rest or node == self._nodes[0]:
                return False
            self._ask(protocol.UpdateJob(job=self._job_id, nodelist=rest), protocol.Done)
        except WheslError:
            return False
        return True

    def remark(self, task: str, text: str) -> None:
        """Write a line about a task into the job's comment, in place of the task's earlier line.

        Args:
            task: the task's id.
            text: the line, which begins with the task's id; dropped where the comment would become too long.
        """
        if comment := remarked(self._job().comment, task, text):
            message = protocol.UpdateJob(job=self._job_id, comment=comment)
            self._ask(message, protocol.Done)

    def _ask(self, message: Message, kind: type[_Answer]) -> _Answer:
        return self._cluster.ask(message, kind, patience=self._patience)

    def _job(self) -> Job:
        found = self._ask(protocol.ListJobs(jobs=(self._job_id,)), protocol.Jobs).jobs
        if not found:
            raise CouldNotObserveError(f"the local resource manager does not know job {self._job_id}")
        return found[0]


def _specification(request: JobRequest) -> JobSpec:
    if request.time_limit is not None and request.time_limit <= 0:
        raise UsageError(f"a time limit has to be above zero: {request.time_limit:g} minutes")
    if unknown := request.demands.besides("exclusive"):
        raise UsageError(f"the embedded cluster is not asked for {', '.join(unknown)}", hint="leave it out")
    if bad := [job for job in request.after_ok if not job.isdecimal()]:
        raise UsageError(f"not a job's id: {bad[0]!r}")
    return JobSpec(
        name=request.name or os.path.basename(request.script),  # noqa: PTH119
        user=os.environ.get("USER") or getpass.getuser(),
        uid=os.getuid(),
        gid=os.getgid(),
        partition=request.partition,
        workdir=request.workdir or os.getcwd(),  # noqa: PTH109
        command=os.path.abspath(request.script),  # noqa: PTH100
        arguments=request.arguments,
        nodes=request.nodes,
        tasks=request.tasks,
        time_limit=None if request.time_limit is None else request.time_limit * 60,
        output=request.output,
        error=request.error,
        append=True,
        requeue=request.requeue,
        no_kill=True,
        exclude=request.exclude,
        exclusive=request.demands.exclusive,
        dependencies=tuple(Dependency(kind="afterok", job=int(job)) for job in request.after_ok),
        kill_invalid_dependency=True,
        comment=comment_for(request.token),
        token=request.token,
        submit_host=socket.gethostname(),
    )


def _record(job: Job, down: set[str]) -> JobRecord:
    running = job.state is JobState.RUNNING
    lost = running and job.batch_host != "" and (job.batch_host not in job.nodes or job.batch_host in down)
    return JobRecord(
        id=job.label,
        token=job.spec.token,
        name=job.spec.name,
        state=job.state,
        raw_state=job.state.value,
        reason=reason_text(job.reason),
        nodes=job.nodes,
        batch_host=job.batch_host,
        batch_host_lost=lost,
        restarts=job.restarts,
        exit_code=(-job.exit_signal if job.exit_signal else job.exit_code) if job.state.ended else None,
        submitted=job.submitted,
        started=job.started,
        ended=job.ended if job.state.ended else 0.0,
    )


def _state(view: NodeView) -> NodeState:
    """Return a node's state in the port's terms; UNKNOWN for a silent node that is not yet down."""
    if view.base == "down":
        return NodeState.DOWN
    if view.base == "unknown" or not view.responds:
        return NodeState.UNKNOWN
    return NodeState.DRAINED if view.drain else NodeState.UP


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() else None
