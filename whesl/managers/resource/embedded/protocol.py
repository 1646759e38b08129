"""The messages over the sockets of one cluster: tagged records, one JSON text a line.

Commands talk to the server; nodes register with it and report; srun talks to the nodes' own sockets, so that
a running step needs no server. Numbers of reports make them safe to repeat.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from whesl.managers.resource.embedded.scheduler.job_and_node_records import (
    Job,
    JobSpec,
    Settings,
    SignalNumber,
    Step,
    StepWish,
)


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag=str.lower):
    """Base of all messages."""


# Commands to the server -----------------------------------------------------------------------------


class Submit(Message, frozen=True, kw_only=True):
    """A job with its script's text (empty for interactive ones) and the environment it gets."""

    spec: JobSpec
    script: bytes = b""
    environment: dict[str, str] = {}


class Try(Message, frozen=True, kw_only=True):
    """Ask whether a job would be taken, without taking it."""

    spec: JobSpec


class ListJobs(Message, frozen=True, kw_only=True):
    """Ask for jobs by reference (``5``, ``5_2``); none means all. ``steps``: their steps, too."""

    jobs: tuple[str, ...] = ()
    steps: bool = False


class ListNodes(Message, frozen=True, kw_only=True):
    """Ask for the nodes and the settings."""


class Find(Message, frozen=True, kw_only=True):
    """Ask for the job of a token."""

    token: str


class Cancel(Message, frozen=True, kw_only=True):
    """End a job, or one step of it."""

    job: str
    step: int | None = None


class SendSignal(Message, frozen=True, kw_only=True):
    """Signal a job's script, its steps, or one step."""

    job: str
    number: SignalNumber
    batch: bool = False
    steps: bool = True
    step: int | None = None


class Requeue(Message, frozen=True, kw_only=True):
    """Run a job again under its id; ``at_once``: whatever its requeue flag says, and without a hold."""

    job: str
    at_once: bool = False


class UpdateJob(Message, frozen=True, kw_only=True):
    """Change a job; what is None stays. ``time_limit`` in seconds, negative removes it."""

    job: str
    comment: str | None = None
    requeue: bool | None = None
    begin: float | None = None
    time_limit: float | None = None
    nodelist: tuple[str, ...] | None = None
    held: bool | None = None


class UpdateNode(Message, frozen=True, kw_only=True):
    """Drain, resume or down a node."""

    node: str
    state: str
    reason: str = ""
    user: str = ""


class CreateStep(Message, frozen=True, kw_only=True):
    """Ask for a step; the connection is then told what becomes of it."""

    wish: StepWish


class AttachStep(Message, frozen=True, kw_only=True):
    """Be told again what becomes of a step, after the server was restarted."""

    job: int
    restart: int
    step: int


class WatchJob(Message, frozen=True, kw_only=True):
    """Be told a job now and at each change; an ``owner``'s interactive job ends with the connection."""

    job: str
    owner: bool = False


class Finish(Message, frozen=True, kw_only=True):
    """The owner of an interactive job is done."""

    job: int
    restart: int
    code: int


class Ping(Message, frozen=True, kw_only=True):
    """Ask whether the server lives."""


class Shutdown(Message, frozen=True, kw_only=True):
    """Cancel everything and end the server."""


# Nodes to the server --------------------------------------------------------------------------------


class Register(Message, frozen=True, kw_only=True):
    """A node is in contact. ``incarnations``: (job, restart) of all it has started and not cleared."""

    node: str
    boot: str
    incarnations: tuple[tuple[int, int], ...] = ()


class Beat(Message, frozen=True, kw_only=True):
    """A node lives."""


class Report(Message, frozen=True, kw_only=True):
    """Something ended (or began) on a node; repeated until acknowledged.

    ``what``: batch-started, batch-ended, step-ended, cleared. ``code`` and ``signal`` are the exit's.
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
    """A report is written down."""

    number: int


class Launch(Message, frozen=True, kw_only=True):
    """Run a job's script, unless it was run already in this incarnation."""

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


class EndJob(Message, frozen=True, kw_only=True):
    """TERM everything of an incarnation, KILL what is left after ``grace`` seconds, report when clear."""

    job: int
    restart: int
    grace: float
    note: str = ""


class SignalTasks(Message, frozen=True, kw_only=True):
    """Signal processes of a job on this node. ``step`` None: all steps."""

    job: int
    restart: int
    number: int
    batch: bool
    steps: bool
    step: int | None = None
    note: str = ""


class WatchStep(Message, frozen=True, kw_only=True):
    """No srun waits for this step any more: report its end, and do not start it if it has not started yet."""

    job: int
    restart: int
    step: int


# srun and the adapter to nodes ----------------------------------------------------------------------


class LaunchStep(Message, frozen=True, kw_only=True):
    """Run a step's tasks on this node. ``tasks`` are their numbers; the environment is the step's.

    ``input`` lists the tasks that get this connection's input (none: /dev/null). ``raw``: do not
    wait for whole lines of output.
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
    """Bytes for the tasks that take input; empty at the end."""

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
    """It was done."""


class Failed(Message, frozen=True, kw_only=True):
    """It was refused, or (``transient``) did not work this time."""

    text: str
    transient: bool = False


class Submitted(Message, frozen=True, kw_only=True):
    """A job's id: the first submission's when the token was known."""

    job: int


class Jobs(Message, frozen=True, kw_only=True):
    """Jobs in the order of their ids, and their steps. ``shadows``: expected starts of blocked jobs."""

    jobs: tuple[Job, ...] = ()
    steps: tuple[Step, ...] = ()
    shadows: dict[int, float] = {}


class NodeView(Message, frozen=True, kw_only=True):
    """A node as users see it. ``base``: idle, mixed, allocated, completing, down or unknown."""

    name: str
    base: str
    cpus: int
    allocated: int
    drain: bool
    responds: bool
    booted: float
    reason: str
    reason_time: float
    reason_user: str


class Nodes(Message, frozen=True, kw_only=True):
    """All nodes, and the cluster's settings."""

    nodes: tuple[NodeView, ...]
    settings: Settings


class Pong(Message, frozen=True, kw_only=True):
    """The server's process and since when it runs."""

    pid: int
    since: float
    host: str


class StepState(Message, frozen=True, kw_only=True):
    """A step as it is now; the first one answers CreateStep."""

    step: Step


class StepWaits(Message, frozen=True, kw_only=True):
    """The step's nodes are busy; wait."""


# Nodes to srun --------------------------------------------------------------------------------------


class Launched(Message, frozen=True, kw_only=True):
    """The tasks run (or could not be started: then their exits follow)."""

    pids: tuple[int, ...] = ()


class Output(Message, frozen=True, kw_only=True):
    """What a task wrote to its stdout (1) or stderr (2); task -1: the node itself speaks."""

    task: int
    stream: int
    data: bytes


class TaskExit(Message, frozen=True, kw_only=True):
    """A task ended."""

    task: int
    code: int
    signal: int


class Taken(Message, frozen=True, kw_only=True):
    """The tasks of this node have got so many bytes of input; more may follow."""

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
