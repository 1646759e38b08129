"""PBS's words for states, and its exit statuses, in ours. Pure.

Letters and substates: qstat(1B), src/include/job.h of openpbs 23.06. Nodes: pbs_node_attributes(7B).
"""

from __future__ import annotations

from whesl.model.states import JobState, NodeState

ENDED = ("F", "X")  # finished; an element of an array that has ended
_LIVING = {
    "R": JobState.RUNNING,
    "B": JobState.RUNNING,  # an array of which elements have begun
    "S": JobState.RUNNING,  # suspended
    "U": JobState.RUNNING,  # suspended, since a person uses the workstation
    "E": JobState.COMPLETING,
    "Q": JobState.PENDING,
    "H": JobState.PENDING,
    "W": JobState.PENDING,
    "T": JobState.PENDING,
}
SUSPENDED = ("S", "U")
STARTS = 41  # substate: given to the execution daemon, which has not told yet that it runs
_TERMINATED = 91  # substate: deleted while it ran
# Exit_status below 0 is PBS's own.
_KILLED = {
    -4: JobState.NODE_FAIL,  # the execution daemon was started anew
    -5: JobState.NODE_FAIL,
    -6: JobState.NODE_FAIL,
    -20: JobState.NODE_FAIL,  # the job's first node was lost
    -26: JobState.OUT_OF_MEMORY,
    -27: JobState.OUT_OF_MEMORY,
    -28: JobState.TIMEOUT,
    -29: JobState.TIMEOUT,
}
_SIGNAL = 256  # what PBS adds to the number of the signal that ended a job's shell
_TERM = 15


def job_state(letter: str, substate: int | None = None, status: int | None = None) -> JobState:
    """Return a job's state.

    Args:
        letter: ``job_state``.
        substate: of a job that has ended, whether it was deleted or failed; None where it is not told.
        status: ``Exit_status``; None for a job that never ran, or runs.
    """
    if letter not in ENDED:
        return _LIVING.get(letter, JobState.UNKNOWN)
    if status in _KILLED:
        return _KILLED[status]
    # qdel ends a job by SIGTERM, whatever its script then ends with.
    if substate == _TERMINATED or status is None:
        return JobState.CANCELLED
    if status == 0:
        return JobState.COMPLETED
    if substate is None and status == _SIGNAL + _TERM:
        return JobState.CANCELLED
    return JobState.FAILED


def shell_status(status: int | None) -> int | None:
    """Return an ``Exit_status`` as a shell gives it (128 and the signal); None where it is PBS's own."""
    if status is None or status < 0:
        return None
    return 128 + status % _SIGNAL if status > _SIGNAL else status


def node_state(words: str) -> NodeState:
    """Return a node's state from PBS's words for it, separated by commas.

    A server that was started anew calls every node "state-unknown,down" until it has heard of it.
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
