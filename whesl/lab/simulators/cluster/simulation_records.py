"""What a simulation gets and gives: a workload and faults in, attempts out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.readers.swf import Log
    from whesl.prediction.failures.failure_history import History

SHOWN = 5
# More nodes than any machine has, and later than any log: arrays would fill the memory, and seconds be lost.
MOST_NODES = 10_000_000
LATEST = 1e15
# Whole numbers below are exact as floats.
EXACT = 2.0**53


class Workload(NamedTuple):
    """Jobs in order of their submission, each array of shape (jobs,).

    Attributes:
        job: identifiers.
        submit: in seconds, ascending.
        size: nodes that each asks for.
        run: how long each runs undisturbed, in seconds.
        estimate: the longest that it may run, in seconds; no less than ``run``.
        checkpoint: its own interval between checkpoints, in seconds; ``inf`` where it writes none.
    """

    job: NDArray[np.int64]
    submit: NDArray[np.float64]
    size: NDArray[np.int64]
    run: NDArray[np.float64]
    estimate: NDArray[np.float64]
    checkpoint: NDArray[np.float64]


class Faults(NamedTuple):
    """When nodes go down and come back, in order of time, each array of shape (changes,).

    Attributes:
        time: in seconds.
        node: the node's index.
        up: whether it comes back then.
    """

    time: NDArray[np.float64]
    node: NDArray[np.int64]
    up: NDArray[np.bool_]


class Attempts(NamedTuple):
    """Every attempt at a job, in order of start; a job that was killed has several.

    Attributes:
        job: the job's place in the workload, shape (attempts,).
        start: in seconds, shape (attempts,).
        end: in seconds, shape (attempts,); ``inf`` where it was cut off by the simulation's end.
        killed: whether a node of it failed, shape (attempts,).
        offsets: an attempt holds the runs ``offsets[i]`` to ``offsets[i + 1] - 1``, shape (attempts + 1,).
        first: the first node of each run of consecutive ones, shape (runs,).
        length: how many nodes the run has, shape (runs,).
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
    """Jobs of a log that are not simulated: why, and their line numbers."""

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

    A job asks for its requested processors (field 8), or those it was given (field 5) where that is missing.
    Its estimate is the requested time (field 9), or its run time where that is longer or nothing was
    requested. Jobs without a run time or processors, and those larger than the machine, are left out. Jobs of
    one time stay in the log's order.

    Args:
        log: the log.
        processors: how many the machine has.
        checkpoint: the interval between the checkpoints of all jobs, in seconds; ``inf`` for none.
        strict: whether a job that is left out, or a time that goes back, is an error.

    Returns:
        The workload, and what was left out of it.

    Raises:
        UsageError: the machine is larger than any.
        WheslError: no job is left, or something is left out or out of order and ``strict`` is set.
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
    """Return a history's failures as changes of nodes.

    Args:
        history: failures in the time of the workload; None for none.
        nodes: how many nodes the machine has.

    Raises:
        UsageError: the machine is larger than any.
        WheslError: it tells of nodes that the machine does not have.
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
    # At one time failures come before repairs: one that is repaired at once has killed what ran.
    order = np.lexsort((up, time))
    order = order[np.isfinite(time[order])]
    return Faults(time[order], node[order], up[order])
