"""``whesl placement install`` and ``remove`` for Flux."""

from __future__ import annotations

from pathlib import Path

import click

from whesl.cli.options import FILE, FOLDER
from whesl.cli.parameters import option
from whesl.cli.placement.change_confirmation import confirmed
from whesl.model.errors import UsageError, WheslError
from whesl.placement.site.flux import modprobe_file, module_loading
from whesl.placement.site.flux.module_loading import Options

PREDICTIONS: Path | None = option(
    None,
    "For Flux: jobs are placed by this model or table.",
    "PREDICTIONS",
    "--flux",
    type=FILE,
)
ACT = option(False, "Give jobs the policy's nodes; without it, only say so (Flux, PBS).", names="--act")
QUEUE: str | None = option(
    None,
    "Order of the queue (Flux); without it fifo, or what a live instance has.",
    choices=("fifo", "backfill"),
)
WAIT = option(
    0.0,
    "With --act: the longest that a job is held back for nodes that save more than it waits (Flux) [0].",
    "SECONDS",
    "--wait-for-better",
    least=0,
    most=1e9,
)
PACKAGES = option("", "Where Python of Flux or PBS finds WHESL, if not here.", "DIR")
MODPROBE: Path | None = option(
    None,
    "A directory of `flux modprobe` [the one of Flux's configuration].",
    "DIR",
    type=FOLDER,
)


def options(
    file: Path | str, queue: str | None, packages: str, *, act: bool, wait: float, despite: str | None
) -> Options:
    """Return the options of the scheduler module.

    Args:
        file: the file of the predictions.
        queue: the queue that the module serves; None for all.
        packages: the path of the Python packages that the module needs.
        act: whether the module places jobs; otherwise it only observes.
        wait: seconds that a job may wait for better nodes.
        despite: the verdict of a model that acts without a positive verdict; None for none.

    Raises UsageError; RefusedError for a model that may not act.
    """
    if wait and not act:
        raise UsageError("--wait-for-better without --act: a module that observes holds no job back")
    if act:
        # Imported only here, since it needs the extra.
        from whesl.placement.site.flux import prediction_source

        prediction_source.may_act(Path(file), despite)
    return Options(predictions=str(file), acts=act, queue=queue or "", wait=wait, packages=packages)


def install(options: Options, directory: Path | None, *, dry_run: bool, yes: bool) -> int:
    """Show the difference, ask, and write the module's file; return the exit status.

    Args:
        options: the options of the module.
        directory: the directory of the file; None for the usual one.
        dry_run: whether to show the difference only.
        yes: whether to write without asking.
    """
    file = modprobe_file.path(directory)
    module_loading.check(options)
    change = modprobe_file.difference(file, modprobe_file.text(options))
    click.echo(change, nl=False)
    if confirmed(change, (), str(file), dry_run=dry_run, yes=yes):
        modprobe_file.install(file, options)
        click.echo(
            "written; instances that start from now on load it. A live one: whesl placement load --flux"
        )
    return 0


def remove(directory: Path | None, *, dry_run: bool, yes: bool) -> int:
    """Remove the module's file, and unload the module from this process's instance; return the exit status.

    Args:
        directory: the directory of the file; None for the usual one.
        dry_run: whether to show the change only.
        yes: whether to remove without asking.
    """
    file = modprobe_file.path(directory)
    try:
        loaded = module_loading.scheduler() == module_loading.MODULE
    except WheslError:
        loaded = False  # this process is in no instance
    changes = [f"removes {file}"] if file.exists() else []
    if loaded:
        changes.append(f"puts Flux's own scheduler in the place of {module_loading.MODULE} in this instance")
    for change in changes:
        click.echo(change)
    if confirmed(changes, (), "it is neither installed nor loaded", dry_run=dry_run, yes=yes):
        modprobe_file.remove(file)
        if loaded:
            module_loading.remove()
        click.echo("removed")
    return 0
