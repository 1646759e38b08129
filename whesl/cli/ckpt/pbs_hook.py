"""``whesl ckpt install | remove``: PBS tells jobs that their node is predicted to fail."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl.cli.options import DRY_RUN, FILE, YES
from whesl.cli.parameters import option, parameters
from whesl.cli.placement.change_confirmation import confirmed
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from whesl.managers.resource.pbs.server_hook import ServerHook

HOOK = "whesl_ckpt"


@click.command()
@parameters
def install(
    *,
    predictions: Path | None = option(
        None, "Predictions that every node can read (`chains run --record`).", "FILE", type=FILE
    ),
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
) -> int:
    """Have PBS's nodes tell their jobs that the node is predicted to fail; for root on the server's host.

    A hook of PBS looks at each node's health as `whesl ckpt watch` does, twice a minute while jobs run there.
    """
    if predictions is not None and predictions.stat().st_mode & 0o022:
        raise UsageError(f"{predictions} can be written by others than its owner", hint="chmod go-w")
    options = [] if predictions is None else [f"--predictions={predictions.absolute()}"]
    words = [sys.executable, "-I", "-m", "whesl.placement.site.pbs.node_jobs", *options]
    configuration = msgspec.json.format(msgspec.json.encode({"command": words})).decode() + "\n"
    hook = _hook()
    lines = hook.install_lines(configuration)
    return _change(hook, lines, configuration, "the hook is installed", dry_run=dry_run, yes=yes)


@click.command()
@parameters
def remove(*, dry_run: bool = DRY_RUN, yes: bool = YES) -> int:
    """Take the hook of PBS out again."""
    hook = _hook()
    lines = hook.remove_lines()
    return _change(hook, lines, "", "the hook is not installed", dry_run=dry_run, yes=yes)


def _hook() -> ServerHook:
    from whesl.managers.resource.pbs.server_hook import ServerHook
    from whesl.placement.site import plugin_paths
    from whesl.placement.site.pbs.node_jobs import EVERY

    script = plugin_paths.find(f"pbs/{HOOK}.py").read_text()
    return ServerHook(HOOK, script, "exechost_periodic", EVERY, os.environ)


def _change(
    hook: ServerHook, lines: list[str], configuration: str, already: str, *, dry_run: bool, yes: bool
) -> int:
    for line in lines:
        click.echo(f"qmgr: {line}")
    if confirmed(lines, (), already, dry_run=dry_run, yes=yes):
        hook.carry_out(lines, configuration)
        click.echo("done; nodes have it within a minute")
    return 0
