"""What the adaptive resource scaler (ARS) is told, what it asks for, and what it remembers.

One core serves the simulator and the real runner. Both tell it counts, and keep the tasks' names.
"""

from __future__ import annotations

import msgspec

from whesl.cloud.core.records import Plan, Profile, Purpose


class StageCount(msgspec.Struct, frozen=True, kw_only=True):
    """How one stage stands.

    Attributes:
        done: tasks, on either side.
        ready: tasks whose parents are done, not yet running, in both queues.
        running: tasks.
        hpc_waiting: one-hour requests that the cluster has not granted.
        hpc_running: executors on the cluster.
        cloud_scheduled, cloud_backup: instances by purpose, those that are starting included.
    """

    done: int = 0
    ready: int = 0
    running: int = 0
    hpc_waiting: int = 0
    hpc_running: int = 0
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


class ProfileUpdated(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Missing entries of the profile have been measured."""

    profile: Profile


Event = LongInterval | ShortInterval | ProfileUpdated


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


class StageMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What the scaler remembers of a stage within the hour.

    Attributes:
        asked: nodes asked of the cluster in this hour.
        granted: how many of them have run.
        backup: backup instances that are still wanted.
        target: tasks that are to be done at the hour's end, counted from the workflow's start.
    """

    asked: int = 0
    granted: int = 0
    backup: int = 0
    target: float = 0.0


class ScalerState(msgspec.Struct, frozen=True, kw_only=True):
    """The scaler between two events; ``hour`` is -1 before the first."""

    plan: Plan
    profile: Profile
    hour: int = -1
    stages: tuple[StageMemory, ...] = ()
    warned: bool = False
