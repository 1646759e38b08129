"""From an exception to the steps of its recovery: pure, and serialisable so that it can be journalled.

A plan is made once, when the exception is raised, and written down; each step is then carried out by
``whesl.runtime.operations.step_execution`` and may be carried out again after a crash. Everything that
depends on what was seen (the suspect, the captures) is decided here; what depends on the file systems is
decided later.
"""

from __future__ import annotations

import posixpath
import re
import shlex
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
from whesl.runtime.journal.records.plan_step import PlanStep
from whesl.runtime.operations.step_arguments import checked, of_attempt, split_command
from whesl.runtime.operations.suspect_node import find_suspect


class RecoveryError(WheslError):
    """A recovery cannot be planned or carried out: the exception's ELSE applies.

    ``reason`` is the reason of the escalation that follows; handler-failed is the general one.
    """

    def __init__(self, message: str, *, hint: str = "", reason: str = "handler-failed") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the task when its recovery is planned and carried out.

    ``command``, ``script`` (the text of the script it runs, if any), ``environment`` and ``workspace``
    are as the user wrote them, before ``configuration``. ``predicted`` is the probability that a node
    fails in the time that the job has left, for spares of which that is known. ``busy`` are nodes that other
    tasks of the allocation use, ``silent`` are nodes that
    the runtime's own agents or the resource manager call lost. ``rank_hosts[r]`` is the node of rank r,
    where known. ``recoveries``: how often the task was recovered from the same exception before.
    ``open_files`` are those that the failed attempt had open for writing (bytes, as the file
    system spells them). Times are seconds since the epoch, 0 when not known; ``first_started`` is the
    start of the first attempt. They are the isolator's own clock's; the host's is ``set_ahead`` s ahead
    of that where it was set meanwhile.
    """

    task: Task
    workspace: str = ""
    command: tuple[str, ...] = ()
    script: str = ""
    environment: dict[str, str] = {}
    predicted: dict[str, float] = {}
    nodes: NodeSet = NodeSet(active=())
    heterogeneous: bool = False  # whether the job has components whose nodes cannot replace each other
    batch_host: str = ""
    busy: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    rank_hosts: tuple[str, ...] = ()
    bad_nodes: tuple[BadNode, ...] = ()
    configuration: Configuration = Configuration()
    attempt: int = 1
    recoveries: int = 0
    first_started: float = 0.0
    attempt_started: float = 0.0
    attempt_ended: float = 0.0
    open_files: tuple[bytes, ...] = ()
    set_ahead: float = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of one recovery, in order."""

    task: str
    exception: str
    ordinal: int
    steps: tuple[PlanStep, ...] = ()


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step changed; None means unchanged.

    ``dependents`` is what tasks downstream have to take over, ``signal`` what running ones are sent.
    ``bad_nodes`` are to be added to the shared memory. ``reason`` is that of an escalation.
    """

    outcome: StepOutcome = StepOutcome.CONTINUE
    reason: str = ""
    note: str = ""
    configuration: Configuration | None = None
    dependents: Configuration | None = None
    signal: int = 0
    nodes: NodeSet | None = None
    bad_nodes: tuple[BadNode, ...] = ()


def advance(context: Context, result: StepResult) -> Context:
    """Return the context for the next step."""
    return msgspec.structs.replace(
        context,
        configuration=result.configuration or context.configuration,
        nodes=result.nodes or context.nodes,
        bad_nodes=(*context.bad_nodes, *result.bad_nodes),
    )


def make_plan(spec: Spec, raised: Raised, context: Context, *, entity: Entity = Entity.JOB) -> Plan:
    """Return the plan of an exception's recovery, for the steps of one entity.

    Args:
        spec: the whole specification (it says which operations have custom handlers).
        raised: the exception with its evidence.
        context: the task at that moment.
        entity: the entity whose steps are planned.

    Raises:
        RecoveryError: for an exception that the specification lacks, an argument of the wrong kind or
            missing, or a ``${name}`` that stands for nothing.
    """
    try:
        exception = spec.exception(raised.exception)
    except KeyError:
        raise RecoveryError(f"exception {raised.exception} is not in {spec.file}") from None
    steps = [step for step in exception.steps if step.entity is entity]
    return Plan(
        task=raised.task,
        exception=raised.exception,
        ordinal=raised.ordinal,
        steps=tuple(
            _plan_step(spec, exception, step, raised, context, index) for index, step in enumerate(steps)
        ),
    )


def _plan_step(
    spec: Spec, exception: ExceptionSpec, step: RecoveryStep, raised: Raised, context: Context, index: int
) -> PlanStep:
    where = f"{spec.place(step.span)}: {step.resource}.{step.operation} of {exception.name}"
    suspect = find_suspect(raised.evidence, context.nodes, context.rank_hosts, context.silent)
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
    """Return what ``${name}`` may stand for: the built-in names, and the evidence's captures over them.

    Where several pieces of evidence captured the same name, the latest wins.
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

    ``$${`` gives a literal ``${``. A captured text is put in as it is and never read again: a capture that
    itself contains ``${...}`` changes nothing.

    Raises ValueError for a name that ``values`` lacks.
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


def describe(step: PlanStep) -> str:
    """Return a line for people that says what the step would do."""
    shown = " ".join(
        f"{name}={shlex.join(value) if isinstance(value, list) and _texts(value) else value}"
        for name, value in step.arguments.items()
        if value not in (None, [], {}, "")
    )
    who = f" by handler {step.handler}" if step.handler else ""
    about = f" [{step.because}]" if step.because else ""
    return f"{step.name}{who} {shown}".rstrip() + about


def _texts(value: list[Any]) -> bool:
    return all(isinstance(item, str) for item in value)
