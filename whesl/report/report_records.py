"""What a report consists of: frozen or filled by ``summary``, and JSON as it is."""

from __future__ import annotations

import shlex

import msgspec

from whesl.model.evidence import Cause, LastLines
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode
from whesl.report.exception_row import ExceptionRow

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

    ``job``: in which job of the scheduler. ``exit_code`` is None where it was ended. ``last``: what a failed
    one printed last. ``cause``: what it died of, where its output was asked.
    """

    attempt: int
    started: float
    ended: float | None = None
    job: str = ""
    exit_code: int | None = None
    last: LastLines = LastLines()
    cause: Cause | None = None


class RunAgain(msgspec.Struct, kw_only=True):
    """Why the scheduler was asked to run a job again, and what it said when it refused."""

    job: str
    reason: str


class TaskRow(msgspec.Struct, kw_only=True):
    """One task. Times are seconds since the epoch, ``queue_wait`` is seconds.

    ``leases_ended``: which agents have killed processes of the task, and why. ``outdated``: warnings of names
    of nodes that were replaced. ``coupled``: which tasks that it is coupled with failed, or were restarted
    without its hearing of it. ``unseen``: what of its rules could not see anything. ``observed``: it was only
    observed. ``group``: of commands without a workflow (``whesl.report.exec_groups``).
    """

    task: str
    step: str
    instance: str
    state: str = TaskState.REGISTERED.value
    attempts: int = 0
    exit_code: int | None = None
    reason: str = ""
    nodes: int = 1
    jobs: list[str] = []
    run_again: list[RunAgain] = []
    leases_ended: list[str] = []
    coupled: list[str] = []
    unseen: list[str] = []
    outdated: list[str] = []
    runs: list[Run] = []
    observed: bool = False
    group: Group | None = None
    submitted: float | None = None
    queue_wait: float | None = None
    started: float | None = None
    ended: float | None = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the workflow. ``failed`` are without ``observed``: tasks that failed while only observed.

    Seconds and node-hours are those of the recovered exceptions.
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
    """What the costs are computed with. ``waits`` is the number of measured queue waits (0: given)."""

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
