"""A small workflow, a plan for it, and both sides on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whesl.cloud.core import scaler
from whesl.cloud.core.events import ScalerState
from whesl.cloud.core.pace import Pace
from whesl.cloud.core.records import (
    Assignment,
    Cost,
    DataFile,
    Dependency,
    Domain,
    Plan,
    Platform,
    Schedule,
    Settings,
    Stage,
    Task,
    Window,
    Workflow,
)
from whesl.local import daemons
from whesl.local.cluster import Cluster
from whesl.scheduling.records import Partition
from whesl.scheduling.records import Settings as ClusterSettings
from whesl.testing import standin

PLATFORM = Platform(name="c5a.4xlarge", domain=Domain.CLOUD, price=0.616, limit=4)
SIZE = 3200


def expected(workflow: Workflow, data: Path) -> dict[str, bytes]:
    """Compute what the outputs have to be, without running anything."""
    contents: dict[str, bytes] = {}
    for task in workflow.tasks:
        inputs = [
            contents[file.name] if file.name in contents else (data / file.name).read_bytes()
            for file in task.inputs
        ]
        contents |= standin.content({file.name: int(file.size) for file in task.outputs}, inputs)
    return contents


def task(
    name: str, stage: str, parents: Sequence[str], inputs: Sequence[str], seconds: float, ledger: Path
) -> Task:
    outputs = {f"{stage}/{name}.out": SIZE}
    return Task(
        name=name,
        stage=stage,
        parents=tuple(parents),
        command=standin.command(seconds, ledger, inputs, outputs),
        inputs=tuple(DataFile(name=one, size=SIZE) for one in inputs),
        outputs=tuple(DataFile(name=one, size=SIZE) for one in outputs),
    )


def two_stages(width: int, seconds: float, ledger: Path) -> Workflow:
    """``width`` first tasks, each with a child, and one that gathers."""
    tasks = [task(f"a{n}", "first", (), ["input"], seconds, ledger) for n in range(width)]
    tasks += [task(f"b{n}", "second", [f"a{n}"], [f"first/a{n}.out"], seconds, ledger) for n in range(width)]
    names = [f"b{n}" for n in range(width)]
    tasks.append(task("last", "gather", names, [f"second/{name}.out" for name in names], seconds, ledger))
    stages = (
        Stage(name="first", tasks=width, seconds=seconds),
        Stage(name="second", tasks=width, seconds=seconds, parents=(Dependency(parent="first"),)),
        Stage(name="gather", tasks=1, seconds=seconds, parents=(Dependency(parent="second", barrier=True),)),
    )
    return Workflow(name="two", stages=stages, tasks=tuple(tasks))


def plan(
    workflow: Workflow,
    *,
    nodes: int,
    instances: int,
    now: float,
    hours: int = 3,
    settings: Settings,
    backup: bool = True,
) -> Plan:
    """Every hour so many nodes and instances for each stage."""
    seconds = settings.long
    assignments = []
    for hour in range(hours):
        for stage in workflow.stages:
            share = stage.tasks / hours / 2
            assignments.append(
                Assignment(
                    hour=hour,
                    stage=stage.name,
                    domain=Domain.HPC,
                    platform="cluster",
                    nodes=nodes,
                    target=share,
                )
            )
            assignments.append(
                Assignment(
                    hour=hour,
                    stage=stage.name,
                    domain=Domain.CLOUD,
                    platform=PLATFORM.name,
                    nodes=instances,
                    target=share,
                )
            )
    windows = tuple(Window(stage=stage.name, start=0.0, end=hours * seconds) for stage in workflow.stages)
    schedule = Schedule(
        start=now, deadline=now + hours * seconds, assignments=tuple(assignments), windows=windows
    )
    if not backup:
        settings = msgspec.structs.replace(settings, backup=0.0)
    return Plan(
        schedule=schedule,
        cost=Cost(),
        expected_cost=0.0,
        probability=None,
        cluster_hours=0.0,
        cloud_hours=0.0,
        settings=settings,
    )


def initial(workflow: Workflow, plan: Plan, seconds: float) -> ScalerState:
    paces = tuple(
        Pace(stage=stage, hpc=seconds, cloud=seconds, platform=PLATFORM, number=number)
        for number, stage in enumerate(workflow.stages)
    )
    return scaler.begin(plan, paces)


def local_cluster(directory: Path, nodes: int) -> Cluster:
    """Start the cluster's side."""
    cluster = Cluster(str(directory))
    names = tuple(f"n{number:02}" for number in range(1, nodes + 1))
    settings = ClusterSettings(name="site", nodes=names, partitions=(Partition(name="main", nodes=names),))
    daemons.start(cluster, settings)
    return cluster
