"""The isolator's state.

State that has to outlive the isolator changes through ``apply_record.apply`` alone: the core writes a
record and applies it, and a restarted isolator applies the same records in the same order. The state after
a crash is therefore the state before the crash. Volatile fields (contact with the coordinator) are marked.
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
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_limits import Budget

TERMINATED = "terminated, as at the time limit"


class Phase(str, Enum):
    """What the isolator is doing."""

    NEW = "new"  # no attempt was started; the coordinator's welcome may be awaited
    RUNNING = "running"
    FENCING = "fencing"  # the attempt is being killed, for a recovery
    GRANT = "grant"  # the coordinator does its part of the recovery, the grant
    STEPS = "steps"
    BACKOFF = "backoff"
    LAUNCHING = "launching"  # the attempt is recorded, its runner not yet seen
    PAUSED = "paused"
    ESCALATED = "escalated"
    STOPPING = "stopping"  # the task is cancelled, or its job's time limit has come
    FINISHED = "finished"


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The recovery under way. ``steps`` are the plan's steps; the first ``done`` of them are done."""

    raised: Raised
    action: Action
    reason: str = ""
    became: str = ""  # the exception, with its own budget, to which the coordinator's count transformed it
    level: str = "JOB_LEVEL"
    steps: tuple[PlanStep, ...] = ()
    done: int = 0
    backoff: float = 0.0
    decided: float = 0.0
    request: bool = False  # whether the coordinator has to do its part first
    requested: float | None = None
    granted: bool = False
    fenced: bool = False
    open_files: tuple[bytes, ...] = ()  # files that the failed attempt had open for writing
    signal: int = 0
    dependents: Configuration = Configuration()
    not_before: float = 0.0

    @property
    def ordinal(self) -> int:
        """The ordinal of the exception that the recovery handles."""
        return self.raised.ordinal


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that was requested of the running program because of an exception."""

    raised: Raised
    until: float  # the deadline for the checkpoint, in the core's time
    moves: float | None = None  # time of the request, where the task continues without a node afterwards
    arguments: dict[str, Any] = {}


class JobRaise(records.JobRaise, frozen=True, kw_only=True):
    """An exception to be raised on the job for the task's exception ``ordinal``, and its outcome."""

    outcome: JobRaiseOutcome = JobRaiseOutcome.OPEN
    reason: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The isolator's whole state. The fields from ``connected`` on are volatile."""

    setup: Setup
    claim: str = ""
    phase: Phase = Phase.NEW
    nodes: NodeSet = NodeSet(active=())
    configuration: Configuration = Configuration()
    # The path map of the last attempt, with later changes by recovery steps but not by the coordinator: when
    # the configuration of a running task changes, the task's files stay where they were.
    ran: PathMap = PathMap()
    restart_known: float = 0.0  # ``restart`` of the configuration that the last attempt was started with
    coordinator_version: int = 0
    # The signal that announces a newer configuration to the running program; 0: the file alone announces it.
    notice: int | None = None
    bad_nodes: tuple[BadNode, ...] = ()
    attempt: int = 0
    token: str = ""
    alive: bool = False  # the attempt's command has been started and has not been seen to end
    exit_code: int | None = None  # the last attempt's exit status, None where WHESL ended the attempt
    cause: Cause | None = None  # the cause of the last attempt's failure, where its output shows it
    ordinal: int = 0
    raised: tuple[Raised, ...] = ()
    budget: Budget = Budget()
    history: History = History()
    first_started: float = 0.0
    attempt_started: float = 0.0
    attempt_ended: float = 0.0
    recovery: Recovery | None = None
    pending: tuple[Recovery, ...] = ()  # recoveries that await proof that the restarted program runs
    recovered: tuple[int, ...] = ()  # ordinals of exceptions whose restart got past the failure
    restarted: tuple[Raised, ...] = ()  # exceptions whose failure the present attempt has not passed yet
    told: tuple[Recovery, ...] = ()  # ended recoveries, reported again after a crash
    asked: tuple[Asked, ...] = ()  # checkpoints of the present attempt that are under way
    moving: float | None = None  # when the task began to move off a node, by a checkpoint and a restart
    theta: float = 0.0  # seconds that the last move off a node took
    refusals: int = 0  # consecutive starts that the resource manager refused
    refused_since: float = 0.0
    queued: tuple[Detected, ...] = ()
    observed: tuple[str, ...] = ()  # observe mode: exceptions already reported for this attempt
    down: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()  # nodes in use that the resource manager called down during the attempt
    leases_ended: tuple[str, ...] = ()  # agents' messages on leases that ended in this attempt
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
    register_at: float | None = None  # when to register again, while not admitted; 0: registered
    said_waiting: bool = False
    killed: bool = False  # the attempt is being killed because the task is to end
    unconfirmed: bool = False  # whether the last try to fence the attempt failed
    fence_again: float | None = None  # when the next try to fence begins; None while one is under way
    reached: Reach | None = None  # the present attempt's progress when its output was last read

    @property
    def terminated(self) -> bool:
        """Whether the whole job was sent SIGTERM: the job ends, or will run again."""
        return self.stop_reason == TERMINATED and not self.patient and bool(self.setup.job_id)

    @property
    def task_state(self) -> TaskState:
        """The task's state as the coordinator and users know it."""
        if self.ended is not None:
            return self.ended.state
        return _TASK_STATES[self.phase]

    @property
    def judges_output(self) -> bool:
        """Whether the present attempt's output is judged: no decision about the attempt was made yet."""
        return self.phase in (Phase.LAUNCHING, Phase.RUNNING)

    @property
    def restarts(self) -> int:
        """The number of attempts before the present one."""
        return max(self.attempt - 1, 0)

    @property
    def is_refused(self) -> bool:
        """Whether processes left behind by a refused start are being killed."""
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
