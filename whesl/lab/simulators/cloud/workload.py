"""The two workflows of the evaluation, OAI and RNASEQ, with stated run times and the platforms of Table 3.1.

OAI's output sizes are those of Table 4.2 of the document, its largest input (240 MB) and RNASEQ's (14.5 GB)
those of its section 3.5. The document prints no run times; the run times here are assumptions of this
project. Most stages take less than five minutes, as the document states.
"""

from __future__ import annotations

from typing import NamedTuple

from whesl.cloud.core.plan_records import Dependency, Domain, Platform, Processor, Stage, Workflow

MB, GB = 1e6, 1e9
# Assumed run times on each platform relative to the first platform. "cluster" has CPUs like Epyc Rome, and
# GPUs.
CPU = {"c5a.4xlarge": 1.0, "c4.4xlarge": 1.12, "c5n.4xlarge": 1.3, "cluster": 1.0}
GPU = {"g4ad.4xlarge": 1.0, "g3.4xlarge": 0.75, "g5.xlarge": 0.8, "cluster": 0.9}
# Standard deviation of the logarithm of a task's run time.
SPREAD = 0.25


class Task(NamedTuple):
    """A stage's stated properties: run time in seconds on the platform with factor 1, sizes in bytes."""

    name: str
    parents: tuple[str, ...]
    seconds: float
    processor: Processor
    input: float
    output: float


_C, _G = Processor.CPU, Processor.GPU
OAI = (
    Task("preprocess", (), 25.0, _C, 25 * MB, 28.2 * MB),
    Task("segmentation", ("preprocess",), 60.0, _G, 28.2 * MB, 76.8 * MB),
    Task("register_image_to_atlas", ("preprocess",), 150.0, _C, 28.2 * MB, 234.75 * MB),
    Task("extract_surface_mesh", ("segmentation",), 35.0, _C, 76.8 * MB, 5.99 * MB),
    Task("warp_mesh", ("extract_surface_mesh", "register_image_to_atlas"), 30.0, _C, 240 * MB, 2.09 * MB),
)
# Graph and sizes follow nf-core/rnaseq's main steps, except the largest input, which the document prints.
RNASEQ = (
    Task("fetch", (), 180.0, _C, 14.5 * GB, 14.5 * GB),
    Task("fastqc", ("fetch",), 150.0, _C, 14.5 * GB, 0.01 * GB),
    Task("trim", ("fetch",), 270.0, _C, 14.5 * GB, 9.0 * GB),
    Task("filter_rrna", ("trim",), 280.0, _C, 9.0 * GB, 7.0 * GB),
    Task("align", ("filter_rrna",), 900.0, _C, 7.0 * GB, 5.0 * GB),
    Task("sort", ("align",), 240.0, _C, 5.0 * GB, 4.5 * GB),
    Task("mark_duplicates", ("sort",), 260.0, _C, 4.5 * GB, 4.5 * GB),
    Task("assemble", ("mark_duplicates",), 250.0, _C, 4.5 * GB, 0.1 * GB),
    Task("count", ("mark_duplicates",), 150.0, _C, 4.5 * GB, 0.02 * GB),
    Task("coverage", ("mark_duplicates",), 140.0, _C, 4.5 * GB, 0.3 * GB),
    Task("quality", ("mark_duplicates",), 290.0, _C, 4.5 * GB, 0.05 * GB),
    Task("summary", ("assemble", "count", "quality"), 60.0, _C, 0.2 * GB, 0.01 * GB),
)
STATED = {"OAI": OAI, "RNASEQ": RNASEQ}
# Ranges of the numbers of inputs, from Table 3.3.
INPUTS = {"OAI": (12_000, 96_000), "RNASEQ": (1_000, 8_000)}
DEADLINES = (6, 12, 18, 24)


def workflow(name: str, inputs: int) -> Workflow:
    """Return a workflow in which each input is one task of every stage.

    Args:
        name: "OAI" or "RNASEQ".
        inputs: number of inputs.
    """
    return Workflow(
        name=name,
        stages=tuple(
            Stage(
                name=one.name,
                tasks=inputs,
                parents=tuple(Dependency(parent=parent) for parent in one.parents),
                processor=one.processor,
                input_bytes=one.input,
                output_bytes=one.output,
                checkpoints=True,  # executors on the cluster checkpoint before their hour ends
            )
            for one in STATED[name]
        ),
    )


def seconds(name: str, stage: str, platform: str) -> float:
    """Return the stated mean run time of a stage's task on a platform, in seconds.

    Args:
        name: "OAI" or "RNASEQ".
        stage: the stage's name.
        platform: the platform's name.
    """
    one = next(task for task in STATED[name] if task.name == stage)
    factors = GPU if one.processor is Processor.GPU else CPU
    # GPU platforms run CPU stages also, as slowly as the slowest CPU platform.
    return one.seconds * factors.get(platform, 1.3)


CLUSTER = Platform(name="cluster", domain=Domain.HPC, processor=Processor.GPU, start=0.0)
