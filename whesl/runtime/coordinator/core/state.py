"""The coordinator's state. Pure.

What has to outlive the coordinator changes through ``apply_record.apply`` alone: the core writes a record and
applies it, a restarted coordinator applies the same records in the same order. ``Volatile`` may be forgotten.
"""

from __future__ import annotations

import msgspec

from whesl.language.spec import Spec
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import History, PredictedFailure, Raised
from whesl.model.outcomes import (
    ControlAction,
    OrderStatus,
    Origin,
    RecoveryOutcome,
    RequeueSaid,
    ToldBy,
    Verdict,
)
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Workflow
from whesl.runtime.coordinator.core.persistent_map import Map
from whesl.runtime.journal.records.coordinator_records import OwnStep
from whesl.runtime.wire.messages import Control, PredictFailure, RaiseException

KEPT_COMMANDS = 1000


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds. ``requeues``: how often one job may be run again, over all reasons."""

    heartbeat: float = 5.0
    misses: int = 3
    look: float = 10.0
    first_retry: float = 1.0
    last_retry: float = 20.0
    step_limit: float = 100.0
    requeues: int = 1

    @property
    def doubt(self) -> float:
        """After which a heartbeat was surely missed."""
        return self.heartbeat * 1.5

    @property
    def silence(self) -> float:
        """After which a task counts as unobserved."""
        return self.heartbeat * self.misses


class WorkflowEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A registered workflow. ``counted`` are the exceptions (``numbered``) already in ``history``."""

    workflow: Workflow
    spec: Spec | None = None
    rjms: str = ""
    observe: bool = False
    environment: dict[str, str] = {}  # which cluster its jobs run on
    time: float = 0.0
    history: History = History()
    counted: Map[str, None] = Map()


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """How an isolator has said that its task ended, and whether the job was seen to run again since."""

    state: TaskState
    exit_code: int
    reason: str
    again: bool


class Outcome(msgspec.Struct, frozen=True):
    """How the recovery from a numbered exception ended. ``raised``: which one of that number it was."""

    word: RecoveryOutcome
    raised: float = 0.0


class TaskEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as the coordinator knows it. ``configuration`` is what the coordinator adds to the task's own.

    ``claim`` owns the task, in its ``run``; ``fenced`` claims never do again. ``alias`` is what its isolator
    calls it, where that is not its id. ``told_by``: isolator or scheduler, who said how it ended. ``said`` is
    when, by its isolator's clock, its state was last told of; ``behind``: how far that clock is behind the
    coordinator's. ``quiet`` is since when its heartbeats are missed, ``over`` since when the scheduler says
    of the silent task that its job has ended; 0: no such thing. ``cluster`` says where its job runs,
    ``declared`` which exceptions its rules have, where no registered workflow does. ``requeue`` is what its
    user has said of running the job again; ``kept``: the job outlives a lost node for the rules. ``uses`` are
    the nodes of its newest attempt, ``lost`` those of them that its resource manager called down under it.
    """

    id: str
    workflow: str
    step: str
    instance: str = ""
    workspace: str = ""
    alias: str = ""
    state: TaskState = TaskState.REGISTERED
    state_time: float = 0.0
    started: float = 0.0  # when the task was first registered after its last end
    said: float = 0.0
    behind: float = 0.0
    quiet: float = 0.0
    over: float = 0.0
    attempt: int = 0
    claim: str = ""
    run: str = ""
    fenced: tuple[str, ...] = ()
    fenced_peers: tuple[str, ...] = ()
    peer: str = ""
    rjms: str = ""
    job_id: str = ""
    cluster: dict[str, str] = {}
    nodes: tuple[str, ...] = ()
    requeue: RequeueSaid = RequeueSaid.UNKNOWN
    kept: bool = False
    uses: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    configuration: Configuration = Configuration()
    signal: int = 0  # the signal that is sent with the present configuration
    parted: Parting | None = None  # how its isolator has ended, while the job may run again
    exit_code: int | None = None
    reason: str = ""
    trouble: str = ""  # why its isolator's journal cannot be written
    told_by: ToldBy = ToldBy.NOBODY
    exception: str = ""
    exception_time: float = 0.0
    exceptions: int = 0
    recovered: int = 0
    outcomes: dict[int, Outcome] = {}
    cancelled: bool = False

    def ours(self, time: float, now: float) -> float:
        """Return a time of its isolator's messages by the coordinator's clock, at most ``now``."""
        return min(time + self.behind, now)

    def outdated(self, peer: str, claim: str) -> bool:
        """Whether a message comes from a claim that was replaced; a late claim may never have registered."""
        return peer in self.fenced_peers or claim in self.fenced

    def of_another_run(self, claim: str, run: str) -> bool:
        """Whether a registration is not the present owner's: another claim's, or a later job's."""
        return claim != self.claim or (self.state.final and bool(self.run) and run not in ("", self.run))

    @property
    def live(self) -> bool:
        """Whether an isolator owns it and it has not ended."""
        return bool(self.claim) and not self.state.final and self.state is not TaskState.REGISTERED


