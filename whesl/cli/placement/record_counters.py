"""``whesl placement health``: this node's counters, as a record for learn."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import click
import msgspec

from whesl.cli.options import EXISTING_FOLDER, FOLDER
from whesl.cli.parameters import option, parameters
from whesl.model.errors import WheslError


@click.command()
@parameters
def health(
    *,
    node: str | None = option(None, "Its name in the scheduler [this host's, without its domain].", "NAME"),
    append: Path | None = option(
        None, "Append it to DIR/NODE.jsonl instead of printing it.", "DIR", type=FOLDER
    ),
    root: Path = option(
        Path("/"),
        "Read /sys and /proc below it [/].",
        "DIR",
        type=EXISTING_FOLDER,
    ),
    no_smart: bool = option(False, "Do not ask smartctl about disks."),
) -> None:
    """Record this node's counters of memory, disk and link errors, as far as they can be read.

    Run it on each node, from Slurm's HealthCheckProgram or a timer. learn --health takes the records; what
    counts is a counter that went up between two of them.
    """
    from whesl.placement.site.node_counters import read

    name = node or socket.gethostname().partition(".")[0]
    if "/" in name or name.startswith(".") or not name.isprintable():
        raise click.BadParameter(f"{name!r} is no name of a node", param_hint="--node")
    text = msgspec.json.encode(read(name, time.time(), root, smart=not no_smart)) + b"\n"
    if append is None:
        click.echo(text.decode(), nl=False)
        return
    try:
        append.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(append / f"{name}.jsonl", flags, 0o644)
        try:
            os.write(handle, text)
        finally:
            os.close(handle)
    except OSError as error:
        raise WheslError(f"cannot write below {append}: {error.strerror or error}") from error
