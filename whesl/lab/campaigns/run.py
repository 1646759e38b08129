"""Runs a campaign's cells that have not finished: in this process, in others, or on a Dask cluster.

What a cell gives depends on its parameters and its seed alone, so results are the same wherever and in
whatever order cells are run.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import as_completed
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from whesl.lab.campaigns import store
from whesl.lab.execution import worker_processes
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from whesl.lab.campaigns.plan import Cell
    from whesl.lab.campaigns.store import Result
    from whesl.lab.execution.progress_interface import Progress

    Simulator = Callable[[str, dict[str, Any], int], dict[str, Any]]


class Done(NamedTuple):
    """What a cell gave: measures, or why there are none."""

    measures: dict[str, Any]
    seconds: float
    error: str


def simulate(cell: Cell, simulator: Simulator) -> Done:
    """Run one cell."""
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
    """Run the cells that have not finished in ``out``; keep each as it finishes.

    Args:
        cells: of the campaign.
        out: the directory of results.
        simulator: runs a cell: a function of a module, called with its kind, parameters and seed.
        progress: told how far they are.
        jobs: processes on this machine.
        dask: the address of a Dask scheduler, or ``slurm:N`` for workers in N jobs of Slurm; empty for this
            machine.

    Returns:
        Results by key, and errors by key.

    Raises:
        WheslError: a cell cannot be kept, or the workers died; what has finished stays.
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

    # It logs the end of each connection, at times with a traceback; losses of workers are errors below.
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
            except Exception as error:  # whatever a worker's loss is called by this version
                raise WheslError(
                    f"a Dask worker could not run a cell: {type(error).__name__}: {error}",
                    hint="workers need the same version of whesl[lab]; finished cells are kept: call again",
                ) from error
            future.release()
            yield cell, done


def _on_slurm(name: str, stack: ExitStack) -> str:
    """Submit workers as jobs of Slurm; return their scheduler's address. They are cancelled at the end."""
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
