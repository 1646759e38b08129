"""The port to workflow managers: the methods that WHESL needs to protect a manager's workflows.

A manager's adapter reads a workflow as the manager's program would run it, changes the text so that every
task is started by ``whesl exec`` (fluxification), runs the program, and carries out the recovery steps whose
entity is ``WMS``. Third parties register adapters under the entry point group ``whesl.managers.workflow``.
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
NODE_HEALTH = "node-health"  # the handler of WHESL's own that puts spares in the places of unfit nodes


class FluxifyOptions(Wrapping, frozen=True, kw_only=True):
    """Options for the wrapping of a workflow's tasks.

    ``spares`` is the number of spare nodes of each step with spares. ``out`` is the directory of the wrapped
    file, where that is another directory: values that the manager derives from the file's place are then
    written out. ``place`` is a directory that all nodes share, for the programs that replace interpreters.
    ``keeps`` are the steps whose rules act on lost nodes. ``arguments`` are the user's arguments for the
    manager. With ``submitted``, `whesl run` submits the wrapped file under the original's name.
    """

    spares: dict[str, int] = msgspec.field(default_factory=dict)
    out: str = ""
    place: str = ""
    keeps: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    submitted: bool = False


class Fluxified(msgspec.Struct, frozen=True, kw_only=True):
    """A wrapped text, the programs that it names, and notices for the user, each a sentence."""

    text: str
    programs: tuple[Program, ...] = ()
    notices: tuple[str, ...] = ()


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a fluxified workflow.

    ``files`` are the fluxified files in the user's order, ``environment`` the manager's whole environment,
    ``log`` the file for the manager's own messages, ``directory`` WHESL's directory of this workflow,
    ``poll`` the seconds between two looks at the jobs, ``arguments`` the user's arguments for the manager.
    With ``full_disk``, the specification deals with full file systems, so the manager's own files have to
    stay writable. With ``keeps``, rules act on lost nodes, so jobs have to outlive these.
    """

    workflow: Workflow
    files: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    log: str
    poll: float
    arguments: tuple[str, ...] = ()
    full_disk: bool = False
    keeps: bool = False


class Running(Protocol):
    """A running workflow manager."""

    def poll(self) -> int | None:
        """Return the manager's exit status, None while the manager runs. Never blocks for long."""

    def cancel(self) -> None:
        """Ask the manager to cancel its jobs and to end; callers go on polling."""

    def kill(self) -> None:
        """End the manager's processes at once."""


@runtime_checkable
class RemovesOlderRun(Protocol):
    """Optional, on a manager that removes an older run's directory when it starts another run."""

    def removed(self, workflow: Workflow) -> Path | None:
        """Return the existing directory that a start of the workflow would remove, None without one."""


@runtime_checkable
class TellsScripts(Protocol):
    """Optional, on a manager whose files hold the scripts of its jobs."""

    def scripts(self, sources: Sequence[str], arguments: Sequence[str] = ()) -> dict[str, str]:
        """Return the text of each step's script, by the step's name, with the resource manager's lines.

        Args:
            sources: as for ``read``.
            arguments: as for ``read``.

        Of several jobs of a step, the first one's script counts.
        """


@runtime_checkable
class Verifies(Protocol):
    """Optional, on a manager that can check a file without starting it."""

    def verify(self, source: str, environment: Mapping[str, str]) -> None:
        """Raise UsageError, with the manager's own words, where the manager refuses a file. Starts nothing.

        Args:
            source: the file.
            environment: the environment of the manager's program.
        """


