"""Variables in which WHESL's submission command passes a job its spares and its user's requeue choice.

Standard library only, and few modules: the program that starts a task loads this module before the task runs.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

# "COUNT/ALL WORKFLOW/STEP": how many of all nodes that the step's job asks for are spares; the step may be
# ``ANY_STEP``. "COUNT WORKFLOW/STEP" where the job may not run on fewer nodes than it asks for.
GRANTED_SPARES = "WHESL_GRANTED_SPARES"
# "CHOICE WORKFLOW/STEP": the user's choice on requeues of the step's job: NOTHING, YES or NO.
REQUEUE_SAID = "WHESL_REQUEUE_SAID"
# "COUNT/ALL": the job's number of tasks without its spares, and with them, as Slurm tells it.
ASKED_TASKS = "WHESL_ASKED_TASKS"
# The step of a job whose script does not name its task.
ANY_STEP = "*"
# The user has made no choice: the resource manager may requeue the job until its isolator has registered.
NOTHING = "nothing"
YES, NO = "requeue", "no-requeue"


def inside(spares: int, requeue: str, workflow: str, step: str, nodes: int = 0) -> dict[str, str]:
    """Return the variables that pass a job its number of spares and its user's requeue choice.

    Args:
        spares: how many nodes of the job are spares.
        requeue: ``NOTHING``, ``YES`` or ``NO``; '' where the user's choice is unknown.
        workflow: the workflow's id.
        step: the step's name.
        nodes: how many nodes the job asks for; 0 where it may not run on fewer.
    """
    whose = f"{workflow}/{step}"
    known = {REQUEUE_SAID: f"{requeue} {whose}"} if requeue else {}
    return {GRANTED_SPARES: f"{spares}/{nodes} {whose}" if spares and nodes else f"{spares} {whose}", **known}


def spares_granted(environment: Mapping[str, str], workflow: str, step: str) -> tuple[int, int] | None:
    """Return how many nodes of a step's job are spares, and of how many; None where it is not told.

    The second number is 0 where the job may not run on fewer nodes.

    Args:
        environment: the job's environment.
        workflow: the workflow's id.
        step: the step's name.
    """
    said, _, whose = environment.get(GRANTED_SPARES, "").partition(" ")
    numbers = said.split("/")
    if len(numbers) > 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        return None
    if whose not in (f"{workflow}/{step}", f"{workflow}/{ANY_STEP}"):
        return None
    return int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0


def requeue_said(environment: Mapping[str, str], workflow: str, step: str) -> str:
    """Return the user's requeue choice, ``NOTHING``, ``YES`` or ``NO``; '' for a job submitted without WHESL.

    Args:
        environment: the job's environment.
        workflow: the workflow's id.
        step: the step's name.
    """
    said, _, whose = environment.get(REQUEUE_SAID, "").partition(" ")
    return said if whose == f"{workflow}/{step}" and said in (NOTHING, YES, NO) else ""
