"""Actions of the core, which the server carries out. Each may be repeated without harm."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from whesl.managers.resource.embedded.scheduler.job_and_node_records import Step


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag=str.lower):
    """Base of all messages between commands, server and nodes."""


class EndJob(Message, frozen=True, kw_only=True):
    """End a job's processes on a node: SIGTERM, SIGKILL after ``grace`` seconds, then report ``cleared``.

    ``note``: a line that the node first writes to the job's error file; empty for none.
    """

    job: int
    restart: int
    grace: float
    note: str = ""


class SignalTasks(Message, frozen=True, kw_only=True):
    """Signal a job's script (``batch``) or ``steps`` on a node; ``step`` None means all steps."""

    job: int
    restart: int
    number: int
    batch: bool
    steps: bool
    step: int | None = None
    note: str = ""


class StartBatch(NamedTuple):
    """Run the job's script on its batch host."""

    job: int
    node: str


class ToNode(NamedTuple):
    """Send a node a message; ``{time}`` in its note becomes the present time."""

    node: str
    message: EndJob | SignalTasks


class DropNode(NamedTuple):
    """Close the connection to a node that was declared down; a node that still lives registers again."""

    node: str


class StepGranted(NamedTuple):
    """The step of a request was created."""

    request: int
    step: Step


class StepDelayed(NamedTuple):
    """A request for a step waits, because the nodes are busy."""

    request: int


class StepRefused(NamedTuple):
    """A request for a step was refused for good."""

    request: int
    text: str


class StepChanged(NamedTuple):
    """A step lost a node, was cancelled or ended; the server tells its srun."""

    step: Step


class JobChanged(NamedTuple):
    """A job's state changed; the server tells the connections that watch the job."""

    job: int


Action = StartBatch | ToNode | DropNode | StepGranted | StepDelayed | StepRefused | StepChanged | JobChanged
