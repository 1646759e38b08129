"""Translates PBS's job states, node states and exit statuses into the port's. Pure.

Sources: qstat(1B) and src/include/job.h of openpbs 23.06 for jobs, pbs_node_attributes(7B) for nodes.
"""

from __future__ import annotations

from whesl.model.states import JobState, NodeState

ENDED = ("F", "X")  # F: a finished job; X: an ended element of an array
_LIVING = {
    "R": JobState.RUNNING,
    "B": JobState.RUNNING,  # an array with elements that have begun
    "S": JobState.RUNNING,  # suspended
    "U": JobState.RUNNING,  # suspended, because a person uses the workstation
    "E": JobState.COMPLETING,
    "Q": JobState.PENDING,
    "H": JobState.PENDING,
    "W": JobState.PENDING,
    "T": JobState.PENDING,
}
SUSPENDED = ("S", "U")
STARTS = 41  # the substate of a job that the execution daemon has got, but not yet reported as running
_TERMINATED = 91  # the substate of a job that was deleted while it ran
# An Exit_status below 0 is PBS's own code for the cause of the end.
_KILLED = {
    -4: JobState.NODE_FAIL,  # the execution daemon was restarted
    -5: JobState.NODE_FAIL,
    -6: JobState.NODE_FAIL,
    -20: JobState.NODE_FAIL,  # the job's first node was lost
    -26: JobState.OUT_OF_MEMORY,
    -27: JobState.OUT_OF_MEMORY,
    -28: JobState.TIMEOUT,
    -29: JobState.TIMEOUT,
}
_SIGNAL = 256  # PBS adds this to the number of the signal that ended a job's shell
_TERM = 15


def job_state(letter: str, substate: int | None = None, status: int | None = None) -> JobState:
    """Return a job's state.

    Args:
        letter: PBS's ``job_state``.
        substate: PBS's ``substate``, by which a deleted job differs from a failed one; None where it is
            unknown.
        status: PBS's ``Exit_status``; None for a job that runs or never ran.
    """
    if letter not in ENDED:
        return _LIVING.get(letter, JobState.UNKNOWN)
    if status in _KILLED:
        return _KILLED[status]
    # A deleted job (qdel) gets SIGTERM, and counts as cancelled whatever status its script ends with.
    if substate == _TERMINATED or status is None:
        return JobState.CANCELLED
    if status == 0:
        return JobState.COMPLETED
    if substate is None and status == _SIGNAL + _TERM:
        return JobState.CANCELLED
    return JobState.FAILED


def shell_status(status: int | None) -> int | None:
    """Return an ``Exit_status`` as a shell gives it (128 + n for signal n); None for PBS's own codes."""
    if status is None or status < 0:
        return None
    return 128 + status % _SIGNAL if status > _SIGNAL else status


def node_state(words: str) -> NodeState:
    """Return a node's state from PBS's words, which are separated by commas.

    A restarted server calls every node "state-unknown,down" until the node has reported.
    """
    told = {word.strip().lower() for word in words.split(",")}
    if told & {"state-unknown", "stale", "unresolvable", ""}:
        return NodeState.UNKNOWN
    if "down" in told:
        return NodeState.DOWN
    if told & {
        "offline",
        "maintenance",
        "provisioning",
        "wait-provisioning",
        "sleep",
        "powered-off",
        "initializing",
    }:
        return NodeState.DRAINED
    return NodeState.UP
