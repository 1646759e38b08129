"""The records of a task's journal, one type for each kind; the isolator reports all to the coordinator.

The order in a recovery is: Raised, Decided, Requested, EvidenceTaken, Fenced, WaitsForGrant, Granted,
StepBegun, StepDone, Relaunched, Attempt, Launched, Confirmed, Recovered.
"""

from __future__ import annotations

from typing import Any

from whesl.model import evidence, journal_record
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Cause, Detected, Evidence, History, LastLines, PredictedFailure
from whesl.model.outcomes import Action, ControlAction, JobRaiseOutcome, StepOutcome
from whesl.model.pathmap import PathMap
from whesl.model.states import NodeState, TaskState
from whesl.model.workflow import BadNode
from whesl.runtime.journal.records.recovery_plan_step import PlanStep

RESOURCE_MANAGER = "rjms"  # a value of Node.source


class Record(journal_record.Record, frozen=True, kw_only=True):
    """Base of the isolator's records."""


class Begun(Record, frozen=True, kw_only=True, tag="begun"):
    """A new claim began: a start of the job's script, with a new allocation and no processes of the task."""

    claim: str
    rjms: str
    job_id: str
    observe: bool


class IsolatorResumed(Record, frozen=True, kw_only=True, tag="resumed-isolator"):
    """A restarted isolator continues under the same claim."""

    phase: str
    attempt: int


class Nodes(Record, frozen=True, kw_only=True, tag="nodes"):
    """The nodes in use and the spare nodes. ``replaced``: dead nodes whose places spare nodes have taken."""

    nodes: NodeSet
    avoided: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


class Attempt(Record, frozen=True, kw_only=True, tag="attempt"):
    """An attempt is about to start."""

    attempt: int
    token: str
    nodes: tuple[str, ...]
    configuration_version: int


class Launched(Record, frozen=True, kw_only=True, tag="launched"):
    """An attempt's runner runs. ``started``: the runner's start in clock ticks since boot.

    ``began``: the attempt's beginning, seconds since the epoch, where it is earlier than the record; else 0.
    ``outdated``: variables and arguments that still contain the name of a replaced node.
    """

    attempt: int
    pid: int
    started: int
    began: float = 0.0
    outdated: tuple[str, ...] = ()

    def start(self, time: float) -> float:
        """Return when the attempt began, seconds since the epoch; ``time`` is the time of the record."""
        return min(self.began, time) or time

    def warning(self) -> str:
        """Return the warning about outdated names of nodes, for people; "" without any."""
        if not self.outdated:
            return ""
        return (
            f"a node was replaced, and the task is still told its name: {', '.join(self.outdated)}; what the "
            "task's own script sets from WHESL_NODELIST or SLURM_JOB_NODELIST is right after each restart"
        )


class Exited(Record, frozen=True, kw_only=True, tag="exited"):
    """The task's command ended. ``code``: the exit status as a shell returns it.

    A failed command has ``last``, the last lines of its output, and ``cause``, the diagnosis of its logs, if
    one was made. ``unseen``: detections that have had no input in any attempt so far.
    """

    attempt: int
    code: int
    signal: int
    last: LastLines | None = None
    unseen: tuple[str, ...] = ()
    cause: Cause | None = None


class Raised(Record, frozen=True, kw_only=True, tag="raised"):
    """An exception was raised. ``queued``: the name of the waiting detection that caused it, if one did.

    ``goes_on``: the attempt continues while its program is asked for a checkpoint.
    """

    raised: evidence.Raised
    queued: str | None = None
    history: History | None = None
    goes_on: bool = False


class CheckpointAsked(Record, frozen=True, kw_only=True, tag="checkpoint-asked"):
    """The running program is asked for a checkpoint because of an exception. ``until`` bounds the wait.

    ``counted``: the checkpoint is the whole recovery, and counts for the exception's limit of recoveries.
    """

    ordinal: int
    until: float
    arguments: dict[str, Any]
    counted: bool = False


class CheckpointEnded(Record, frozen=True, kw_only=True, tag="checkpoint-ended"):
    """A checkpoint is complete, or failed (``why``). ``stays``: why the exception has no further recovery."""

    ordinal: int
    seconds: float
    checkpoint: str = ""
    why: str = ""
    stays: str = ""


class Decided(Record, frozen=True, kw_only=True, tag="decided"):
    """The decision about an exception. ``request``: the coordinator has to act first."""

    exception: str
    ordinal: int
    action: Action
    reason: str
    level: str
    steps: tuple[PlanStep, ...]
    backoff: float
    request: bool


