"""What goes into the isolator's core and what comes out of it: events and commands.

All of them are frozen records without behaviour. The core never sees a file, a process or a socket;
the shell turns what happens into events, and carries commands out in the order in which they come.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Cause, Detected, Evidence, LastLines, PredictedFailure
from whesl.model.outcomes import JobRaiseOutcome
from whesl.model.recovery_criterion import Reach
from whesl.model.states import NodeState, TaskState
from whesl.runtime.isolator.core.task_setup import AttemptPlan
from whesl.runtime.journal.records.isolator_records import AnyRecord
from whesl.runtime.operations.plan import StepResult
from whesl.runtime.wire.messages import AnyMessage, Register, Welcome


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all events."""


class Started(Event, frozen=True, kw_only=True):
    """The shell has started; ``alive`` says whether the journal's last attempt still runs.

    ``alive`` None: no trace of it was found, so it was written down but never started.
    """

    alive: bool | None = None


class CoordinatorMessage(Event, frozen=True, kw_only=True):
    """A message from the coordinator; the type of ``message`` says of which kind."""

    message: AnyMessage


class ConfigurationRead(Event, frozen=True, kw_only=True):
    """The answer of an absent coordinator, read from its files; None, and why, when they do not say."""

    welcome: Welcome | None = None
    reason: str = ""


class CoordinatorFound(Event, frozen=True, kw_only=True):
    """The coordinator can be reached (again): the task registers."""


class CoordinatorLost(Event, frozen=True, kw_only=True):
    """The coordinator has been silent for longer than its heartbeat allows."""


class AttemptStarted(Event, frozen=True, kw_only=True):
    """The runner of an attempt lives. ``started`` is its start time in clock ticks since boot.

    ``began``: when that was, seconds since the epoch; 0: just now. ``outdated``: what still names a node that
    was replaced (``managers.resource.launcher_shims.replaced_node_mentions``).
    """

    attempt: int
    pid: int
    started: int
    began: float = 0.0
    outdated: tuple[str, ...] = ()


class ProgramSeen(Event, frozen=True, kw_only=True):
    """A process of the attempt's program, not of its launcher, was seen on a node."""

    attempt: int
    node: str = ""


class AttemptNotStarted(Event, frozen=True, kw_only=True):
    """The attempt could not be started at all, for example because its directory does not exist."""

    attempt: int
    reason: str


class Detections(Event, frozen=True, kw_only=True):
    """Detectors found something in a running attempt."""

    attempt: int
    found: tuple[Detected, ...]


class AttemptExited(Event, frozen=True, kw_only=True):
    """The task's command ended; ``found`` is what its last output and its exit status mean.

    ``code`` is the exit status as a shell gives it (128 + n for signal n), ``last`` what a failed one
    printed last, ``unseen`` what of the rules could not see anything until then, ``cause`` what it died of.
    """

    attempt: int
    code: int
    signal: int = 0
    found: tuple[Detected, ...] = ()
    last: LastLines = LastLines()
    unseen: tuple[str, ...] = ()
    cause: Cause | None = None


class EvidenceCollected(Event, frozen=True, kw_only=True):
    """Stacks of the attempt's processes, or why there are none; on which nodes some of them cannot run."""

    attempt: int
    detail: str
    stuck: tuple[Evidence, ...] = ()


class Reached(Event, frozen=True, kw_only=True):
    """How far the present attempt has come; sent before events that may end it, and before ticks."""

    reach: Reach


class NodeSeen(Event, frozen=True, kw_only=True):
    """A node's state changed, as its agent or the resource manager reports."""

    node: str
    state: NodeState
    reason: str
    source: str  # agent, rjms
    found: tuple[Detected, ...] = ()


class StepsSeen(Event, frozen=True, kw_only=True):
    """The nodes on which steps of the task run, and those of other tasks' steps in the same job."""

    own: tuple[str, ...]
    others: tuple[str, ...]


class LeaseEnded(Event, frozen=True, kw_only=True):
    """A node's agent has killed processes of the task since its lease was over.

    For the attempts of these processes the node is lost: ``found`` is what detectors make of that.
    """

    node: str
    reason: str
    attempts: tuple[int, ...] = ()
    found: tuple[Detected, ...] = ()


class JournalTroubled(Event, frozen=True, kw_only=True):
    """The task's journal cannot be written as it should be; ``trouble`` says how, '' that it can again."""

    trouble: str


class JobExceptionSeen(Event, frozen=True, kw_only=True):
    """The resource manager raised an exception on the job or on one of its steps.

    ``time`` is when it was raised (seconds since the epoch, 0 when not known), ``nodes`` are those that its
    note names, ``attempt`` is the token of the attempt whose step it was raised on: empty for a stranger's,
    None for the job itself or when it is not known.
    """

    job_id: str
    exception_type: str
    severity: int
    note: str = ""
    time: float = 0.0
    nodes: tuple[str, ...] = ()
    attempt: str | None = None
    found: tuple[Detected, ...] = ()


class JobExceptionRaised(Event, frozen=True, kw_only=True):
    """An exception was raised on the job, or could not be, for a ``reason``."""

    ordinal: int
    outcome: JobRaiseOutcome
    reason: str = ""


class KillConfirmed(Event, frozen=True, kw_only=True):
    """No process of the attempt is left on any node that can be reached.

    ``unreachable`` are nodes whose lease has run out, or which the resource manager calls down; ``unasked``
    those whose agent was never heard: what was started there was told to end by its launcher alone.
    ``lingering`` are nodes that the resource manager may count as busy with a step that has ended: its
    launcher waited for a part that is gone (a node that died, and came back), and had to be killed.
    ``open_files`` are those that its processes had open for writing before they were killed.
    """

    attempt: int
    seconds: float
    killed: int = 0
    open_files: tuple[bytes, ...] = ()
    unreachable: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    lingering: tuple[str, ...] = ()


