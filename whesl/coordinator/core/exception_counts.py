"""Exceptions of several tasks of a workflow, counted together. Pure.

An isolator counts its own task's exceptions and transforms them before anything is handled. The coordinator
counts those of all tasks by the same rules, so that what happens once in each of three tasks is seen as
happening three times. What an isolator has transformed already is not transformed again.
"""

from __future__ import annotations

from whesl.coordinator.core.state import numbered
from whesl.coordinator.core.transition import Transition
from whesl.detect.exception_transformation import transform
from whesl.model.evidence import Raised
from whesl.model.workflow import Task
from whesl.records import coordinator as records


def counted(transition: Transition, raised: Raised) -> str:
    """Count an exception, once for each ordinal of its task, and return what it became.

    Args:
        transition: the transition of the core.
        raised: as its isolator raised it.

    Returns the name of the exception to handle: ``raised.exception`` unless the workflow's counts say more.
    """
    entry = transition.task(raised.task)
    workflow = transition.state.workflows.get(entry.workflow) if entry else None
    if entry is None or workflow is None or workflow.spec is None:
        return raised.exception
    if numbered(entry.id, raised.ordinal, raised.time) in workflow.counted:
        return raised.exception
    first = raised.transformed_from[0] if raised.transformed_from else raised.exception
    task = Task(id=entry.id, step=entry.step, instance=entry.instance)
    became = transform(workflow.spec, task, workflow.history, first, entry.ours(raised.time, transition.now))
    own = became.exception in (raised.exception, *raised.transformed_from)
    transition.record(
        records.Counted(
            workflow=workflow.workflow.id,
            task=entry.id,
            ordinal=raised.ordinal,
            raised=raised.time,
            exception=first,
            became=raised.exception if own else became.exception,
            detail=became.detail,
            history=became.history,
        )
    )
    return raised.exception if own else became.exception
