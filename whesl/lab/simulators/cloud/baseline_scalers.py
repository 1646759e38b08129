"""The document's two baseline schedulers: Bicer et al., and Parsl on the cluster alone.

Each baseline decides from the same counts as the scaler, and knows the present number of idle nodes.
"""

from __future__ import annotations

import math

from whesl.cloud.core.plan_records import Purpose
from whesl.cloud.core.scaler_events import (
    Command,
    EndInstances,
    Observation,
    RequestNodes,
    ScalerState,
    StartInstances,
    WithdrawRequests,
)


def bicer(
    state: ScalerState, observation: Observation, idle: int, now: float, latency: float = 0.0
) -> tuple[Command, ...]:
    """Return the commands of the deadline algorithm of T. Bicer et al. (2012), as the document describes it.

    The remaining tasks of each stage have to end in the remaining time. The algorithm requests as many of the
    cluster's idle nodes as needed, until the deadline; requested nodes count as running. Cloud instances run
    the remaining tasks.

    Args:
        state: the workflow's stages and the deadline.
        observation: counts of tasks done, and of executors waiting and running.
        idle: number of idle nodes of the cluster.
        now: present time in seconds since the epoch.
        latency: time to move inputs, in seconds, subtracted from the remaining time.
    """
    commands: list[Command] = []
    time = max(300.0, state.deadline - now - latency)
    for table, count in zip(state.tables, observation.stages, strict=True):
        left = table.tasks - count.done
        have = count.hpc_running + count.hpc_waiting
        if left <= 0:
            if count.hpc_waiting:
                commands.append(WithdrawRequests(stage=table.stage, count=count.hpc_waiting))
            if count.cloud_scheduled:
                commands.append(
                    EndInstances(stage=table.stage, count=count.cloud_scheduled, purpose=Purpose.SCHEDULED)
                )
            continue
        if table.hpc:
            wanted = math.ceil(left * table.hpc / time)
            asked = min(max(0, wanted - have), idle)
            if asked:
                idle -= asked
                have += asked
                commands.append(
                    RequestNodes(stage=table.stage, count=asked, seconds=max(600.0, state.deadline - now))
                )
        if table.cloud is None:
            continue
        rest = left - (have * time / table.hpc if table.hpc else 0.0)
        instances = min(table.limit, max(0, math.ceil(rest * table.cloud / time)))
        if instances > count.cloud_scheduled:
            commands.append(
                StartInstances(
                    stage=table.stage,
                    platform=table.platform,
                    count=instances - count.cloud_scheduled,
                    purpose=Purpose.SCHEDULED,
                    until=state.deadline,
                )
            )
        elif instances < count.cloud_scheduled:
            surplus = count.cloud_scheduled - instances
            commands.append(EndInstances(stage=table.stage, count=surplus, purpose=Purpose.SCHEDULED))
    return tuple(commands)


def parsl(state: ScalerState, observation: Observation, idle: int) -> tuple[Command, ...]:
    """Return the commands of Parsl on the cluster alone: nodes for an hour, for the first unfinished stage.

    In the document, Parsl sends the next request when the previous request is complete. The document's
    figures need more than one node at a time, so "complete" is taken as granted: Parsl requests all idle
    nodes one after the other, and one more that waits.

    Args:
        state: the workflow's stages.
        observation: counts of tasks done, and of executors waiting and running.
        idle: number of idle nodes of the cluster.
    """
    if any(count.hpc_waiting for count in observation.stages):
        return ()
    for table, count in zip(state.tables, observation.stages, strict=True):
        left = table.tasks - count.done - count.running
        if left > 0 and table.hpc and count.ready > 0:
            return (RequestNodes(stage=table.stage, count=min(idle + 1, left), seconds=state.settings.long),)
    return ()
