"""``whesl placement health``: this node's counters, as a record for learn."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import click
import msgspec

from whesl.cli.options import FOLDER
from whesl.model.errors import WheslError


@click.command()
@click.option("--node", metavar="NAME", help="Its name in the scheduler [this host's, without its domain].")
@click.option(
    "--append",
    type=FOLDER,
    metavar="DIR",
    help="Append it to DIR/NODE.jsonl instead of printing it.",
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("/"),
    metavar="DIR",
    help="Read /sys and /proc below it [/].",
)
@click.option("--no-smart", is_flag=True, help="Do not ask smartctl about disks.")
def health(node: str | None, append: Path | None, root: Path, no_smart: bool) -> None:
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
