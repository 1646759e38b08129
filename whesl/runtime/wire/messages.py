"""The messages between isolators, coordinator and command line.

Each message is a tagged record in msgpack. A frame is an ``Envelope`` with the version, the sender, its
incarnation and the message's number. The sender repeats a message until it is acknowledged; the receiver
drops repetitions by (sender, incarnation, number). Unknown tags and versions are counted and dropped.
"""

from __future__ import annotations

import msgspec

from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import PredictedFailure, Raised
from whesl.model.outcomes import ControlAction, RecoveryOutcome, Verdict
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Workflow
from whesl.runtime.journal.records.isolator_records import AnyRecord
from whesl.runtime.journal.records.registration import Registration

WIRE_VERSION = 1


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all messages."""


# Isolator to coordinator ---------------------------------------------------------------------------


class Register(Registration, Message, frozen=True, kw_only=True, tag="register"):
    """An isolator runs: its first message, repeated after each loss of contact.

    Of two claims for one task the coordinator lets the newer run and fences the older. A cluster that was set
    up anew may repeat job ids: the same claim with another run belongs to another job. ``exceptions`` are the
    exceptions that the rules declare for the task.
    """

    task: str
    claim: str
    exceptions: tuple[str, ...] = ()
    configuration_version: int = 0


class Heartbeat(Message, frozen=True, kw_only=True, tag="heartbeat"):
    """The isolator lives. ``time``: when this was sent, by the sender's clock; 0: unknown."""

    task: str
    state: TaskState
    attempt: int
    time: float = 0.0


class Report(Message, frozen=True, kw_only=True, tag="report"):
    """A record of the isolator, which the coordinator records too; ``time`` is by the isolator's clock."""

    task: str
    time: float
    record: AnyRecord


class RecoveryRequest(Message, frozen=True, kw_only=True, tag="recovery-request"):
    """A WORKFLOW_LEVEL exception was raised; the isolator waits for RecoveryGrant.

    ``earlier``: how often the task has raised the exception before, also in earlier runs of its job.
    ``claim`` is the sender's claim, here and in the messages below. The coordinator ignores messages of a
    fenced claim, which may arrive after another claim was admitted, or even before their own registration.
    """

    raised: Raised
    claim: str = ""
    earlier: int = 0


class RecoveryDone(Message, frozen=True, kw_only=True, tag="recovery-done"):
    """A recovery ended. ``configuration`` is the task's new one; its path map concerns dependents.

    ``signal`` is the signal for running dependents that are reconfigured (0: none). ``raised`` is when the
    exception was raised, which distinguishes it from one with the same number in an earlier run of the task.
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
    """The isolator cannot handle an exception in its allocation and leaves the decision to the coordinator.

    ``reason``: spares-exhausted, budget-spent, allocation-lost, handler-failed.
    """

    raised: Raised
    reason: str
    escalate_to: str | None = None
    claim: str = ""


class Finished(Message, frozen=True, kw_only=True, tag="finished"):
    """The task has ended for good.

    ``with_job``: the job's batch shell has ended, so the job has; the resource manager knows how.
    ``terminated``: the task ended by SIGTERM to its whole job, which may be about to run again.
    """

    task: str
    state: TaskState
    exit_code: int
    attempts: int
    claim: str = ""
    with_job: bool = False
    terminated: bool = False


class NodeSuspect(Message, frozen=True, kw_only=True, tag="node-suspect"):
    """A node has to be added to the shared memory of bad nodes."""

    bad_node: BadNode


# Coordinator to isolator ---------------------------------------------------------------------------


class Welcome(Message, frozen=True, kw_only=True, tag="welcome"):
    """Answer to Register. ``admitted`` False: another claim owns the task (``reason`` says which).

    A refused isolator registers again after ``again`` seconds, while the coordinator finds out whether the
    owner lives; 0: the refusal is final. ``signal`` is for a program that runs with an older configuration,
    as in Reconfigure.
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
    """The coordinator's own steps are done, or failed (``refused`` says why): the isolator's steps may begin.

    ``transformed`` names the exception that this one became by the counts over all tasks of the workflow. The
    coordinator has done that exception's steps, and the isolator does its own steps of that exception, where
    the task's rules have them.
    """

    task: str
    ordinal: int
    configuration: Configuration = Configuration()
    refused: str = ""
    transformed: str = ""


class EscalationDecision(Message, frozen=True, kw_only=True, tag="escalation-decision"):
    """The coordinator's decision about an escalated exception."""

    task: str
    ordinal: int
    action: Verdict
    reason: str = ""


class Reconfigure(Message, frozen=True, kw_only=True, tag="reconfigure"):
    """A running task's configuration changed. The task ignores versions that are not above its own."""

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
    or none of them where only one task is possible. The coordinator forwards the message to each of these
    tasks, with the task's own name. Each raise has a new ``id``; messages with the same id raise one
    exception. ``evidence`` is one line for the report.
    """

    id: str
    exception: str
    task: str = ""
    node: str = ""
    job: str = ""
    evidence: str = ""


class PredictFailure(Message, frozen=True, kw_only=True, tag="predict-failure"):
    """A node is predicted to fail: a client tells the coordinator, which tells each task that uses the node.

    Each prediction has a new ``id``; messages with the same id are one prediction. The prediction's ``lead``
    is the seconds left at the time of sending, and the receiver counts from the arrival, since its ``time``
    is by the sender's clock.
    """

    id: str
    prediction: PredictedFailure
    task: str = ""


# Command line to coordinator -----------------------------------------------------------------------


class RegisterWorkflow(Message, frozen=True, kw_only=True, tag="register-workflow"):
    """A workflow and its specification (JSON of whesl.language.spec.Spec), sent before any of its tasks runs.

    ``environment`` has the variables that name the cluster of its jobs
    (``whesl.managers.resource.cluster_environment``), since the coordinator's own may name another cluster.
    """

    workflow: Workflow
    spec: bytes
    rjms: str
    observe: bool = False
    environment: dict[str, str] = {}


class Query(Message, frozen=True, kw_only=True, tag="query"):
    """A query of the coordinator. ``what``: status, nodes or health."""

    what: str
    workflow: str = ""


class Command(Message, frozen=True, kw_only=True, tag="command"):
    """A command. ``action``: resume, pause, cancel (a task), stop, {forget,add}-node or job-{ended,waits}."""

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
    floor: int = 0  # the lowest unacknowledged number: a restarted receiver needs no memory of lower ones


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Envelope)


def encode(envelope: Envelope) -> bytes:
    """Encode an envelope as a frame."""
    return _encoder.encode(envelope)


def decode(frame: bytes) -> Envelope | None:
    """Decode a frame's envelope; None for a malformed frame or another version."""
    try:
        envelope = _decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return envelope if envelope.version == WIRE_VERSION else None
