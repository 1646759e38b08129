"""The port to resource managers. It has two faces; every adapter passes the same contract tests.

*Scheduler*, the outside face, is for the coordinator: submit once, look up, cancel, mark a node.
*Allocation*, the inside face, is for the isolator in a job: nodes, steps on a node set, node events.

Both faces raise CouldNotObserveError when the resource manager did not answer or answered nonsense (which
never means "gone"), RefusedError when it refused, TransientError when the same call may work later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from whesl.model.states import JobState, NodeState


class Demands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Further demands of a job, in the resource manager's own terms; '' for no demand.

    ``memory`` counts per node. ``exclusive``: no other job may use the job's nodes. A resource manager
    refuses a job with a demand that it does not have.
    """

    account: str = ""
    qos: str = ""
    constraint: str = ""
    gres: str = ""
    memory: str = ""
    exclusive: bool = False

    def alone(self) -> Demands:
        """Return the demands without the fields that a subclass adds."""
        return Demands(**{name: getattr(self, name) for name in Demands.__struct_fields__})

    def besides(self, *known: str) -> list[str]:
        """Return the names of the demands that are set, without the names in ``known``."""
        return [name for name in self.__struct_fields__ if getattr(self, name) and name not in known]


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A batch job to submit. ``token`` identifies the job for ever: a second submission finds the first job.

    ``time_limit`` is in minutes. ``environment`` is added to the submitter's environment. The scheduler must
    not kill the job when a node is lost, and may run it again by itself only with ``requeue``.
    """

    token: str
    script: str  # path of the batch script
    text: str = ""  # the script's text, where the path is another host's
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
    """A job as the scheduler reports it. Times are seconds since the epoch, 0 when unknown."""

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
        """The job's exit status as a shell gives it (128 + n for signal n); -1 for a job without one."""
        if self.exit_code is None:
            return -1
        return self.exit_code if self.exit_code >= 0 else 128 - self.exit_code


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the scheduler reports it."""

    name: str
    state: NodeState
    raw_state: str = ""
    reason: str = ""


class Scheduler(Protocol):
    """The resource manager from outside its jobs: submission, look-ups, cancellation, marks on nodes."""

    name: str

    def submit(self, request: JobRequest) -> str:
        """Submit a job once and return its id: looks the token up first, and again when no reply came."""

    def find(self, token: str) -> JobRecord | None:
        """Return the job submitted with a token; None only when the scheduler surely has no such job."""

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return jobs' records by id. A job that the scheduler does not know any more is left out."""

    def nodes(self) -> list[NodeRecord]:
        """Return all nodes of the cluster."""

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        """Cancel a job, or send a signal to it. Nothing happens, without an error, to a job that has ended.

        Args:
            job_id: the id from ``submit``; a job that the scheduler does not know counts as ended.
            signal: a signal's number, sent to the job's script alone; None ends the job for good.
        """

    def requeue(self, job_id: str) -> None:
        """Run the same job again under the same id, as soon as the scheduler can.

        Raises RefusedError where the job's user or the site forbids that the job runs again.
        """

    def mark_node(self, node: str, reason: str) -> bool:
        """Take a node out of service (drain); the node's jobs go on. False when this user lacks the right.

        Args:
            node: the node's name, as in ``nodes``.
            reason: a text for the administrator, which ``nodes`` shows.
        """

    def unmark_node(self, node: str) -> bool:
        """Return a node to service. False when this user lacks the right."""


@runtime_checkable
class ChoosesCluster(Protocol):
    """Optional, on a scheduler's class: the scheduler of one of a user's several clusters."""

    def of_cluster(self, cluster: Mapping[str, str]) -> Scheduler:
        """Return the scheduler of the cluster that variables identify (``cluster_environment.described``)."""


@runtime_checkable
class Nests(Protocol):
    """Optional, on a scheduler's class: a job may be an instance that knows only the jobs inside it."""

    def enclosing(self) -> Scheduler:
        """Return the scheduler that this process's job was submitted to."""


@runtime_checkable
class LiftsHold(Protocol):
    """Optional, on a scheduler that holds a requeued job for a while: an end of that hold."""

    def lift_hold(self, record: JobRecord) -> None:
        """Let a job start if it waits only because it was requeued. Raises nothing; each look calls it."""


@runtime_checkable
class RequeuesLost(LiftsHold, Protocol):
    """Optional, on a scheduler that may requeue jobs by itself, where their submission allows that."""

    def requeue_lost(self, job_id: str) -> bool:
        """Requeue a job whose script is lost; False where the job's submission or owner forbids requeues."""


