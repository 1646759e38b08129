"""The port to resource managers. It has two faces; every adapter passes the same contract tests.

*Scheduler* is what the coordinator sees from outside: submit once, look up, cancel, mark a node.
*Allocation* is what the isolator sees from inside a job: nodes, steps on a node set, node events.

Errors, for both faces: CouldNotObserveError when the resource manager did not answer or answered
nonsense (never "gone"), RefusedError when it said no, TransientError when the same call may work later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from whesl.model.states import JobState, NodeState


class Demands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What else a job needs to be accepted or placed, in the resource manager's own words; '' for nothing.

    ``memory`` is that of a node. ``exclusive``: no other job on its nodes. A manager without one refuses it.
    """

    account: str = ""
    qos: str = ""
    constraint: str = ""
    gres: str = ""
    memory: str = ""
    exclusive: bool = False

    def besides(self, *known: str) -> list[str]:
        """Return the names of what is asked for, without those of ``known``."""
        return [name for name in self.__struct_fields__ if getattr(self, name) and name not in known]


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A batch job to submit. ``token`` identifies it for ever: a second submission finds the first.

    ``time_limit`` is in minutes. ``environment`` is added to the submitter's. The scheduler must not kill the
    job when a node is lost, and run it again only with ``requeue``.
    """

    token: str
    script: str  # path
    arguments: tuple[str, ...] = ()
    name: str = ""
    workdir: str = ""
    nodes: int = 1
    tasks: int | None = None
    partition: str = ""
    time_limit: float | None = None
    output: str = ""
    error: str = ""
    environment: dict[str, str] = {}
    exclude: tuple[str, ...] = ()
    after_ok: tuple[str, ...] = ()
    requeue: bool = False
    demands: Demands = Demands()


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the scheduler says of a job. Times are seconds since the epoch, 0 when not known."""

    id: str
    token: str = ""
    name: str = ""
    state: JobState
    raw_state: str = ""
    reason: str = ""
    nodes: tuple[str, ...] = ()
    batch_host: str = ""
    batch_host_lost: bool = False
    suspended: bool = False
    restarts: int = 0
    exit_code: int | None = None
    submitted: float = 0.0
    started: float = 0.0
    ended: float = 0.0

    @property
    def status(self) -> int:
        """Its exit status as a shell gives it (128 + n for signal n), -1 where there is none."""
        if self.exit_code is None:
            return -1
        return self.exit_code if self.exit_code >= 0 else 128 - self.exit_code


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the scheduler says of a node."""

    name: str
    state: NodeState
    raw_state: str = ""
    reason: str = ""


class Scheduler(Protocol):
    """The outside face."""

    name: str

    def submit(self, request: JobRequest) -> str:
        """Submit once and return the job's id: looks the token up first, and again when no reply came."""

    def find(self, token: str) -> JobRecord | None:
        """Return the job submitted with a token; None only when the scheduler surely has none."""

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the records of jobs. A job that the scheduler does not know any more is left out."""

    def nodes(self) -> list[NodeRecord]:
        """Return all nodes."""

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        """Cancel a job, or send it a signal. A job that has ended is no error.

        Args:
            job_id: as ``submit`` returned it; one that is not known has ended.
            signal: a signal's number for the job's script alone, which goes on; None ends the job for good.
        """

    def requeue(self, job_id: str) -> None:
        """Run the same job again under the same id, as soon as the scheduler can.

        Raises RefusedError where the job may not run again, as its user or the site has said.
        """

    def annotate(self, job_id: str, comment: str) -> None:
        """Write a comment on the job's record, without touching the token.

        Args:
            job_id: as ``submit`` returned it.
            comment: any text, also of several lines; "" takes an earlier one away.
        """

    def mark_node(self, node: str, reason: str) -> bool:
        """Take a node out of service (drain). False when this user may not; that is no error.

        Args:
            node: its name, as ``nodes`` has it. What runs there goes on.
            reason: for the administrator; ``nodes`` shows it.
        """

    def unmark_node(self, node: str) -> bool:
        """Return a node to service. False when this user may not."""


@runtime_checkable
class ChoosesCluster(Protocol):
    """What a scheduler's class also offers where a user may have several clusters."""

    def of_cluster(self, cluster: Mapping[str, str]) -> Scheduler:
        """Return the scheduler of the cluster that variables name (``cluster_environment.described``)."""