class KillUnconfirmed(Event, frozen=True, kw_only=True):
    """Processes of the attempt could not be killed (for example stuck in the kernel)."""

    attempt: int
    reason: str


class CheckpointDone(Event, frozen=True, kw_only=True):
    """A checkpoint that was asked for is whole, or is not, for a reason (``why``)."""

    ordinal: int
    seconds: float
    checkpoint: str = ""
    why: str = ""


class StepDone(StepResult, Event, frozen=True, kw_only=True):
    """A recovery step ended, with this result."""

    ordinal: int
    index: int


class NodesClaimed(Event, frozen=True, kw_only=True):
    """The nodes of ``ClaimNodes`` are claimed, unless some were ``refused``; ``used``: by other tasks."""

    nodes: tuple[str, ...]
    refused: tuple[str, ...] = ()
    used: tuple[str, ...] = ()


class JobEnded(Event, frozen=True, kw_only=True):
    """The task's batch shell is gone, and the job with it; what ran of the task here was killed."""


class Signalled(Event, frozen=True, kw_only=True):
    """The task was sent TERM, INT or HUP, by its scheduler or a person; the keeper passes it on.

    ``alone``: in a resource manager's job, to the program alone, and not to the job as a whole.
    """

    signum: int
    alone: bool = False


class Stopped(Event, frozen=True, kw_only=True):
    """This process did not run for so many seconds: stopped, its machine paused, a file system away."""

    seconds: float


class Tick(Event, frozen=True, kw_only=True):
    """Time passed."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all commands."""


class Journal(Command, frozen=True, kw_only=True):
    """Write a record down; it precedes whatever follows from it."""

    record: AnyRecord


class StartAttempt(AttemptPlan, Command, frozen=True, kw_only=True):
    """Start the task's command."""


class ProbeProgram(Command, frozen=True, kw_only=True):
    """Look for the program of an attempt until it is seen: a launcher that runs is not the program."""

    attempt: int


class AdoptAttempt(Command, frozen=True, kw_only=True):
    """Watch an attempt that an earlier isolator started and that still runs."""

    attempt: int


class KillAttempt(Command, frozen=True, kw_only=True):
    """Kill every process of an attempt on every node, and say when none is left.

    ``open_below``: note which files below these paths the processes have open for writing, first.
    """

    attempt: int
    nodes: tuple[str, ...]
    open_below: tuple[str, ...] = ()


class CollectEvidence(Command, frozen=True, kw_only=True):
    """Read the stacks of the attempt's processes before they are killed."""

    attempt: int


class SignalAttempt(Command, frozen=True, kw_only=True):
    """Send a signal to those processes of the attempt that handle it.

    ``version``: of the configuration that the signal announces; the signal is held until a process handles
    it. 0: the signal is sent once.
    """

    attempt: int
    signum: int
    version: int = 0


class RaiseJobException(Command, frozen=True, kw_only=True):
    """Raise an exception on the job; nothing waits for it, and JobExceptionRaised follows.

    ``again``: it may have been raised by an isolator before this one, unless the job's record lacks it.
    """

    ordinal: int
    exception_type: str
    severity: int
    note: str
    again: bool = False


class AskCheckpoint(Command, frozen=True, kw_only=True):
    """Ask the running program for a checkpoint; CheckpointDone follows.

    ``arguments`` are those of ``JOB.CHECKPOINT``, ``prediction`` is why it is asked for, if that is one, and
    ``move`` the seconds that the node's move to a spare is to take
    (``whesl.checkpoints.core.states_and_events``).
    """

    ordinal: int
    attempt: int
    arguments: dict[str, Any] = {}
    prediction: PredictedFailure | None = None
    move: float | None = None


class TellLost(Command, frozen=True, kw_only=True):
    """Tell the coordinator of the program's checkpoints that a node was lost."""

    node: str


class TellPrediction(Command, frozen=True, kw_only=True):
    """Tell the coordinator of the program's checkpoints, where there is one, of a predicted failure."""

    prediction: PredictedFailure


class RunStep(Command, frozen=True, kw_only=True):
    """Run a recovery step through the ports."""

    ordinal: int
    index: int


class Send(Command, frozen=True, kw_only=True):
    """Send a message to the coordinator, reliably unless it is a heartbeat."""

    message: AnyMessage


class ReadConfiguration(Command, frozen=True, kw_only=True):
    """Find out from the coordinator's files what it does not answer; ConfigurationRead follows."""

    register: Register


class ClaimNodes(Command, frozen=True, kw_only=True):
    """Claim these nodes for the next attempt, in the allocation that other tasks use as well.

    ``shared`` are those of them that other tasks may use, too.
    """

    nodes: tuple[str, ...]
    shared: tuple[str, ...] = ()


class ForbidRequeue(Command, frozen=True, kw_only=True):
    """The task is about to start: its resource manager is not to run the job again by itself any more."""


class WriteReconfigure(Command, frozen=True, kw_only=True):
    """Replace the file that WHESL_RECONFIGURE names."""

    configuration: Configuration


class Say(Command, frozen=True, kw_only=True):
    """Tell the user, in the isolator's log (never in the task's files)."""

    text: str


class Schedule(Command, frozen=True, kw_only=True):
    """Send a Tick no later than ``time`` (seconds, the core's clock)."""

    time: float


class Finish(Command, frozen=True, kw_only=True):
    """The isolator's work is over; its exit status becomes the job's."""

    code: int
    state: TaskState
    reason: str = ""
