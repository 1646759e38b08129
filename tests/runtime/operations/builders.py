"""Small factories for the recovery's tests."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.language.detections.exit import CodeRange, ExitDetection
from whesl.language.pattern_and_stream_records import Span
from whesl.language.spec import (
    Entity,
    ExceptionSpec,
    Level,
    OperationDeclaration,
    RecoveryStep,
    ResourceDeclaration,
    Spec,
)
from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Evidence, Raised
from whesl.model.workflow import Task
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_plan import Context, StepResult, make_plan

SPAN = Span(line=3, column=1, end_line=3, end_column=2)
NOW = 1_700_000_000.0
NODES = NodeSet(active=("n01", "n02", "n03"), spares=("n04", "n05"))
TASK = Task(id="w/step_1", step="step", instance="1", workspace="/old/w")


def evidence(line: str = "", **fields: Any) -> Evidence:
    return Evidence(**{"kind": "log", "time": NOW, "line": line, **fields})


def raised(*items: Evidence, exception: str = "E", ordinal: int = 1, time: float = NOW) -> Raised:
    return Raised(
        exception=exception,
        task=TASK.id,
        attempt=1,
        ordinal=ordinal,
        time=time,
        evidence=items or (evidence(),),
    )


def spec(
    *operations: tuple[str, dict[str, Any]],
    handler: str | None = None,
    entity: Entity = Entity.JOB,
    **fields: Any,
) -> Spec:
    """A specification with one exception E and these steps ("NODE.REPLACE", arguments)."""
    steps, resources = [], []
    for name, arguments in operations:
        resource, operation = name.split(".")
        steps.append(
            RecoveryStep(
                entity=entity, resource=resource, operation=operation, arguments=arguments, span=SPAN
            )
        )
        declared = OperationDeclaration(operation=operation, handler=handler)
        resources.append(ResourceDeclaration(resource=resource, operations=(declared,)))
    exception = ExceptionSpec(
        name="E",
        level=Level.JOB_LEVEL,
        jobs=("*",),
        detections=(ExitDetection(codes=(CodeRange(first=1, last=9),), span=SPAN),),
        steps=tuple(steps),
        span=SPAN,
        **fields,
    )
    return Spec(
        file="rules.esl",
        entities=(Entity.JOB,),
        levels=(Level.JOB_LEVEL,),
        resources=tuple(resources),
        exceptions=(exception,),
    )


def context(**fields: Any) -> Context:
    return Context(**{"task": TASK, "workspace": "/old/w", "nodes": NODES, **fields})


def step(
    name: str,
    arguments: dict[str, Any] | None = None,
    *items: Evidence,
    given: Context | None = None,
    handler: str | None = None,
    ordinal: int = 1,
    time: float = NOW,
) -> PlanStep:
    """One planned step."""
    return make_plan(
        spec((name, arguments or {}), handler=handler),
        raised(*items, ordinal=ordinal, time=time),
        given if given is not None else context(),
    )[0]


def advance(given: Context, result: StepResult) -> Context:
    """The context after a step."""
    return msgspec.structs.replace(
        given,
        configuration=result.configuration or given.configuration,
        nodes=result.nodes or given.nodes,
        bad_nodes=(*given.bad_nodes, *result.bad_nodes),
    )
