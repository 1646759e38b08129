"""Input and output of a simulation: workload and faults, and attempts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.readers.swf import Log
from whesl.model.errors import UsageError, WheslError
from whesl.prediction.failures.failure_history import History

SHOWN = 5
# Bounds beyond any machine and any log; larger values would fill the memory, or lose seconds to rounding.
MOST_NODES = 10_000_000
LATEST = 1e15
# Integers below this bound are exact as floats.
EXACT = 2.0**53


class Workload(NamedTuple):
    """Jobs in order of their submission, each array of shape (jobs,).

    Attributes:
        job: identifiers of the jobs.
        submit: times of submission in seconds, ascending.
        size: number of nodes that each job requests.
        run: run time of each job without failures, in seconds.
        estimate: longest run time that each job may have, in seconds, at least ``run``.
        checkpoint: interval between each job's own checkpoints, in seconds; ``inf`` for a job without
            checkpoints.
    """

    job: NDArray[np.int64]
    submit: NDArray[np.float64]
    size: NDArray[np.int64]
    run: NDArray[np.float64]
    estimate: NDArray[np.float64]
    checkpoint: NDArray[np.float64]


class Faults(NamedTuple):
    """Failures and repairs of nodes, in order of time, each array of shape (changes,).

    Attributes:
        time: time of the change, in seconds.
        node: index of the node.
        up: True for a repair, False for a failure.
    """

    time: NDArray[np.float64]
    node: NDArray[np.int64]
    up: NDArray[np.bool_]


class Attempts(NamedTuple):
    """All attempts at jobs, in order of start; a job that was killed has several attempts.

    Attributes:
        job: index of the job in the workload, shape (attempts,).
        start: start of the attempt, in seconds, shape (attempts,).
        end: end of the attempt in seconds, shape (attempts,); ``inf`` if the simulation ended first.
        killed: whether one of the attempt's nodes failed, shape (attempts,).
        offsets: attempt i holds the runs ``offsets[i]`` to ``offsets[i + 1] - 1``, shape (attempts + 1,).
        first: the first node of each run of consecutive ones, shape (runs,).
        length: number of nodes of each run, shape (runs,).
    """

    job: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    killed: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    first: NDArray[np.int32]
    length: NDArray[np.int32]

    def nodes(self, attempt: int) -> NDArray[np.int64]:
        """Return the nodes of one attempt, ascending."""
        runs = range(int(self.offsets[attempt]), int(self.offsets[attempt + 1]))
        parts = [np.arange(self.first[run], self.first[run] + self.length[run]) for run in runs]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


class Excluded(NamedTuple):
    """Jobs of a log that are not simulated: the reason, and the jobs' line numbers."""

    reason: str
    lines: NDArray[np.int64]

    def __str__(self) -> str:
        """Return the reason with the first line numbers."""
        shown = ", ".join(map(str, self.lines[:SHOWN].tolist()))
        more = f" and {len(self.lines) - SHOWN} more" if len(self.lines) > SHOWN else ""
        return f"{self.reason}: line{'s' if len(self.lines) > 1 else ''} {shown}{more}"


def spans(lines: NDArray[np.int64]) -> str:
    """Return ascending numbers as text: "1-3,7"."""
    breaks = np.flatnonzero(np.diff(lines) != 1)
    firsts = lines[np.concatenate([[0], breaks + 1])].tolist() if len(lines) else []
    lasts = lines[np.concatenate([breaks, [len(lines) - 1]])].tolist() if len(lines) else []
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in zip(firsts, lasts, strict=True))


def workload(
    log: Log, processors: int, *, checkpoint: float = np.inf, strict: bool = False
) -> tuple[Workload, list[Excluded]]:
    """Return a log's jobs for a machine of nodes with one processor each.

    A job's size is its requested processors (field 8), or its allocated processors (field 5) without a
    request. A job's estimate is its requested time (field 9), or its run time if that is longer or nothing
    was requested. Jobs without a run time or processors, and jobs larger than the machine, are left out. Jobs
    with equal times of submission stay in the log's order.

    Args:
        log: the log.
        processors: number of processors of the machine.
        checkpoint: the interval between the checkpoints of all jobs, in seconds; ``inf`` for none.
        strict: whether a job that is left out, or jobs out of order, are an error.

    Returns:
        The workload, and the jobs that were left out.

    Raises:
        UsageError: the machine is larger than any.
        WheslError: no job is left, or ``strict`` is set and jobs are left out or out of order.
    """
    _possible(processors)
    submit, run = log.field("submit"), log.field("run")
    size = log.asked()
    reasons = (
        ("no positive run time", run <= 0),
        ("no submit time", submit < 0),
        (f"times beyond {LATEST:.0e} seconds", (submit > LATEST) | (run > LATEST)),
        ("no processors", size <= 0),
        ("processors are no whole number", size != np.floor(size)),
        (f"larger than the machine of {processors} processors", size > processors),
    )
    kept = np.ones(len(log), dtype=bool)
    excluded = []
    for reason, wrong in reasons:
        lines = log.line[wrong & kept]
        if len(lines):
            excluded.append(Excluded(reason, lines))
        kept &= ~wrong
    number = log.field("job")
    odd = kept & ((number != np.floor(number)) | (np.abs(number) > EXACT))
    back = 1 + np.flatnonzero(np.diff(submit) < 0)
    notes = [
        *excluded,
        *([Excluded("no whole job number, so that it is -1", log.line[odd])] if odd.any() else []),
        *([Excluded("submitted before the job above it", log.line[back])] if len(back) else []),
    ]
    if strict and notes:
        raise WheslError(
            f"{log.name}: {'; '.join(map(str, notes))}", hint="without --strict they are counted"
        )
    if not kept.any():
        raise WheslError(
            f"{log.name}: no job can run on {processors} processors: {'; '.join(map(str, notes))}",
            hint="a job has a submit time, a positive run time, and no more processors than the machine "
            "(--processors N)",
        )
    chosen = np.flatnonzero(kept)
    if len(back):
        chosen = chosen[np.argsort(submit[chosen], kind="stable")]
    made = Workload(
        np.where(odd, -1, number)[chosen].astype(np.int64),
        submit[chosen],
        size[chosen].astype(np.int64),
        run[chosen],
        np.maximum(log.field("requested_time")[chosen], run[chosen]),
        np.full(len(chosen), float(checkpoint)),
    )
    return made, notes


def _possible(nodes: int) -> None:
    if nodes > MOST_NODES:
        raise UsageError(f"a machine of {nodes} nodes", hint=f"at most {MOST_NODES:,} can be simulated")


def faults(history: History | None, nodes: int) -> Faults:
    """Return a history's failures and repairs in order of time.

    Args:
        history: failures on the clock of the workload; None for none.
        nodes: number of nodes of the machine.

    Raises:
        UsageError: the machine is larger than any.
        WheslError: the history has nodes that the machine lacks.
    """
    _possible(nodes)
    if history is None:
        return Faults(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    if len(history) and int(history.node.max()) >= nodes:
        raise WheslError(
            f"the failures are of {history.nodes} nodes, up to node {int(history.node.max())}, and "
            f"the machine has {nodes}",
            hint="a failure trace has to be of the same machine, or of one with fewer nodes",
        )
    time = np.concatenate([history.start, history.end])
    node = np.concatenate([history.node, history.node]).astype(np.int64)
    up = np.repeat(np.array([False, True]), len(history))
    # At equal times failures come before repairs, so a node that is repaired at once still kills its job.
    order = np.lexsort((up, time))
    order = order[np.isfinite(time[order])]
    return Faults(time[order], node[order], up[order])
