"""The port to workflow managers: what one has to offer so that its workflows can be protected.

A manager reads a workflow as its own program would run it, changes the text so that every task is
started by ``whesl exec`` (fluxification), runs the program, and carries out the recovery steps whose
entity is ``WMS``. Further managers register under the entry point group ``whesl.managers.workflow``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from whesl.language.spec import Entity, ExceptionSpec, Operation, RecoveryStep, ResourceKind, Spec
from whesl.managers.workflow.script_wrapping import Program, Wrapping
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import UsageError
from whesl.model.evidence import Raised
from whesl.model.workflow import Workflow, job_matches

ENTRY_POINTS = "whesl.managers.workflow"


class FluxifyOptions(Wrapping, frozen=True, kw_only=True):
    """What the wrapped tasks are to know.

    ``spares`` is the number of spare nodes of each step that has any, ``out`` the directory that the new file
    will stand in, when it is not the old one: what the manager derives from the file's place is then written
    out. ``place`` is a directory that all nodes share, for programs that take interpreters' places. ``keeps``
    are the steps whose rules act on lost nodes. ``arguments`` are the user's for the manager. ``submitted``
    says that `whesl run` submits the new file in the old one's name.
    """

    spares: dict[str, int] = msgspec.field(default_factory=dict)
    out: str = ""
    place: str = ""
    keeps: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    submitted: bool = False


class Fluxified(msgspec.Struct, frozen=True, kw_only=True):
    """A changed text, the programs that it names, and what the user ought to know, a sentence each."""

    text: str
    programs: tuple[Program, ...] = ()
    notices: tuple[str, ...] = ()


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a fluxified workflow.

    ``files`` are the fluxified files in the order in which they were given, ``environment`` the whole
    environment of the manager, ``log`` the file for its own messages, ``directory`` WHESL's directory of
    this workflow, ``poll`` the seconds between two looks at the jobs, ``arguments`` what the user gave
    for the manager itself. ``full_disk`` says that the specification deals with full file systems, so
    that the manager's own files are to be kept writable.
    """

    workflow: Workflow
    files: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    log: str
    poll: float
    arguments: tuple[str, ...] = ()
    full_disk: bool = False


class Running(Protocol):
    """A workflow manager at work."""

    def poll(self) -> int | None:
        """Return the manager's own exit status, None while it runs. Never blocks for long."""
        ...

    def states(self) -> dict[str, str]:
        """Return each task's state as the manager calls it, by the task's name."""
        ...

    def cancel(self) -> None:
        """Ask the manager to cancel its jobs and to end; it goes on being polled."""
        ...

    def kill(self) -> None:
        """End the manager's processes at once."""
        ...


@runtime_checkable
class RemovesOlderRun(Protocol):
    """What a manager also offers that removes the directory of an older run when it starts another."""

    def removed(self, workflow: Workflow) -> Path | None:
        """Return the directory that starting a workflow would remove; None where nothing is there."""
        ...


@runtime_checkable
class Verifies(Protocol):
    """What a manager also offers that can be asked whether it takes a file."""

    def verify(self, source: str, environment: Mapping[str, str]) -> None:
        """Raise UsageError with the manager's own words where it refuses a file. Starts nothing."""
        ...


class WorkflowManager(Protocol):
    """One kind of workflow."""

    name: str

    def recognises(self, path: Path, text: str) -> bool:
        """Whether a file is a workflow of this kind, by its content.

        Args:
            path: the file; it need not be read.
            text: its content, with surrogates for bytes that are not UTF-8.
        """
        ...

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        """Return the workflow as its manager will run it.

        Args:
            sources: the files, in the manager's own form.
            workflow: the id; '' for the workflow's name.
            out: the directory of the run; '' for the manager's own choice.
            arguments: the user's arguments for the manager, which may change the expansion.

        Raises UsageError for a workflow that the manager would refuse.
        """
        ...

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        """Return a file's text with every task wrapped. Pure; applied to its own result it changes nothing.

        Args:
            text: the file's content.
            path: the file, by which relative names in it are understood.
            options: what the wrapped tasks are told.

        Raises UsageError for a text that cannot be wrapped.
        """
        ...

    def undo(self, text: str, path: Path) -> str:
        """Return a wrapped text as it was before, byte for byte."""
        ...

    def check(self, plan: RunPlan) -> None:
        """Raise UsageError for what ``start`` would refuse, as when the manager's program is missing."""
        ...

    def start(self, plan: RunPlan) -> Running:
        """Start the manager. Raises UsageError."""
        ...

    def submits(self, plan: RunPlan) -> frozenset[str]:
        """Return the ids of the tasks that it hands to the resource manager; the others it runs itself.

        A task of these that ends without a record of a submission was never submitted.
        """
        ...

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """Carry out a recovery step of the entity WMS and return the configuration it leads to.

        Args:
            workflow: as ``read`` returned it.
            step: the operation, with its arguments filled in.
            raised: the exception that is recovered from.
            configuration: the task's present one.

        Idempotent, and safe to repeat after a kill at any point. Raises RefusedError when it cannot be
        done, TransientError when it may work later.
        """
        ...


def text_of(path: Path) -> str:
    """Return the text of a workflow's file, with surrogates for what is not UTF-8. Raises UsageError."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def needs_spares(exception: ExceptionSpec) -> bool:
    """Whether an exception's recovery takes a node out of the allocation's reserve."""
    return any(
        step.resource == ResourceKind.NODE
        and step.operation in (Operation.REPLACE, Operation.ADD)
        and step.entity in (Entity.JOB, Entity.SCHEDULER)
        for step in exception.steps
    )


def keeps_nodes(exception: ExceptionSpec) -> bool:
    """Whether an exception is about lost nodes, or its recovery changes the nodes of the job."""
    return any(detection.of_nodes for detection in exception.detections) or any(
        step.resource == ResourceKind.NODE for step in exception.steps
    )


def keeping_steps(spec: Spec, workflow: Workflow) -> frozenset[str]:
    """Return the steps whose jobs go on when a node of theirs is lost; others end, as without WHESL."""
    about = [exception for exception in spec.exceptions if keeps_nodes(exception)]
    return frozenset(
        task.step
        for task in workflow.tasks
        if any(job_matches(exception.jobs, task.step, task.name) for exception in about)
    )


def spares_by_step(spec: Spec, workflow: Workflow, count: int) -> dict[str, int]:
    """Return how many spare nodes each step's jobs are to get: ``count`` where a recovery may use one."""
    wanted = [exception for exception in spec.exceptions if needs_spares(exception)]
    return {
        task.step: count
        for task in workflow.tasks
        if count and any(job_matches(exception.jobs, task.step, task.name) for exception in wanted)
    }


def with_isolators_node(spares: dict[str, int], workflow: Workflow) -> dict[str, int]:
    """Return ``spares`` with one node more for each step: the one that only its isolator is to have."""
    return {task.step: spares.get(task.step, 0) + 1 for task in workflow.tasks}
