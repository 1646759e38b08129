"""A small workflow, a plan for it, and both sides on this machine."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.equipment import stand_in_task
from tests.waiting import until
from whesl.cloud.core import scaler
from whesl.cloud.core.plan_records import (
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
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.core.stage_speed import Pace
from whesl.cloud.providers.processes.provider import ProcessProvider
from whesl.cloud.runner import run_lifecycle as runs
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner import site_file as sites
from whesl.cloud.runner.cluster_and_cloud_executors import Side
from whesl.cloud.runner.events_and_commands import Limits
from whesl.cloud.runner.site_file import Cloud, Cluster, Processes, Site
from whesl.cloud.runner.state import RunState
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.cluster_directory import Cluster as LocalCluster
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Partition
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Settings as ClusterSettings
from whesl.runtime.journal.store import Journal

PLATFORM = Platform(name="c5a.4xlarge", domain=Domain.CLOUD, price=0.616, limit=4)
SIZE = 3200
PATIENCE = 100.0
HOUR = 40.0


def expected(workflow: Workflow, data: Path) -> dict[str, bytes]:
    """Compute what the outputs have to be, without running anything."""
    contents: dict[str, bytes] = {}
    for task in workflow.tasks:
        inputs = [
            contents[file.name] if file.name in contents else (data / file.name).read_bytes()
            for file in task.inputs
        ]
        contents |= stand_in_task.content({file.name: int(file.size) for file in task.outputs}, inputs)
    return contents


def task(
    name: str, stage: str, parents: Sequence[str], inputs: Sequence[str], seconds: float, ledger: Path
) -> Task:
    outputs = {f"{stage}/{name}.out": SIZE}
    return Task(
        name=name,
        stage=stage,
        parents=tuple(parents),
        command=stand_in_task.command(seconds, ledger, inputs, outputs),
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


def local_cluster(directory: Path, nodes: int) -> LocalCluster:
    """Start the cluster's side."""
    cluster = LocalCluster(str(directory))
    names = tuple(f"n{number:02}" for number in range(1, nodes + 1))
    settings = ClusterSettings(name="site", nodes=names, partitions=(Partition(name="main", nodes=names),))
    daemons.start(cluster, settings)
    return cluster


class World:
    """One run: its directory, and what has to come of it."""

    def __init__(self, tmp_path: Path, cluster: LocalCluster, **options: Any) -> None:
        self.place = tmp_path / "run"
        self.ledger = tmp_path / "ledger"
        self.workflow = two_stages(options.pop("width", 4), options.pop("seconds", 0.3), self.ledger)
        self.site = Site(
            cluster=Cluster(scheduler="local", directory=cluster.path),
            cloud=Cloud(processes=Processes(start_delay=0.1, capacity=6)),
            poll=0.2,
            again=0.3,
        )
        # The plan's instances are started, however fast the cluster is on this machine.
        settings = Settings(long=HOUR, short=1.0, rebalance=False)
        made = plan(self.workflow, now=time.time(), settings=settings, **options)
        first = initial(self.workflow, made, 1.0)
        self.setup = runs.begin(
            self.place, self.workflow, first, Limits(platforms=(PLATFORM,), again=0.3), self.site
        )
        data = self.place / "cluster" / "data"
        data.mkdir(parents=True)
        (data / "input").write_bytes(b"input")

    def sides(self) -> dict[Domain, Side]:
        return sites.sides(self.site, self.place, self.setup.run, (PLATFORM,))

    def right(self, state: RunState) -> None:
        """Nothing lost, nothing twice, nothing left running."""
        assert state.ended is not None and state.ended.complete, state.ended
        data = self.place / "cluster" / "data"
        for name, content in expected(self.workflow, data).items():
            path = data / name
            assert not path.exists() or path.read_bytes() == content, name
        assert (data / "gather" / "last.out").exists()
        ran = Counter(tuple(json.loads(line)["outputs"]) for line in self.ledger.read_text().splitlines())
        assert len(ran) == len(self.workflow.tasks)
        # A task runs again only when its executor was lost with it.
        assert sum(ran.values()) - len(ran) <= sum(one.lost for one in state.tasks.values())
        assert not any(executor.alive for executor in state.executors.values())
        provider = ProcessProvider(self.place / "instances")
        try:
            assert all(instance.gone for instance in provider.instances(self.setup.run))
        finally:
            provider.close()
        until(lambda: not self.left(), "nothing is left running", 30)

    def left(self) -> list[str]:
        """Return the processes that name the run's directory."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if (
                any(str(self.place).encode() in word for word in words)
                and int(path.parent.name) != os.getpid()
            ):
                found.append(b" ".join(words).decode())
        return found

    def records(self) -> list[r.Record]:
        with Journal(self.place / "journal.db", read_only=True) as journal:
            return [
                msgspec.json.decode(bytes(entry.content), type=r.KINDS[entry.kind])
                for entry in journal.read()
            ]
