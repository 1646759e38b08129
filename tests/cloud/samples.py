"""Workflows and prices for tests."""

from __future__ import annotations

from collections.abc import Sequence

from whesl.cloud.core import profile_estimation, stage_speed
from whesl.cloud.core.plan_records import (
    Dependency,
    Domain,
    Platform,
    PriceList,
    Processor,
    Profile,
    Stage,
    Workflow,
)

# Table 3.1 of the document.
PRICES = PriceList(
    dated="2026-01-01",
    source="tests",
    currency="USD",
    platforms=tuple(
        Platform(name=name, domain=Domain.CLOUD, price=price, processor=Processor(kind))
        for name, price, kind in (
            ("c5a.4xlarge", 0.616, "cpu"),
            ("c4.4xlarge", 0.796, "cpu"),
            ("g4ad.4xlarge", 0.867, "gpu"),
            ("g5.xlarge", 1.006, "gpu"),
        )
    ),
    read=0.03,
    write=0.06,
    leaving=0.09,
)
CLUSTER = stage_speed.cluster_nodes(gpu=True)


def stage(
    name: str,
    tasks: int,
    parents: Sequence[str] = (),
    seconds: float | None = None,
    *,
    gpu: bool = False,
    barrier: bool = False,
    output_bytes: float = 0.0,
) -> Stage:
    """Return a stage."""
    return Stage(
        name=name,
        tasks=tasks,
        parents=tuple(Dependency(parent=parent, barrier=barrier) for parent in parents),
        seconds=seconds,
        processor=Processor.GPU if gpu else Processor.CPU,
        output_bytes=output_bytes,
    )


def workflow(*stages: Stage) -> Workflow:
    """Return a workflow."""
    return Workflow(name="w", stages=stages)


def oai(images: int) -> Workflow:
    """Return the OAI workflow's shape with run times that are easy to follow."""
    return workflow(
        stage("preprocess", images, [], 30),
        stage("segmentation", images, ["preprocess"], 60, gpu=True),
        stage("register_image_to_atlas", images, ["preprocess"], 150),
        stage("extract_surface_mesh", images, ["segmentation"], 30),
        stage("warp_mesh", images, ["extract_surface_mesh", "register_image_to_atlas"], 30),
    )


def complete(flow: Workflow) -> Profile:
    """Return a profile of what the workflow states."""
    return profile_estimation.complete(flow, Profile(workflow=flow.name), (CLUSTER, *PRICES.platforms))
