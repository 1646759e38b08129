"""The scaler (ARS): requests nodes by the schedule every hour, releases unneeded backup every five minutes.

The simulator and the real runner call the same ``step(state, event, now)``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from whesl.cloud.core.plan_records import Domain, Plan, Purpose
from whesl.cloud.core.scaler_events import (
    Command,
    DeadlineAtRisk,
    EndInstances,
    Event,
    LongInterval,
    Observation,
    PaceMeasured,
    RequestNodes,
    ScalerState,
    StageCount,
    StageMemory,
    StageTable,
    StartInstances,
    WithdrawRequests,
)
from whesl.cloud.core.stage_speed import Pace, executor_tasks, request_hours

# Number of short intervals in which a late stage has to finish; WHESL's choice, not the document's.
LATE = 3.0


def begin(plan: Plan, paces: tuple[Pace, ...]) -> ScalerState:
    """Return the scaler's first state.

    Args:
        plan: the chosen plan.
        paces: the stages' speeds with which the plan was made.
    """
    schedule = plan.schedule
    hours = max((one.hour for one in schedule.assignments), default=-1) + 1
    place = {pace.stage.name: pace.number for pace in paces}
    nodes, instances, requests = ([[0] * hours for _ in paces] for _ in range(3))
    targets = [[0.0] * hours for _ in paces]
    for one in schedule.assignments:
        at = place[one.stage]
        (nodes if one.domain is Domain.HPC else instances)[at][one.hour] += one.nodes - one.stays
        requests[at][one.hour] = max(requests[at][one.hour], one.hours)
        targets[at][one.hour] += one.target
    ends = {window.stage: window.end for window in schedule.windows}
    tables = []
    for pace in paces:
        done, planned = 0.0, []
        for target in targets[pace.number]:
            done += target
            planned.append(min(done, float(pace.stage.tasks)))
        tables.append(
            StageTable(
                stage=pace.stage.name,
                tasks=pace.stage.tasks,
                parents=tuple((place[edge.parent], edge.barrier) for edge in pace.stage.parents),
                hpc=pace.hpc,
                cloud=pace.cloud,
                platform=pace.platform.name if pace.platform else "",
                limit=pace.platform.limit if pace.platform else 0,
                nodes=tuple(nodes[pace.number]),
                instances=tuple(instances[pace.number]),
                planned=tuple(planned),
                end=schedule.start + ends[pace.stage.name],
                hours=tuple(requests[pace.number]),
                whole=not pace.stage.checkpoints,
                longest=pace.longest,
            )
        )
    return ScalerState(
        start=schedule.start,
        deadline=schedule.deadline,
        settings=plan.settings,
        tables=tuple(tables),
        stages=tuple(StageMemory() for _ in paces),
    )


def step(state: ScalerState, event: Event, now: float) -> tuple[ScalerState, tuple[Command, ...]]:
    """Return the next state and the commands to carry out.

    Args:
        state: the state before the event.
        event: the begin of an interval with the present counts, or measured run times.
        now: seconds since the epoch.
    """
    if isinstance(event, PaceMeasured):
        tables = tuple(
            table
            if table.stage != event.stage
            else msgspec.structs.replace(
                table,
                hpc=event.hpc if event.hpc and table.hpc else table.hpc,
                cloud=event.cloud if event.cloud and table.cloud else table.cloud,
            )
            for table in state.tables
        )
        return msgspec.structs.replace(state, tables=tables), ()
    if isinstance(event, LongInterval):
        return _long(state, event.observation, now)
    return _short(state, event.observation, now)


def needs(state: ScalerState, observation: Observation, hour: int) -> list[float]:
    """Return the number of each stage's tasks that an hour has to do.

    With rebalancing, tasks that earlier hours have missed are added, and tasks that they did beyond the plan
    are subtracted. No stage gets more tasks than its parents can have fed by the end of the hour.

    Args:
        state: the scaler's state, with the schedule.
        observation: the present counts.
        hour: number of the schedule's hour, from 0.
    """
    found: list[float] = []
    for table, count in zip(state.tables, observation.stages, strict=True):
        planned = table.planned[min(hour, len(table.planned) - 1)] if table.planned else 0.0
        before = table.planned[min(hour, len(table.planned)) - 1] if hour > 0 and table.planned else 0.0
        if hour >= len(table.planned):
            planned = float(table.tasks)
        target = planned - (count.done if state.settings.rebalance else before)
        fed = float(table.tasks)
        for parent, barrier in table.parents:
            other = state.tables[parent]
            reached = min(float(other.tasks), observation.stages[parent].done + found[parent])
            share = math.floor(reached / other.tasks) if barrier else reached / max(1, other.tasks)
            fed = min(fed, share * table.tasks)
        found.append(max(0.0, min(target, table.tasks - count.done, fed - count.done)))
    return found


def _long(
    state: ScalerState, observation: Observation, now: float
) -> tuple[ScalerState, tuple[Command, ...]]:
    hour = state.hour + 1
    commands: list[Command] = []
    memories = []
    wanted = needs(state, observation, hour)
    until = now + state.settings.long
    for table, count, need in zip(state.tables, observation.stages, wanted, strict=True):
        room = _room(state, table, now)
        request = _request(state, table, hour, now)
        staying = count.hpc_staying if request.hours > 1 else 0
        need = max(0.0, need - staying * request.soon)
        planned = table.nodes[hour] if hour < len(table.nodes) else 0
        asked = min(planned, max(0, table.tasks - count.done - staying)) if request.each else 0
        if state.settings.rebalance and request.each:
            needed = _executors(need, 1.0, request.each)
            if table.cloud is None:
                # A stage that cannot run in the cloud catches up on the cluster.
                asked = max(asked, needed)
            elif request.hours > 1:
                asked = max(asked, min(needed, count.hpc_waiting))
        if count.hpc_waiting > asked:
            commands.append(WithdrawRequests(stage=table.stage, count=count.hpc_waiting - asked))
        elif asked > count.hpc_waiting:
            seconds = request.hours * state.settings.long
            commands.append(RequestNodes(stage=table.stage, count=asked - count.hpc_waiting, seconds=seconds))
        backup = 0
        if table.cloud is not None:
            instances = _instances(state, table, need - asked * request.soon, hour, room)
            _scheduled(commands, state, table, count, instances, hour, until)
            backup = min(math.ceil(state.settings.backup * asked - 1e-9), table.limit - instances)
            _backup(commands, table, count, backup, until)
        memories.append(StageMemory(asked=asked + staying, backup=backup))
    return msgspec.structs.replace(state, hour=hour, stages=tuple(memories)), tuple(commands)


class _Request(NamedTuple):
    """The request for one cluster node that begins in an hour.

    Attributes:
        hours: length of the request.
        each: tasks that the node does until its request ends, 0 where no task can end.
        soon: tasks that end within this hour; in a request for several hours, before the stage's end.
    """

    hours: int
    each: float
    soon: float


def _request(state: ScalerState, table: StageTable, hour: int, now: float) -> _Request:
    """Return a cluster node's request, long enough for a task that cannot be interrupted."""
    if not table.hpc:
        return _Request(1, 0.0, 0.0)
    long, room = state.settings.long, _room(state, table, now)
    if not table.whole:
        return _Request(1, room / table.hpc, room / table.hpc)
    planned = table.hours[hour] if hour < len(table.hours) else 1
    hours = max(planned, request_hours(table.hpc, long))
    if hours > table.longest:
        return _Request(1, 0.0, 0.0)
    life = hours * long
    soon = room if hours == 1 else max(room, table.end - now)
    return _Request(
        hours,
        executor_tasks(life, table.hpc, table.hpc, life),
        executor_tasks(life, table.hpc, table.hpc, soon),
    )


