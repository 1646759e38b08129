"""Failure records beside a job log: put on its time, and predictors of them by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from whesl.lab.readers.swf import Log
    from whesl.predict.failure_history import History
    from whesl.predict.port import Predictor

ACCEPTED = "none, exact, aoa:A[:MIX], confidence:A, tie-breaking:A, survival"


def shifted(history: History, seconds: float) -> History:
    """Return a history on another clock, later by so many seconds."""
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
    """Return the failures on a machine of more nodes, the others of which never fail and have no type."""
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
    """Put failure records on a log's clock and machine; nodes that they do not know never fail.

    Where the log says when it began (UnixStartTime) and the records are of that time, the real times are
    kept; elsewhere the records begin when the first job is submitted.

    Args:
        log: the log.
        history: the records, in seconds since 1970.
        nodes: how many the machine has.
        first: the first submission, in seconds of the log.
        last: the last submission.

    Returns:
        The records in seconds of the log, and by how many seconds they were shifted.

    Raises:
        UsageError: they are of a larger machine.
    """
    if history.nodes > nodes:
        raise UsageError(
            f"the failures are of {history.nodes} nodes, and the machine has {nodes}",
            hint="records of the same machine, or of one with fewer nodes",
        )
    text = log.header.get("UnixStartTime", "").split()[:1]
    try:
        epoch = float(text[0]) if text else 0.0
    except ValueError:
        epoch = 0.0
    real = epoch > 0 and history.begin <= epoch + last and history.finish >= epoch + first
    shift = -epoch if real else first - history.begin
    return shifted(_widened(history, nodes), shift), shift


def predictor(name: str, truth: History, seed: int, first: float) -> Predictor:
    """Return a predictor by its name on the command line.

    Args:
        name: one of ``ACCEPTED``.
        truth: the failures that happen.
        seed: of predictions of a given accuracy.
        first: when the simulation begins, in seconds; ``survival`` is fitted to what failed before.

    Raises:
        UsageError: there is none of that name, or nothing to fit it to.
    """
    from whesl.predict import given_accuracy

    kind, *parts = name.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = [-1.0]
    if kind == "none" and not numbers:
        return given_accuracy.none(truth.nodes)
    if kind == "exact" and not numbers:
        return given_accuracy.exact(truth)
    if kind == "aoa" and len(numbers) in (1, 2):
        return given_accuracy.of_accuracy(truth, numbers[0], numbers[1] if len(numbers) > 1 else 0.5, seed)
    if kind == "confidence" and len(numbers) == 1:
        return given_accuracy.confidence(truth, numbers[0])
    if kind == "tie-breaking" and len(numbers) == 1:
        return given_accuracy.tie_breaking(truth, numbers[0], seed)
    if kind == "survival" and not numbers:
        from whesl.predict import survival

        past = truth.until(first)
        if len(past) < 2:
            raise UsageError(
                f"survival has nothing to learn from: {len(past)} failures before the first job",
                hint="records that begin before the log, or another predictor",
            )
        return survival.fit(past).observe(truth)
    raise UsageError(f"no predictor {name!r}", hint=f"accepted are {ACCEPTED}")
