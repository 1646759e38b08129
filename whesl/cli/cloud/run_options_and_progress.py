"""Shared parts of the commands that carry out a run: options, directory, payment, progress and summary."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli import completion_candidates
from whesl.cli.broken_pipe import steady
from whesl.cli.options import FILE, FOLDER, JSON
from whesl.cli.parameters import option
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whesl.cloud.core.plan_records import Workflow
    from whesl.cloud.runner import run_records as r
    from whesl.cloud.runner.site_file import Site


PAID = ("ec2", "slurm")  # clouds whose instances cost money


@dataclass(frozen=True)
class Place:
    """Options for a run's directory, cluster and cloud."""

    directory: Path | None = option(
        None, "The run's directory; default: by workflow.", "DIR", "--dir", type=FOLDER
    )
    data: Path | None = option(None, "Inputs and results; default: DIR/cluster/data.", "DIR", type=FOLDER)
    site_file: Path | None = option(
        None, "Cluster and cloud [WHESL_HOME/cloud.toml].", "TOML", "--site", type=FILE
    )
    scheduler: str | None = option(
        None,
        "slurm, flux or local, over the file's.",
        "NAME",
        shell_complete=completion_candidates.schedulers,
    )
    provider: str | None = option(
        None,
        "processes, ec2 or slurm, over the file's.",
        "NAME",
        "--cloud",
        shell_complete=completion_candidates.clouds,
    )
    gpu_nodes: bool = option(False, "The cluster's nodes have GPUs.")
    in_json: bool = JSON


def chosen_directory(directory: Path | None, workflow: Path, what: str) -> Path:
    """Return a run's directory: the given one, or one in the working directory with the workflow's name.

    Args:
        directory: the directory that the user gave, None for none.
        workflow: the workflow's file.
        what: the end of the directory's name.
    """
    if directory is not None:
        return directory.absolute()
    return Path(f"{workflow.name.partition('.')[0]}-{what}").absolute()


def link_data(place: Path, site: Site, data: Path | None) -> None:
    """Link the user's directory of inputs into the storage of the first side, the cluster if there is one.

    Args:
        place: the run's directory.
        site: the cluster and the cloud.
        data: the user's directory, checked by ``checked_data``; None for none.
    """
    if data is None:
        return
    if site.cluster.scheduler:
        given, store = site.cluster.store, Path(site.cluster.store or place / "cluster")
    else:
        given, store = site.cloud.store, Path(site.cloud.store or place / "cloud")
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    link = store / "data"
    if link.is_dir() and link.resolve() == data.resolve():
        return
    if link.is_symlink() and not given:
        link.unlink()  # the link is of a run that has not started
    if link.exists() or link.is_symlink():
        raise UsageError(f"{link} is there already, and is not {data}", hint="leave --data out to use it")
    link.symlink_to(data.absolute(), target_is_directory=True)


def checked_data(site: Site, data: Path | None) -> None:
    """Refuse a directory of inputs that does not exist, or that no side's storage can use.

    Args:
        site: the cluster and the cloud.
        data: the directory; None for none.
    """
    if data is None:
        return
    if not data.is_dir():
        raise UsageError(f"there is no directory {data}", hint="--data names where the inputs are")
    if not site.cluster.scheduler and "://" in site.cloud.store:
        raise UsageError(
            f"--data {data}: without a cluster the inputs lie in the cloud's storage",
            hint=f"put them into {site.cloud.store}/data",
        )


def compare(place: Path, given: Callable[[], Workflow]) -> None:
    """Print a note if the run in a directory has another workflow than a file has now.

    Args:
        place: the run's directory.
        given: reads the workflow's file.

    Raises:
        UsageError: the workflows differ, and the run is over.
    """
    from whesl.cloud.runner import run_lifecycle as runs
    from whesl.cloud.runner.workflow_check import difference

    over = runs.state_of(place).ended is not None
    try:
        found = difference(runs.setup_of(place).workflow, given())
    except UsageError as error:
        if over:
            raise
        found = ""
        click.echo(f"note: the run in {place} goes on without its workflow's file: {error.message}", err=True)
    if found and over:
        raise UsageError(
            f"the run in {place} is over, and was not what is asked for: {found}",
            hint="--dir names another directory; `whesl cloud report DIR` shows the run that is there",
        )
    if found:
        click.echo(
            f"note: the run in {place} goes on with the workflow that it was begun with: {found}", err=True
        )


