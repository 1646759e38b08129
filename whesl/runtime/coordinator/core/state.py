"""The coordinator's state. Pure.

Only ``apply_record.apply`` changes state that has to outlive the coordinator: the core writes a record and
applies it; a restarted coordinator applies the same records in the same order. ``Volatile`` is state that a
restart may lose.
"""

from __future__ import annotations

import msgspec

from whesl.language.spec import Spec
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import History
from whesl.model.outcomes import (
    ControlAction,
    OrderStatus,
    RecoveryOutcome,
    ToldBy,
    Verdict,
)
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Workflow
from whesl.runtime.coordinator.core.persistent_map import Map
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.records.registration import Registration
from whesl.runtime.wire.messages import Control, PredictFailure, RaiseException

KEPT_COMMANDS = 1000


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the coordinator, times in seconds.

    ``requeues``: the most requeues of one job that no LIMIT of a rule bounds.
    """

    heartbeat: float = 5.0
    misses: int = 3
    look: float = 10.0
    first_retry: float = 1.0
    last_retry: float = 20.0
    step_limit: float = 100.0
    requeues: int = 1

    @property
    def doubt(self) -> float:
        """Seconds after which a heartbeat is surely missed."""
        return self.heartbeat * 1.5

    @property
    def silence(self) -> float:
        """Seconds of silence after which a task is unobserved."""
        return self.heartbeat * self.misses


class WorkflowEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A registered workflow. ``counted`` are the names (``numbered``) of the exceptions in ``history``."""

    workflow: Workflow
    spec: Spec | None = None
    rjms: str = ""
    observe: bool = False
    environment: dict[str, str] = {}  # variables that name the cluster of its jobs
    time: float = 0.0
    history: History = History()
    counted: Map[str, None] = Map()


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of the recovery from an exception. ``raised`` is when the exception was raised."""

    word: RecoveryOutcome
    raised: float = 0.0


class TaskEntry(Registration, frozen=True, kw_only=True, omit_defaults=True):
    """A task as the coordinator knows it. Times are seconds since the epoch, by the coordinator's clock.

    The newest registration of its isolator is a part of it. ``configuration`` is the coordinator's addition
    to the task's own configuration. ``claim`` owns the task; a claim in ``fenced`` can never own it again.
    ``alias`` is its isolator's name for the task, where that differs from the id. ``told_by`` is the source
    of the report of its end. ``said`` is the time of the last report on its state, by its isolator's clock,
    which is ``behind`` seconds behind the coordinator's clock. ``quiet``: its last heartbeat before the first
    missed one; ``over``: when the scheduler first reported the silent task's job as ended; 0 for neither.
    Without a registered workflow, ``cluster`` is known, and ``declared`` are its rules' exceptions.
    ``uses`` are the nodes of its newest attempt; the resource manager has called those in ``lost`` down.
    ``recoveries``: the number of the coordinator's own recoveries by exception, in all runs of its job.
    """

    id: str
    alias: str = ""
    state_time: float = 0.0
    started: float = 0.0  # time of the first registration after the task's last end
    said: float = 0.0
    behind: float = 0.0
    quiet: float = 0.0
    over: float = 0.0
    fenced: tuple[str, ...] = ()
    fenced_peers: tuple[str, ...] = ()
    peer: str = ""
    uses: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    configuration: Configuration = Configuration()
    signal: int = 0  # number of the signal that accompanies the present configuration
    parted: records.Parted | None = None  # the reported end, while the job may run again
    exit_code: int | None = None
    reason: str = ""
    trouble: str = ""  # why its isolator cannot write its journal
    told_by: ToldBy = ToldBy.NOBODY
    exception: str = ""
    exception_time: float = 0.0
    exceptions: int = 0
    recovered: int = 0
    recoveries: dict[str, int] = msgspec.field(default_factory=dict)
    outcomes: dict[int, Outcome] = msgspec.field(default_factory=dict)
    cancelled: bool = False

    def ours(self, time: float, now: float) -> float:
        """Convert a time of the isolator's clock to the coordinator's clock; the result is at most ``now``.

        Args:
            time: a time by the isolator's clock, seconds since the epoch.
            now: the present time by the coordinator's clock, seconds since the epoch.
        """
        return min(time + self.behind, now)

    def outdated(self, peer: str, claim: str) -> bool:
        """Whether a message comes from a replaced claim; a claim may be replaced before it registers.

        Args:
            peer: the sender of the message.
            claim: the claim that the message names.
        """
        return peer in self.fenced_peers or claim in self.fenced

    def of_another_run(self, claim: str, run: str) -> bool:
        """Whether a registration is not the present owner's: it comes from another claim, or a later run.

        Args:
            claim: the registration's claim.
            run: the registration's run, '' where it names none.
        """
        return claim != self.claim or (self.state.final and bool(self.run) and run not in ("", self.run))

    @property
    def live(self) -> bool:
        """Whether an isolator owns the task and the task has not ended."""
        return bool(self.claim) and not self.state.final and self.state is not TaskState.REGISTERED


def numbered(task: str, ordinal: int, raised: float) -> str:
    """Return a unique name of an exception: the time is needed, since a later run may number from 1 again.

    Args:
        task: the task's id.
        ordinal: the exception's number in its task's run.
        raised: when the exception was raised, seconds since the epoch.
    """
    return f"{task}#{ordinal}@{raised!r}"


class Recovery(records.Requested, frozen=True, kw_only=True):
    """A recovery with steps of the coordinator's own.

    ``exception`` is the exception to handle; it differs from ``raised.exception`` after a transformation.
    ``configuration``, ``dependents`` and ``others`` collect the changes of its steps. ``bases`` are the
    configurations that the steps started from: other recoveries may change the tasks' configurations before
    this recovery's changes come into force.
    """

    begun: int = 0
    done: int = 0
    time: float = 0.0
    granted: bool = False
    requeue: bool = False
    decision: Verdict | None = None
    closed: str = ""
    configuration: Configuration | None = None
    dependents: Configuration | None = None
    others: dict[str, Configuration] = msgspec.field(default_factory=dict)
    bases: dict[str, Configuration] = msgspec.field(default_factory=dict)
    signal: int = 0

    @property
    def id(self) -> str:
        """The recovery's id."""
        return self.recovery

    @property
    def open(self) -> bool:
        """Whether the coordinator still has work to do for the recovery."""
        return not self.closed and not self.granted and not self.decision


