"""Base class of all predictors: it derives answers from a predictor's arrays."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TypeVar

import numpy as np

from whesl.model.errors import UsageError
from whesl.prediction.failures.compiled_predictor import Compiled, probabilities
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.port import Flags, Floats, Nodes, Prediction, Predictor

Own = TypeVar("Own", bound="ArrayPredictor")


class ArrayPredictor(Predictor, ABC):
    """A predictor that is fully described by its arrays; subclasses make the arrays and explain answers.

    Args:
        name: the name with parameters, as in tables of results.
        nodes: number of nodes.
        threshold: probability from which ``will_fail`` is true.
    """

    def __init__(self, name: str, nodes: int, threshold: float) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise UsageError(f"{name}: the threshold {threshold} is not a probability, from 0 to 1")
        self._name = name
        self.nodes = nodes
        self.threshold = threshold

    @property
    def name(self) -> str:
        return self._name

    @abstractmethod
    def as_arrays(self) -> Compiled:
        """Return the predictor's arrays; the base class calls this once."""

    @abstractmethod
    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        """Return one sentence that gives the reason for a node's probability.

        Args:
            node: the node's index.
            start: start of the interval, in seconds.
            duration: length of the interval, in seconds.
            known: failures after this time were not used, in seconds.
            value: the probability to explain.
        """

    @abstractmethod
    def observe(self, failures: History) -> ArrayPredictor:
        """Return the same predictor over a longer history; see ``whesl.prediction.failures.port``."""

    def at_threshold(self: Own, threshold: float) -> Own:
        """Return a copy of the predictor with another threshold of ``will_fail``, from 0 to 1."""
        other = copy.copy(self)
        ArrayPredictor.__init__(other, self.name, self.nodes, threshold)
        other.__dict__.pop("_arrays", None)
        return other

    @cached_property
    def _arrays(self) -> Compiled:
        return self.as_arrays()

    def compiled(self) -> Compiled:
        return self._arrays

    def checked(
        self, node: Nodes, start: Floats, duration: Floats, known: Floats | None
    ) -> tuple[Nodes, Floats, Floats, Floats]:
        """Return a question's arguments, checked and broadcast to one shape.

        Args:
            node: indices of nodes.
            start: start of the interval, in seconds.
            duration: length of the interval, in seconds.
            known: failures after this time are not used, in seconds; None for ``start``.

        Raises:
            UsageError: a node that does not exist, a time that is not a number, or a duration below zero.
        """
        node, start, duration, known = np.broadcast_arrays(
            np.asarray(node),
            np.asarray(start, dtype=np.float64),
            np.asarray(duration, dtype=np.float64),
            np.asarray(start if known is None else known, dtype=np.float64),
        )
        if node.size and (node.min() < 0 or node.max() >= self.nodes):
            raise UsageError(
                f"{self.name}: nodes {int(node.min())} to {int(node.max())} were asked about",
                hint=f"it knows nodes 0 to {self.nodes - 1}",
            )
        if not (np.isfinite(start).all() and np.isfinite(duration).all()) or np.isnan(known).any():
            raise UsageError(f"{self.name}: start and duration have to be finite numbers of seconds")
        if duration.size and duration.min() < 0:
            raise UsageError(f"{self.name}: a duration of {float(duration.min())} s is below zero")
        return node, start, duration, known

    def probability(
        self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None
    ) -> Floats:
        return probabilities(self.compiled(), *self.checked(node, start, duration, known))

    def will_fail(self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None) -> Flags:
        return self.probability(node, start, duration, known) >= self.threshold

    def explain(self, node: int, start: float, duration: float, known: float | None = None) -> Prediction:
        known = start if known is None else known
        value = float(
            self.probability(np.array([node]), np.array([start]), np.array([duration]), np.array([known]))[0]
        )
        evidence = self.reason(node, start, duration, min(known, start), value)
        return Prediction(node, value, value >= self.threshold, evidence)


def span(seconds: float) -> str:
    """Return a duration as text for people: ``40 s``, ``12 min``, ``7.5 h`` or ``3.0 d``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} d"
