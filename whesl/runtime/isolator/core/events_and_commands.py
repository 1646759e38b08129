"""The input and output of the isolator's core: events and commands.

All of them are frozen records without behaviour. The core never sees a file, a process or a socket;
the shell turns occurrences into events, and executes the core's commands in order.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Cause, Detected, LastLines, PredictedFailure
from whesl.model.recovery_criterion import Reach
from whesl.model.states import NodeState, TaskState
from whesl.runtime.isolator.core.task_setup import AttemptPlan
from whesl.runtime.journal.records.isolator_records import AnyRecord, Record
from whesl.runtime.wire.messages import AnyMessage, Register, Welcome

# What is recorded as it happened (Launched, Fenced, StepDone and others) is an event itself.
Event = Record


class Started(Event, frozen=True, kw_only=True):
    """The shell has started; ``alive`` says whether the journal's last attempt still runs.

    ``alive`` is None when no trace of that attempt was found: it was recorded but never started.
    """

    alive: bool | None = None


class CoordinatorMessage(Event, frozen=True, kw_only=True):
    """A message from the coordinator, of the type of ``message``."""

    message: AnyMessage


class ConfigurationRead(Event, frozen=True, kw_only=True):
    """An absent coordinator's answer, read from its files; None and a reason when they hold none."""

    welcome: Welcome | None = None
    reason: str = ""


class CoordinatorFound(Event, frozen=True, kw_only=True):
    """The coordinator can be reached (again): the task registers."""


class CoordinatorLost(Event, frozen=True, kw_only=True):
    """The coordinator has been silent for longer than its heartbeat allows."""


class ProgramSeen(Event, frozen=True, kw_only=True):
    """A process of the attempt's program, not of its launcher, was seen on a node."""

    attempt: int
    node: str = ""


class AttemptNotStarted(Event, frozen=True, kw_only=True):
    """The attempt could not be started at all, for example because its directory does not exist."""

    attempt: int
    reason: str


class Detections(Event, frozen=True, kw_only=True):
    """Detectors found something in a running attempt. ``cause``: the failure's cause, where it is known."""

    attempt: int
    found: tuple[Detected, ...]
    cause: Cause | None = None


class AttemptExited(Event, frozen=True, kw_only=True):
    """The task's command ended; ``found`` are the detections in its output and status.

    ``code`` is the exit status as a shell gives it (128 + n for signal n), ``last`` the last lines of a
    failed command, ``unseen`` the detections that had no input until then, ``cause`` the failure's cause.
    """

    attempt: int
    code: int
    signal: int = 0
    found: tuple[Detected, ...] = ()
    last: LastLines = LastLines()
    unseen: tuple[str, ...] = ()
    cause: Cause | None = None


class Reached(Event, frozen=True, kw_only=True):
    """The progress of the present attempt; sent before events that may end the attempt, and before ticks."""

    reach: Reach


class NodeSeen(Event, frozen=True, kw_only=True):
    """A node's agent or the resource manager reports a changed state of the node.

    ``script``: the task's command ran there, so the attempt is lost even where no rank ran on the node.
    """

    node: str
    state: NodeState
    reason: str
    source: str  # agent, rjms
    found: tuple[Detected, ...] = ()
    script: bool = False


class StepsSeen(Event, frozen=True, kw_only=True):
    """The nodes on which steps of the task run, and those of other tasks' steps in the same job."""

    own: tuple[str, ...]
    others: tuple[str, ...]


class LeaseEnded(Event, frozen=True, kw_only=True):
    """A node's agent has killed processes of the task because the agent's lease was over.

    The node is lost for the attempts of these processes: ``found`` are the detections of that loss.
    """

    node: str
    reason: str
    attempts: tuple[int, ...] = ()
    found: tuple[Detected, ...] = ()


class JobExceptionSeen(Event, frozen=True, kw_only=True):
    """The resource manager raised an exception on the job or on one of its steps.

    ``time`` is when the exception was raised (seconds since the epoch, 0 when not known), ``nodes`` are the
    nodes that its note names, ``attempt`` is the token of the attempt whose step it was raised on: empty for
    the step of a stranger, None for the job itself or an unknown step.
    """

    job_id: str
    exception_type: str
    severity: int
    note: str = ""
    time: float = 0.0
    nodes: tuple[str, ...] = ()
    attempt: str | None = None
    found: tuple[Detected, ...] = ()


class NodesClaimed(Event, frozen=True, kw_only=True):
    """The nodes of ``ClaimNodes`` are claimed, unless some were ``refused``; other tasks use ``used``."""

    nodes: tuple[str, ...]
    refused: tuple[str, ...] = ()
    used: tuple[str, ...] = ()


