"""Trials of chains: mined chains on the held-out part of their log, and any chains on a log with failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from whesl.model.errors import UsageError
from whesl.model.evidence import PredictedFailure
from whesl.prediction.log_chains import archived_logs, evaluation, mining
from whesl.prediction.log_chains.archived_logs import Messages
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.evaluation import Failure, JudgedPrediction, Scores
from whesl.prediction.log_chains.log_stream_predictor import SOURCE, Compiled
from whesl.prediction.log_chains.mining import Settings

_HELD_OUT = 0.3  # share of the failures that lie in the held-out last part
_LEAST = 10  # least number of failures within the log for a held-out part


class Mined(NamedTuple):
    """Mined chains with their scores.

    Attributes:
        chains: chains mined from the whole log.
        held_out: scores on the last part of the log, of chains mined from the part before it; None when there
            are too few failures for two parts.
        split: begin of the last part, in seconds since the epoch.
        failures: number of failures in the log's time, of nodes in the log.
        strangers: names of nodes that failed but are not in the log.
    """

    chains: list[Chain]
    held_out: Scores | None
    split: float
    failures: int
    strangers: tuple[str, ...]


def mine(
    read: Messages,
    paths: Sequence[Path],
    form: str | None,
    failures: Sequence[Failure],
    settings: Settings,
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> Mined:
    """Mine chains from a log, and score chains of its first part on its last part.

    Args:
        read: the messages of the log.
        paths, form, advance: of the log; see ``archived_logs.run``.
        failures: the failures, in any order.
        settings: the conditions of a chain.

    Raises:
        UsageError: no failure is in the log's time, or no failed node is in the log.
    """
    names = {one.node for one in read.events}
    inside, strangers = _inside(read, failures, names)
    times = sorted(time for _, time in inside)
    chains = mining.mine(read.events, inside, read.text, settings)
    if len(times) < _LEAST:
        return Mined(chains, None, 0.0, len(times), strangers)
    split = times[int(len(times) * (1.0 - _HELD_OUT))]
    before = [one for one in read.events if one.time < split]
    first = mining.mine(before, [one for one in inside if one[1] < split], read.text, settings)
    after = [one for one in inside if one[1] >= split]
    if not first:
        return Mined(chains, evaluation.scores((), after), split, len(times), strangers)
    found, _ = archived_logs.run(Compiled(first), paths, form, advance)
    later = [one for one in found if one.time >= split]
    return Mined(chains, judged(later, first, after), split, len(times), strangers)


def judged(found: Iterable[PredictedFailure], chains: Sequence[Chain], failures: Sequence[Failure]) -> Scores:
    """Return the scores of chains' predictions.

    Args:
        found: the predictions.
        chains: the chains that made the predictions, which give their validity.
        failures: the actual failures, in any order.
    """
    by_name = {chain.name: chain for chain in chains}
    said = []
    for one in found:
        name = one.source.removeprefix(f"{SOURCE}:")
        said.append(JudgedPrediction(one.node, one.time, by_name[name].patience, name))
    return evaluation.scores(said, failures)


def _inside(
    read: Messages, failures: Sequence[Failure], names: set[str]
) -> tuple[list[Failure], tuple[str, ...]]:
    if not read.events:
        raise UsageError(f"no message in {read.lines} lines", hint="are times and nodes in it? give --form")
    begin, finish = read.events[0].time, read.events[-1].time
    # A failure may come up to a day after the log's last message, since nothing is logged after a failure.
    within = [one for one in failures if begin <= one[1] <= finish + 86400.0]
    strangers = tuple(sorted({node for node, _ in within if node not in names}))
    inside = [one for one in within if one[0] in names]
    if not within:
        raise UsageError(
            f"none of {len(failures)} failures falls into the log",
            hint="do both have times of the same zone? give ones with +00:00, or Unix seconds",
        )
    if not inside:
        raise UsageError(
            f"the log names none of the nodes that failed: {', '.join(strangers[:5])}",
            hint=f"it names {', '.join(sorted(names)[:5])}, ...",
        )
    return inside, strangers
