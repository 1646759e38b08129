"""The interface of every failure predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whesl.prediction.failures.compiled_predictor import Compiled
    from whesl.prediction.failures.failure_history import History

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Nodes = NDArray[np.integer[Any]]
else:  # for annotations alone: the interface itself needs no NumPy
    Floats = Flags = Nodes = Any


@dataclass(frozen=True, slots=True)
class Prediction:
    """A prediction for one node and interval, with its evidence.

    Attributes:
        node: the node's index.
        probability: probability that the node fails at least once in the interval, from 0 to 1.
        will_fail: whether the probability reaches the predictor's threshold.
        evidence: one sentence for people that gives the reason.
    """

    node: int
    probability: float
    will_fail: bool
    evidence: str


class Predictor(Protocol):
    """Predicts which nodes will fail, from a history of failures up to a time.

    An answer about an interval uses only failures up to ``known`` (by default the interval's start), even if
    the predictor's history contains later ones. All arguments broadcast as in NumPy.
    """

    @property
    def name(self) -> str:
        """The predictor's name with its parameters, as in tables of results."""

    def probability(
        self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None
    ) -> Floats:
        """Return the probability that a node fails at least once in [start, start + duration).

        Args:
            node: indices of nodes.
            start: start of the interval, in seconds.
            duration: length of the interval, in seconds.
            known: failures after this time are not used, in seconds; None for ``start``.
        """

    def will_fail(self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None) -> Flags:
        """Return whether the predictor expects a failure in the interval.

        Args:
            node: indices of nodes.
            start: start of the interval, in seconds.
            duration: length of the interval, in seconds.
            known: failures after this time are not used, in seconds; None for ``start``.
        """

    def explain(self, node: int, start: float, duration: float, known: float | None = None) -> Prediction:
        """Return the prediction for one node, with its evidence.

        Args:
            node: the node's index.
            start: start of the interval, in seconds.
            duration: length of the interval, in seconds.
            known: failures after this time are not used, in seconds; None for ``start``.
        """

    def observe(self, failures: History) -> Predictor:
        """Return the same predictor over a longer history; its fitted parameters do not change.

        Args:
            failures: the longer history, which begins with the predictor's present history.
        """

    def compiled(self) -> Compiled:
        """Return the predictor as arrays, for functions that numba compiles (``predictor_arrays``)."""
