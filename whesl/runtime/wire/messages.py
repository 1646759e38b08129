"""The messages between isolators, coordinator and command line.

Each is a tagged, versioned record in msgpack. A frame is an ``Envelope``: who, in which incarnation,
which number, and whether an answer to it has been seen; the receiver drops repeats by (sender,
incarnation, number) and the sender repeats until acknowledged. Unknown tags and versions are counted
and dropped, never executed.
"""

from __future__ import annotations

import msgspec

from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import PredictedFailure, Raised
from whesl.model.outcomes import ControlAction, RecoveryOutcome, RequeueSaid, Verdict
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Workflow
from whesl.runtime.journal.records.isolator_records import AnyRecord

WIRE_VERSION = 1


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all messages."""


# Isolator to coordinator ---------------------------------------------------------------------------


class Register(Message, frozen=True, kw_only=True, tag="register"):
    """An isolator is up: first thing it says, and again after each loss of contact.

    ``claim`` is new for each start of the job's script by the resource manager (job id and restart
    count); of two claims for one task the coordinator lets the newer run and fences the older. ``run`` is
    what the task's tokens begin with. Job ids may come again, in a cluster that was set up anew: the same
    claim with another run is that of another job. ``cluster`` has the variables that say which cluster the
    job runs on (``whesl.managers.resource.cluster_environment``). ``exceptions`` are those that its rules
    have for the task. ``requeue`` is what its user has said of running the job again; ``kept``: the job
    outlives a lost node since rules may act on it.
    """

    task: str
    workflow: str
    step: str
    instance: str = ""
    workspace: str = ""
    rjms: str = ""
    job_id: str = ""
    claim: str
    run: str = ""
    nodes: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    attempt: int = 0
    state: TaskState = TaskState.REGISTERED
    configuration_version: int = 0
    cluster: dict[str, str] = {}
    requeue: RequeueSaid = RequeueSaid.UNKNOWN
    kept: bool = False


class Heartbeat(Message, frozen=True, kw_only=True, tag="heartbeat"):
    """Alive. Not acknowledged one by one. ``time``: when it was sent, by the sender's clock; 0: not said."""

    task: str
    state: TaskState
    attempt: int
    time: float = 0.0


class Report(Message, frozen=True, kw_only=True, tag="report"):
    """Something happened that the coordinator records; ``time`` is by the isolator's clock."""

    task: str
    time: float
    record: AnyRecord


class RecoveryRequest(Message, frozen=True, kw_only=True, tag="recovery-request"):
    """A WORKFLOW_LEVEL exception was raised; the isolator waits for RecoveryGrant.

    ``claim``, here and below: the sender's. What a fenced claim said may arrive after its successor was
    admitted, before its own registration even, and is then nobody's word any more.
    """

    raised: Raised
    claim: str = ""


class RecoveryDone(Message, frozen=True, kw_only=True, tag="recovery-done"):
    """A recovery ended. ``configuration`` is the task's new one; its path map concerns dependents.

    ``signal`` is sent to running dependents that are reconfigured (0: none). ``raised`` is when the exception
    was raised: it tells it from one that had the same number in an earlier run of the task.
    """

    task: str
    ordinal: int
    raised: float = 0.0
    exception: str
    outcome: RecoveryOutcome
    configuration: Configuration = Configuration()
    dependents_map: Configuration = Configuration()
    signal: int = 0
    seconds: float = 0.0
    claim: str = ""


class Escalate(Message, frozen=True, kw_only=True, tag="escalate"):
    """The isolator cannot handle it inside the allocation and gives the decision up.

    ``reason``: spares-exhausted, budget-spent, allocation-lost, handler-failed.
    """

    raised: Raised
    reason: str
    escalate_to: str | None = None
    claim: str = ""


class Finished(Message, frozen=True, kw_only=True, tag="finished"):
    """The task ended under its isolator; final.

    ``with_job``: its job has ended, which the isolator has seen by the end of the batch shell. How, the
    resource manager knows. ``terminated``: by SIGTERM to all of its job, which may be about to run again.
    """

    task: str
    state: TaskState
    exit_code: int
    attempts: int
    claim: str = ""
    with_job: bool = False
    terminated: bool = False


class NodeSuspect(Message, frozen=True, kw_only=True, tag="node-suspect"):
    """A node belongs into the shared memory of bad nodes."""

    bad_node: BadNode


# Coordinator to isolator ---------------------------------------------------------------------------


class Welcome(Message, frozen=True, kw_only=True, tag="welcome"):
    """Answer to Register. ``admitted`` False: another claim owns the task (``reason`` says which).

    ``again`` is then after how many seconds to register again: whether that owner lives is being asked; 0: it
    was settled. ``signal`` is for a program that runs with an older configuration, as in Reconfigure.
    """

    task: str
    admitted: bool
    reason: str = ""
    again: float = 0.0
    configuration: Configuration = Configuration()
    signal: int = 0
    bad_nodes: tuple[BadNode, ...] = ()
    coordinator: str = ""
    heartbeat: float = 5.0


