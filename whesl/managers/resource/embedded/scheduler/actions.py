"""The core's actions, which its shell carries out. Each may be repeated without harm."""

from __future__ import annotations

from typing import NamedTuple

from whesl.managers.resource.embedded.scheduler.job_and_node_records import Step


class StartBatch(NamedTuple):
    """Run the job's script on its batch host."""

    job: int
    node: str


class Terminate(NamedTuple):
    """End everything of a job's incarnation on a node (TERM, KILL after the wait) and report when clear.

    ``note`` is what the node writes to the job's error file first.
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
    """Close the connection to a node that was declared down; if it lives, it registers again."""

    node: str


class StepGranted(NamedTuple):
    """A step was created for a request."""

    request: int
    step: Step


class StepDelayed(NamedTuple):
    """A step's request waits: the nodes are busy."""

    request: int


class StepRefused(NamedTuple):
    """A step was not created, and will not be."""

    request: int
    text: str


class StepChanged(NamedTuple):
    """A step lost a node, was cancelled or ended: those who wait for it are told."""

    step: Step


class JobChanged(NamedTuple):
    """A job's state changed: those who wait for it are told."""

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
