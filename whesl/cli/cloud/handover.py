"""``whesl cloud handover``: one task on another cluster of the user's."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click

from whesl.cli.options import FILE
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import UsageError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # what a shell can export


@click.command(context_settings={"allow_interspersed_args": False})
@parameters
def handover(
    *,
    cluster: str = argument(),
    command: tuple[str, ...] = argument(nargs=-1, type=click.UNPROCESSED, required=True),
    inputs: tuple[str, ...] = option(
        (), "Files that are copied there; again for more.", "GLOB", "--input", multiple=True
    ),
    outputs: tuple[str, ...] = option(
        ("*",), "Files that are brought back [all that it wrote].", "GLOB", "--output", multiple=True
    ),
    exported: tuple[str, ...] = option((), "Variables that it gets, too.", "NAME", "--export", multiple=True),
    nodes: int = option(1, "Nodes that it needs [{default}].", "N", least=1),
    time_limit: float | None = option(None, "Time limit [the partition's].", "MINUTES", "--time", above=0),
    key: str = option("", "The task's name [WHESL_TASK, else the directory].", "NAME"),
    clusters: Path | None = option(
        None, "The clusters [WHESL_HOME/clusters.toml].", "TOML", "--clusters", type=FILE
    ),
) -> int:
    """Run COMMAND on CLUSTER by ssh and its Slurm, Flux or PBS, as if it ran here.

    Its output comes as it is written, its files when it has ended. A signal cancels it there. What an earlier
    call for the same task may have left there is ended first.
    """
    from whesl.cloud.handover.clusters import FILE as CLUSTERS
    from whesl.cloud.handover.clusters import load
    from whesl.cloud.handover.other_cluster import OtherCluster
    from whesl.cloud.handover.task_handover import Handing, Task
    from whesl.runtime.wire.keys import home

    for name in exported:
        if not _VARIABLE.fullmatch(name):
            raise UsageError(f"--export {name!r} is not the name of a variable")
        if name not in os.environ:
            raise UsageError(f"--export {name}: no variable of this name is set here")
    place = home()
    file = clusters or place / CLUSTERS
    settings = load(file, cluster)
    task = Task(
        key=key or os.environ.get("WHESL_TASK") or str(Path.cwd()),
        directory=Path.cwd(),
        command=command[1:] if command[0] == "--" else command,
        inputs=inputs,
        outputs=outputs,
        environment={name: os.environ[name] for name in exported},
        nodes=nodes,
        time_limit=time_limit,
        attempt=int(os.environ.get("WHESL_RESTART_COUNT") or 0) + 1,
        told=Path(configuration).parent if (configuration := os.environ.get("WHESL_RECONFIGURE")) else None,
    )
    return Handing(
        task,
        cluster,
        lambda name: OtherCluster(load(file, name)),
        place / "handovers",
        poll=settings.poll,
        patience=settings.patience,
        streams=(sys.stdout.buffer, sys.stderr.buffer),
    ).run()
