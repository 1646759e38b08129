"""Base of all predictors: single answers are taken from the arrays of answers."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from whesl.model.errors import UsageError
from whesl.prediction.failures.compiled_predictor import Compiled, probabilities
from whesl.prediction.failures.port import Prediction

if TYPE_CHECKING:
    from whesl.prediction.failures.failure_history import History
    from whesl.prediction.failures.port import Flags, Floats, Nodes


Own = TypeVar("Own", bound="ArrayPredictor")


class ArrayPredictor(ABC):
    """A predictor whose ``compiled`` form says everything; subclasses make it and explain it.

    Args:
        name: with its parameters, as in tables of results.
        nodes: how many nodes there are.
        threshold: ``will_fail`` is a probability at or above it.
    """

    def __init__(self, name: str, nodes: int, threshold: float) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise UsageError(f"{name}: the threshold {threshold} is not a probability, from 0 to 1")
        self._name = name
        self.nodes = nodes
        self.threshold = threshold

    @property
    def name(self) -> str:
        """The predictor's name with its parameters, as in tables of results."""
        return self._name

    @abstractmethod
    def as_arrays(self) -> Compiled:
        """Return the predictor's arrays; called once."""

    @abstractmethod
    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        """Return one sentence that says why a node's answer is what it is.

        Args:
            node: the node's index.
            start: when the interval begins, in seconds.
            duration: of the interval, in seconds.
            known: the time of the last failure that was used, in seconds.
            value: the probability that was answered.
        """

    @abstractmethod
    def observe(self, failures: History) -> ArrayPredictor:
        """Return the same predictor with a longer history; see ``whesl.prediction.failures.port``."""

    def at_threshold(self: Own, threshold: float) -> Own:
        """Return the same predictor that says yes at another probability, from 0 to 1."""
        other = copy.copy(self)
        ArrayPredictor.__init__(other, self.name, self.nodes, threshold)
        other.__dict__.pop("_arrays", None)
        return other

    @cached_property
    def _arrays(self) -> Compiled:
        return self.as_arrays()

    def compiled(self) -> Compiled:
        """Return the predictor as arrays, for functions that numba compiles."""
        return self._arrays

    def checked(
        self, node: Nodes, start: Floats, duration: Floats, known: Floats | None
    ) -> tuple[Nodes, Floats, Floats, Floats]:
        """Return the arguments of a question in one shape.

        Raises:
            UsageError: a node that there is not, a time that is no number, or a duration below zero.
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
        """Return the probability that a node fails in [start, start + duration); see the port."""
        return probabilities(self.compiled(), *self.checked(node, start, duration, known))

    def will_fail(self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None) -> Flags:
        """Return whether a node is said to fail in the interval; see the port."""
        return self.probability(node, start, duration, known) >= self.threshold

    def explain(self, node: int, start: float, duration: float, known: float | None = None) -> Prediction:
        """Return one answer with its evidence; see the port."""
        known = start if known is None else known
        value = float(
            self.probability(np.array([node]), np.array([start]), np.array([duration]), np.array([known]))[0]
        )
        evidence = self.reason(node, start, duration, min(known, start), value)
        return Prediction(node, value, value >= self.threshold, evidence)


def span(seconds: float) -> str:
    """Return a length of time for people: ``40 s``, ``12 min``, ``7.5 h`` or ``3.0 d``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} d"
