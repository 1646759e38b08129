"""Predictors by their names on the command line."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from whesl.model.errors import UsageError
from whesl.prediction.failures import (
    failure_time_distributions,
    given_accuracy_predictors,
    learned,
    periodic_and_survival_prediction,
    recency,
    survival,
)
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.predictor_base import ArrayPredictor

BASE = "base"
RECENCY = "recency"
# Descriptions of the predictors that are fitted to past failures, by name. Predictors of a given accuracy see
# the future by definition.
FITTED = {
    BASE: "the machine's mean rate, whatever the node and its past",
    RECENCY: "a table by the hours since the node last failed, the same for all nodes",
    "survival": "the likeliest distribution of the time to failure, given the uptime",
    "by-node": "the same, for each node with five failures",
    "by-type": "the same, for each type of node",
    "frailty": "the same, and each node's own rate",
    "ffp": "periodic failures by their period, survival for the rest",
    "learned": "boosted trees over the past of the node, its neighbours and the machine",
    **{name: f"a fitted {name} distribution, given the uptime" for name in failure_time_distributions.LAWS},
}
GIVEN = {
    "none": "no failure is ever predicted",
    "exact": "each failure is known",
    "confidence:A": "each failure has probability A (balancing)",
    "accuracy:A": "a share A of the failures is known (tie-breaking)",
    "aoa:A[:MIX]": "predictions of accuracy A, MIX of the wrong ones false alarms",
}
# Largest distance of a periodic failure from its expected time, in seconds.
TOLERANCE = 900.0
DEFAULT = ("base", "survival", "frailty", "ffp", "learned")


class Asked(NamedTuple):
    """A predictor as the user requested it.

    Attributes:
        text: the request as written, ``aoa:0.7:0.5``.
        name: the predictor's name, ``aoa``.
        numbers: the numbers after the name, (0.7, 0.5).
    """

    text: str
    name: str
    numbers: tuple[float, ...]

    @property
    def fitted(self) -> bool:
        """Whether the predictor is fitted to the past, and does not see the future."""
        return self.name in FITTED


def asked(text: str) -> Asked:
    """Parse a predictor's name and numbers.

    Args:
        text: ``survival`` or ``aoa:0.7:0.5``, for example.

    Raises:
        UsageError: there is no predictor of that name, or its numbers are wrong.
    """
    name, *rest = text.strip().split(":")
    known = {entry.split(":")[0]: entry for entry in (*FITTED, *GIVEN)}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"no predictor {name!r}", hint=f"{hint}there are {', '.join(known.values())}")
    most = {"confidence": (1, 1), "accuracy": (1, 1), "aoa": (1, 2)}.get(name, (0, 0))
    try:
        numbers = tuple(float(value) for value in rest)
    except ValueError:
        numbers = ()
    if len(numbers) != len(rest) or not most[0] <= len(numbers) <= most[1]:
        raise UsageError(f"predictor {text!r}: write {known[name]}, A and MIX from 0 to 1")
    return Asked(text.strip(), name, numbers)


def fit(predictor: Asked, past: History, seed: int, tolerance: float) -> ArrayPredictor:
    """Fit a predictor to past failures.

    Args:
        predictor: a predictor of ``FITTED``.
        past: the past failures.
        seed: random seed of the fit.
        tolerance: largest distance of a periodic failure from its expected time, in seconds.
    """
    if predictor.name in failure_time_distributions.LAWS:
        return survival.fit(past, (predictor.name,))
    if predictor.name == BASE:
        return survival.fit(past, ("exponential",))
    if predictor.name == RECENCY:
        return recency.fit(past)
    if predictor.name == "by-node":
        return survival.fit(past, by="node")
    if predictor.name == "by-type":
        return survival.fit(past, by="kind")
    if predictor.name == "ffp":
        return periodic_and_survival_prediction.fit(
            past, tuple(failure_time_distributions.LAWS), tolerance=tolerance
        )
    if predictor.name == "learned":
        return learned.fit(past, seed=seed)
    return survival.fit(past, frailty=predictor.name == "frailty")


def made(predictor: Asked, truth: History, at: float, seed: int) -> ArrayPredictor:
    """Make a predictor; a fitted one is fitted to the failures before ``at`` and then observes all failures.

    Args:
        predictor: any predictor of ``FITTED`` or ``GIVEN``.
        truth: all failures, past and future.
        at: end of the past, in seconds.
        seed: random seed of the predictor.
    """
    if not predictor.fitted:
        return given(predictor, truth, seed)
    return fit(predictor, truth.until(at), seed, TOLERANCE).observe(truth)


def given(predictor: Asked, truth: History, seed: int) -> ArrayPredictor:
    """Make a predictor whose accuracy is given, from the failures that happen.

    Args:
        predictor: a predictor of ``GIVEN``.
        truth: all failures that happen.
        seed: random seed of the predictor.
    """
    if predictor.name == "none":
        return given_accuracy_predictors.none(truth.nodes)
    if predictor.name == "exact":
        return given_accuracy_predictors.exact(truth)
    if predictor.name == "confidence":
        return given_accuracy_predictors.confidence(truth, predictor.numbers[0])
    if predictor.name == "accuracy":
        return given_accuracy_predictors.tie_breaking(truth, predictor.numbers[0], seed)
    mix = predictor.numbers[1] if len(predictor.numbers) > 1 else 0.5
    return given_accuracy_predictors.of_accuracy(truth, predictor.numbers[0], mix, seed)
