"""The parts of a report, which are also its form as JSON."""

from __future__ import annotations

import shlex

import msgspec

from whesl.model.evidence import Cause, LastLines
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode
from whesl.report.exception_row import ExceptionRow
from whesl.report.handover_record import HandedOver

POLL_INTERVAL = 60.0
ALONE = "exec"  # the workflow of commands that belong to none


class Group(msgspec.Struct, frozen=True, order=True):
    """A group of commands. ``job``: the scheduler's job; empty for jobs that ran one command each."""

    day: str
    directory: str
    job: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.day, self.job and f"job {self.job}", self.directory)))

    @property
    def command(self) -> str:
        """The command that reports the group."""
        words = ["whesl", "report", ALONE, "--day", self.day, "--directory", self.directory]
        return shlex.join([*words, "--job", self.job] if self.job else words)


class Run(msgspec.Struct, kw_only=True):
    """One attempt of a task. Times are seconds since the epoch; ``ended`` is None while it runs.

    ``job``: the scheduler's job of the attempt. ``exit_code`` is None where WHESL ended the attempt. A failed
    attempt has ``last``, its last lines of output, and ``cause``, the diagnosis of its logs, if one was made.
    """

    attempt: int
    started: float
    ended: float | None = None
    job: str = ""
    exit_code: int | None = None
    last: LastLines = LastLines()
    cause: Cause | None = None


class RunAgain(msgspec.Struct, kw_only=True):
    """A requeue of a job: its reason, and the scheduler's message in case of a refusal."""

    job: str
    reason: str


class TaskRow(msgspec.Struct, kw_only=True):
    """One task. Times are seconds since the epoch, ``queue_wait`` is seconds.

    ``leases_ended``: the agents that killed processes of the task, with reasons. ``outdated``: warnings of
    outdated names of replaced nodes. ``coupled``: sentences on coupled tasks that failed, or whose restart
    the task did not hear of. ``unseen``: detections without any input. ``observed``: the task was only
    observed. ``group``: the group of a command without a workflow (``whesl.report.exec_groups``).
    ``handed_over``: attempts that ran on another cluster. ``node``: the newest attempt's node, '' where it
    has several, or none is known.
    """

    task: str
    step: str
    instance: str
    state: str = TaskState.REGISTERED.value
    attempts: int = 0
    exit_code: int | None = None
    reason: str = ""
    nodes: int = 1
    node: str = ""
    jobs: list[str] = []
    run_again: list[RunAgain] = []
    leases_ended: list[str] = []
    coupled: list[str] = []
    unseen: list[str] = []
    outdated: list[str] = []
    runs: list[Run] = []
    handed_over: list[HandedOver] = []
    observed: bool = False
    group: Group | None = None
    submitted: float | None = None
    queue_wait: float | None = None
    started: float | None = None
    ended: float | None = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the workflow. ``failed`` excludes ``observed``, the tasks that failed while only observed.

    Seconds and node-hours are sums over the recovered exceptions.
    """

    tasks: int
    completed: int
    failed: int
    observed: int
    cancelled: int
    exceptions: int
    recovered: int
    restarted: int
    recovery_seconds: float
    saved_seconds: float
    node_hours: float


class Assumptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of the costs.

    ``waits`` is the number of measured queue waits (0: the wait was given).
    """

    queue_wait: float
    waits: int
    poll_interval: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report; its JSON is what ``whesl report --json`` prints.

    ``began`` is the first submission or record, ``until`` the last record (seconds since the epoch).
    """

    workflow: str
    name: str
    wms: str
    root: str
    began: float | None = None
    until: float | None = None
    totals: Totals
    assumptions: Assumptions
    exceptions: tuple[ExceptionRow, ...]
    tasks: tuple[TaskRow, ...]
    bad_nodes: tuple[BadNode, ...]
    damaged: tuple[str, ...] = ()
