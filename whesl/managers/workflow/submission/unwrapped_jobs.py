"""Jobs that a workflow manager submits with scripts of its own, in which ``whesl exec`` stands somewhere.

Nothing in such a script tells its task, so all jobs of a workflow get the same: the spare nodes of the step
with the most, and ``--no-kill`` where the rules of any step act on lost nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from whesl.managers.resource.granted_spares_and_requeue import ANY_STEP
from whesl.managers.workflow.port import RunPlan
from whesl.managers.workflow.script_wrapping import WrappedScript

# "SPARES KEEPS WORKFLOW", in the workflow manager's environment.
_WANTED = "WHESL_JOBS_WANT"


def told(plan: RunPlan) -> dict[str, str]:
    """Return the variable that tells the ``sbatch`` in front what the jobs of a run need, {} for nothing."""
    spares = max((task.spares for task in plan.workflow.tasks), default=0)
    return {_WANTED: f"{spares} {int(plan.keeps)} {plan.workflow.id}"} if spares or plan.keeps else {}


def wanted(environment: Mapping[str, str]) -> WrappedScript | None:
    """Return what a job needs as the options of a wrapped script, None where nothing is told.

    Args:
        environment: the submission command's environment.
    """
    words = environment.get(_WANTED, "").split(" ")
    if len(words) != 3 or not words[0].isdecimal():
        return None
    return WrappedScript(workflow=words[2], step=ANY_STEP, spares=int(words[0]), keeps=words[1] == "1")
