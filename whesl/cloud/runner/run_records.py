"""A run's records, each written before the act that it announces. Times are seconds since the epoch."""

from __future__ import annotations

from enum import Enum

import msgspec

from whesl.cloud.core.plan_records import Domain, Purpose
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.transfer.port import Digest


class ExecutorState(str, Enum):
    """An executor's life, in this order; ``STOPPING`` takes no new task, ``ENDING`` was told to end."""

    ASKED = "asked"
    WAITING = "waiting"
    UP = "up"
    STOPPING = "stopping"
    ENDING = "ending"
    GONE = "gone"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all records."""


class RunStarted(Record, frozen=True, kw_only=True):
    """The run's first record. ``run`` names it in all tokens; ``content`` is the workflow's digest.

    ``currency`` is that of the budget and of all prices.
    """

    run: str
    workflow: str
    content: str
    deadline: float
    budget: float | None = None
    currency: str = ""


class Scaled(Record, frozen=True, kw_only=True):
    """The scaler took an interval in."""

    state: ScalerState
    long: bool = False


class ExecutorAsked(Record, frozen=True, kw_only=True):
    """An executor is to be started; ``ends`` is when it ends by itself, ``seconds`` how long it may work.

    ``hourly`` is its price; 0 on the cluster, where ``ends`` counts from its start and is not known yet.
    ``instead``: the executor that was lost, and whose place it takes.
    """

    id: str
    domain: Domain
    stage: str
    platform: str
    purpose: Purpose
    seconds: float
    ends: float = 0.0
    hourly: float = 0.0
    spot: bool = False
    instead: str = ""


class ExecutorRefused(Record, frozen=True, kw_only=True):
    """An executor was not started, and will not be."""

    id: str
    why: str


class ExecutorSeen(Record, frozen=True, kw_only=True):
    """What its side says of an executor, when that has changed."""

    id: str
    state: ExecutorState
    handle: str = ""
    why: str = ""


class ExecutorMoved(Record, frozen=True, kw_only=True):
    """An executor works for another stage, since its own has nothing left."""

    id: str
    stage: str


class Assigned(Record, frozen=True, kw_only=True):
    """A task was given to an executor: its ``number``-th."""

    task: str
    executor: str
    number: int
    attempt: int


class Made(Record, frozen=True, kw_only=True):
    """A file that a task has written, or that it reads; ``executable`` where it is a program."""

    name: str
    digest: Digest
    executable: bool = False


class TaskDone(Record, frozen=True, kw_only=True):
    """A task has ended well; ``seconds`` of its work."""

    task: str
    executor: str
    attempt: int
    seconds: float
    outputs: tuple[Made, ...] = ()


class TaskFailed(Record, frozen=True, kw_only=True):
    """A task's command has failed; ``final`` when it is not tried again."""

    task: str
    executor: str
    attempt: int
    status: int
    why: str = ""
    final: bool = False


class TaskLost(Record, frozen=True, kw_only=True):
    """An executor is gone, and a task with it that had not ended; a run that goes on gives it to another."""

    task: str
    executor: str
    attempt: int
    why: str = ""


class FileCopied(Record, frozen=True, kw_only=True):
    """A file lies in a domain, compared with where it came from."""

    name: str
    domain: Domain
    digest: Digest
    seconds: float = 0.0


class Risk(Record, frozen=True, kw_only=True):
    """The deadline will likely be missed."""

    expected: float
    deadline: float
    why: str = ""


class Trouble(Record, frozen=True, kw_only=True):
    """Something does not work for the moment (or again: ``over``)."""

    what: str
    why: str = ""
    over: bool = False


class RunEnded(Record, frozen=True, kw_only=True):
    """The run is over: all tasks are done, or ``why`` not."""

    complete: bool
    why: str = ""


KINDS: dict[str, type[Record]] = {
    "run_started": RunStarted,
    "scaled": Scaled,
    "executor_asked": ExecutorAsked,
    "executor_refused": ExecutorRefused,
    "executor_seen": ExecutorSeen,
    "executor_moved": ExecutorMoved,
    "assigned": Assigned,
    "task_done": TaskDone,
    "task_failed": TaskFailed,
    "task_lost": TaskLost,
    "file_copied": FileCopied,
    "risk": Risk,
    "trouble": Trouble,
    "run_ended": RunEnded,
}
NAMES = {kind: name for name, kind in KINDS.items()}