class JobEnded(Event, frozen=True, kw_only=True):
    """The task's batch shell is gone, and the job with it; the task's processes here were killed."""


class Signalled(Event, frozen=True, kw_only=True):
    """The task was sent TERM, INT or HUP, by its scheduler or a person; the keeper passes it on.

    ``alone``: in a resource manager's job, the signal went to the program alone, not to the whole job.
    """

    signum: int
    alone: bool = False


class Tick(Event, frozen=True, kw_only=True):
    """Time passed."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all commands."""


class Journal(Command, frozen=True, kw_only=True):
    """Write a record to the journal, before the commands that follow from the record."""

    record: AnyRecord


class StartAttempt(AttemptPlan, Command, frozen=True, kw_only=True):
    """Start the task's command."""


class ProbeProgram(Command, frozen=True, kw_only=True):
    """Look for the program of an attempt until it is seen; a running launcher is not the program."""

    attempt: int


class AdoptAttempt(Command, frozen=True, kw_only=True):
    """Watch an attempt that an earlier isolator started and that still runs."""

    attempt: int


class KillAttempt(Command, frozen=True, kw_only=True):
    """Kill every process of an attempt on every node; Fenced or Unfenced follows.

    ``open_below``: directories; files below them that the processes have open for writing are noted first.
    ``job_ends``: the resource manager ends the job, too.
    """

    attempt: int
    nodes: tuple[str, ...]
    open_below: tuple[str, ...] = ()
    job_ends: bool = False


class CollectEvidence(Command, frozen=True, kw_only=True):
    """Read the stacks of the attempt's processes before they are killed.

    ``silent``: instead, raise these detections if some ranks are stopped by a signal and others run.
    """

    attempt: int
    silent: tuple[Detected, ...] = ()


class SignalAttempt(Command, frozen=True, kw_only=True):
    """Send a signal to those processes of the attempt that handle it.

    ``version`` is the version of the configuration that the signal announces; the signal is held until a
    process handles it. 0: the signal is sent once.
    """

    attempt: int
    signum: int
    version: int = 0


class RaiseJobException(Command, frozen=True, kw_only=True):
    """Raise an exception on the job without waiting; JobRaised follows.

    ``again``: an earlier isolator may have raised the exception, so the job's record is read first.
    """

    ordinal: int
    exception_type: str
    severity: int
    note: str
    again: bool = False


class AskCheckpoint(Command, frozen=True, kw_only=True):
    """Ask the running program for a checkpoint; CheckpointEnded follows.

    ``arguments`` are those of ``JOB.CHECKPOINT``, ``prediction`` is the predicted failure behind the request,
    if any, and ``move`` the expected seconds of the node's move to a spare
    (``whesl.checkpoints.core.states_and_events``).
    """

    ordinal: int
    attempt: int
    arguments: dict[str, Any] = {}
    prediction: PredictedFailure | None = None
    move: float | None = None


class TellLost(Command, frozen=True, kw_only=True):
    """Tell the program's checkpoint coordinator that a node was lost."""

    node: str


class TellPrediction(Command, frozen=True, kw_only=True):
    """Tell the program's checkpoint coordinator, if there is one, of a predicted failure."""

    prediction: PredictedFailure


class RunStep(Command, frozen=True, kw_only=True):
    """Run a recovery step through the ports."""

    ordinal: int
    index: int


class Send(Command, frozen=True, kw_only=True):
    """Send a message to the coordinator, reliably unless it is a heartbeat."""

    message: AnyMessage


class ReadConfiguration(Command, frozen=True, kw_only=True):
    """Read an absent coordinator's answer to a registration from its files; ConfigurationRead follows."""

    register: Register


class ClaimNodes(Command, frozen=True, kw_only=True):
    """Claim these nodes for the next attempt, in an allocation that other tasks use as well.

    ``shared`` are those of the nodes that other tasks may use, too.
    """

    nodes: tuple[str, ...]
    shared: tuple[str, ...] = ()


class ForbidRequeue(Command, frozen=True, kw_only=True):
    """Forbid the resource manager to requeue the job by itself, just before the task starts."""


class WriteReconfigure(Command, frozen=True, kw_only=True):
    """Replace the file that WHESL_RECONFIGURE names by the present configuration."""

    configuration: Configuration


class Say(Command, frozen=True, kw_only=True):
    """Write a line for the user to the isolator's log (never to the task's files)."""

    text: str


class Schedule(Command, frozen=True, kw_only=True):
    """Feed a Tick no later than ``time`` (seconds, the core's clock)."""

    time: float


class Finish(Command, frozen=True, kw_only=True):
    """The isolator's work is over; its exit status becomes the job's."""

    code: int
    state: TaskState
    reason: str = ""
