"""Plans of recoveries: from an exception to steps. Pure; a plan is serialisable for the journal.

A plan is made once, when the exception is raised, and recorded. ``recovery_step_execution`` carries out
each step, and may repeat a step after a crash. The plan contains all decisions that depend on the evidence
(the suspected node, the captures); decisions that depend on file systems follow later.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from whesl.language.spec import Entity, ExceptionSpec, RecoveryStep, ResourceKind, Spec
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import WheslError
from whesl.model.evidence import Raised
from whesl.model.outcomes import StepOutcome
from whesl.model.workflow import BadNode, Task
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_step_arguments import checked, of_attempt, split_command
from whesl.runtime.operations.suspect_node import find_suspect


class RecoveryError(WheslError):
    """A recovery cannot be planned or carried out: the exception's ELSE applies.

    ``reason`` is the reason of the escalation that follows; the default is handler-failed.
    """

    def __init__(self, message: str, *, hint: str = "", reason: str = "handler-failed") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The data on a task that planning and carrying out its recovery need.

    ``command``, ``script`` (the text of the script it runs, if any), ``environment`` and ``workspace`` are as
    the user wrote them, before ``configuration``. ``predicted`` is the probability that a node fails in the
    remaining time of the job, for spares with a prediction. ``busy`` are nodes that other tasks of the
    allocation use; ``silent`` are nodes that WHESL's agents or the resource manager call lost.
    ``recoveries`` counts the task's earlier recoveries from the same exception. ``open_files`` are the files
    that the failed attempt had open for writing (bytes, as in the file system). Times are seconds since the
    epoch by the isolator's clock, 0 when not known; ``first_started`` is the start of the first attempt.
    ``set_ahead``: by how many seconds the host's clock is ahead of the isolator's clock, since it was set
    meanwhile.
    """

    task: Task
    workspace: str = ""
    command: tuple[str, ...] = ()
    script: str = ""
    environment: dict[str, str] = {}
    predicted: dict[str, float] = {}
    nodes: NodeSet = NodeSet(active=())
    batch_host: str = ""
    busy: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    bad_nodes: tuple[BadNode, ...] = ()
    configuration: Configuration = Configuration()
    attempt: int = 1
    recoveries: int = 0
    first_started: float = 0.0
    attempt_started: float = 0.0
    attempt_ended: float = 0.0
    open_files: tuple[bytes, ...] = ()
    set_ahead: float = 0.0


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a step; None means unchanged.

    ``dependents`` is the change for tasks downstream, ``signal`` the signal for running ones. ``bad_nodes``
    have to be added to the shared memory of bad nodes. ``reason`` is the reason of an escalation.
    """

    outcome: StepOutcome = StepOutcome.CONTINUE
    reason: str = ""
    note: str = ""
    configuration: Configuration | None = None
    dependents: Configuration | None = None
    signal: int = 0
    nodes: NodeSet | None = None
    bad_nodes: tuple[BadNode, ...] = ()


def make_plan(spec: Spec, raised: Raised, context: Context) -> tuple[PlanStep, ...]:
    """Return the job's own steps of an exception's recovery, in order.

    Args:
        spec: the whole specification, which declares custom handlers.
        raised: the exception with its evidence.
        context: the task's data at that time.

    Raises:
        RecoveryError: the specification lacks the exception, an argument is missing or of the wrong kind, or
            a ``${name}`` has no value.
    """
    try:
        exception = spec.exception(raised.exception)
    except KeyError:
        raise RecoveryError(f"exception {raised.exception} is not in {spec.file}") from None
    steps = [step for step in exception.steps if step.entity is Entity.JOB]
    return tuple(
        _plan_step(spec, exception, step, raised, context, index) for index, step in enumerate(steps)
    )


def _plan_step(
    spec: Spec, exception: ExceptionSpec, step: RecoveryStep, raised: Raised, context: Context, index: int
) -> PlanStep:
    where = f"{spec.place(step.span)}: {step.resource}.{step.operation} of {exception.name}"
    suspect = find_suspect(raised.evidence, context.nodes, context.silent)
    values = capture_values(raised, context, suspect.node)
    handler = spec.handler(step.resource, step.operation)
    if handler is not None and "/" in handler:
        handler = posixpath.join(posixpath.dirname(spec.file), handler)
    try:
        given = step.arguments if handler is not None else of_attempt(step.arguments, context.recoveries)
        arguments = substitute(split_command(given), values)
        if handler is None:
            arguments = checked(step.resource, step.operation, arguments)
    except ValueError as error:
        raise RecoveryError(f"{where}: {error}", hint="correct the step's arguments") from None
    node_step = step.resource == ResourceKind.NODE
    return PlanStep(
        id=f"{raised.task}#{raised.ordinal}.{index}",
        resource=step.resource,
        operation=step.operation,
        arguments=arguments,
        handler=handler,
        suspect=suspect.node if node_step else "",
        because=suspect.because if node_step else "",
        level=suspect.level if node_step else 0,
        raised=raised,
    )


def capture_values(raised: Raised, context: Context, suspect: str = "") -> dict[str, str]:
    """Return the values of ``${name}``: built-in names, overridden by the evidence's captures.

    Where several pieces of evidence captured the same name, the latest wins.

    Args:
        raised: the exception with its evidence.
        context: the task's data.
        suspect: the suspected node, "" for none.
    """
    by_time = sorted(raised.evidence, key=lambda evidence: evidence.time)
    values = {
        "task": raised.task,
        "step": context.task.step,
        "workspace": context.workspace or context.task.workspace,
        "attempt": str(raised.attempt),
    }
    node = suspect or next((evidence.node for evidence in reversed(by_time) if evidence.node), "")
    if node:
        values["node"] = node
    for evidence in by_time:
        values.update(evidence.captures)
    return values


_PLACEHOLDER = re.compile(r"\$(?:(?P<escaped>\$)(?=\{)|\{(?P<name>[^{}]*)\})")


def substitute(value: Any, values: Mapping[str, str]) -> Any:
    """Return an argument with each ``${name}`` in its strings replaced, at any depth.

    ``$${`` gives a literal ``${``. A captured text is inserted literally: a ``${...}`` inside a capture is
    not replaced.

    Raises ValueError for a name that ``values`` lacks.

    Args:
        value: a string, a list or a dictionary at any depth; other values stay.
        values: values by name.
    """
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: _replacement(match, values), value)
    if isinstance(value, (list, tuple)):
        return [substitute(item, values) for item in value]
    if isinstance(value, dict):
        return {key: substitute(item, values) for key, item in value.items()}
    return value


def _replacement(match: re.Match[str], values: Mapping[str, str]) -> str:
    if match.group("escaped"):
        return "$"
    name = match.group("name")
    if name not in values:
        known = ", ".join(sorted(values))
        raise ValueError(f"${{{name}}} stands for nothing: not captured by the evidence (known: {known})")
    return values[name]
