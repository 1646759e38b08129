"""Arithmetic of makespans: work that a failure really costs, paths through a workflow, waits in the queue.

Pure functions over times that were measured; ``full_failure.py`` and ``peers.py`` do the measuring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Stamps = Sequence[tuple[float, str]]


def lost_work(stamps: Stamps) -> float:
    """Return the seconds of work that failures took from one task, and that have to be done again.

    That is the time from the last checkpoint, or from the start when there was none since, to the failure.
    What passes from the failure to the next start is not work, but the cost of the recovery.

    Args:
        stamps: seconds and word (``start``, ``checkpoint``, ``failed``, ``end``) in the order of time.
    """
    lost, kept = 0.0, None
    for time, word in stamps:
        if word == "failed":
            lost += time - kept if kept is not None else 0.0
            kept = None
        elif word in ("start", "checkpoint") and (word == "checkpoint" or kept is None):
            kept = time
    return lost


def pauses(stamps: Stamps) -> list[float]:
    """Return for each failure the seconds until the program started again.

    Args:
        stamps: as for ``lost_work``. A failure after which nothing started has no pause.
    """
    found, failed = [], None
    for time, word in stamps:
        if word == "failed":
            failed = time
        elif word == "start" and failed is not None:
            found.append(time - failed)
            failed = None
    return found


def span(stamps: Stamps) -> float:
    """Return the seconds from a task's first start to its last end."""
    return max(t for t, word in stamps if word == "end") - min(t for t, word in stamps if word == "start")


def longest_path(seconds: Mapping[str, float], parents: Mapping[str, Sequence[str]]) -> float:
    """Return the length of the critical path: of all chains of tasks the one that takes longest.

    Args:
        seconds: what each task takes.
        parents: the tasks that have to end before it; those without may be left out.

    Raises:
        ValueError: tasks wait for each other in a circle.
    """
    ends: dict[str, float] = {}
    waiting = list(seconds)
    while waiting:
        ready = [task for task in waiting if all(parent in ends for parent in parents.get(task, ()))]
        if not ready:
            raise ValueError(f"tasks wait for each other, or for unknown ones: {', '.join(waiting)}")
        for task in ready:
            begin = max((ends[parent] for parent in parents.get(task, ())), default=0.0)
            ends[task] = begin + seconds[task]
        waiting = [task for task in waiting if task not in ends]
    return max(ends.values(), default=0.0)


def unavoidable(
    makespan: float,
    seconds: Mapping[str, float],
    lost: Mapping[str, float],
    parents: Mapping[str, Sequence[str]],
) -> float:
    """Return the makespan that remains when recovery itself costs nothing: only lost work is done again.

    Args:
        makespan: seconds of the run without failures and without protection.
        seconds: what each task took in it.
        lost: work that failures took from each task, seconds; tasks without may be left out.
        parents: as for ``longest_path``.
    """
    with_loss = {task: took + lost.get(task, 0.0) for task, took in seconds.items()}
    return makespan + longest_path(with_loss, parents) - longest_path(seconds, parents)


def with_waits(makespan: float, passes: int, wait: float) -> float:
    """Return the makespan when each pass through the queue on the critical path takes ``wait`` seconds more.

    Args:
        makespan: seconds, measured without waits.
        passes: how often a job of the critical path was put into the queue, first times included.
        wait: seconds in the queue.
    """
    return makespan + passes * wait


def saved(ours: float, theirs: float) -> float:
    """Return by how many per cent ``ours`` is shorter than ``theirs``; negative when it is longer."""
    return (theirs - ours) / theirs * 100