@runtime_checkable
class AllowsRequeue(Protocol):
    """Optional, on a scheduler that requeues a job only after a permission."""

    def allow_requeue(self, job_id: str) -> None:
        """Allow requeues of a job, which ``ForbidsRequeue`` has forbidden. Raises the port's errors."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """New limits of a job: ``time`` in minutes, ``memory`` in MiB per node; None leaves a limit unchanged.

    ``avoid``: nodes that it is kept off where enough others are up. ``sizes``: its fewest and most nodes.
    """

    time: float | None = None
    memory: int | None = None
    avoid: tuple[str, ...] = ()
    sizes: tuple[int, int] = (0, 0)


@runtime_checkable
class ChangesLimits(Protocol):
    """Optional, on a scheduler that can give a job other limits for its next run."""

    def requeue_with(self, job_id: str, limits: Limits) -> str:
        """Requeue a job with other limits; return why it keeps its old ones, "" where it does not.

        Args:
            job_id: the id from ``submit``.
            limits: ``Limits()`` changes none.

        Raises RefusedError for an unknown job, and for one that may not run again.
        """

    def fit_waiting(self, record: JobRecord, used: Sequence[str], sizes: tuple[int, int]) -> None:
        """Let a job that waits to run again ask for no more nodes than are up; best effort, raises nothing.

        Args:
            record: the job.
            used: the nodes of its last run; none where they are unknown.
            sizes: the fewest and the most nodes that it may ask for.
        """


@runtime_checkable
class ReadsScripts(Protocol):
    """Optional, on a third party's scheduler: lets ``whesl run`` submit batch scripts to it."""

    def request_of(self, script: str, arguments: Sequence[str]) -> JobRequest:
        """Return a batch script as a request without a token.

        Args:
            script: the script's path.
            arguments: the user's submission options, which override the script's own lines.

        Raises UsageError for options or lines that cannot be understood.
        """


@runtime_checkable
class TriesRequests(Protocol):
    """Optional, on a scheduler that can check a request without submitting it."""

    def try_request(self, request: JobRequest) -> None:
        """Raise RefusedError, with the scheduler's reason, where the scheduler would refuse the job now."""


@runtime_checkable
class CountsFree(Protocol):
    """Optional, on a scheduler that knows which nodes of a partition could run a job now."""

    def free_nodes(self, partition: str) -> int:
        """Return how many nodes of a partition ('': the default one) are up and have no job.

        Raises RefusedError for an unknown partition.
        """


class AllocationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A job's allocation: its nodes, the node of its script, its number of requeues and of tasks."""

    rjms: str
    job_id: str
    nodes: tuple[str, ...]
    batch_host: str
    restart_count: int = 0
    tasks: int | None = None
    components: tuple[tuple[str, ...], ...] = ()  # nodes of each component of a heterogeneous job


class StepRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run once on each of ``nodes``, or ``tasks`` times in total, spread over the nodes.

    Output is appended to the named files, and discarded without a name. ``pmi`` names the process management
    interface by which the tasks find each other, where the resource manager offers several.
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
    """A running step. ``pid`` is the local process that stands for the step, a session leader."""

    pid: int

    def poll(self) -> int | None:
        """Return the step's exit status as subprocess does (negative: signal), None while the step runs."""


class NodeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a node's state, reported by the resource manager; ``time`` is seconds since the epoch."""

    node: str
    state: NodeState
    reason: str
    time: float


class JobException(msgspec.Struct, frozen=True, kw_only=True):
    """An exception that the resource manager itself has raised on a job (Flux RFC 21).

    ``severity`` is 0 (ends the job) to 7, ``nodes`` are the nodes that ``note`` names. ``attempt`` is the
    token of the attempt whose step the exception was raised on, empty for a step outside of attempts; None
    for an exception of the job itself, or when the step is unknown.
    """

    job_id: str
    type: str
    severity: int
    note: str = ""
    time: float = 0.0
    nodes: tuple[str, ...] = ()
    attempt: str | None = None


class Suspended(msgspec.Struct, frozen=True):
    """A job's suspension: whether it is suspended now, and its suspended seconds by the manager's clock."""

    present: bool = False
    seconds: float = 0.0


@runtime_checkable
class Suspendable(Protocol):
    """Optional, on an allocation whose resource manager may suspend the job."""

    def suspended(self) -> Suspended:
        """Return whether the job is suspended, and for how long it was. Raises CouldNotObserveError."""


@runtime_checkable
class Closing(Protocol):
    """Optional, on an allocation or scheduler that holds resources which do not end by themselves."""

    def close(self) -> None:
        """Free the resources."""


