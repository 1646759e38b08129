"""The inputs and outputs of the coordinator's core: events and commands, frozen records."""

from __future__ import annotations

import msgspec

from whesl.managers.resource.port import JobRecord
from whesl.model.configuration_changes import Configuration
from whesl.model.journal_record import Record
from whesl.model.outcomes import OrderStatus, OwnStepOutcome
from whesl.model.workflow import BadNode
from whesl.runtime.journal.records.coordinator_records import AnyRecord
from whesl.runtime.wire.messages import AnyMessage, Heartbeat

# What is recorded as it happened (RequeueBegun, RequeueDone) is an event itself.
Event = Record


class Started(Event, frozen=True, kw_only=True):
    """The daemon has started and rebuilt its state; the core continues all unfinished work."""


class Arrived(Event, frozen=True, kw_only=True):
    """A message arrived. ``peer`` is one start of one client."""

    peer: str
    message: AnyMessage


class HeartbeatsArrived(Event, frozen=True, kw_only=True):
    """Heartbeats arrived together, each with its peer: 10,000 isolators send thousands in a second."""

    beats: tuple[tuple[str, Heartbeat], ...]


class StepEnded(Event, frozen=True, kw_only=True):
    """One of the coordinator's own steps of a recovery ended.

    ``configuration`` is the task's new configuration; ``dependents`` is added to the configuration of each
    dependent; ``others`` are new configurations by task id; ``bases`` are the configurations by task id that
    the step started from.
    """

    recovery: str
    index: int
    outcome: OwnStepOutcome
    note: str = ""
    configuration: Configuration | None = None
    dependents: Configuration | None = None
    others: dict[str, Configuration] = msgspec.field(default_factory=dict)
    bases: dict[str, Configuration] = msgspec.field(default_factory=dict)
    signal: int = 0
    bad_nodes: tuple[BadNode, ...] = ()


class JobSeen(Event, frozen=True, kw_only=True):
    """The scheduler's answer about a task's job.

    ``record`` is None when the scheduler does not know the job any more, or when there was no answer;
    ``unseen`` then says why there was no answer. ``down`` are nodes that a completed job has lost: they are
    down and no longer belong to the job.
    """

    task: str
    job_id: str
    record: JobRecord | None = None
    unseen: str = ""
    down: tuple[str, ...] = ()


class JobCancelled(Event, frozen=True, kw_only=True):
    """The outcome of a job's cancellation: done, refused, or to be tried again later."""

    task: str
    job_id: str
    outcome: OrderStatus
    reason: str = ""


class RequeueAllowed(Event, frozen=True, kw_only=True):
    """The outcome of an ``AllowRequeue``: done, refused, or to be tried again later."""

    task: str
    outcome: OrderStatus
    reason: str = ""


class Tick(Event, frozen=True, kw_only=True):
    """Time passed."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all commands."""


class Journal(Command, frozen=True, kw_only=True):
    """Write a record to the journal; it is on disk before any other command of the same step is performed."""

    record: AnyRecord


class Send(Command, frozen=True, kw_only=True):
    """Send a message to a peer and repeat it until the peer acknowledges it."""

    peer: str
    message: AnyMessage


class Tell(Command, frozen=True, kw_only=True):
    """Send running tasks their present configurations, in order, a few at a time beside other work.

    ``signal`` is the signal that the tasks' programs get, 0 for none.
    """

    tasks: tuple[str, ...]
    signal: int = 0


class RunStep(Command, frozen=True, kw_only=True):
    """Carry out one of the coordinator's own steps; a step looks before it acts, so it may be repeated."""

    recovery: str
    index: int


class JobCommand(Command, frozen=True, kw_only=True):
    """Base of the commands to the scheduler of a task's job. ``rjms``: the scheduler's name."""

    task: str
    rjms: str
    job_id: str


class LookAtJob(JobCommand, frozen=True, kw_only=True):
    """Ask the scheduler about a task's job; ``start``: lift the scheduler's hold on a requeued job.

    ``used``: the nodes of the job's last run; ``sizes``: the fewest and the most nodes of its next one.
    """

    start: bool = False
    used: tuple[str, ...] = ()
    sizes: tuple[int, int] = (0, 0)


class AskRequeue(JobCommand, frozen=True, kw_only=True):
    """Ask how often a job was restarted, before it is requeued."""

    token: str


class Requeue(JobCommand, frozen=True, kw_only=True):
    """Requeue a job, unless it was restarted more often than ``restarts``.

    ``withdrawn``: the job's isolator may have withdrawn the permission to requeue the job, so it is given
    again. ``time`` (minutes) and ``memory`` (MiB of each node): the job's limits in its next run; None:
    unchanged. ``avoid``: nodes that the next run is kept off, where that is possible. ``sizes``: the fewest
    and the most nodes of the next run, (0, 0) for as many as before.
    """

    token: str
    restarts: int
    withdrawn: bool = False
    time: float | None = None
    memory: int | None = None
    avoid: tuple[str, ...] = ()
    sizes: tuple[int, int] = (0, 0)


class AllowRequeue(JobCommand, frozen=True, kw_only=True):
    """Give the scheduler the permission to requeue a job again; best effort."""


class CancelJob(JobCommand, frozen=True, kw_only=True):
    """Cancel a job that has no isolator any more; a job that has ended already is no error."""


class Say(Command, frozen=True, kw_only=True):
    """Write a line to the coordinator's log."""

    text: str


class Stop(Command, frozen=True, kw_only=True):
    """Shut the daemon down in order."""
