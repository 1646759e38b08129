"""The profile's measurement (DPB): a sample of the tasks for each platform, and the profile from its run."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean, pstdev

import msgspec

from whesl.cloud.core import scaler
from whesl.cloud.core.plan_records import (
    DEFAULT_SECONDS,
    HOUR,
    Assignment,
    Cost,
    Domain,
    Measurement,
    Plan,
    Platform,
    Profile,
    Schedule,
    Settings,
    Stage,
    Task,
    Window,
    Workflow,
)
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.core.stage_speed import Pace
from whesl.cloud.runner.state import RunState
from whesl.model.errors import UsageError

_AT = " on "


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A sample to run: a workflow with a stage for each stage and platform, and the scaler's first state."""

    workflow: Workflow
    initial: ScalerState


def part(
    workflow: Workflow, platforms: tuple[Platform, ...], share: float, now: float, seconds: float
) -> Part:
    """Return the sample's tasks and their platforms.

    A sample contains a task only together with its parents. A small sample therefore lacks a stage that waits
    for all tasks of another one; the entries of such a stage are estimated.

    Args:
        workflow: the workflow, with its tasks.
        platforms: the platforms of the cluster and the cloud.
        share: share of each stage's tasks; each platform gets at least one task.
        now: seconds since the epoch.
        seconds: largest duration of the sample's run.

    Raises:
        UsageError: there are no tasks, or no platform for any stage.
    """
    if not workflow.tasks:
        raise UsageError(f"{workflow.name} is a table of stages: there are no tasks to run")
    able = {stage.name: [one for one in platforms if one.takes(stage.processor)] for stage in workflow.stages}
    quota = {
        stage.name: max(len(able[stage.name]), math.ceil(share * stage.tasks)) if able[stage.name] else 0
        for stage in workflow.stages
    }
    taken: Counter[str] = Counter()
    place: dict[str, str] = {}
    tasks: list[Task] = []
    order = {stage.name: number for number, stage in enumerate(workflow.stages)}
    for task in sorted(workflow.tasks, key=lambda one: order[one.stage]):
        if taken[task.stage] >= quota[task.stage] or any(parent not in place for parent in task.parents):
            continue
        kinds = able[task.stage]
        kind = kinds[taken[task.stage] % len(kinds)]
        taken[task.stage] += 1
        place[task.name] = kind.name
        tasks.append(msgspec.structs.replace(task, stage=f"{task.stage}{_AT}{kind.name}"))
    if not tasks:
        raise UsageError("no platform takes any stage", hint="prices of instances that do, or a cluster")
    named = {stage.name: stage for stage in workflow.stages}
    kinds_of = {one.name: one for one in platforms}
    counts = Counter(task.stage for task in tasks)
    stages: list[Stage] = []
    paces: list[Pace] = []
    assignments: list[Assignment] = []
    begun: set[str] = set()  # one instance of each type is enough, since it moves on to the next stage
    for name, count in counts.items():
        of, _, kind_name = name.rpartition(_AT)
        kind = kinds_of[kind_name]
        stages.append(Stage(name=name, tasks=count, processor=named[of].processor))
        known = named[of].seconds or DEFAULT_SECONDS
        hpc = known if kind.domain is Domain.HPC else None
        paces.append(
            Pace(
                stage=stages[-1],
                hpc=hpc,
                cloud=None if hpc else known,
                platform=None if hpc else msgspec.structs.replace(kind, limit=1),
                number=len(paces),
            )
        )
        assignments.append(
            Assignment(
                hour=0,
                stage=name,
                domain=kind.domain,
                platform=kind.name,
                nodes=0 if kind.name in begun else 1,
                target=count,
            )
        )
        begun.add(kind.name)
    schedule = Schedule(
        start=now,
        deadline=now + seconds,
        assignments=tuple(assignments),
        windows=tuple(Window(stage=stage.name, start=0.0, end=seconds) for stage in stages),
    )
    settings = Settings(long=max(seconds, HOUR), short=60.0, backup=0.0, rebalance=False)
    plan = Plan(
        schedule=schedule,
        cost=Cost(),
        expected_cost=0.0,
        probability=None,
        cluster_hours=0.0,
        cloud_hours=0.0,
        settings=settings,
    )
    return Part(
        workflow=Workflow(name=workflow.name, stages=tuple(stages), tasks=tuple(tasks)),
        initial=scaler.begin(plan, tuple(paces)),
    )


def of_same_tasks(workflow: Workflow, sample: Workflow) -> Workflow:
    """Return the part of a workflow with the tasks of a sample, each in the sample's stage.

    Args:
        workflow: the workflow.
        sample: the sample.
    """
    stages = {task.name: task.stage for task in sample.tasks}
    tasks = []
    for task in workflow.tasks:
        if task.name in stages:
            of, _, _ = stages[task.name].rpartition(_AT)
            stage = stages[task.name] if of == task.stage else f"{task.stage}{_AT}"
            tasks.append(msgspec.structs.replace(task, stage=stage))
    return msgspec.structs.replace(workflow, tasks=tuple(tasks))


def profile(state: RunState, now: float) -> Profile:
    """Return the profile that a sample's run has measured.

    Args:
        state: the state of the ended run.
        now: seconds since the epoch.
    """
    times: dict[str, list[float]] = {}
    read: dict[str, list[float]] = {}
    wrote: dict[str, list[float]] = {}
    for progress in state.tasks.values():
        if not progress.done:
            continue
        stage = progress.task.stage
        times.setdefault(stage, []).append(progress.seconds)
        for found, files in ((read, progress.task.inputs), (wrote, progress.task.outputs)):
            sizes = (
                next(iter(state.files[file.name].values())).size for file in files if file.name in state.files
            )
            found.setdefault(stage, []).append(float(sum(sizes)))
    entries = []
    for name, seconds in times.items():
        stage, _, platform = name.rpartition(_AT)
        entries.append(
            Measurement(
                stage=stage,
                platform=platform,
                seconds=fmean(seconds),
                deviation=pstdev(seconds),
                count=len(seconds),
                input_bytes=fmean(read[name]),
                output_bytes=fmean(wrote[name]),
            )
        )
    return Profile(
        workflow=state.workflow.name,
        measurements=tuple(entries),
        sampled=sum(len(seconds) for seconds in times.values()),
        seconds=(state.ended_at or now) - state.begun,
        cost=state.cost(state.ended_at or now),
        measured=now,
        copied=state.copied / state.copying if state.copying else 0.0,
    )