@runtime_checkable
class JobHolder(Protocol):
    """Optional, on an allocation where a task's steps are jobs that outlive their launchers."""

    def end_jobs(self) -> bool:
        """End all jobs of the current attempt, pending ones too; best effort, in bounded time.

        Returns whether there were such jobs.
        """


@runtime_checkable
class StepHolder(Protocol):
    """Optional, on an allocation whose resource manager records which process started a step."""

    def end_steps_of(self, launchers: Collection[int]) -> frozenset[str]:
        """Ask for the end of the steps that local processes have started, without waiting; return their ids.

        Args:
            launchers: the ids of processes of this node, living or not.

        Raises CouldNotObserveError when the resource manager does not report the steps.
        """


class StepPlace(msgspec.Struct, frozen=True):
    """A running step's nodes, and the id of the process that started it (0 for one on another node).

    ``token`` is the token of the attempt that started it (``WHESL_ATTEMPT_TOKEN``), where the manager has it.
    """

    launcher: int
    nodes: tuple[str, ...]
    token: str = ""


@runtime_checkable
class LocatesSteps(Protocol):
    """Optional, on an allocation whose resource manager records on which nodes steps run."""

    def step_places(self) -> list[StepPlace]:
        """Return the job's running steps, without WHESL's own steps.

        Raises CouldNotObserveError when the resource manager does not report the steps.
        """


@runtime_checkable
class TellsReasons(Protocol):
    """Optional, on an allocation whose resource manager keeps a reason for a node's state."""

    def reasons(self) -> Mapping[str, str]:
        """Return the reasons, by node, that the last ``node_states`` has seen."""


@runtime_checkable
class TellsEvents(Protocol):
    """Optional, on an allocation whose resource manager sends events without being asked."""

    def watch(self) -> int:
        """Subscribe to events and return a file descriptor that is readable when an event has come.

        Raises CouldNotObserveError when the subscription fails.
        """

    def events(self) -> list[NodeEvent | JobException]:
        """Return the events since the last call, in order, without waiting."""

    def raise_exception(self, kind: str, severity: int, note: str, *, once: bool = False) -> bool:
        """Raise an exception on this allocation's job. False when the resource manager has no such job.

        Args:
            kind: the exception's type (Flux RFC 21).
            severity: 0 (ends the job) to 7.
            note: one line for people.
            once: do nothing where the job's record already has an exception of this kind and note.
        """


@runtime_checkable
class ForbidsRequeue(Protocol):
    """Optional, on an allocation whose resource manager may requeue the job by itself."""

    def forbid_requeue(self) -> None:
        """Forbid the resource manager to requeue the job by itself. May wait for an answer."""


@runtime_checkable
class TakesRemarks(Protocol):
    """Optional, on an allocation whose resource manager keeps a comment with each job."""

    def remark(self, task: str, text: str) -> None:
        """Add or replace a task's line in the job's comment; other text stays. May wait for an answer.

        Args:
            task: the task's id.
            text: the line, which begins with the task's id.
        """


@runtime_checkable
class TruncatesOutput(Protocol):
    """Optional, on an allocation whose resource manager may empty a job's output files at a requeue."""

    def truncated_output(self) -> tuple[str, ...]:
        """Return the job's output files that such a requeue would empty. May wait for an answer."""


class Allocation(Protocol):
    """The resource manager from inside one of its jobs: nodes, steps, liveness."""

    name: str

    def describe(self) -> AllocationInfo:
        """Return this job's allocation, with the nodes in the resource manager's order."""

    def launch(self, request: StepRequest) -> Step:
        """Start a step at once, beside all running steps, even beside a step whose node is lost."""

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the step on every node; SIGKILL surely ends the step on nodes that live.

        Args:
            step: the step from ``launch``; a step that has ended is no error.
            signum: the signal's number.
        """

    def node_states(self) -> dict[str, NodeState]:
        """Return the states of this allocation's nodes, as the resource manager sees them."""

    def gone(self, node: str) -> bool | None:
        """Look at once, within 0.1 s, whether the resource manager's own daemon on a node has surely ended.

        The daemon is a second witness besides the node's agent: with both dead, the node counts as dead.
        Returns False when the node surely lives, None when it is cut off or its state is unknown.
        """

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make launchers in a script see ``active`` as the whole allocation.

        Args:
            active: the nodes in use, in the order of ranks.
            base: the environment of the script without these variables.
        """

    def release(self, node: str) -> bool:
        """Give a lost node back to the resource manager; False where that is not possible."""
