"""The two schedulers that the document compares with: Bicer et al. and Parsl on the cluster alone.

Each decides from the same counts as the scaler, and knows how many nodes are idle at that moment.
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
    """Return what Bicer's algorithm for a deadline asks for (T. Bicer et al., 2012, as the document has it).

    What is left of each stage has to be done in the time that is left. Nodes of the cluster are asked for
    until the deadline, as many as are idle; those that were asked for count as if they ran. The cloud does
    the rest.

    Args:
        state: the workflow's stages and the deadline.
        observation: what is done, waits and runs.
        idle: nodes of the cluster.
        now: seconds since the epoch.
        latency: seconds in which inputs are moved, which it leaves out of the time.
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
    """Return what Parsl on the cluster alone asks for: nodes for an hour, for the first stage not done.

    The document sends the next request when the one before is complete. As its figures need more than one
    node at a time, "complete" is taken as granted: all idle nodes are asked for one after the other, and one
    waits.

    Args:
        state: the workflow's stages.
        observation: what is done, waits and runs.
        idle: nodes of the cluster.
    """
    if any(count.hpc_waiting for count in observation.stages):
        return ()
    for table, count in zip(state.tables, observation.stages, strict=True):
        left = table.tasks - count.done - count.running
        if left > 0 and table.hpc and count.ready > 0:
            return (RequestNodes(stage=table.stage, count=min(idle + 1, left), seconds=state.settings.long),)
    return ()
