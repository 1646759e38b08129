"""Runs a campaign's unfinished cells: in this process, in worker processes, or on a Dask cluster.

A cell's result depends on the cell's parameters and seed alone, so neither the place nor the order of
execution changes the results.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from whesl.lab.campaigns import store
from whesl.lab.campaigns.plan import Cell
from whesl.lab.campaigns.store import Result
from whesl.lab.execution import worker_processes
from whesl.lab.execution.progress_interface import Progress
from whesl.model.errors import UsageError, WheslError

Simulator = Callable[[str, dict[str, Any], int], dict[str, Any]]


class Done(NamedTuple):
    """The outcome of a cell: its measures, or the error that prevented them."""

    measures: dict[str, Any]
    seconds: float
    error: str


def simulate(cell: Cell, simulator: Simulator) -> Done:
    """Run one cell and return its outcome; an error of the simulator becomes part of the outcome.

    Args:
        cell: the cell.
        simulator: the function that runs the cell, called with the cell's kind, parameters and seed.
    """
    begun = time.monotonic()
    try:
        measures = simulator(cell.kind, cell.parameters, cell.seed)
    except WheslError as error:
        return Done({}, time.monotonic() - begun, str(error))
    return Done(measures, time.monotonic() - begun, "")


def run(
    cells: Sequence[Cell],
    out: Path,
    simulator: Simulator,
    progress: Progress,
    *,
    jobs: int = 1,
    dask: str = "",
) -> tuple[dict[str, Result], dict[str, str]]:
    """Run the cells without a result in ``out``; write each result as soon as its cell finishes.

    Args:
        cells: the campaign's cells.
        out: the directory of results.
        simulator: a module-level function that runs a cell; its arguments are the cell's kind, parameters and
            seed.
        progress: progress display, advanced with each finished cell.
        jobs: number of processes on this machine.
        dask: the address of a Dask scheduler, or ``slurm:N`` for workers in N jobs of Slurm; empty for this
            machine.

    Returns:
        Results by the cell's key, and errors by the cell's key.

    Raises:
        WheslError: a result cannot be written, or the workers died; results already written stay.
    """
    results = {cell.key: found for cell in cells if (found := store.load(out, cell)) is not None}
    rest = [cell for cell in cells if cell.key not in results]
    if results:
        progress.note(f"{len(results)} of {len(cells)} cells finished before")
    errors: dict[str, str] = {}
    with progress.stage("cells", len(rest)) as advance:
        for cell, done in _done(rest, simulator, jobs, dask):
            advance(1)
            if done.error:
                errors[cell.key] = done.error
            else:
                results[cell.key] = store.keep(out, cell, done.measures, done.seconds)
    return results, errors


def _done(cells: Sequence[Cell], simulator: Simulator, jobs: int, dask: str) -> Iterator[tuple[Cell, Done]]:
    if dask:
        return _on_dask(cells, simulator, dask)
    if jobs == 1 or len(cells) < 2:
        return ((cell, simulate(cell, simulator)) for cell in cells)
    return _in_processes(cells, simulator, jobs)


def _in_processes(cells: Sequence[Cell], simulator: Simulator, jobs: int) -> Iterator[tuple[Cell, Done]]:
    hint = "was there too little memory? Finished cells are kept; call again, with fewer --jobs"
    with worker_processes.pool(min(jobs, len(cells)), hint=hint) as pool:
        waiting = {pool.submit(simulate, cell, simulator): cell for cell in cells}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def _on_dask(cells: Sequence[Cell], simulator: Simulator, address: str) -> Iterator[tuple[Cell, Done]]:
    from distributed import Client
    from distributed import as_completed as completed

    # Dask's logger reports the end of each connection, sometimes with a traceback; the code below reports
    # lost workers as errors.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    with ExitStack() as stack:
        if address.startswith("slurm:"):
            address = _on_slurm(address, stack)
        try:
            client = stack.enter_context(Client(address, timeout=30))
        except (OSError, ValueError) as error:
            raise UsageError(f"no Dask scheduler at {address}: {error}") from error
        waiting = {
            client.submit(simulate, cell, simulator, key=f"whesl-{cell.key}", pure=False): cell
            for cell in cells
        }
        for future in completed(list(waiting)):
            cell = waiting.pop(future)
            try:
                done = future.result()
            except Exception as error:  # the exception's class differs between Dask's versions
                raise WheslError(
                    f"a Dask worker could not run a cell: {type(error).__name__}: {error}",
                    hint="workers need the same version of whesl[lab]; finished cells are kept: call again",
                ) from error
            future.release()
            yield cell, done


def _on_slurm(name: str, stack: ExitStack) -> str:
    """Submit Dask workers as Slurm jobs, cancelled when ``stack`` closes; return the scheduler's address."""
    from dask_jobqueue import SLURMCluster

    jobs = name.partition(":")[2]
    if not jobs.isdecimal() or int(jobs) < 1:
        raise UsageError(f"--dask {name}: no number of jobs", hint="slurm:4 submits four jobs with workers")
    try:
        cluster = stack.enter_context(SLURMCluster())
    except (ValueError, OSError) as error:
        raise UsageError(
            f"cannot make workers on Slurm: {error}",
            hint="cores, memory, queue and walltime of a job stand in ~/.config/dask/jobqueue.yaml",
        ) from error
    cluster.scale(jobs=int(jobs))
    return str(cluster.scheduler_address)
