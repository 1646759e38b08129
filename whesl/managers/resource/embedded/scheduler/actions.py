"""Actions of the core, which the server carries out. Each may be repeated without harm."""

from __future__ import annotations

from typing import NamedTuple

from whesl.managers.resource.embedded.scheduler.job_and_node_records import Step


class StartBatch(NamedTuple):
    """Run the job's script on its batch host."""

    job: int
    node: str


class Terminate(NamedTuple):
    """End a job's processes on a node: SIGTERM, SIGKILL after ``kill_wait`` seconds, report ``cleared``.

    ``note``: a line that the node first writes to the job's error file; empty for none.
    """

    node: str
    job: int
    restart: int
    note: str


class Signal(NamedTuple):
    """Send a signal to a job's script, its steps, or one step on a node; ``step`` None means all steps."""

    node: str
    job: int
    restart: int
    number: int
    batch: bool
    steps: bool
    step: int | None = None
    note: str = ""


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


Action = (
    StartBatch
    | Terminate
    | Signal
    | DropNode
    | StepGranted
    | StepDelayed
    | StepRefused
    | StepChanged
    | JobChanged
)
