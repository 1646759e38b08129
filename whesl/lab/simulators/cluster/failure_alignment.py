"""Alignment of failure records with a job log's clock and machine, and predictors by name."""

from __future__ import annotations

from dataclasses import replace

from whesl.lab.predictor_evaluation import catalogue
from whesl.lab.readers.swf import Log
from whesl.model.errors import UsageError
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.port import Predictor


def shifted(history: History, seconds: float) -> History:
    """Return a history with all times later by a shift.

    Args:
        history: the history.
        seconds: the shift, in seconds.
    """
    return replace(
        history,
        begin=history.begin + seconds,
        finish=history.finish + seconds,
        start=history.start + seconds,
        end=history.end + seconds,
        entry=history.entry + seconds,
        exit=history.exit + seconds,
    )


def _widened(history: History, nodes: int) -> History:
    """Return a history on a machine of ``nodes`` nodes; the added nodes never fail and have no type."""
    if history.nodes == nodes:
        return history
    none = history.kind[:0]
    return replace(
        history,
        nodes=nodes,
        names=(),
        kind=none,
        kinds=(),
        group=none,
        entry=history.entry[:0],
        exit=history.exit[:0],
    )


def beside(log: Log, history: History, nodes: int, first: float, last: float) -> tuple[History, float]:
    """Put failure records on a log's clock and machine; nodes that the records lack never fail.

    If the log's header gives UnixStartTime and the records cover that time, real times are kept. Otherwise
    the records are shifted to begin at the first submission.

    Args:
        log: the log.
        history: the failure records, in seconds since 1970.
        nodes: number of nodes of the machine.
        first: the first submission, in seconds of the log.
        last: the last submission, in seconds of the log.

    Returns:
        The records in seconds of the log, and the shift in seconds.

    Raises:
        UsageError: the records belong to a larger machine.
    """
    if history.nodes > nodes:
        raise UsageError(
            f"the failures are of {history.nodes} nodes, and the machine has {nodes}",
            hint="records of the same machine, or of one with fewer nodes",
        )
    epoch = log.epoch
    real = epoch > 0 and history.begin <= epoch + last and history.finish >= epoch + first
    shift = -epoch if real else first - history.begin
    return shifted(_widened(history, nodes), shift), shift


def predictor(name: str, truth: History, seed: int, first: float) -> Predictor:
    """Return a predictor by its name on the command line.

    Args:
        name: a predictor of ``whesl.lab.predictor_evaluation.catalogue``; also ``tie-breaking:A`` for
            ``accuracy:A``.
        truth: the failures that happen.
        seed: random seed of the predictor.
        first: begin of the simulation, in seconds; fitted predictors are fitted to the failures before it.

    Raises:
        UsageError: there is no predictor of that name, or too few failures to fit it to.
    """
    one = catalogue.asked(name.replace("tie-breaking", "accuracy"))
    if one.fitted and len(past := truth.until(first)) < 2:
        raise UsageError(
            f"{name} has nothing to learn from: {len(past)} failures before the first job",
            hint="records that begin before the log, or another predictor",
        )
    return catalogue.made(one, truth, first, seed)