class Observed(Record, frozen=True, kw_only=True, tag="observed"):
    """The decision about an exception in observe mode, which is not carried out."""

    exception: str
    ordinal: int
    action: Action
    reason: str
    steps: tuple[PlanStep, ...]


class Otherwise(Record, frozen=True, kw_only=True, tag="otherwise"):
    """A planned recovery is replaced by another action.

    ``became``: the transformed exception, if there is one.
    """

    ordinal: int
    action: Action
    reason: str
    became: str = ""


class Dropped(Record, frozen=True, kw_only=True, tag="dropped"):
    """A detection was dropped as a consequence of exception ``of``.

    ``times``: the number of such detections.
    """

    exception: str
    of: int
    evidence: tuple[Evidence, ...]
    history: History | None = None
    times: int = 1


class Requested(Record, frozen=True, kw_only=True, tag="requested"):
    """The coordinator was asked for its steps of a recovery."""

    ordinal: int


class EvidenceTaken(Record, frozen=True, kw_only=True, tag="evidence"):
    """The stacks of a hung attempt were taken, or could not be. ``stuck``: the processes that cannot run.

    ``steps``: the new plan that results from them, if any.
    """

    attempt: int
    detail: str
    stuck: tuple[Evidence, ...] = ()
    steps: tuple[PlanStep, ...] | None = None


class Fenced(Record, frozen=True, kw_only=True, tag="fenced"):
    """No process of the attempt is left on any node that can be reached.

    ``unreachable`` are nodes whose lease has run out, or which the resource manager calls down; ``unasked``
    are nodes whose agent was never heard: only the launcher told the processes there to end.
    ``lingering`` are nodes that the resource manager may count as busy with a step that has ended: the step's
    launcher waited for ranks that are gone (a node that died, and came back), and had to be killed.
    ``open_files`` are the files that the attempt's processes had open for writing before they were killed.
    ``evidence``: what the fencing told of the failure. ``steps``: the new plan that results from it, if any.
    """

    attempt: int
    seconds: float
    killed: int = 0
    open_files: tuple[bytes, ...] = ()
    unreachable: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    lingering: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[PlanStep, ...] | None = None


class Unfenced(Record, frozen=True, kw_only=True, tag="unfenced"):
    """Processes of the attempt could not be killed (for example stuck in the kernel)."""

    attempt: int
    reason: str


class WaitsForGrant(Record, frozen=True, kw_only=True, tag="waiting"):
    """The attempt has ended, and the recovery waits for the coordinator's steps."""

    ordinal: int


class Granted(Record, frozen=True, kw_only=True, tag="granted"):
    """The coordinator's steps are done. ``raised`` and ``steps``: for the transformed exception, if any."""

    ordinal: int
    configuration: Configuration
    coordinator_version: int
    raised: evidence.Raised | None = None
    steps: tuple[PlanStep, ...] = ()


class StepBegun(Record, frozen=True, kw_only=True, tag="step-begun"):
    """A step is about to be carried out."""

    ordinal: int
    index: int


class StepDone(Record, frozen=True, kw_only=True, tag="step-done"):
    """A step was carried out. ``ran``: the path map of its changes to the failed attempt's files."""

    ordinal: int
    index: int
    outcome: StepOutcome
    configuration: Configuration | None = None
    ran: PathMap | None = None
    dependents: Configuration | None = None
    nodes: NodeSet | None = None
    bad_nodes: tuple[BadNode, ...] = ()
    signal: int = 0
    reason: str = ""
    note: str = ""


class StepFailed(Record, frozen=True, kw_only=True, tag="step-failed"):
    """A step could not be carried out."""

    ordinal: int
    index: int
    note: str


class Relaunched(Record, frozen=True, kw_only=True, tag="relaunched"):
    """All steps are done: the next attempt may start at ``not_before`` (seconds since the epoch)."""

    ordinal: int
    attempt: int
    not_before: float


class Confirmed(Record, frozen=True, kw_only=True, tag="confirmed"):
    """The restarted program runs, ``seconds`` after the exception."""

    ordinals: tuple[int, ...]
    attempt: int
    seconds: float
    node: str


class Recovered(Record, frozen=True, kw_only=True, tag="recovered"):
    """The restarted program got past the point of failure (``whesl.model.recovery_criterion``)."""

    ordinals: tuple[int, ...]
    exceptions: tuple[str, ...]
    attempt: int
    because: str


class StartRefused(Record, frozen=True, kw_only=True, tag="refused"):
    """The resource manager refused a restart. ``since``: the first of several refusals in a row."""

    attempt: int
    reason: str
    since: float
    not_before: float