def _room(state: ScalerState, table: StageTable, now: float) -> float:
    """Return the seconds in which an hour's tasks have to be done.

    This is the whole hour, or its part before the end of the stage or the schedule. A stage that has passed
    its planned end catches up in ``LATE`` short intervals, with more instances for a shorter time.
    """
    room = min(state.settings.long, max(table.end - now, LATE * state.settings.short))
    # The lower limit is a sixtieth of the hour, not a minute, since hours may be shortened for a trial.
    return max(state.settings.long / 60, min(room, state.deadline - now))


def _instances(state: ScalerState, table: StageTable, rest: float, hour: int, room: float) -> int:
    """Return the number of instances that do the ``rest`` of an hour's tasks beside the cluster's nodes."""
    planned = table.instances[hour] if hour < len(table.instances) else 0
    if not state.settings.rebalance:
        return min(planned, table.limit)
    assert table.cloud is not None
    # Instances run for ``room`` seconds; in a shortened hour each of them does fewer tasks.
    return min(table.limit, _executors(rest, table.cloud, room))


def _executors(tasks: float, seconds: float, room: float) -> int:
    """Return the number of executors that do ``tasks`` in ``room`` seconds, at most one for each task."""
    return max(0, math.ceil(tasks * min(1.0, seconds / room) - 1e-9))


