"""The isolator's state.

Everything that has to outlive the isolator changes through ``changes.apply`` alone: the core writes a record
and applies it, a restarted isolator applies the same records in the same order. So the state after a crash is
the state before it, by construction. What is volatile (contact with the coordinator) is marked.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Cause, Detected, History, Raised
from whesl.model.outcomes import Action, JobRaiseOutcome
from whesl.model.pathmap import PathMap
from whesl.model.recovery_criterion import Reach
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records.plan_step import PlanStep
from whesl.runtime.operations.recovery_limits import Budget

TERMINATED = "terminated, as at the time limit"


class Phase(str, Enum):
    """What the isolator is doing."""

    NEW = "new"  # nothing was started; perhaps the coordinator's welcome is awaited
    RUNNING = "running"
    FENCING = "fencing"  # the attempt is being killed, for a recovery
    GRANT = "grant"  # the coordinator does its part of the recovery
    STEPS = "steps"
    BACKOFF = "backoff"
    LAUNCHING = "launching"  # the attempt is written down, its runner not yet seen
    PAUSED = "paused"
    ESCALATED = "escalated"
    STOPPING = "stopping"  # cancelled, or the time limit has come
    FINISHED = "finished"


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The recovery under way. ``steps`` are the plan's; ``done`` of them are done."""

    raised: Raised
    action: Action
    reason: str = ""
    became: str = ""  # the exception that the coordinator's count made of it, which has a budget of its own
    level: str = "JOB_LEVEL"
    steps: tuple[PlanStep, ...] = ()
    done: int = 0
    backoff: float = 0.0
    decided: float = 0.0
    request: bool = False  # the coordinator has to act first
    requested: float | None = None
    granted: bool = False
    fenced: bool = False
    open_files: tuple[bytes, ...] = ()  # that the failed attempt had open for writing
    signal: int = 0
    dependents: Configuration = Configuration()
    not_before: float = 0.0

    @property
    def ordinal(self) -> int:
        """The number of the exception it recovers from."""
        return self.raised.ordinal


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that the running program was asked for, because of an exception."""

    raised: Raised
    until: float  # the deadline for the checkpoint, in the core's time
    moves: float | None = None  # when it was asked for, where the task is to go on without a node after it
    arguments: dict[str, Any] = {}


class JobRaise(records.JobRaise, frozen=True, kw_only=True):
    """An exception to be raised on the job for the task's exception ``ordinal``, and what came of it."""

    outcome: JobRaiseOutcome = JobRaiseOutcome.OPEN
    reason: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The whole state. Fields below ``connected`` are volatile."""

    setup: Setup
    claim: str = ""
    phase: Phase = Phase.NEW
    nodes: NodeSet = NodeSet(active=())
    configuration: Configuration = Configuration()
    # The path map that the last attempt was started with, as recovery steps have changed it since: a running
    # task's configuration may change before it fails, and its files are then still where they were.
    ran: PathMap = PathMap()
    restart_known: float = 0.0  # ``restart`` of the configuration that the last attempt was started with
    coordinator_version: int = 0
    # The signal that tells the running program of a configuration newer than its own; 0: only by its file.
    notice: int | None = None
    bad_nodes: tuple[BadNode, ...] = ()
    attempt: int = 0
    token: str = ""
    alive: bool = False  # the attempt's command has been started and has not been seen to end
    exit_code: int | None = None  # the last attempt's, None where WHESL ended it
    cause: Cause | None = None  # what the last attempt died of, where its output says so
    ordinal: int = 0
    raised: tuple[Raised, ...] = ()
    budget: Budget = Budget()
    history: History = History()
    first_started: float = 0.0
    attempt_started: float = 0.0
    attempt_ended: float = 0.0
    recovery: Recovery | None = None
    pending: tuple[Recovery, ...] = ()  # done but for the restarted program being seen to run
    recovered: tuple[int, ...] = ()  # ordinals of exceptions that a restart has gone on past
    restarted: tuple[Raised, ...] = ()  # what the present attempt recovers from, and is not past yet
    told: tuple[Recovery, ...] = ()  # over; a crash may have kept them from the coordinator
    asked: tuple[Asked, ...] = ()  # checkpoints of the present attempt that are under way
    moving: float | None = None  # when the task began to move off a node, by a checkpoint and a restart
    theta: float = 0.0  # seconds that the last move off a node took
    refusals: int = 0  # starts in a row that the resource manager did not take
    refused_since: float = 0.0
    queued: tuple[Detected, ...] = ()
    observed: tuple[str, ...] = ()  # observe mode: already reported for this attempt
    down: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()  # nodes in use that the resource manager called down under the attempt
    leases_ended: tuple[str, ...] = ()  # agents' sentences on leases that ended in this attempt
    outdated: tuple[str, ...] = ()  # arguments and variables of the attempt that name a replaced node
    lingering: tuple[str, ...] = ()  # nodes on which a step of an earlier attempt may never end
    job_raises: tuple[JobRaise, ...] = ()
    controls: tuple[str, ...] = ()
    paused: str = ""
    since: float = 0.0  # when the present phase was entered
    stop_code: int = 0
    stop_reason: str = ""
    stop_state: TaskState = TaskState.CANCELLED
    patient: bool = False  # the program may end by itself, without a time limit
    ended: records.Finished | None = None

    connected: bool = False
    heartbeat: float = 5.0
    next_heartbeat: float = 0.0
    welcome_deadline: float | None = None
    waits_for_welcome: bool = False
    busy: tuple[str, ...] = ()  # nodes that other tasks of the allocation are known to use
    claimed: tuple[str, ...] = ()  # nodes that were claimed for the attempt that is to start
    register_at: float | None = None  # when to register again, while not admitted; 0: done
    said_waiting: bool = False
    killed: bool = False  # the attempt is being killed because the task is to end
    unconfirmed: bool = False  # the last attempt to fence did not succeed
    fence_again: float | None = None  # when the next one begins; None while one is under way
    reached: Reach | None = None  # how far the present attempt had come when its output was last asked for

    @property
    def terminated(self) -> bool:
        """Whether the whole job was sent SIGTERM: it ends, or will run again."""
        return self.stop_reason == TERMINATED and not self.patient and bool(self.setup.job_id)

    @property
    def task_state(self) -> TaskState:
        """The task's state as the coordinator and users know it."""
        if self.ended is not None:
            return self.ended.state
        return _TASK_STATES[self.phase]

    @property
    def judges_output(self) -> bool:
        """Whether the present attempt's output is judged: nothing is decided about the attempt yet."""
        return self.phase in (Phase.LAUNCHING, Phase.RUNNING)

    @property
    def restarts(self) -> int:
        """Attempts before the present one."""
        return max(self.attempt - 1, 0)

    @property
    def is_refused(self) -> bool:
        """Whether processes that a refused start has left behind are being ended."""
        return self.phase is Phase.FENCING and self.recovery is None and self.refusals > 0


_TASK_STATES = {
    Phase.NEW: TaskState.REGISTERED,
    Phase.RUNNING: TaskState.RUNNING,
    Phase.LAUNCHING: TaskState.RUNNING,
    Phase.FENCING: TaskState.RECOVERING,
    Phase.GRANT: TaskState.RECOVERING,
    Phase.STEPS: TaskState.RECOVERING,
    Phase.BACKOFF: TaskState.RECOVERING,
    Phase.PAUSED: TaskState.PAUSED,
    Phase.ESCALATED: TaskState.ESCALATED,
    Phase.STOPPING: TaskState.RUNNING,
    Phase.FINISHED: TaskState.COMPLETED,
}
