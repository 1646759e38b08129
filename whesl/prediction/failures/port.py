"""What every failure predictor answers."""

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


@dataclass(frozen=True, slots=True)
class Prediction:
    """One node's answer, with the reason for it.

    Attributes:
        node: the node's index.
        probability: that it fails at least once in the interval, from 0 to 1.
        will_fail: whether the predictor says that it fails.
        evidence: one sentence that says why, for people.
    """

    node: int
    probability: float
    will_fail: bool
    evidence: str


class Predictor(Protocol):
    """Says which nodes will fail, from a history of failures up to a time.

    An answer about an interval uses failures up to ``known`` alone (its start, if nothing is said), whatever
    the history that the predictor holds contains of later ones. All arguments broadcast as NumPy's do.
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
            start: in seconds.
            duration: in seconds.
            known: the time of the last failure that may be used, in seconds; None for ``start``.
        """

    def will_fail(self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None) -> Flags:
        """Return whether a node is said to fail in the interval. Arguments as of ``probability``."""

    def explain(self, node: int, start: float, duration: float, known: float | None = None) -> Prediction:
        """Return one answer with its evidence. Arguments as of ``probability``, for one node."""

    def observe(self, failures: History) -> Predictor:
        """Return the same predictor with a longer history; what was fitted stays as it was.

        Args:
            failures: the whole history, of which the present one is a beginning.
        """

    def compiled(self) -> Compiled:
        """Return the predictor as arrays, for functions that numba compiles (``predictor_arrays``)."""
