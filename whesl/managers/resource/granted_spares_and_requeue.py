"""Variables by which WHESL's submission command tells a job of its spares and of requeues.

Standard library only, and little of it: what starts a task loads this before the task runs.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

# How many nodes of the job are spares, and the task that this is said of.
GRANTED_SPARES = "WHESL_GRANTED_SPARES"
# What the user has said of running the job again, and the task that this is known of.
REQUEUE_SAID = "WHESL_REQUEUE_SAID"
# The user has said nothing: the resource manager may run the job again until its isolator was heard.
NOTHING = "nothing"
YES, NO = "requeue", "no-requeue"


def inside(spares: int, requeue: str, workflow: str, step: str) -> dict[str, str]:
    """Return the variables by which a job knows its spares, and what its user has said of a requeue.

    ``requeue`` is ``NOTHING``, ``YES`` or ``NO``; '' where it is not known.
    """
    whose = f"{workflow}/{step}"
    known = {REQUEUE_SAID: f"{requeue} {whose}"} if requeue else {}
    return {GRANTED_SPARES: f"{spares} {whose}", **known}


def spares_granted(environment: Mapping[str, str], workflow: str, step: str) -> int | None:
    """Return how many nodes of a job are spares, None when its submission did not say it of this one."""
    count, _, whose = environment.get(GRANTED_SPARES, "").partition(" ")
    known = count.isascii() and count.isdigit() and whose == f"{workflow}/{step}"
    return int(count) if known else None


def requeue_said(environment: Mapping[str, str], workflow: str, step: str) -> str:
    """Return ``NOTHING``, ``YES`` or ``NO``; '' for a job of which nobody knows, as one submitted by hand."""
    said, _, whose = environment.get(REQUEUE_SAID, "").partition(" ")
    return said if whose == f"{workflow}/{step}" and said in (NOTHING, YES, NO) else ""