class RequeueEntry(records.RequeueDecided, frozen=True, kw_only=True):
    """An order to requeue a job.

    ``restarts``: the job's count of restarts before the requeue. ``host``: the batch host seen in a new run;
    ``host_restarts``: the count of restarts of that run.
    """

    status: OrderStatus = OrderStatus.DECIDED
    restarts: int = 0
    host: str = ""
    host_restarts: int = 0
    time: float = 0.0


def request_of(control: records.Control, name: str, now: float) -> Control | RaiseException | PredictFailure:
    """Return a request to a task as a message to the task's isolator.

    Args:
        control: the request.
        name: the isolator's name for the task.
        now: seconds since the epoch.
    """
    if control.prediction is not None:
        return PredictFailure(id=control.id, prediction=control.prediction.at(now), task=name)
    if control.action is ControlAction.RAISE:
        return RaiseException(
            id=control.id,
            exception=control.exception,
            task=name,
            node=control.node,
            evidence=control.evidence,
        )
    return Control(task=name, id=control.id, action=control.action)


class Contest(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of another job on a task that has an owner. Times are seconds since the epoch.

    ``since`` and ``asked``: the claim's first and last registration. ``lives``: the resource manager says
    that the owner's job has not ended. ``unseen``: when the resource manager last failed to answer.
    """

    since: float
    asked: float
    lives: bool = False
    unseen: float = 0.0


class Volatile(msgspec.Struct, frozen=True, kw_only=True):
    """State that a restarted coordinator does not need: times of last messages, retries, pending queries."""

    started: float = 0.0
    heard: Map[str, float] = Map()
    looked: Map[str, float] = Map()
    looking: Map[str, None] = Map()
    unseen: Map[str, str] = Map()  # by task: why its job cannot be observed
    hostless: Map[str, float] = Map()  # by task: when its job, not requeued yet, was seen without batch host
    contests: Map[str, Contest] = Map()
    retry_at: Map[str, float] = Map()  # by recovery id or requeue token: the time of the next try
    retries: Map[str, int] = Map()
    late: Map[str, float] = Map()  # by task: its heartbeats' least delay, the clocks' difference included


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The whole state. ``live`` and ``recoveries_by_task`` are indexes that save searches of all tasks."""

    settings: Settings = Settings()
    workflows: Map[str, WorkflowEntry] = Map()
    tasks: Map[str, TaskEntry] = Map()
    live: Map[str, None] = Map()  # ids of the tasks that are live
    aliases: Map[str, str] = Map()
    recoveries: Map[str, Recovery] = Map()
    recoveries_by_task: Map[str, tuple[str, ...]] = Map()  # by task: its recoveries' ids in order
    requeues: Map[str, RequeueEntry] = Map()
    cancels: dict[str, str] = {}  # by id of a job that has to be cancelled: its task
    controls: dict[str, records.Control] = {}  # until the tasks' isolators have taken them
    commands: dict[str, records.Command] = {}  # by command id: the answer that was given
    bad_nodes: dict[str, BadNode] = {}
    volatile: Volatile = Volatile()

    def environment_of(self, task: str) -> dict[str, str]:
        """Return the variables that name the cluster of a task's job, from the job or else the workflow."""
        entry = self.tasks.get(task)
        workflow = self.workflows.get(entry.workflow) if entry else None
        if entry is not None and entry.cluster:
            return entry.cluster
        return workflow.environment if workflow else {}

    def recoveries_of(self, task: str) -> tuple[Recovery, ...]:
        """Return a task's recoveries in the order of their beginning."""
        return tuple(self.recoveries[key] for key in self.recoveries_by_task.get(task, ()))

    def durable(self) -> State:
        """Return the part of the state that a journal describes."""
        return msgspec.structs.replace(self, volatile=Volatile())