class RecoveryGrant(Message, frozen=True, kw_only=True, tag="recovery-grant"):
    """The coordinator's own steps are done (or failed: ``refused`` says why); now the isolator's.

    ``transformed`` names the exception that this one became, counted over all tasks of the workflow: the
    coordinator's steps were that one's, and the isolator takes that one's steps, where its rules have them.
    """

    task: str
    ordinal: int
    configuration: Configuration = Configuration()
    refused: str = ""
    transformed: str = ""


class EscalationDecision(Message, frozen=True, kw_only=True, tag="escalation-decision"):
    """What becomes of an escalated task."""

    task: str
    ordinal: int
    action: Verdict
    reason: str = ""


class Reconfigure(Message, frozen=True, kw_only=True, tag="reconfigure"):
    """A running task's configuration changed. Lower or equal versions than its own are ignored."""

    task: str
    configuration: Configuration
    signal: int = 0


class Control(Message, frozen=True, kw_only=True, tag="control"):
    """A person's request: resume, pause or cancel. ``id`` makes it idempotent."""

    task: str
    id: str
    action: ControlAction


class RaiseException(Message, frozen=True, kw_only=True, tag="raise"):
    """Raise an exception of the rules from outside: a person, a monitoring tool, a predictor.

    A client names one of ``task`` (as the command line takes it), ``node`` and ``job`` (the scheduler's id),
    or none of them where only one task is possible; the coordinator sends it on to each of those tasks with
    the task's own name. ``id`` is new for each raise: told again, it is one exception. ``evidence`` is one
    line for the report.
    """

    id: str
    exception: str
    task: str = ""
    node: str = ""
    job: str = ""
    evidence: str = ""


class PredictFailure(Message, frozen=True, kw_only=True, tag="predict-failure"):
    """A node is predicted to fail: a client tells the coordinator, which tells each task that uses the node.

    ``id`` is new for each prediction: told again, it is one. The prediction's ``lead`` is what was left when
    this was sent; its ``time`` is then by the sender's clock, and the receiver counts from the arrival.
    """

    id: str
    prediction: PredictedFailure
    task: str = ""


# Command line to coordinator -----------------------------------------------------------------------


class RegisterWorkflow(Message, frozen=True, kw_only=True, tag="register-workflow"):
    """A workflow and its specification (JSON of whesl.language.spec.Spec), before any of its tasks runs.

    ``environment`` has the variables that say which cluster its jobs run on
    (``whesl.managers.resource.cluster_environment``): the coordinator may have been started in view of
    another one.
    """

    workflow: Workflow
    spec: bytes
    rjms: str
    observe: bool = False
    environment: dict[str, str] = {}


class Query(Message, frozen=True, kw_only=True, tag="query"):
    """Ask: status, nodes, health."""

    what: str
    workflow: str = ""


class Command(Message, frozen=True, kw_only=True, tag="command"):
    """Tell: resume, pause, cancel (a task), stop (the coordinator), forget-node, add-node, job-ended."""

    id: str
    action: str
    target: str = ""
    arguments: dict[str, str] = {}


class Reply(Message, frozen=True, kw_only=True, tag="reply"):
    """Answer to Query, Command and RegisterWorkflow. ``body`` is JSON."""

    ok: bool
    error: str = ""
    body: bytes = b""


class Ack(Message, frozen=True, kw_only=True, tag="ack"):
    """The numbered message has been written to the receiver's journal."""

    number: int


AnyMessage = (
    Register
    | Heartbeat
    | Report
    | RecoveryRequest
    | RecoveryDone
    | Escalate
    | Finished
    | NodeSuspect
    | Welcome
    | RecoveryGrant
    | EscalationDecision
    | Reconfigure
    | Control
    | RaiseException
    | PredictFailure
    | RegisterWorkflow
    | Query
    | Command
    | Reply
    | Ack
)


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """One frame on the wire."""

    version: int
    sender: str
    incarnation: str
    number: int  # from 1 within an incarnation; 0 for messages that need no acknowledgement
    message: AnyMessage
    floor: int = 0  # the lowest number still unacknowledged: a restarted receiver forgets what is below


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Envelope)


def encode(envelope: Envelope) -> bytes:
    """Return an envelope as a frame."""
    return _encoder.encode(envelope)


def decode(frame: bytes) -> Envelope | None:
    """Return a frame's envelope, or None for anything malformed or of another version."""
    try:
        envelope = _decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return envelope if envelope.version == WIRE_VERSION else None
