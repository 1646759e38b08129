"""Events, commands and state of the adaptive resource scaler (ARS).

The simulator and the real runner use the same scaler. They give it counts of tasks, without names.
"""

from __future__ import annotations

import msgspec

from whesl.cloud.core.plan_records import Purpose, Settings


class StageCount(msgspec.Struct, frozen=True, kw_only=True):
    """The present counts of one stage.

    Attributes:
        done: finished tasks, on both sides.
        ready: tasks in both queues, whose parents are done and which do not run yet.
        running: running tasks.
        hpc_waiting: requests that the cluster has not granted.
        hpc_running: executors on the cluster.
        hpc_staying: executors on the cluster that end in half an hour or later.
        cloud_scheduled, cloud_backup: instances by purpose, including those that are starting.
    """

    done: int = 0
    ready: int = 0
    running: int = 0
    hpc_waiting: int = 0
    hpc_running: int = 0
    hpc_staying: int = 0
    cloud_scheduled: int = 0
    cloud_backup: int = 0


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of all stages, in the workflow's order."""

    stages: tuple[StageCount, ...]


class LongInterval(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An hour of the schedule begins."""

    observation: Observation


class ShortInterval(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A short interval of five minutes begins."""

    observation: Observation


class PaceMeasured(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """New mean run times of a stage's tasks, which the scaler uses instead of the profile's.

    Attributes:
        stage: name of the stage.
        hpc, cloud: mean seconds of a task on either side; None leaves the known value.
    """

    stage: str
    hpc: float | None = None
    cloud: float | None = None


Event = LongInterval | ShortInterval | PaceMeasured


class RequestNodes(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Submit ``count`` requests for one node each to the cluster, with a time limit of ``seconds``."""

    stage: str
    count: int
    seconds: float


class WithdrawRequests(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Cancel at most ``count`` requests of ``stage`` that the cluster has not granted."""

    stage: str
    count: int


class StartInstances(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Start cloud instances, each with the end time ``until``."""

    stage: str
    platform: str
    count: int
    purpose: Purpose
    until: float


class EndInstances(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End ``count`` instances of a stage, idle ones first; a working instance finishes its task."""

    stage: str
    count: int
    purpose: Purpose


class DeadlineAtRisk(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """At its present pace the workflow ends at ``expected``, after its deadline."""

    expected: float
    deadline: float


Command = RequestNodes | WithdrawRequests | StartInstances | EndInstances | DeadlineAtRisk


class StageTable(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's part of the schedule by hours, as the scaler reads it.

    Attributes:
        stage: name of the stage.
        tasks: number of tasks.
        parents: for each parent its place in the workflow, and whether it is a barrier.
        hpc, cloud: seconds of a task on either side; None where it cannot run there.
        platform: the instance type; '' for none.
        limit: largest number of instances.
        nodes: number of cluster nodes to request, by hour.
        hours: length of these requests in hours, by hour.
        whole: whether an interrupted task starts again from its beginning.
        longest: hours of the longest request.
        instances: number of cloud instances, by hour.
        planned: number of tasks that the schedule has done at the end of each hour.
        end: planned end of the last task, seconds since the epoch.
    """

    stage: str
    tasks: int
    parents: tuple[tuple[int, bool], ...]
    hpc: float | None
    cloud: float | None
    platform: str
    limit: int
    nodes: tuple[int, ...]
    instances: tuple[int, ...]
    planned: tuple[float, ...]
    end: float
    hours: tuple[int, ...] = ()
    whole: bool = False
    longest: int = 1


class StageMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's state that the scaler keeps within the hour.

    Attributes:
        asked: number of cluster nodes that this hour needs.
        backup: number of backup instances that the last interval wanted.
    """

    asked: int = 0
    backup: int = 0


class ScalerState(msgspec.Struct, frozen=True, kw_only=True):
    """The scaler between two events.

    Attributes:
        start, deadline: begin and deadline of the schedule, seconds since the epoch.
        settings: intervals and switches.
        tables: the schedule, by stage in the workflow's order.
        hour: number of the schedule's hour, from 0; -1 before the first.
        stages: the stages' memory, in the workflow's order.
        warned: whether the scaler has reported that the deadline is at risk.
    """

    start: float
    deadline: float
    settings: Settings
    tables: tuple[StageTable, ...]
    hour: int = -1
    stages: tuple[StageMemory, ...] = ()
    warned: bool = False
