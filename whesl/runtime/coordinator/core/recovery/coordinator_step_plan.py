"""The coordinator's own steps of a recovery: those whose entity is not the job itself. Pure."""

from __future__ import annotations

import msgspec

from whesl.language.spec import OFFERED, Entity, ExceptionSpec, RecoveryStep, ResourceKind, Spec
from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Raised
from whesl.model.workflow import Task
from whesl.runtime.coordinator.core.state import TaskEntry
from whesl.runtime.journal.records.coordinator_records import OwnStep
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, capture_values, substitute
from whesl.runtime.operations.recovery_step_arguments import checked, of_attempt, split_command
from whesl.runtime.operations.suspect_node import find_suspect


def own_steps(
    spec: Spec, raised: Raised, exception: str, entry: TaskEntry, recoveries: int
) -> tuple[OwnStep, ...]:
    """Return the coordinator's steps of an exception's recovery, in the specification's order.

    Args:
        spec: the workflow's specification.
        raised: the exception with its evidence, which gives captures and the suspected node.
        exception: the exception to handle; after a transformation it differs from ``raised.exception``.
        entry: the task.
        recoveries: how many earlier recoveries of the task were from this exception.

    Raises RecoveryError for an argument without a value and for an operation that the entity does not offer.
    """
    described = exception_of(spec, exception)
    if described is None:
        raise RecoveryError(f"exception {exception} is not in {spec.file}")
    return tuple(
        _own_step(spec, described, step, raised, entry, recoveries)
        for step in described.steps
        if step.entity is not Entity.JOB
    )


def exception_of(spec: Spec | None, name: str) -> ExceptionSpec | None:
    """Return an exception of a specification, None where the specification lacks it.

    Args:
        spec: the specification, None for none.
        name: the exception's name.
    """
    return next((found for found in spec.exceptions if found.name == name), None) if spec else None


def context_of(entry: TaskEntry) -> Context:
    """Return the data on a task that the coordinator has, for planning and for handlers."""
    return Context(
        task=Task(
            id=entry.id,
            step=entry.step,
            instance=entry.instance,
            workspace=entry.workspace,
            nodes=max(len(entry.nodes), 1),
        ),
        workspace=entry.workspace,
        nodes=NodeSet(active=entry.nodes),
        configuration=entry.configuration,
        attempt=entry.attempt,
    )


def _own_step(
    spec: Spec,
    exception: ExceptionSpec,
    step: RecoveryStep,
    raised: Raised,
    entry: TaskEntry,
    recoveries: int,
) -> OwnStep:
    where = f"{spec.place(step.span)}: {step.entity.value} {step.resource}.{step.operation}"
    handler = spec.handler(step.resource, step.operation)
    offered = OFFERED.get(step.entity)
    if handler is None and offered is not None and (step.resource, step.operation) not in offered:
        names = ", ".join(sorted(f"{r}.{o}" for r, o in offered))
        raise RecoveryError(f"{where}: not offered", hint=f"{step.entity.value} offers {names}")
    context = context_of(entry)
    suspect = find_suspect(raised.evidence, context.nodes, ())
    try:
        values = capture_values(raised, context, suspect.node)
        given = step.arguments if handler is not None else of_attempt(step.arguments, recoveries)
        arguments = substitute(split_command(given), values)
        # A workflow manager reads its arguments itself, and needs fewer of them than a job.
        if handler is None and step.entity is not Entity.WMS:
            arguments = checked(step.resource, step.operation, arguments)
    except ValueError as error:
        raise RecoveryError(f"{where}: {error}", hint="correct the step's arguments") from None
    about_node = step.resource == ResourceKind.NODE
    return OwnStep(
        step=msgspec.structs.replace(step, arguments=arguments),
        handler=handler,
        suspect=suspect.node if about_node else "",
        because=suspect.because if about_node else "",
        level=suspect.level if about_node else 0,
    )


def plan_step(own: OwnStep, recovery: str, index: int, raised: Raised) -> PlanStep:
    """Return a step in the form that handlers and job operations take.

    Args:
        own: the coordinator's own step.
        recovery: the recovery's id.
        index: the step's index among the own steps.
        raised: the exception with its evidence.
    """
    return PlanStep(
        id=f"{recovery}.{own.step.entity.value}.{index}",
        resource=own.step.resource,
        operation=own.step.operation,
        arguments=own.step.arguments,
        handler=own.handler,
        suspect=own.suspect,
        because=own.because,
        raised=raised,
    )
