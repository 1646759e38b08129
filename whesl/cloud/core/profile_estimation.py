"""The profile (DPB): which tasks to measure, and estimates for stages without a measurement."""

from __future__ import annotations

import math
from statistics import fmean

import msgspec

from whesl.cloud.core.plan_records import (
    DEFAULT_SECONDS,
    HOUR,
    Measurement,
    Platform,
    Profile,
    Stage,
    Workflow,
)

# The document's size of the benchmark: 5 % of the tasks or one hour, whichever is reached first.
SHARE, LONGEST = 0.05, HOUR


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The number of a stage's tasks that the benchmark runs on one platform."""

    stage: str
    platform: str
    tasks: int


def sample(workflow: Workflow, platforms: tuple[Platform, ...]) -> tuple[Sample, ...]:
    """Return the benchmark's tasks: a share of each stage, spread over the platforms that can run the stage.

    Args:
        workflow: the workflow.
        platforms: the platforms of cluster and cloud.
    """
    found = []
    for stage in workflow.stages:
        able = [platform for platform in platforms if platform.takes(stage.processor)]
        # The counts of all platforms sum up to at most the stage's tasks, since each task runs only once.
        each = max(1, math.ceil(stage.tasks * SHARE / max(1, len(able))))
        left = stage.tasks
        for platform in able:
            count = min(each, left)
            left -= count
            if count:
                found.append(Sample(stage=stage.name, platform=platform.name, tasks=count))
    return tuple(found)


def sized(workflow: Workflow, measured: Profile) -> Workflow:
    """Return a workflow with measured data sizes; stages without a measurement keep their sizes.

    Args:
        workflow: the workflow, with the sizes that its description states.
        measured: the profile; a stage's size is the mean over its measured tasks on all platforms.
    """
    made = []
    for stage in workflow.stages:
        own = [one for one in measured.measurements if one.stage == stage.name and one.count]
        count = sum(one.count for one in own)
        if count:
            stage = msgspec.structs.replace(
                stage,
                input_bytes=sum(one.input_bytes * one.count for one in own) / count or stage.input_bytes,
                output_bytes=sum(one.output_bytes * one.count for one in own) / count or stage.output_bytes,
            )
        made.append(stage)
    return msgspec.structs.replace(workflow, stages=tuple(made))


def complete(workflow: Workflow, measured: Profile, platforms: tuple[Platform, ...]) -> Profile:
    """Return a profile with an entry for each stage on each platform that can run the stage.

    A missing run time is estimated by the first of these that exists: the run time that the workflow states;
    the run time on a measured platform, times the ratio of both platforms over the stages that were measured
    on both; the document's five minutes. ``Measurement.estimated`` names the choice.

    Args:
        workflow: the workflow.
        measured: a profile with any number of entries.
        platforms: the platforms of cluster and cloud.
    """
    entries = []
    for stage in workflow.stages:
        for platform in platforms:
            if not platform.takes(stage.processor):
                continue
            entry = measured.of(stage.name, platform.name)
            entries.append(entry or _estimated(stage, platform, measured))
    return msgspec.structs.replace(measured, workflow=workflow.name, measurements=tuple(entries))


def _estimated(stage: Stage, platform: Platform, measured: Profile) -> Measurement:
    def entry(seconds: float, why: str, deviation: float = 0.0) -> Measurement:
        return Measurement(
            stage=stage.name,
            platform=platform.name,
            seconds=seconds,
            deviation=deviation,
            input_bytes=stage.input_bytes,
            output_bytes=stage.output_bytes,
            estimated=why,
        )

    others = [one for one in measured.measurements if one.stage == stage.name and one.count]
    if others:
        nearest = max(others, key=lambda one: one.count)
        ratio = _ratio(measured, nearest.platform, platform.name)
        why = f"as on {nearest.platform}" + ("" if ratio == 1 else f" times {ratio:.2f}")
        return entry(nearest.seconds * ratio, why, nearest.deviation * ratio)
    if stage.seconds is not None:
        return entry(stage.seconds, "stated in the workflow")
    return entry(DEFAULT_SECONDS, "five minutes, since nothing was measured")


def _ratio(measured: Profile, known: str, wanted: str) -> float:
    """Return the mean ratio of run times, ``wanted`` to ``known``; 1 without stages measured on both."""
    ratios = []
    for one in measured.measurements:
        other = measured.of(one.stage, wanted) if one.platform == known and one.count else None
        if other is not None and other.count and one.seconds > 0:
            ratios.append(other.seconds / one.seconds)
    return fmean(ratios) if ratios else 1.0


def estimates(profile: Profile) -> tuple[str, ...]:
    """Return one line of text for each way in which entries were estimated."""
    ways: dict[str, list[str]] = {}
    for one in profile.measurements:
        if one.estimated:
            ways.setdefault(one.estimated, []).append(f"{one.stage} on {one.platform}")
    return tuple(
        f"{len(names)} run times are estimated ({why}): {', '.join(names[:3])}"
        + (", ..." if len(names) > 3 else "")
        for why, names in ways.items()
    )