class WorkflowManager(Protocol):
    """The adapter of one workflow manager."""

    name: str

    def recognises(self, path: Path, text: str) -> bool:
        """Whether a file is a workflow of this manager, by its content.

        Args:
            path: the file, which need not be read.
            text: the file's content, with surrogates for bytes that are not UTF-8.
        """

    def read(
        self, sources: Sequence[str], *, workflow: str = "", out: str = "", arguments: Sequence[str] = ()
    ) -> Workflow:
        """Return the workflow as its manager will run it.

        Args:
            sources: the files, in the manager's own form.
            workflow: the workflow's id; '' for the workflow's name.
            out: the run's directory; '' for the manager's own choice.
            arguments: the user's arguments for the manager, which may change the tasks.

        Raises UsageError for a workflow that the manager would refuse.
        """

    def fluxify(self, text: str, path: Path, options: FluxifyOptions) -> Fluxified:
        """Return a file's text with every task wrapped. Pure and idempotent.

        Args:
            text: the file's content.
            path: the file, relative to which names in the text are resolved.
            options: the options of the wrapping.

        Raises UsageError for a text that cannot be wrapped.
        """

    def undo(self, text: str, path: Path) -> str:
        """Return the original of a wrapped text, byte for byte.

        Args:
            text: the wrapped text.
            path: the file, for messages.
        """

    def check(self, plan: RunPlan) -> None:
        """Raise UsageError where ``start`` would fail, such as for a missing program of the manager."""

    def start(self, plan: RunPlan) -> Running:
        """Start the manager. Raises UsageError."""

    def submits(self, plan: RunPlan) -> frozenset[str]:
        """Return the ids of the tasks that the manager submits as jobs; it runs other tasks itself.

        Such a task without a record of a submission was never submitted.
        """

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """Carry out a recovery step of the entity WMS and return the task's resulting configuration.

        Args:
            workflow: the workflow from ``read``.
            step: the recovery step, with its arguments filled in.
            raised: the exception that the recovery handles.
            configuration: the task's present configuration.

        Idempotent, and safe to repeat after a kill at any point. Raises RefusedError when the step is not
        possible, TransientError when it may work later.
        """


def text_of(path: Path) -> str:
    """Return the text of a workflow's file, with surrogates for non-UTF-8 bytes. Raises UsageError."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def spare_step(spec: Spec, exception: ExceptionSpec) -> RecoveryStep | None:
    """Return the first step of an exception's recovery that needs a spare node, None for none.

    Args:
        spec: the specification, which says which handler an operation has.
        exception: an exception of it.
    """
    for step in exception.steps:
        on_nodes = step.resource == ResourceKind.NODE and step.entity in (Entity.JOB, Entity.SCHEDULER)
        if on_nodes and step.operation in (Operation.REPLACE, Operation.ADD):
            return step
        if spec.handler(step.resource, step.operation) == NODE_HEALTH:
            return step
    return None


def keeps_nodes(exception: ExceptionSpec) -> bool:
    """Whether an exception is about lost nodes, or its recovery changes the job's nodes."""
    return any(detection.of_nodes for detection in exception.detections) or any(
        step.resource == ResourceKind.NODE for step in exception.steps
    )


def keeping_steps(spec: Spec, workflow: Workflow) -> frozenset[str]:
    """Return the steps whose jobs go on after a lost node; other steps' jobs end, as without WHESL.

    Args:
        spec: the specification.
        workflow: the workflow.
    """
    about = [exception for exception in spec.exceptions if keeps_nodes(exception)]
    return frozenset(
        task.step
        for task in workflow.tasks
        if any(job_matches(exception.jobs, task.step, task.name) for exception in about)
    )


def spares_by_step(spec: Spec, workflow: Workflow, count: int) -> dict[str, int]:
    """Return the number of spare nodes of each step with a recovery that may need one.

    Args:
        spec: the specification.
        workflow: the workflow.
        count: the number of spare nodes for each such step's jobs.
    """
    wanted = [exception for exception in spec.exceptions if spare_step(spec, exception)]
    return {
        task.step: count
        for task in workflow.tasks
        if count and any(job_matches(exception.jobs, task.step, task.name) for exception in wanted)
    }


def with_isolators_node(spares: dict[str, int], workflow: Workflow) -> dict[str, int]:
    """Return the spare nodes of each step, with one more node that only the isolator uses.

    Args:
        spares: the number of spare nodes of each step with spares.
        workflow: the workflow.
    """
    return {task.step: spares.get(task.step, 0) + 1 for task in workflow.tasks}
