"""What the adaptive resource scaler (ARS) is told, what it asks for, and what it remembers.

One core serves the simulator and the real runner. Both tell it counts, and keep the tasks' names.
"""

from __future__ import annotations

import msgspec

from whesl.cloud.core.plan_records import Purpose, Settings


class StageCount(msgspec.Struct, frozen=True, kw_only=True):
    """How one stage stands.

    Attributes:
        done: tasks, on either side.
        ready: tasks whose parents are done, not yet running, in both queues.
        running: tasks.
        hpc_waiting: requests that the cluster has not granted.
        hpc_running: executors on the cluster.
        hpc_staying: of those, the ones whose time goes on for half an hour and more.
        cloud_scheduled, cloud_backup: instances by purpose: starting ones too, none whose end has come.
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
    """All stages, in the order of the workflow's."""

    stages: tuple[StageCount, ...]


class LongInterval(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An hour of the schedule begins."""

    observation: Observation


class ShortInterval(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Five minutes are over."""

    observation: Observation


class PaceMeasured(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Tasks of a stage took longer or shorter than the profile says; the scaler counts on these from now on.

    Attributes:
        stage: its name.
        hpc, cloud: mean seconds of a task; None leaves what was known.
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
    """Cancel requests that the cluster has not granted: at most ``count`` of those of ``stage``."""

    stage: str
    count: int


class StartInstances(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Start cloud instances; ``until`` is the end that is written down and given to each of them."""

    stage: str
    platform: str
    count: int
    purpose: Purpose
    until: float


class EndInstances(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End ``count`` instances of a stage after the task that each is working on, idle ones first."""

    stage: str
    count: int
    purpose: Purpose


class DeadlineAtRisk(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """At the pace of now the workflow ends at ``expected``, after its deadline."""

    expected: float
    deadline: float


Command = RequestNodes | WithdrawRequests | StartInstances | EndInstances | DeadlineAtRisk


class StageTable(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's part of the schedule by hours, as the scaler reads it.

    Attributes:
        stage: its name.
        tasks: how many.
        parents: places of its parents, and which of them are barriers.
        hpc, cloud: seconds of a task on either side; None where it cannot run there.
        platform: the instance type; '' for none.
        limit: most instances of it.
        nodes: of the cluster, by the hour in which they are asked for.
        hours: of those requests, likewise.
        whole: whether a task that is broken off begins anew.
        longest: hours of the longest request.
        instances: of the cloud, by hour.
        planned: tasks done at the end of each hour, by the schedule.
        end: when its last task is to be done, seconds since the epoch.
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
    """What the scaler remembers of a stage within the hour.

    Attributes:
        asked: nodes that the cluster was to give in this hour.
        backup: backup instances that were wanted last.
    """

    asked: int = 0
    backup: int = 0


class ScalerState(msgspec.Struct, frozen=True, kw_only=True):
    """The scaler between two events.

    Attributes:
        start, deadline: of the schedule, seconds since the epoch.
        settings: intervals and what is switched on.
        tables: the schedule, by stage in the workflow's order.
        hour: of the schedule; -1 before the first.
        stages: what is remembered, in the same order.
        warned: whether a miss of the deadline was told.
    """

    start: float
    deadline: float
    settings: Settings
    tables: tuple[StageTable, ...]
    hour: int = -1
    stages: tuple[StageMemory, ...] = ()
    warned: bool = False
