"""Conversion of a log's jobs to jobs on a torus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.lab.readers.swf import Log
from whesl.lab.simulators.torus.event_loop import Jobs
from whesl.model.errors import UsageError
from whesl.placement.policies.torus.boxes import Torus


@dataclass(frozen=True, eq=False, slots=True)
class Workload:
    """The jobs of a log on a torus.

    Attributes:
        jobs: the jobs as arrays for the event loop.
        identifier: identifier of each job in the log, shape (jobs,).
        processors: number of processors that each job requests, shape (jobs,).
        without: number of jobs left out for lack of a positive run time or of processors.
        oversized: line numbers of jobs left out because they are larger than the torus.
        grown: number of jobs in a box larger than requested, since no box has exactly the requested nodes.
    """

    jobs: Jobs
    identifier: NDArray[np.int64]
    processors: NDArray[np.int64]
    without: int
    oversized: tuple[int, ...]
    grown: int


def workload(log: Log, geometry: Torus, supernode: int, load: float, *, skip_oversized: bool) -> Workload:
    """Return a log's jobs, sized in supernodes by requested (else allocated) processors, with real run times.

    Args:
        log: the job log.
        geometry: the torus of supernodes.
        supernode: number of processors of a supernode.
        load: factor on each run time, the document's ``c``.
        skip_oversized: whether jobs that do not fit the torus are left out instead of being an error.

    Raises:
        UsageError: a job is larger than the torus, or none is left.
    """
    run = log.field("run")
    asked = log.asked()
    valid = (run > 0) & (asked > 0)
    size = np.ceil(asked / supernode).astype(np.int64)
    large = valid & (size > geometry.nodes)
    lines = tuple(int(line) for line in log.line[large])
    x, y, z = geometry.dims
    if lines and not skip_oversized:
        first = int(np.flatnonzero(large)[0])
        raise UsageError(
            f"{log.name}:{lines[0]}: job {log.field('job')[first]:.0f} needs {asked[first]:.0f} processors, "
            f"and no partition suits it: the torus of {x}x{y}x{z} with {supernode} in each node has "
            f"{geometry.nodes * supernode} ({len(lines)} such jobs)",
            hint="a larger --shape or --supernode, or --skip-oversized to leave them out",
        )
    kept = np.flatnonzero(valid & ~large)
    if not len(kept):
        raise UsageError(f"{log.name}: no job with a positive run time that fits the torus")
    kept = kept[np.argsort(log.field("submit")[kept], kind="stable")]
    size = size[kept]
    volume = geometry.fitting[size]
    return Workload(
        Jobs(log.field("submit")[kept].copy(), size, volume, run[kept] * load),
        log.field("job")[kept].astype(np.int64),
        asked[kept].astype(np.int64),
        len(run) - int(valid.sum()),
        lines,
        int((volume != size).sum()),
    )
