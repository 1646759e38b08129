"""Filtered failure prediction (FFP): periodic failures are predicted by their period, the rest by survival.

``R(dt) = alpha R_filtered(dt)``, alpha 0 when dt spans a predicted periodic failure and 1 otherwise: equation
(1) of the filtered failure prediction model for grids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.failures import survival
from whesl.prediction.failures.compiled_predictor import Compiled
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.periodic_failures import CHI2, Cycle, cycles, followers
from whesl.prediction.failures.predictor_base import ArrayPredictor, span
from whesl.prediction.failures.survival import By, Survival


class Filtered(ArrayPredictor):
    """A predictor of periodic failures by their period, and of all others by survival.

    Args:
        rest: the survival model of the non-periodic failures.
        found: the cycles of each node with periodic failures.
        history: all failures.
        tolerance: how far a periodic failure may be from its predicted time, in seconds.
        threshold: probability from which ``will_fail`` is true, which is 1 - the required reliability.

    Attributes:
        periodic: times of each node's periodic failures, one array for each of its cycles.
    """

    def __init__(
        self,
        rest: Survival,
        found: Mapping[int, Sequence[Cycle]],
        history: History,
        tolerance: float,
        threshold: float,
    ) -> None:
        super().__init__(f"ffp({rest.name})", history.nodes, threshold)
        self.found = dict(found)
        self.history = history
        self.tolerance = tolerance
        self.rest = rest
        self.periodic, kept = _split(history, self.found, tolerance)
        self._survival = rest.observe(kept)

    def as_arrays(self) -> Compiled:
        counts = np.array([len(self.found.get(node, ())) for node in range(self.nodes)], dtype=np.int64)
        each = [cycle for node in range(self.nodes) for cycle in self.found.get(node, ())]
        phases = [times for node in range(self.nodes) for times in self.periodic.get(node, ())]
        return self._survival.compiled()._replace(
            threshold=self.threshold,
            cycle_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            period=np.array([cycle.period for cycle in each]),
            width=np.full(len(each), self.tolerance),
            phase_offsets=np.cumsum([0, *map(len, phases)]).astype(np.int64),
            phases=np.concatenate([np.zeros(0), *phases]),
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        # The period of an expected failure is named, else the survival reason.
        name = self.history.called(node)
        for cycle, phases in zip(self.found.get(node, ()), self.periodic.get(node, ()), strict=True):
            seen = phases[phases <= known]
            if value == 1.0 and len(seen):
                due = seen[-1] + cycle.period * max(1, np.ceil((start - seen[-1]) / cycle.period))
                if due - self.tolerance < start + duration:
                    return (
                        f"{name} goes down every {span(cycle.period)}, the last time was "
                        f"{span(known - seen[-1])} before; the next is due in {span(due - start)}, within "
                        f"the {span(duration)} that were asked for"
                    )
        apart = " apart from its periodic ones" if node in self.found else ""
        return f"{self._survival.explain(node, start, duration, known).evidence}{apart}"

    def observe(self, failures: History) -> Filtered:
        return Filtered(self.rest, self.found, failures, self.tolerance, self.threshold)


def fit(
    history: History,
    among: Sequence[str] = ("exponential", "weibull"),
    *,
    tolerance: float = 900.0,
    chi2: float = CHI2,
    by: By = "machine",
    frailty: bool = False,
    threshold: float = 0.5,
) -> Filtered:
    """Fit to a history: find periodic failures, filter them out, fit a survival model to the rest.

    Args:
        history: the failures known so far.
        among: candidate distributions of the non-periodic failures; see ``survival.fit``.
        tolerance: how far a periodic failure may be from its predicted time, in seconds.
        chi2: the threshold of the chi-squared test that tells a period from chance.
        by: whether to fit one distribution for the machine, for each type of node, or for each node.
        frailty: whether each node has its own rate; see ``survival.fit``.
        threshold: probability from which ``will_fail`` is true, which is 1 - the required reliability.

    Raises:
        UsageError: no node was ever up, or the tolerance is not above 0.
    """
    found = {
        node: some
        for node, index in enumerate(_by_node(history))
        if (some := cycles(history.start[index], tolerance, chi2))
    }
    _, kept = _split(history, found, tolerance)
    rest = survival.fit(kept, among, by=by, frailty=frailty)
    return Filtered(rest, found, history, tolerance, threshold)


def _by_node(history: History) -> list[NDArray[np.int64]]:
    """Return the indices of each node's failures, in order of their start."""
    order = np.argsort(history.node, kind="stable")
    bounds = np.searchsorted(history.node[order], np.arange(history.nodes + 1))
    return [order[first:last] for first, last in pairwise(bounds)]


def _split(
    history: History, found: Mapping[int, Sequence[Cycle]], tolerance: float
) -> tuple[dict[int, list[NDArray[np.float64]]], History]:
    """Return the times of each node's periodic failures by cycle, and the history of all other failures.

    Only earlier failures decide whether a failure is periodic.
    """
    rest = np.ones(len(history), dtype=np.bool_)
    phases: dict[int, list[NDArray[np.float64]]] = {}
    if found:
        index_of = _by_node(history)
        for node, some in found.items():
            left = index_of[node]
            for cycle in some:
                mine = followers(history.start[left], cycle, tolerance)
                phases.setdefault(node, []).append(history.start[left[mine]])
                rest[left[mine]] = False
                left = np.delete(left, mine)
    kept = replace(
        history,
        node=history.node[rest],
        start=history.start[rest],
        end=history.end[rest],
        cause=history.cause[rest],
    )
    return phases, kept