def carry(place: Path, *, in_json: bool) -> int:
    """Carry out a run, print its events and its summary; return the exit status.

    Args:
        place: the run's directory.
        in_json: whether the summary is printed as JSON.
    """
    from whesl.cloud.runner import run_lifecycle as runs
    from whesl.cloud.runner import summary

    console = steady(stderr=True)

    def notify(record: r.Record) -> None:
        text = told(record)
        if text:
            stamp = time.strftime("%H:%M:%S")
            console.print(f"{stamp} {text}", markup=False, highlight=False, soft_wrap=True)

    state = runs.carry_out(place, notify=notify)
    now = time.time()
    show(summary.summary(state, now), now, in_json=in_json)
    return 0 if state.ended is not None and state.ended.complete else 1


def show(found: Any, now: float, *, in_json: bool) -> None:
    """Print the summary of a run.

    Args:
        found: the summary.
        now: seconds since the epoch.
        in_json: whether it is printed as JSON.
    """
    from whesl.cloud.runner import summary

    if in_json:
        import json

        click.echo(json.dumps(summary.values(found), indent=2))
    else:
        click.echo("\n".join(summary.lines(found, now)))


def told(record: r.Record) -> str:
    """Return a run's record as a line for people, '' for records that are not shown during the run."""
    from whesl.cloud.runner import run_records as r

    if isinstance(record, r.ExecutorAsked):
        where = f"an instance {record.platform}" if record.domain.value == "cloud" else "a node"
        instead = " in the place of one that was lost" if record.instead else ""
        return f"{record.id}: asks for {where} for {record.stage} ({record.purpose.value}){instead}"
    if isinstance(record, r.ExecutorSeen):
        return f"{record.id}: {record.state.value}" + (f", {record.why}" if record.why else "")
    if isinstance(record, r.ExecutorRefused):
        return f"{record.id}: not started, {record.why}"
    if isinstance(record, r.ExecutorMoved):
        return f"{record.id}: works for {record.stage} from now on"
    if isinstance(record, r.Assigned):
        return f"{record.task}: given to {record.executor}, attempt {record.attempt}"
    if isinstance(record, r.TaskDone):
        return f"{record.task}: done in {record.seconds:.1f} s by {record.executor}"
    if isinstance(record, r.TaskFailed):
        again = "it is not tried again" if record.final else "it is tried again"
        return f"{record.task}: failed with status {record.status}, {again}" + (
            f": {record.why}" if record.why else ""
        )
    if isinstance(record, r.TaskLost):
        return f"{record.task}: lost ({record.why})"
    if isinstance(record, r.FileCopied) and record.seconds:
        return f"{record.name}: copied to the {record.domain.value} side, {record.digest.size} bytes"
    if isinstance(record, r.Risk):
        late = record.expected - record.deadline
        when = f"by about {late:.0f} s" if late > 0 else "unless that changes"
        return f"the deadline will likely be missed, {when}: {record.why}"
    if isinstance(record, r.Trouble):
        return f"{record.what}: works again" if record.over else f"{record.what}: {record.why}"
    if isinstance(record, r.RunEnded):
        return "all tasks are done" if record.complete else f"the run has ended: {record.why}"
    return ""


def may_pay(what: str) -> None:
    """Ask at the terminal whether a run may start instances.

    Args:
        what: words on the cost, as far as it is known.

    Raises:
        UsageError: the answer is no, or standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(what, hint="--budget PRICE limits the cost, --yes goes on without a limit")
    if not click.confirm(f"{what}. Start instances?", err=True):
        raise UsageError("nothing was started", hint="--budget PRICE limits the cost")
