"""The coordinator's own steps of a recovery: those whose entity is not the job itself. Pure."""

from __future__ import annotations

import msgspec

from whesl.language.spec import Entity, ExceptionSpec, Operation, RecoveryStep, ResourceKind, Spec
from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Raised
from whesl.model.workflow import Task
from whesl.runtime.coordinator.core.state import TaskEntry
from whesl.runtime.journal.records.coordinator_records import OwnStep
from whesl.runtime.journal.records.plan_step import PlanStep
from whesl.runtime.operations.plan import Context, RecoveryError, capture_values, substitute
from whesl.runtime.operations.step_arguments import checked, of_attempt, split_command
from whesl.runtime.operations.suspect_node import find_suspect

# The operations of each entity, beside custom handlers. Those of WMS are its manager's.
_OFFERED = {
    Entity.SCHEDULER: frozenset(
        {
            (ResourceKind.NODE, Operation.REMOVE),
            (ResourceKind.NODE, Operation.REPLACE),
            (ResourceKind.JOB, Operation.REMOVE),
            (ResourceKind.JOB, Operation.REPLACE),
        }
    ),
    Entity.DEPENDENT_JOB: frozenset(
        {
            (ResourceKind.FILESYSTEM, Operation.ADD),
            (ResourceKind.FILESYSTEM, Operation.REMOVE),
            (ResourceKind.FILESYSTEM, Operation.REPLACE),
            (ResourceKind.NODE, Operation.REMOVE),
            (ResourceKind.JOB, Operation.REMOVE),
            (ResourceKind.JOB, Operation.REPLACE),
        }
    ),
}


def own_steps(
    spec: Spec, raised: Raised, exception: str, entry: TaskEntry, recoveries: int
) -> tuple[OwnStep, ...]:
    """Return the coordinator's steps of an exception's recovery, in the specification's order.

    Args:
        spec: the workflow's.
        raised: with its evidence, from which captures and the suspect come.
        exception: the one whose steps are meant; after a transformation not ``raised.exception``.
        entry: the task.
        recoveries: how often it was recovered from this exception before.

    Raises RecoveryError for an argument that cannot be filled in and for what an entity does not offer.
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
    """Return an exception of a specification, None for one it lacks."""
    return next((found for found in spec.exceptions if found.name == name), None) if spec else None


def context_of(entry: TaskEntry) -> Context:
    """Return the task's data for planning and handlers, as far as the coordinator knows it."""
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
    offered = _OFFERED.get(step.entity)
    if handler is None and offered is not None and (step.resource, step.operation) not in offered:
        names = ", ".join(sorted(f"{r}.{o}" for r, o in offered))
        raise RecoveryError(f"{where}: not offered", hint=f"{step.entity.value} offers {names}")
    context = context_of(entry)
    suspect = find_suspect(raised.evidence, context.nodes, (), ())
    try:
        values = capture_values(raised, context, suspect.node)
        given = step.arguments if handler is not None else of_attempt(step.arguments, recoveries)
        arguments = substitute(split_command(given), values)
        # A workflow manager reads its arguments itself, and does without some that a job needs.
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
    """Return a step in the form that handlers and job operations take."""
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