@runtime_checkable
class Nests(Protocol):
    """What a scheduler's class also offers when a job may be an instance that knows no job beside itself."""

    def enclosing(self) -> Scheduler:
        """Return the scheduler that the job of this process was submitted to."""


@runtime_checkable
class LiftsHold(Protocol):
    """What a scheduler also offers that makes a job wait before it runs again."""

    def lift_hold(self, record: JobRecord) -> None:
        """Let a job start now that waits only because it was requeued; any other is left alone.

        It raises nothing: the job may have begun since the look, and each look calls it again.
        """


@runtime_checkable
class RequeuesLost(LiftsHold, Protocol):
    """What a scheduler also offers that may run a job again by itself, if its submission said so."""

    def requeue_lost(self, job_id: str) -> bool:
        """Run a job again whose script is lost; False when its submission (or its owner since) forbids it."""


@runtime_checkable
class AllowsRequeue(Protocol):
    """What a scheduler also offers that has to be told beforehand that a job may be run again."""

    def allow_requeue(self, job_id: str) -> None:
        """Allow what an allocation of ours has withdrawn (``ForbidsRequeue``). Raises as other calls do."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a job may use: ``time`` in minutes, ``memory`` in MiB of each node; None: as it has it."""

    time: float | None = None
    memory: int | None = None


@runtime_checkable
class ChangesLimits(Protocol):
    """What a scheduler also offers that gives a job other limits for its next run, by its user's wish."""

    def requeue_with(self, job_id: str, limits: Limits) -> str:
        """Run the same job again (``Scheduler.requeue``), with these limits before it starts.

        Returns why it has to run with those that it had, "" when it got these. Raises as ``requeue`` does.
        """


@runtime_checkable
class ReadsScripts(Protocol):
    """What a third party's scheduler also offers whose scripts ``whesl run`` submits."""

    def request_of(self, script: str, arguments: Sequence[str]) -> JobRequest:
        """Return what a batch script asks for, without a token.

        Args:
            script: its path.
            arguments: the user's, for the submission; they count more than the script's own lines.

        Raises UsageError for what cannot be understood.
        """


@runtime_checkable
class TriesRequests(Protocol):
    """What a scheduler also offers that says whether it would take a job, without taking it."""

    def try_request(self, request: JobRequest) -> None:
        """Raise RefusedError, with the scheduler's reason, where it would not take the job as things are."""


@runtime_checkable
class CountsFree(Protocol):
    """What a scheduler also offers that knows which nodes of a partition could run a job now."""

    def free_nodes(self, partition: str) -> int:
        """Return how many nodes of a partition ('': the default one) are up and have no job.

        Raises RefusedError where there is no such partition.
        """


class AllocationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a job was given."""

    rjms: str
    job_id: str
    nodes: tuple[str, ...]
    batch_host: str
    restart_count: int = 0
    tasks: int | None = None


class StepRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run once on each of ``nodes`` (or ``tasks`` times over them).

    Output goes to the named files (created, appended to); with none given it is discarded. ``pmi`` names the
    process management interface that the tasks find each other by, where the resource manager offers several.
    """

    command: tuple[str, ...]
    nodes: tuple[str, ...]
    tasks: int | None = None
    environment: dict[str, str] = {}
    workdir: str = ""
    output: str = ""
    error: str = ""
    pmi: str = ""


class Step(Protocol):
    """A running step. ``pid`` is the local process that stands for it; it is a session leader."""

    pid: int

    def poll(self) -> int | None:
        """Return the exit status as subprocess does (negative: signal), None while it runs."""


class NodeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a node as the resource manager tells it."""

    node: str
    state: NodeState
    reason: str
    time: float


class JobException(msgspec.Struct, frozen=True, kw_only=True):
    """An exception that the resource manager itself has raised on a job (Flux RFC 21).

    ``severity`` is 0 (ends the job) to 7, ``nodes`` are those that ``note`` names. ``attempt`` is the token
    of the attempt whose step it was raised on, empty for a step of none; None for the job itself, or when it
    is not known.
    """

    job_id: str
    type: str
    severity: int
    note: str = ""
    time: float = 0.0
    nodes: tuple[str, ...] = ()
    attempt: str | None = None


class Suspended(msgspec.Struct, frozen=True):
    """Whether a job is suspended now, and for how many seconds it was before, by its manager's clock."""

    present: bool = False
    seconds: float = 0.0


