"""Check for jobs that are declared as coupled but never run at the same time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whesl.model.workflow import Workflow


def apart_from_each_other(workflow: Workflow, jobs: Sequence[str]) -> str:
    """Return why globs couple no jobs, or jobs that wait for each other; "" for globs without error.

    Args:
        workflow: the workflow.
        jobs: the globs of one DECLARE COUPLED JOB.
    """
    alone = tuple(msgspec.structs.replace(task, beside=(), coupled=()) for task in workflow.tasks)
    made = msgspec.structs.replace(workflow, tasks=alone).with_coupled((jobs,))
    couples = {task.id: task.coupled for task in made.tasks if task.coupled}
    if not couples:
        return f"these jobs are of one step of {workflow.name}, and none of them is coupled with another"
    names = {task.id: task.name for task in workflow.tasks}
    for task in workflow.tasks:
        for other in couples.get(task.id, ()):
            if other in task.parents and other not in task.beside:
                return f"{names[task.id]} waits for the end of {names[other]}: they never run at once"
    return ""
