"""The messages over the sockets of one cluster: tagged records, one JSON object a line.

Commands talk to the server; nodes register with the server and report to it; srun talks to the nodes' own
sockets, so that a running step needs no server. Reports are numbered, so that a node can safely repeat them.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from whesl.managers.resource.embedded.scheduler.actions import EndJob, Message, SignalTasks
from whesl.managers.resource.embedded.scheduler.job_and_node_records import (
    Job,
    JobSpec,
    Node,
    Settings,
    SignalNumber,
    Step,
    StepWish,
)

# Commands to the server -----------------------------------------------------------------------------


class Submit(Message, frozen=True, kw_only=True):
    """Submit a job: its script's text (empty for an interactive job) and the script's environment."""

    spec: JobSpec
    script: bytes = b""
    environment: dict[str, str] = msgspec.field(default_factory=dict)


class Try(Message, frozen=True, kw_only=True):
    """Ask whether the server would accept a job, without submitting it."""

    spec: JobSpec


class ListJobs(Message, frozen=True, kw_only=True):
    """Ask for jobs by reference (``5``, ``5_2``), or for all jobs without one; ``steps`` adds their steps."""

    jobs: tuple[str, ...] = ()
    steps: bool = False


class ListNodes(Message, frozen=True, kw_only=True):
    """Ask for all nodes and the cluster's settings."""


class Find(Message, frozen=True, kw_only=True):
    """Ask for the job that was submitted with a token."""

    token: str


class Cancel(Message, frozen=True, kw_only=True):
    """End a job, or one step of it."""

    job: str
    step: int | None = None


class SendSignal(Message, frozen=True, kw_only=True):
    """Signal a job's script (``batch``), its ``steps``, or of these only the one numbered ``step``."""

    job: str
    number: SignalNumber
    batch: bool = False
    steps: bool = True
    step: int | None = None


class Requeue(Message, frozen=True, kw_only=True):
    """Run a job again under its id; ``at_once`` ignores its requeue flag and skips the requeue delay."""

    job: str
    at_once: bool = False


class UpdateJob(Message, frozen=True, kw_only=True):
    """Change a job's fields; None leaves one unchanged.

    ``begin`` is in seconds since the epoch, ``time_limit`` in seconds; a negative one removes the limit.
    """

    job: str
    comment: str | None = None
    requeue: bool | None = None
    begin: float | None = None
    time_limit: float | None = None
    nodelist: tuple[str, ...] | None = None
    held: bool | None = None


class UpdateNode(Message, frozen=True, kw_only=True):
    """Set a node's state: drain, resume or down."""

    node: str
    state: str
    reason: str = ""
    user: str = ""


class CreateStep(Message, frozen=True, kw_only=True):
    """Ask for a step; the server then sends each change of the step over this connection."""

    wish: StepWish


class AttachStep(Message, frozen=True, kw_only=True):
    """Ask a restarted server for each change of a step over this connection."""

    job: int
    restart: int
    step: int


class WatchJob(Message, frozen=True, kw_only=True):
    """Ask for a job's record now and at each change; with ``owner`` the job ends with this connection."""

    job: str
    owner: bool = False


class Finish(Message, frozen=True, kw_only=True):
    """End an interactive job with the exit code of its srun's command."""

    job: int
    restart: int
    code: int


class Ping(Message, frozen=True, kw_only=True):
    """Ask whether the server lives."""


class Shutdown(Message, frozen=True, kw_only=True):
    """Cancel all jobs and end the server."""


# Nodes to the server --------------------------------------------------------------------------------


class Register(Message, frozen=True, kw_only=True):
    """Announce a node. ``incarnations``: (job, restart) of each job that it has started and not cleared.

    ``boot`` identifies the life of the node's daemon.
    """

    node: str
    boot: str
    incarnations: tuple[tuple[int, int], ...] = ()


class Beat(Message, frozen=True, kw_only=True):
    """Sign of life of a node."""


class Report(Message, frozen=True, kw_only=True):
    """An event on a node, repeated until the server acknowledges it.

    ``what``: batch-started, batch-ended, step-ended or cleared. ``code``: exit code. ``signal``: number of
    the signal that ended the process, 0 for none.
    """

    number: int
    what: str
    job: int
    restart: int
    step: int = -1
    code: int = 0
    signal: int = 0


# The server to nodes --------------------------------------------------------------------------------


class Acknowledge(Message, frozen=True, kw_only=True):
    """Confirm that the server has stored a report."""

    number: int


class Launch(Message, frozen=True, kw_only=True):
    """Run a job's script, unless the node has run it already for this (job, restart)."""

    job: int
    restart: int
    script: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    workdir: str
    input: str
    output: str
    error: str
    append: bool


