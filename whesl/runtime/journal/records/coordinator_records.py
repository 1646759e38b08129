"""The records of the coordinator's journal, one type for each kind.

``task`` is the task's id. The first record that results from a message names the message.
"""

from __future__ import annotations

import msgspec

from whesl.language.spec import RecoveryStep, Spec
from whesl.model import evidence
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import History, PredictedFailure
from whesl.model.journal_record import Damage
from whesl.model.journal_record import Record as Base
from whesl.model.outcomes import (
    ControlAction,
    OrderStatus,
    Origin,
    OwnStepOutcome,
    RecoveryOutcome,
    ToldBy,
    Verdict,
)
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode
from whesl.model.workflow import Workflow as TheWorkflow
from whesl.runtime.journal.records.isolator_records import AnyRecord as IsolatorRecord
from whesl.runtime.journal.records.registration import Registration


class Record(Base, frozen=True, kw_only=True):
    """Base of the coordinator's records.

    ``message``: the message that led to the record, as (sender, incarnation, number, least number that the
    sender still repeats).
    """

    message: tuple[str, str, int, int] | None = msgspec.field(name="from", default=None)


class OwnStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step that the coordinator performs itself, with captures filled in. NODE steps have a ``suspect``."""

    step: RecoveryStep
    handler: str | None = None
    suspect: str = ""
    because: str = ""
    level: int = 0

    @property
    def name(self) -> str:
        """The operation as the specification spells it."""
        step = self.step
        return f"{step.entity.value} {step.resource}.{step.operation}"


class CoordinatorStarted(Record, frozen=True, kw_only=True, tag="coordinator-started"):
    """A coordinator began to serve."""

    pid: int
    host: str


class CoordinatorStopped(Record, frozen=True, kw_only=True, tag="coordinator-stopped"):
    """The coordinator ended in order."""


class Workflow(Record, frozen=True, kw_only=True, tag="workflow"):
    """A workflow was registered. ``environment``: variables that name the cluster of its jobs."""

    workflow: TheWorkflow
    spec: Spec
    rjms: str
    observe: bool
    environment: dict[str, str]


class Registered(Registration, Base, frozen=True, kw_only=True, tag="registered"):
    """An isolator was admitted and owns the task from now on. ``fresh``: an ended task begins again."""

    message: tuple[str, str, int, int] | None = msgspec.field(name="from", default=None)
    task: str
    alias: str
    peer: str
    attempt: int
    state: TaskState
    fresh: bool
    declared: tuple[str, ...] = ()


class Refused(Record, frozen=True, kw_only=True, tag="refused"):
    """A claim on a task was refused."""

    task: str
    claim: str
    job_id: str
    reason: str


class Fenced(Record, frozen=True, kw_only=True, tag="fenced"):
    """A claim will never own the task again."""

    task: str
    claim: str
    peer: str


class Reported(Record, frozen=True, kw_only=True, tag="report"):
    """A copy of an isolator's record. ``current``: the isolator owned the task at that time."""

    task: str
    time: float
    record: IsolatorRecord
    current: bool = True


class State(Record, frozen=True, kw_only=True, tag="state"):
    """A heartbeat reported another task state. ``said``: when it was sent, by its sender's clock."""

    task: str
    state: TaskState
    attempt: int
    said: float


class Clock(Record, frozen=True, kw_only=True, tag="clock"):
    """The clock of a claim's host is ``behind`` seconds behind the coordinator's clock."""

    task: str
    claim: str
    behind: float


class Unobserved(Record, frozen=True, kw_only=True, tag="unobserved"):
    """A task became unobserved: its isolator is silent, or the scheduler has to say how its job goes on."""

    task: str
    reason: str


class Quiet(Record, frozen=True, kw_only=True, tag="quiet"):
    """Heartbeats of tasks are missing. ``tasks``: by task, the time of its last message."""

    tasks: dict[str, float]


class Heard(Record, frozen=True, kw_only=True, tag="heard"):
    """The isolator of a quiet task sent a message again."""

    task: str


class JobWaits(Record, frozen=True, kw_only=True, tag="job-waits"):
    """The job of a task waits for its first run or the next one, with the resource manager's reason."""

    task: str
    reason: str


class Over(Record, frozen=True, kw_only=True, tag="over"):
    """The scheduler has reported a silent task's job as ended since a time; 0: it reports the job alive."""

    task: str
    since: float


class Counted(Record, frozen=True, kw_only=True, tag="counted"):
    """An exception was counted for the whole workflow. ``raised``: when the exception was raised."""

    workflow: str
    task: str
    ordinal: int
    raised: float
    exception: str
    became: str
    detail: str
    history: History


class Requested(Record, frozen=True, kw_only=True, tag="requested"):
    """A recovery was planned; ``recovery`` is its id.

    ``before``: how many recoveries the task had from the same exception, also in earlier runs of its job.
    """

    recovery: str
    task: str
    ordinal: int
    raised: evidence.Raised
    exception: str
    origin: Origin
    peer: str
    reason: str
    steps: tuple[OwnStep, ...]
    refused: str
    before: int = 0


class StepBegun(Record, frozen=True, kw_only=True, tag="step-begun"):
    """A step is about to be carried out."""

    recovery: str
    task: str
    ordinal: int
    index: int
    step: str


class StepDone(Record, frozen=True, kw_only=True, tag="step-done"):
    """A step was carried out (see ``runtime.coordinator.core.events_and_commands.StepEnded``)."""

    recovery: str
    task: str
    ordinal: int
    index: int
    step: str
    note: str
    outcome: OwnStepOutcome
    configuration: Configuration | None = None
    dependents: Configuration | None = None
    others: dict[str, Configuration] = msgspec.field(default_factory=dict)
    bases: dict[str, Configuration] = msgspec.field(default_factory=dict)
    signal: int = 0