class Queued(Record, frozen=True, kw_only=True, tag="queued"):
    """A detection about a node waits for the recovery under way."""

    found: Detected
    node: str


class Agent(Record, frozen=True, kw_only=True, tag="agent"):
    """The agent of a node sent its first message."""

    node: str


class Node(Record, frozen=True, kw_only=True, tag="node"):
    """A node's state changed. ``source``: the reporter, for example "agent" or "rjms"."""

    node: str
    state: NodeState
    reason: str
    source: str


class LeaseEnded(Record, frozen=True, kw_only=True, tag="lease-ended"):
    """A node's agent killed the task's processes on the node, since the agent's lease had ended."""

    node: str
    attempt: int
    reason: str


class TimeStopped(Record, frozen=True, kw_only=True, tag="stopped"):
    """The isolator was stopped for ``seconds``, which no time limit counts."""

    seconds: float


class JobException(Record, frozen=True, kw_only=True, tag="job-exception"):
    """The resource manager raised an exception on the job or on a step of it."""

    job_id: str
    exception_type: str
    severity: int
    note: str
    nodes: tuple[str, ...]


class JobRaise(Record, frozen=True, kw_only=True, tag="job-raise"):
    """An exception is about to be raised on the job at its resource manager."""

    ordinal: int
    exception_type: str
    severity: int
    note: str


class JobRaised(Record, frozen=True, kw_only=True, tag="job-raised"):
    """An exception was raised on the job at its resource manager, or could not be (``reason``)."""

    ordinal: int
    outcome: JobRaiseOutcome
    reason: str = ""


class Reconfigured(Record, frozen=True, kw_only=True, tag="reconfigured"):
    """The coordinator sent a changed configuration or bad nodes."""

    configuration: Configuration
    coordinator_version: int
    bad_nodes: tuple[BadNode, ...] = ()
    signal: int = 0


class Control(Record, frozen=True, kw_only=True, tag="control"):
    """A request from outside was taken, with the exception or the prediction that it raises."""

    id: str
    action: ControlAction
    exception: str = ""
    node: str = ""
    prediction: PredictedFailure | None = None


class Signal(Record, frozen=True, kw_only=True, tag="signal"):
    """The isolator received a signal; ``signal`` is its name."""

    signal: str


class Paused(Record, frozen=True, kw_only=True, tag="paused"):
    """The task waits for a person. ``ordinal`` 0: without an exception."""

    ordinal: int
    reason: str


class Resumed(Record, frozen=True, kw_only=True, tag="resumed"):
    """A person resumed the task by the request ``by``. ``request``: the coordinator has to act first."""

    by: str
    request: bool


class RestartedForAnother(Record, frozen=True, kw_only=True, tag="restarted-for-another"):
    """An attempt is about to be ended and started again, since a coupled task was restarted."""

    attempt: int


class Escalated(Record, frozen=True, kw_only=True, tag="escalated"):
    """The decision about an exception was left to the coordinator."""

    ordinal: int
    reason: str


class Stopping(Record, frozen=True, kw_only=True, tag="stopping"):
    """The task is about to end in ``state``; ``patient``: the program ends by itself, with no time limit."""

    code: int
    reason: str
    state: TaskState = TaskState.CANCELLED
    patient: bool = False


class Finished(Record, frozen=True, kw_only=True, tag="finished"):
    """The task has ended. ``with_job`` and ``terminated`` are those of ``wire.messages.Finished``."""

    code: int
    state: TaskState
    reason: str = ""
    with_job: bool = False
    terminated: bool = False


class JournalTroubled(Record, frozen=True, kw_only=True, tag="journal"):
    """The task's journal cannot be written (``trouble``), or can be again (""). Reported, never written."""

    trouble: str


AnyRecord = (
    Begun
    | IsolatorResumed
    | Nodes
    | Attempt
    | Launched
    | Exited
    | Raised
    | CheckpointAsked
    | CheckpointEnded
    | Decided
    | Observed
    | Otherwise
    | Dropped
    | Requested
    | EvidenceTaken
    | Fenced
    | Unfenced
    | WaitsForGrant
    | Granted
    | StepBegun
    | StepDone
    | StepFailed
    | Relaunched
    | Confirmed
    | Recovered
    | StartRefused
    | Queued
    | Agent
    | Node
    | LeaseEnded
    | TimeStopped
    | JobException
    | JobRaise
    | JobRaised
    | Reconfigured
    | Control
    | Signal
    | Paused
    | Resumed
    | RestartedForAnother
    | Escalated
    | Stopping
    | Finished
    | JournalTroubled
    | journal_record.Damage
)
