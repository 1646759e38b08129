"""What the command in front of the scheduler's says, in the environment of a job that it submits.

Standard library only, and little of it: what starts a task loads this before the task runs.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

# How many nodes of the job are spares, and of which task's job that is said.
GRANTED_SPARES = "WHESL_GRANTED_SPARES"
# The task's job whose resource manager may run it again by itself, until its isolator has been heard.
REQUEUE_ALLOWED = "WHESL_REQUEUE_ALLOWED"


def granted(spares: int, workflow: str, step: str) -> str:
    """Return the value of ``GRANTED_SPARES``: how many spare nodes a submission asked for, and for whom."""
    return f"{spares} {workflow}/{step}"


def spares_granted(environment: Mapping[str, str], workflow: str, step: str) -> int | None:
    """Return how many nodes of a job are spares, None when its submission did not say it of this one."""
    count, _, whose = environment.get(GRANTED_SPARES, "").partition(" ")
    known = count.isascii() and count.isdigit() and whose == f"{workflow}/{step}"
    return int(count) if known else None


def requeue_allowed(environment: Mapping[str, str], workflow: str, step: str) -> bool:
    """Whether a job's submission said that its resource manager may run it again by itself."""
    return environment.get(REQUEUE_ALLOWED) == f"{workflow}/{step}"