class StepFailed(Record, frozen=True, kw_only=True, tag="step-failed"):
    """A step could not be carried out."""

    recovery: str
    task: str
    ordinal: int
    index: int
    step: str
    note: str


class Granted(Record, frozen=True, kw_only=True, tag="granted"):
    """The coordinator's steps of a recovery are done, or refused."""

    recovery: str
    task: str
    ordinal: int
    exception: str
    refused: str


class RecoveryDone(Record, frozen=True, kw_only=True, tag="recovery-done"):
    """An isolator reported the end of a recovery. ``raised``: when the recovery's exception was raised."""

    task: str
    ordinal: int
    raised: float
    exception: str
    outcome: RecoveryOutcome
    seconds: float


class Closed(Record, frozen=True, kw_only=True, tag="closed"):
    """No isolator waits for a recovery any more."""

    recovery: str
    task: str
    outcome: str
    reason: str = ""


class NotTold(Record, frozen=True, kw_only=True, tag="not-told"):
    """A running task does not hear that a coupled task (``other``) was restarted; ``reason`` says why."""

    task: str
    other: str
    exception: str
    reason: str


class CoupledFailed(Record, frozen=True, kw_only=True, tag="coupled-failed"):
    """A task (``other``) that is coupled with a running task has failed for good."""

    task: str
    other: str


class Configured(Record, frozen=True, kw_only=True, tag="configured"):
    """Configurations of tasks changed. ``tasks``: by task, the index of its one in ``configurations``."""

    tasks: dict[str, int]
    configurations: tuple[Configuration, ...]
    because: str
    signal: int


class Decided(Record, frozen=True, kw_only=True, tag="decided"):
    """The coordinator has decided about an escalated exception."""

    recovery: str
    task: str
    ordinal: int
    action: Verdict
    reason: str


class RequeueDecided(Record, frozen=True, kw_only=True, tag="requeue-decided"):
    """A requeue of a job was ordered, under ``token``.

    ``recovery``: the recovery that asked for it, or ''.
    """

    token: str
    task: str
    rjms: str
    job_id: str
    claim: str
    recovery: str
    because: str


class RequeueBegun(Record, frozen=True, kw_only=True, tag="requeue-begun"):
    """The scheduler is about to be asked for a requeue. ``restarts``: the job's count of restarts before."""

    token: str
    task: str
    restarts: int


class RequeueDone(Record, frozen=True, kw_only=True, tag="requeue-done"):
    """The scheduler accepted a requeue or refused it."""

    token: str
    task: str
    outcome: OrderStatus
    reason: str = ""


class RequeueStarted(Record, frozen=True, kw_only=True, tag="requeue-started"):
    """A requeued job runs, with ``host`` as its batch host.

    ``restarts``: the count of restarts of that run.
    """

    token: str
    task: str
    host: str
    restarts: int


class JobCancel(Record, frozen=True, kw_only=True, tag="job-cancel"):
    """A job is about to be cancelled."""

    task: str
    job_id: str


class JobCancelled(Record, frozen=True, kw_only=True, tag="job-cancelled"):
    """A job's cancellation is done, or the coordinator has given it up (``reason``)."""

    task: str
    job_id: str
    reason: str


class BadNodeSeen(Record, frozen=True, kw_only=True, tag="bad-node"):
    """A node was added to the memory of bad nodes. ``task``: the task that reported the node."""

    bad_node: BadNode
    task: str = ""


class NodeForgotten(Record, frozen=True, kw_only=True, tag="node-forgotten"):
    """A person removed a node from the memory of bad nodes."""

    node: str


class Control(Record, frozen=True, kw_only=True, tag="control"):
    """A request of a person or a program to a task, with the exception or the prediction that it raises.

    The times in ``prediction`` are by the coordinator's clock.
    """

    id: str
    task: str
    action: ControlAction
    exception: str = ""
    node: str = ""
    evidence: str = ""
    prediction: PredictedFailure | None = None


class ControlDone(Record, frozen=True, kw_only=True, tag="control-done"):
    """A task's isolator has taken a person's request."""

    id: str
    task: str


class Command(Record, frozen=True, kw_only=True, tag="command"):
    """A person's command was answered. ``error``: '' for success."""

    id: str
    action: str
    target: str
    error: str
    body: str = ""


class Parted(Record, frozen=True, kw_only=True, tag="parted"):
    """An isolator reported its task's end while the task's job runs again, or may do so.

    ``again``: the scheduler runs the job again without an order of the coordinator.
    """

    task: str
    state: TaskState
    exit_code: int
    reason: str = ""
    again: bool = False


class Finished(Record, frozen=True, kw_only=True, tag="finished"):
    """A task ended. ``exit_code`` -1: the exit status is unknown, or nothing was started."""

    task: str
    state: TaskState
    exit_code: int
    attempts: int
    reason: str
    told_by: ToldBy
    peer: str = ""


AnyRecord = (
    CoordinatorStarted
    | CoordinatorStopped
    | Workflow
    | Registered
    | Refused
    | Fenced
    | Reported
    | State
    | Clock
    | Unobserved
    | Quiet
    | Heard
    | Over
    | JobWaits
    | Counted
    | Requested
    | StepBegun
    | StepDone
    | StepFailed
    | Granted
    | RecoveryDone
    | Closed
    | Configured
    | NotTold
    | CoupledFailed
    | Decided
    | RequeueDecided
    | RequeueBegun
    | RequeueDone
    | RequeueStarted
    | JobCancel
    | JobCancelled
    | BadNodeSeen
    | NodeForgotten
    | Control
    | ControlDone
    | Command
    | Parted
    | Finished
    | Damage
)