def _scheduled(
    commands: list[Command],
    state: ScalerState,
    table: StageTable,
    count: StageCount,
    instances: int,
    hour: int,
    until: float,
) -> None:
    """Start or end scheduled instances up to the wanted number; each new instance gets its planned end."""
    have = count.cloud_scheduled
    if have > instances:
        commands.append(EndInstances(stage=table.stage, count=have - instances, purpose=Purpose.SCHEDULED))
    ends: dict[float, int] = {}
    for number in range(have, instances):
        # The last hour in which the schedule still uses this instance.
        last = hour
        while last + 1 < len(table.instances) and table.instances[last + 1] > number:
            last += 1
        end = until + (last - hour) * state.settings.long
        ends[end] = ends.get(end, 0) + 1
    for end, number in ends.items():
        commands.append(
            StartInstances(
                stage=table.stage,
                platform=table.platform,
                count=number,
                purpose=Purpose.SCHEDULED,
                until=end,
            )
        )


def _backup(commands: list[Command], table: StageTable, count: StageCount, backup: int, until: float) -> None:
    """Start or end backup instances up to the wanted number; new ones run until the end of the hour."""
    have = count.cloud_backup
    if have > backup:
        commands.append(EndInstances(stage=table.stage, count=have - backup, purpose=Purpose.BACKUP))
    elif backup > have:
        commands.append(
            StartInstances(
                stage=table.stage,
                platform=table.platform,
                count=backup - have,
                purpose=Purpose.BACKUP,
                until=until,
            )
        )


def _short(
    state: ScalerState, observation: Observation, now: float
) -> tuple[ScalerState, tuple[Command, ...]]:
    commands: list[Command] = []
    memories = []
    for table, memory, count in zip(state.tables, state.stages, observation.stages, strict=True):
        missing = max(0, memory.asked - count.hpc_running)
        backup = min(memory.backup, math.ceil(state.settings.backup * missing - 1e-9))
        # More executors than unfinished tasks are idle; those that cost money are ended first.
        left = table.tasks - count.done
        idle = max(0, count.hpc_running + count.cloud_scheduled + min(count.cloud_backup, backup) - left)
        backup -= min(backup, idle)
        if count.cloud_backup > backup:
            surplus = count.cloud_backup - backup
            commands.append(EndInstances(stage=table.stage, count=surplus, purpose=Purpose.BACKUP))
        idle = min(count.cloud_scheduled, max(0, count.hpc_running + count.cloud_scheduled + backup - left))
        if idle:
            commands.append(EndInstances(stage=table.stage, count=idle, purpose=Purpose.SCHEDULED))
        if count.hpc_waiting and left <= count.running:
            commands.append(WithdrawRequests(stage=table.stage, count=count.hpc_waiting))
        memories.append(StageMemory(asked=memory.asked, backup=backup))
    state = msgspec.structs.replace(state, stages=tuple(memories))
    if not state.warned:
        late = expected(state, observation, now)
        if late > state.deadline + 1:
            commands.append(DeadlineAtRisk(expected=late, deadline=state.deadline))
            state = msgspec.structs.replace(state, warned=True)
    return state, tuple(commands)


def expected(state: ScalerState, observation: Observation, now: float) -> float:
    """Return the expected end of the workflow with the executors that can still be requested.

    Before the schedule's last hour the workflow can still catch up, so the critical path gives the end. In
    the last hour the present executors give it.

    Args:
        state: the scaler's state, with the schedule.
        observation: the present counts.
        now: seconds since the epoch.
    """
    last = now + state.settings.long >= state.deadline
    ends: list[float] = []
    for table, count in zip(state.tables, observation.stages, strict=True):
        left = table.tasks - count.done
        if left <= 0:
            ends.append(now)
            continue
        ready = max((ends[parent] for parent, _ in table.parents), default=now)
        end = ready + min((time for time in (table.hpc, table.cloud) if time), default=0.0)
        if last:
            rate = count.hpc_running / (table.hpc or math.inf)
            rate += (count.cloud_scheduled + count.cloud_backup) / (table.cloud or math.inf)
            if rate > 0:
                end = max(end, now + left / rate)
        ends.append(end)
    return max(ends, default=now)
