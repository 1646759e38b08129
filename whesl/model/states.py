"""States and their allowed order. A late message never moves anything backwards."""

from __future__ import annotations

from enum import Enum


class TaskState(str, Enum):
    """Life of one task (one job of the workflow) under its isolator."""

    REGISTERED = "registered"  # known from the workflow, nothing runs yet
    RUNNING = "running"  # an attempt runs
    RECOVERING = "recovering"  # an exception was raised, its steps are being done
    PAUSED = "paused"  # budget spent; the allocation is kept until a person decides
    ESCALATED = "escalated"  # the isolator gave up; the coordinator decides
    UNOBSERVED = "unobserved"  # its isolator is silent: neither running nor gone
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether no state follows this one."""
        return self in _FINAL

    def may_become(self, new: TaskState) -> bool:
        """Whether the step from this state to ``new`` is allowed."""
        return new is self or new in _TASK_ORDER[self]


_FINAL = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED})
_LIVE = frozenset(
    {
        TaskState.RUNNING,
        TaskState.RECOVERING,
        TaskState.PAUSED,
        TaskState.ESCALATED,
        TaskState.UNOBSERVED,
    }
)
_TASK_ORDER: dict[TaskState, frozenset[TaskState]] = {
    TaskState.REGISTERED: _LIVE | _FINAL,
    **{state: (_LIVE - {state}) | _FINAL for state in _LIVE},
    **{state: frozenset() for state in _FINAL},
}


class NodeState(str, Enum):
    """What is known of a node."""

    UP = "up"
    DRAINED = "drained"  # draining or drained: finishes what runs, takes nothing new
    DOWN = "down"
    RELEASED = "released"  # the task's job has given it back: of no use to the task, and not lost
    UNKNOWN = "unknown"  # could not observe; never treated as down

    @property
    def unusable(self) -> bool:
        """Whether nothing of the task can run there."""
        return self in (NodeState.DOWN, NodeState.RELEASED)


class JobState(str, Enum):
    """State of a scheduler's job, in Slurm's words."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETING = "COMPLETING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    PREEMPTED = "PREEMPTED"
    UNKNOWN = "UNKNOWN"  # a state that is not known here, or no answer; never treated as ended

    @property
    def ended(self) -> bool:
        """Whether the job has surely ended."""
        return self not in (JobState.PENDING, JobState.RUNNING, JobState.COMPLETING, JobState.UNKNOWN)