class WatchStep(Message, frozen=True, kw_only=True):
    """Tell a node that a step's srun has ended: the node reports the step's end, or never starts the step."""

    job: int
    restart: int
    step: int


# srun and the adapter to nodes ----------------------------------------------------------------------


class LaunchStep(Message, frozen=True, kw_only=True):
    """Run a step's tasks on this node: ``tasks`` are their numbers, ``environment`` is common to all.

    ``input`` lists the tasks that read this connection's input; the others read /dev/null. ``raw``: pass
    output on at once, not in whole lines.
    """

    job: int
    restart: int
    step: int
    token: str
    tasks: tuple[int, ...]
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    environment: dict[str, str]
    workdir: str
    umask: int
    input: tuple[int, ...] = ()
    raw: bool = False


class Input(Message, frozen=True, kw_only=True):
    """Bytes for the standard input of a step's tasks; empty bytes close it."""

    data: bytes = b""


class SignalStep(Message, frozen=True, kw_only=True):
    """Signal the tasks of the step that this connection launched."""

    number: SignalNumber
    note: str = ""


class SignalToken(Message, frozen=True, kw_only=True):
    """Signal the step with a token; SIGKILL also keeps it from starting later. Answered with Done."""

    token: str
    number: SignalNumber


# Answers --------------------------------------------------------------------------------------------


class Done(Message, frozen=True, kw_only=True):
    """The request was carried out."""


class Failed(Message, frozen=True, kw_only=True):
    """The request was refused, or, when ``transient``, failed for the moment."""

    text: str
    transient: bool = False


class Submitted(Message, frozen=True, kw_only=True):
    """A submitted job's id; for a known token, the id of the token's first submission."""

    job: int


class Jobs(Message, frozen=True, kw_only=True):
    """Jobs, and their steps when asked for.

    ``shadows``: expected start of each blocked job, by job id, in seconds since the epoch.
    """

    jobs: tuple[Job, ...] = ()
    steps: tuple[Step, ...] = ()
    shadows: dict[int, float] = msgspec.field(default_factory=dict)


class NodeView(Node, frozen=True, kw_only=True):
    """A node as users see it. ``base``: idle, mixed, allocated, completing, down or unknown."""

    base: str
    allocated: int
    responds: bool


class Nodes(Message, frozen=True, kw_only=True):
    """All nodes, and the cluster's settings."""

    nodes: tuple[NodeView, ...]
    settings: Settings


class Pong(Message, frozen=True, kw_only=True):
    """The server's process id, start time (seconds since the epoch) and host."""

    pid: int
    since: float
    host: str


class StepState(Message, frozen=True, kw_only=True):
    """A step's present record; the first StepState answers CreateStep."""

    step: Step


class StepWaits(Message, frozen=True, kw_only=True):
    """The request for a step waits, because the nodes are busy."""


# Nodes to srun --------------------------------------------------------------------------------------


class Launched(Message, frozen=True, kw_only=True):
    """Process ids of the started tasks; a TaskExit follows for each task that could not be started."""

    pids: tuple[int, ...] = ()


class Output(Message, frozen=True, kw_only=True):
    """Bytes that a task wrote to ``stream`` 1 (stdout) or 2 (stderr); task -1 is the node itself."""

    task: int
    stream: int
    data: bytes


class TaskExit(Message, frozen=True, kw_only=True):
    """A task has ended with an exit code or by a signal."""

    task: int
    code: int
    signal: int


class Taken(Message, frozen=True, kw_only=True):
    """All tasks of this node have received ``count`` bytes of input, so that srun may send more."""

    count: int


class StepDone(Message, frozen=True, kw_only=True):
    """All tasks of this node have ended and their output is complete."""


FromClient = (
    Submit
    | Try
    | ListJobs
    | ListNodes
    | Find
    | Cancel
    | SendSignal
    | Requeue
    | UpdateJob
    | UpdateNode
    | CreateStep
    | AttachStep
    | WatchJob
    | Finish
    | Ping
    | Shutdown
)
FromNode = Register | Beat | Report
ToServer = FromClient | FromNode
ToNode = (
    Acknowledge | Launch | EndJob | SignalTasks | WatchStep | LaunchStep | Input | SignalStep | SignalToken
)
FromServer = Done | Failed | Submitted | Jobs | Nodes | Pong | StepState | StepWaits
FromNodeToStep = Launched | Output | TaskExit | Taken | StepDone | Done | Failed
AnyMessage = ToServer | ToNode | FromServer | FromNodeToStep