@runtime_checkable
class Suspendable(Protocol):
    """What an allocation also offers when its resource manager may stop all of the job's processes."""

    def suspended(self) -> Suspended:
        """Return whether the job is suspended, and how long it was. Raises CouldNotObserveError."""


@runtime_checkable
class Closing(Protocol):
    """What an allocation also offers that holds something that does not end by itself."""

    def close(self) -> None:
        """Give back what is held."""


@runtime_checkable
class JobHolder(Protocol):
    """What an allocation also offers when a task's steps are jobs that outlive the launcher of each."""

    def end_jobs(self) -> bool:
        """End all jobs of the attempt that is being ended, waiting ones too; best effort, bounded.

        Returns whether there were any.
        """


@runtime_checkable
class StepHolder(Protocol):
    """What an allocation also offers when its resource manager's books say who started a step."""

    def end_steps_of(self, launchers: Collection[int]) -> frozenset[str]:
        """Have the steps ended that local processes have started; return their ids. Does not wait for it.

        Args:
            launchers: the numbers of processes of this node, living or not.

        Raises CouldNotObserveError when the resource manager did not say.
        """


class StepPlace(msgspec.Struct, frozen=True):
    """A running step: the process of this node that started it, 0 for one elsewhere, and the step's nodes."""

    launcher: int
    nodes: tuple[str, ...]


@runtime_checkable
class LocatesSteps(Protocol):
    """What an allocation also offers when its resource manager's books say on which nodes steps run."""

    def step_places(self) -> list[StepPlace]:
        """Return the job's running steps, without WHESL's own.

        Raises CouldNotObserveError when the resource manager did not say.
        """


@runtime_checkable
class TellsEvents(Protocol):
    """What an allocation also offers when its resource manager tells what happens, unasked."""

    def watch(self) -> int:
        """Begin to listen and return a descriptor that is readable when there is news.

        Raises CouldNotObserveError when nothing can be heard.
        """

    def events(self) -> list[NodeEvent | JobException]:
        """Return the events since the last call in order, without waiting."""

    def raise_exception(self, kind: str, severity: int, note: str, *, once: bool = False) -> bool:
        """Raise an exception on the job that this allocation is. False when there is no such job.

        Args:
            kind: the exception's type (Flux RFC 21).
            severity: 0 (ends the job) to 7.
            note: one line for people.
            once: raise none where the job's record shows one of this kind and note already.
        """


@runtime_checkable
class ForbidsRequeue(Protocol):
    """What an allocation also offers when its resource manager may run the job again by itself."""

    def forbid_requeue(self) -> None:
        """Say that from now on nobody but the job's owner has it run again. May wait for an answer.

        Raises as the scheduler's calls do.
        """


@runtime_checkable
class TakesRemarks(Protocol):
    """What an allocation also offers when its resource manager keeps a text with each job."""

    def remark(self, task: str, text: str) -> None:
        """Add a line on a task, which begins with its id, to the job's record, in place of an earlier one.

        Whatever else is there stays. May wait for an answer. Raises as the scheduler's calls do.
        """


@runtime_checkable
class TruncatesOutput(Protocol):
    """What an allocation also offers when its resource manager may empty a job's output to run it again."""

    def truncated_output(self) -> tuple[str, ...]:
        """Return the job's output files that would be emptied, which its owner could have chosen otherwise.

        May wait for an answer. Raises as the scheduler's calls do.
        """


class Allocation(Protocol):
    """The inside face."""

    name: str

    def describe(self) -> AllocationInfo:
        """Return this job's allocation, in its manager's order of nodes."""

    def launch(self, request: StepRequest) -> Step:
        """Start a step at once, beside whatever runs, even while a lost node's step is not over."""

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the step on every node; SIGKILL ends it for sure on nodes that live.

        Args:
            step: as ``launch`` returned it; one that has ended is no error.
            signum: the signal's number.
        """

    def node_states(self) -> dict[str, NodeState]:
        """Return the resource manager's view of this allocation's nodes (the source of node events)."""

    def gone(self, node: str) -> bool | None:
        """Look at once, within 0.1 s, whether the resource manager's own daemon on a node has surely ended.

        A second witness besides the agent whose connection was closed: with both dead the node is.
        False when the node surely lives; None when it is cut off or cannot be told.
        """

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make launchers in a script see ``active`` as the whole allocation.

        Args:
            active: the nodes in use, in the order that ranks are to have.
            base: the environment of the script without these variables.
        """

    def release(self, node: str) -> bool:
        """Give a lost node back, where the owner may. False when it could not be done."""
