"""What goes into the coordinator's core and what comes out of it: events and commands, frozen records."""

from __future__ import annotations

import msgspec

from whesl.managers.resource.port import JobRecord
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import OrderStatus, OwnStepOutcome
from whesl.model.workflow import BadNode
from whesl.runtime.journal.records.coordinator_records import AnyRecord
from whesl.runtime.wire.messages import AnyMessage, Heartbeat


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all events."""


class Started(Event, frozen=True, kw_only=True):
    """The daemon has started and its state was rebuilt: whatever is unfinished is continued."""


class Arrived(Event, frozen=True, kw_only=True):
    """A message of a peer (one start of one client)."""

    peer: str
    message: AnyMessage


class HeartbeatsArrived(Event, frozen=True, kw_only=True):
    """Heartbeats that came together, with their peers: ten thousand isolators send thousands a second."""

    beats: tuple[tuple[str, Heartbeat], ...]


class StepEnded(Event, frozen=True, kw_only=True):
    """One of the coordinator's own steps of a recovery ended.

    ``configuration`` is the task's new one, ``dependents`` what to add to each dependent's, ``others`` the
    new configurations of single tasks by id, ``bases`` what these tasks had when the step was carried out.
    """

    recovery: str
    index: int
    outcome: OwnStepOutcome
    note: str = ""
    configuration: Configuration | None = None
    dependents: Configuration | None = None
    others: dict[str, Configuration] = {}
    bases: dict[str, Configuration] = {}
    signal: int = 0
    bad_nodes: tuple[BadNode, ...] = ()


class JobSeen(Event, frozen=True, kw_only=True):
    """What the scheduler says of a task's job.

    ``record`` None and ``unseen`` empty: it has no such job any more. ``unseen``: why it could not be asked.
    ``down``: nodes that a completed job had, and that the scheduler has taken out of it and calls down.
    """

    task: str
    job_id: str
    record: JobRecord | None = None
    unseen: str = ""
    down: tuple[str, ...] = ()


class RequeueAsked(Event, frozen=True, kw_only=True):
    """Before a requeue: how often the job has been restarted so far, or that it already runs again."""

    token: str
    restarts: int = 0


class RequeueEnded(Event, frozen=True, kw_only=True):
    """A requeue ended: it is done, refused, or to be tried again later."""

    token: str
    outcome: OrderStatus
    reason: str = ""


class JobCancelled(Event, frozen=True, kw_only=True):
    """A job's cancellation ended: done, refused, or to be tried again later."""

    task: str
    job_id: str
    outcome: OrderStatus
    reason: str = ""


class RequeueAllowed(Event, frozen=True, kw_only=True):
    """An ``AllowRequeue`` ended. It is done, refused, or to be tried again later."""

    task: str
    outcome: OrderStatus
    reason: str = ""


class Tick(Event, frozen=True, kw_only=True):
    """Time passed."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all commands."""


class Journal(Command, frozen=True, kw_only=True):
    """Write a record down; on disk before any other command of the same step is carried out."""

    record: AnyRecord


class Send(Command, frozen=True, kw_only=True):
    """Send a message to a peer, repeated until acknowledged."""

    peer: str
    message: AnyMessage


class Tell(Command, frozen=True, kw_only=True):
    """Tell running tasks their present configurations, in order, a few at a time beside other work.

    ``signal`` is sent to their programs, 0 for none.
    """

    tasks: tuple[str, ...]
    signal: int = 0


class RunStep(Command, frozen=True, kw_only=True):
    """Carry out one of the coordinator's own steps; it looks before it acts."""

    recovery: str
    index: int


class LookAtJob(Command, frozen=True, kw_only=True):
    """Ask the scheduler about a task's job; ``start``: lift the hold that it puts on requeued jobs."""

    task: str
    rjms: str
    job_id: str
    start: bool = False


class AskRequeue(Command, frozen=True, kw_only=True):
    """Find out how often a job was restarted, before anything is done to it."""

    token: str
    rjms: str
    job_id: str


class Requeue(Command, frozen=True, kw_only=True):
    """Have the same job run again, unless it was restarted since ``restarts`` was seen.

    ``withdrawn``: the job's isolator may have withdrawn the permission, for which WHESL alone had asked.
    ``time`` (minutes) and ``memory`` (MiB of each node): the job's limits in that run; None: unchanged.
    """

    token: str
    rjms: str
    job_id: str
    restarts: int
    withdrawn: bool = False
    time: float | None = None
    memory: int | None = None


class AllowRequeue(Command, frozen=True, kw_only=True):
    """Have the scheduler allow again that a job is run again; best effort."""

    task: str
    rjms: str
    job_id: str


class CancelJob(Command, frozen=True, kw_only=True):
    """End a job that no isolator looks after any more; a job that has ended is no error."""

    task: str
    rjms: str
    job_id: str


class Say(Command, frozen=True, kw_only=True):
    """Write a line to the coordinator's log."""

    text: str


class Stop(Command, frozen=True, kw_only=True):
    """End the daemon in order."""
