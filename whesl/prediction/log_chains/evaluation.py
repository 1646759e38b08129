"""Scores of chains' predictions: precision, recall and lead times, against the actual failures."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import NamedTuple

Failure = tuple[str, float]  # a node's name and the time of its failure, in seconds since the epoch


class JudgedPrediction(NamedTuple):
    """A prediction to judge: node, time of the prediction, validity in seconds, and name of the chain."""

    node: str
    time: float
    patience: float
    chain: str


class Scores(NamedTuple):
    """Scores of predictions.

    Attributes:
        predictions: number of predictions.
        right: number of predictions that a failure of the node followed within their validity.
        failures: number of failures.
        predicted: number of failures that a valid prediction preceded.
        lead: for each predicted failure, the time from its first prediction to it, in seconds, ascending.
    """

    predictions: int
    right: int
    failures: int
    predicted: int
    lead: tuple[float, ...]

    @property
    def precision(self) -> float | None:
        """Share of predictions that were right; None without predictions."""
        return self.right / self.predictions if self.predictions else None

    @property
    def recall(self) -> float | None:
        """Share of failures that were predicted; None without failures."""
        return self.predicted / self.failures if self.failures else None

    @property
    def median_lead(self) -> float | None:
        """The median lead time in seconds; None when no failure was predicted."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float | None:
        """Return a quantile of lead times in seconds; None when no failure was predicted."""
        return self.lead[min(int(share * len(self.lead)), len(self.lead) - 1)] if self.lead else None


def scores(predictions: Iterable[JudgedPrediction], failures: Iterable[Failure]) -> Scores:
    """Return the scores of predictions.

    Args:
        predictions: the predictions, in any order.
        failures: the actual failures, in any order.
    """
    times = by_node(failures)
    right = count = 0
    first: dict[Failure, float] = {}
    for said in sorted(predictions, key=lambda one: one.time):
        count += 1
        failed = following(times, said)
        if failed is not None:
            right += 1
            first.setdefault((said.node, failed), failed - said.time)
    total = sum(map(len, times.values()))
    return Scores(count, right, total, len(first), tuple(sorted(first.values())))


def by_node(failures: Iterable[Failure]) -> dict[str, list[float]]:
    """Return the times of each node's failures, ascending."""
    times: dict[str, list[float]] = {}
    for node, time in failures:
        times.setdefault(node, []).append(time)
    for some in times.values():
        some.sort()
    return times


def following(times: Mapping[str, list[float]], said: JudgedPrediction) -> float | None:
    """Return the time of the node's next failure within a prediction's validity; None without such a failure.

    Args:
        times: each node's failures; see ``by_node``.
        said: the prediction.
    """
    mine = times.get(said.node, [])
    place = bisect_right(mine, said.time)
    if place < len(mine) and mine[place] <= said.time + said.patience:
        return mine[place]
    return None
