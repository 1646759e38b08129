"""``whesl cloud status | events | report | stop``: show a run, and end it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from whesl.cli import completion_candidates
from whesl.cli.cloud.run_options_and_progress import show, told
from whesl.cli.options import FOLDER, PRINT_JSON
from whesl.cli.parameters import argument, option, parameters

_DIRECTORY: Path = argument(type=FOLDER, shell_complete=completion_candidates.cloud_runs)


@click.command()
@parameters
def status(*, directory: Path = _DIRECTORY, in_json: bool = PRINT_JSON) -> None:
    """Show the run in DIRECTORY as it is now; asks nobody, and works while its runner is dead."""
    from whesl.cloud.runner import run_lifecycle, summary

    now, place = time.time(), directory.absolute()
    state = run_lifecycle.state_of(place)
    show(summary.summary(state, now, carried=run_lifecycle.carried(place)), now, in_json=in_json)


@click.command()
@parameters
def events(
    *,
    directory: Path = _DIRECTORY,
    everything: bool = option(False, "Also what is only for the runner itself.", names="--all"),
    in_json: bool = PRINT_JSON,
) -> None:
    """Show what happened in the run in DIRECTORY, in order; with --json one record a line."""
    import msgspec

    from whesl.cloud.runner import run_lifecycle
    from whesl.cloud.runner import run_records as r
    from whesl.runtime.journal.store import Journal

    place = directory.absolute()
    run_lifecycle.setup_of(place)
    if not (place / "journal.db").exists():
        return
    with Journal(place / "journal.db", read_only=True) as journal:
        for entry in journal.read():
            kind = r.KINDS.get(entry.kind)
            if kind is None or (kind is r.Scaled and not everything):
                continue
            if in_json:
                click.echo(json.dumps({"time": entry.time, "kind": entry.kind, **entry.data}))
                continue
            text = told(msgspec.json.decode(bytes(entry.content), type=kind)) or entry.kind
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.time))
            click.echo(f"{stamp} {text}")


@click.command()
@parameters
def report(*, directory: Path = _DIRECTORY, in_json: bool = PRINT_JSON) -> None:
    """Sum up the run in DIRECTORY: tasks, sides, costs, and each output with its checksum."""
    from whesl.cloud.runner import run_lifecycle, summary

    now, place = time.time(), directory.absolute()
    state = run_lifecycle.state_of(place)
    found = summary.summary(state, now, carried=run_lifecycle.carried(place))
    outputs = {
        file.name: {domain.value: digest.sha256 for domain, digest in places.items()}
        for task in state.workflow.tasks
        for file in task.outputs
        if (places := state.files.get(file.name))
    }
    if in_json:
        click.echo(json.dumps({**summary.values(found), "outputs": outputs}, indent=2))
        return
    show(found, now, in_json=False)
    for name, sums in outputs.items():
        click.echo(f"  {next(iter(sums.values()))[:16]}  {name} ({', '.join(sums)})")


@click.command()
@parameters
def stop(
    *,
    directory: Path = _DIRECTORY,
    clean: bool = option(False, "Also remove its files in the cloud; results that lie there too."),
) -> int:
    """End the run in DIRECTORY and all its nodes and instances, whatever is done. Starts nothing.

    Waits until all have ended; also when its runner is dead.
    """
    from whesl.cloud.runner import run_lifecycle

    _ended(directory.absolute())
    if clean:
        run_lifecycle.clean(directory.absolute())
        click.echo("its files in the cloud are removed")
    return 0


def _ended(place: Path) -> None:
    from whesl.cli.cloud.run_options_and_progress import carry
    from whesl.cloud.runner import run_lifecycle, summary
    from whesl.model.errors import RefusedError, UsageError

    run_lifecycle.setup_of(place)
    if not run_lifecycle.started(place):
        raise UsageError(f"the run in {place} has not started", hint="there is nothing to end")
    (place / run_lifecycle.STOP).touch()
    unowned = False
    while True:
        try:
            carry(place, in_json=False)
            return
        except RefusedError:
            if run_lifecycle.state_of(place).ended is not None:
                break
            # The run's runner lives and will see the STOP file, or it has just died.
            dead = not run_lifecycle.carried(place)
            if unowned and dead:
                raise
            unowned = dead
        time.sleep(0.5)
    now = time.time()
    show(summary.summary(run_lifecycle.state_of(place), now), now, in_json=False)
