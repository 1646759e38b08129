"""``whesl ckpt run | serve | agent``: the processes of prioritized checkpoints."""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whesl.cli.broken_pipe import steady
from whesl.cli.options import FOLDER
from whesl.cli.parameters import argument, option, parameters, required
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whesl.checkpoints.rank_shared_memory import Page

ALONE = "alone"  # the run's name of an agent that the user has started alone

NAME: str | None = option(None, "The job's name; default: the resource manager's id, else 'default'.", "JOB")


@dataclass(frozen=True)
class Coordinated:
    """How checkpoints are coordinated, and where they are kept: options of ``run`` and ``serve``."""

    directory: Path = required(
        "Where checkpoints are kept, shared by all nodes.", "DIR", "--dir", type=FOLDER
    )
    name: str | None = NAME
    interval: str | None = option(None, "Take a checkpoint each so many seconds [never].", "SECONDS")
    writers: int = option(0, "Nodes that write at once when no failure is near; 0 for all [0].", "N", least=0)
    keep: int = option(2, "Whole checkpoints that stay [2].", "N", least=1)
    arrival: str | None = option(None, "Longest wait for all ranks to stop at a step [60].", "SECONDS")
    commit: str | None = option(None, "Longest time for a node to write its parts [3600].", "SECONDS")
    migrate: str | None = option(
        None,
        "The site's live migration: it gets the node's name and ends with 0 when all of it has moved.",
        "COMMAND",
    )
    theta: float | None = option(
        None, "How long a migration takes, until one was measured; with --migrate.", "SECONDS", above=0
    )
    together: bool = option(
        False, "All nodes write at once, whichever is about to fail: what the order gains, by comparison."
    )


def _until() -> Callable[[], bool]:
    """Return a function that tells whether SIGTERM or SIGINT has come."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _got, _frame: stopped.set())
    return stopped.is_set


def _log(who: str) -> Callable[[str], None]:
    console = steady(stderr=True)
    return lambda text: console.print(f"{who}: {text}", markup=False, highlight=False, soft_wrap=True)


def _seconds(text: str | None, what: str) -> float:
    if text is None:
        return math.inf
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise UsageError(f"{what}: {text!r} is no time", hint="seconds, above 0")
    return value


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@parameters
def run(
    given: Coordinated,
    *,
    restore: str | None = option(
        None,
        "Longest wait of a rank that restores for all others to have verified their parts [1800].",
        "SECONDS",
    ),
    attempts: int = option(
        1,
        "Start a program that fails again, up to so many times in all, on the nodes that live then [1].",
        "N",
        least=1,
    ),
    nodes: int | None = option(
        None, "Nodes of the allocation that it uses; the others are spares [all].", "N", least=1
    ),
    lost: float = option(
        30.0,
        "With --attempts: how long a program may go on that has lost a node before it is ended [30].",
        "SECONDS",
        above=0,
    ),
    command: tuple[str, ...] = argument(nargs=-1, required=True),
) -> None:
    """Run COMMAND (srun ..., mpirun ..., a program) with a coordinator and an agent on each node.

    It ends with the exit status of the program, of its last attempt where it was started more than once.
    """
    from whesl.checkpoints import job_launch, rendezvous
    from whesl.checkpoints.migration import Migration

    coordinated = asdict(given)
    directory, name = coordinated.pop("directory"), coordinated.pop("name")
    for what in ("interval", "arrival", "commit"):
        _seconds(coordinated[what], f"--{what}")
    if shutil.which(command[0]) is None:
        raise UsageError(
            f"{command[0]} is no program that can be started here", hint="what follows -- is the command"
        )
    if restore is not None:
        os.environ["WHESL_CKPT_RESTORE"] = f"{_seconds(restore, '--restore'):g}"
    Migration.of_options(given.migrate, given.theta)
    serve_options: list[str] = []
    for what, value in coordinated.items():
        if value is not None and value is not False:
            serve_options += [f"--{what}"] if value is True else [f"--{what}", str(value)]
    chosen = rendezvous.name_of_job(name)
    job = job_launch.Job(serve_options, chosen, directory.absolute(), _log("checkpoints"))
    status = job.run(command, attempts, nodes or 0, lost)
    raise click.exceptions.Exit(status)


@click.command()
@parameters
def serve(given: Coordinated) -> None:
    """Coordinate the checkpoints of a job until a signal comes."""
    from whesl.checkpoints import rendezvous
    from whesl.checkpoints.core.states_and_events import Settings
    from whesl.checkpoints.migration import Migration
    from whesl.checkpoints.service import Service
    from whesl.runtime.wire import keys

    until = _until()
    chosen = rendezvous.name_of_job(given.name)
    settings = Settings(
        writers=given.writers,
        arrival=_seconds(given.arrival or "60", "--arrival"),
        commit=_seconds(given.commit or "3600", "--commit"),
        priority=not given.together,
    )
    service = Service(
        settings,
        given.directory.absolute(),
        rendezvous.folder(chosen),
        keys.user_keys(keys.home()),
        host=os.environ.get("WHESL_CKPT_HOST", "*"),
        interval=_seconds(given.interval, "--interval"),
        keep=given.keep,
        migration=Migration.of_options(given.migrate, given.theta),
        log=_log("checkpoints"),
    )
    try:
        service.run(until)
    finally:
        service.close()


@click.command()
@parameters
def agent(
    *,
    name: str | None = NAME,
    node: str | None = option(None, "This node's name; default: SLURMD_NODENAME, else the host's.", "NODE"),
    of_run: str = option(ALONE, f"The run of the program [{ALONE}].", "ID", "--run"),
) -> None:
    """Serve the ranks of this node until a signal comes."""
    from whesl.checkpoints import job_launch, rank_shared_memory, rendezvous
    from whesl.checkpoints.restart_after_signal import kept_alive

    owner = os.getpid()
    chosen = rendezvous.name_of_job(name)
    address = rendezvous.find(rendezvous.folder(chosen))
    if address is None and of_run != ALONE:
        return  # the program has ended; otherwise `whesl ckpt run` starts the agent again
    if address is None:
        raise UsageError(
            f"no coordinator of the checkpoints of job {chosen} was found",
            hint="start `whesl ckpt run` or `whesl ckpt serve` first",
        )
    here = node or rendezvous.name_of_node()
    place = job_launch.page_of(chosen, of_run, here)
    rank_shared_memory.remove_ownerless(place.parent)
    page = rank_shared_memory.Page(
        place, Path(address.directory)
    )  # owned by this process; a killed agent leaves it
    try:
        status = kept_alive(lambda: _serve_ranks(chosen, here, page))
    finally:
        page.close(remove=os.getpid() == owner)
    raise click.exceptions.Exit(status)


def _serve_ranks(name: str, node: str, page: Page) -> None:
    """Run a node's agent until a signal comes, or the coordinator reports the program's end."""
    until = _until()
    from whesl.checkpoints import rendezvous
    from whesl.checkpoints.agent import Agent
    from whesl.runtime.wire import keys

    pair = keys.user_keys(keys.home()).client
    served = Agent(node, page, rendezvous.folder(name), pair, _log(f"checkpoints, {node}"))
    try:
        served.run(until)
    finally:
        served.close()
        sys.stderr.flush()
