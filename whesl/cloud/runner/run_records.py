"""A run's records, each written before the action that it announces. Times are seconds since the epoch."""

from __future__ import annotations

from enum import Enum

import msgspec

from whesl.cloud.core.plan_records import Domain, Purpose
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.transfer.port import Digest


class ExecutorState(str, Enum):
    """An executor's states, in their order; ``STOPPING`` takes no new task, ``ENDING`` was told to end."""

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

    ``currency`` is the currency of the budget and of all prices.
    """

    run: str
    workflow: str
    content: str
    deadline: float
    budget: float | None = None
    currency: str = ""


class Scaled(Record, frozen=True, kw_only=True):
    """The scaler has handled the begin of an interval."""

    state: ScalerState
    long: bool = False


class ExecutorAsked(Record, frozen=True, kw_only=True):
    """An executor is requested; ``ends``: time at which it ends itself; ``seconds``: how long it may work.

    ``hourly``: its price of an hour. On the cluster ``hourly`` and ``ends`` are 0, since the executor's time
    begins with its start. ``instead``: the lost executor that it replaces; '' for none.
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
    """A change of an executor's state, as its side reports it."""

    id: str
    state: ExecutorState
    handle: str = ""
    why: str = ""


class ExecutorMoved(Record, frozen=True, kw_only=True):
    """An executor works for another stage, since its own stage has no tasks left."""

    id: str
    stage: str


class Assigned(Record, frozen=True, kw_only=True):
    """A task was given to an executor, as the executor's ``number``-th task."""

    task: str
    executor: str
    number: int
    attempt: int


class Made(Record, frozen=True, kw_only=True):
    """A file that a task writes or reads; ``executable``: whether it is a program."""

    name: str
    digest: Digest
    executable: bool = False


class TaskDone(Record, frozen=True, kw_only=True):
    """A task has succeeded; ``seconds``: its run time."""

    task: str
    executor: str
    attempt: int
    seconds: float
    outputs: tuple[Made, ...] = ()


class TaskFailed(Record, frozen=True, kw_only=True):
    """A task's command has failed; ``final``: the task is not tried again."""

    task: str
    executor: str
    attempt: int
    status: int
    why: str = ""
    final: bool = False


class TaskLost(Record, frozen=True, kw_only=True):
    """An executor is gone with an unfinished task, which the run gives to another executor."""

    task: str
    executor: str
    attempt: int
    why: str = ""


class FileCopied(Record, frozen=True, kw_only=True):
    """A file was copied to a domain, and the copy's digest was verified."""

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
    """Something fails temporarily, or works again (``over``)."""

    what: str
    why: str = ""
    over: bool = False


class RunEnded(Record, frozen=True, kw_only=True):
    """The run is over; where tasks are left, ``why`` gives the reason."""

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