def numbered(task: str, ordinal: int, raised: float) -> str:
    """Return the name of one exception: a later run of its task may begin to number from 1 again."""
    return f"{task}#{ordinal}@{raised!r}"


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """A recovery with steps of the coordinator's own.

    ``exception`` is what is handled; it differs from ``raised.exception`` after a transformation.
    ``configuration``, ``dependents`` and ``others`` collect what its steps changed; ``bases`` are the tasks'
    configurations from before, since others may change them until the recovery's own changes come into force.
    """

    id: str
    task: str
    raised: Raised
    exception: str
    origin: Origin
    peer: str = ""
    reason: str = ""
    steps: tuple[OwnStep, ...] = ()
    begun: int = 0
    done: int = 0
    time: float = 0.0
    refused: str = ""
    granted: bool = False
    requeue: bool = False
    decision: Verdict | None = None
    closed: str = ""
    configuration: Configuration | None = None
    dependents: Configuration | None = None
    others: dict[str, Configuration] = {}
    bases: dict[str, Configuration] = {}
    signal: int = 0

    @property
    def open(self) -> bool:
        """Whether the coordinator still has something to do for it."""
        return not self.closed and not self.granted and not self.decision


class RequeueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One order to run a job again.

    ``restarts``: how often the job was restarted before. ``host``: where the script of a new run was seen to
    have begun; ``host_restarts``: of which run that is.
    """

    token: str
    task: str
    rjms: str
    job_id: str
    claim: str
    recovery: str = ""
    because: str = ""
    status: OrderStatus = OrderStatus.DECIDED
    restarts: int = 0
    host: str = ""
    host_restarts: int = 0
    time: float = 0.0


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to a command. ``error``: '' for done; ``body``: as in ``Reply``."""

    error: str = ""
    body: str = ""


class ControlEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request of a person or a program to a task, until the task's isolator has taken it.

    ``action`` is resume, pause, cancel, raise or predict; the fields behind it are those of what is raised or
    predicted.
    """

    id: str
    task: str
    action: ControlAction
    exception: str = ""
    node: str = ""
    evidence: str = ""
    prediction: PredictedFailure | None = None

    def message(self, name: str, now: float) -> Control | RaiseException | PredictFailure:
        """Return the request as a message at ``now`` to the isolator, which calls the task ``name``."""
        if self.prediction is not None:
            return PredictFailure(id=self.id, prediction=self.prediction.at(now), task=name)
        if self.action is ControlAction.RAISE:
            return RaiseException(
                id=self.id, exception=self.exception, task=name, node=self.node, evidence=self.evidence
            )
        return Control(task=name, id=self.id, action=self.action)


class Contest(msgspec.Struct, frozen=True, kw_only=True):
    """Another job claims a task. ``since``: its first registration; ``asked``: the last one.

    ``lives``: the resource manager says that the owner's job has not ended; ``unseen``: when it could not be
    asked last.
    """

    since: float
    asked: float
    lives: bool = False
    unseen: float = 0.0


class Volatile(msgspec.Struct, frozen=True, kw_only=True):
    """State that a restarted coordinator does not need: clocks of silence, retries, looks under way."""

    started: float = 0.0
    heard: Map[str, float] = Map()
    looked: Map[str, float] = Map()
    looking: Map[str, None] = Map()
    unseen: Map[str, str] = Map()  # why jobs of tasks cannot be observed
    hostless: Map[str, None] = Map()  # tasks whose jobs have lost their batch host, and may not run again
    contests: Map[str, Contest] = Map()
    retry_at: Map[str, float] = Map()  # by recovery id or requeue token
    retries: Map[str, int] = Map()
    late: Map[str, float] = Map()  # the least delay of a task's heartbeats, by both hosts' clocks


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The whole state. ``live`` and ``recoveries_by_task`` are there to find things: nothing looks at all
    100,000 tasks for the sake of one.
    """

    settings: Settings = Settings()
    workflows: Map[str, WorkflowEntry] = Map()
    tasks: Map[str, TaskEntry] = Map()
    live: Map[str, None] = Map()  # the tasks that are live
    aliases: Map[str, str] = Map()
    recoveries: Map[str, Recovery] = Map()
    recoveries_by_task: Map[str, tuple[str, ...]] = Map()  # by task: the ids of its recoveries, in order
    requeues: Map[str, RequeueEntry] = Map()
    cancels: dict[str, str] = {}  # the tasks of the jobs that are to be cancelled, by job id
    controls: dict[str, ControlEntry] = {}
    commands: dict[str, Answer] = {}  # answers that were given, by the command's id
    bad_nodes: dict[str, BadNode] = {}
    volatile: Volatile = Volatile()

    def environment_of(self, task: str) -> dict[str, str]:
        """Return the variables that say which cluster a task's job runs on: those of its job, or workflow."""
        entry = self.tasks.get(task)
        workflow = self.workflows.get(entry.workflow) if entry else None
        if entry is not None and entry.cluster:
            return entry.cluster
        return workflow.environment if workflow else {}

    def recoveries_of(self, task: str) -> tuple[Recovery, ...]:
        """Return a task's recoveries, in the order in which they were begun."""
        return tuple(self.recoveries[key] for key in self.recoveries_by_task.get(task, ()))

    def durable(self) -> State:
        """Return the part that a journal describes."""
        return msgspec.structs.replace(self, volatile=Volatile())
