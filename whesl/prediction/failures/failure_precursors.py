"""Signs of a coming failure: each multiplies a node's hazard by a factor for a limited time.

Each sign has a kind, such as a log chain, a memory error, or a task's report of a bad node. A kind's factor
is
learned from the failures after its signs: ``(weight + failures seen) / (weight + failures expected)`` within
the window after each sign, where the base predictor gives the expected number. So a kind without information
has the factor 1 and changes nothing. (A gamma prior on a Poisson rate, as a node's frailty in
``whesl.prediction.failures.survival``.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import UsageError
from whesl.prediction.failures.compiled_predictor import Compiled, by_node, rank
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.port import Floats, Nodes
from whesl.prediction.failures.predictor_base import ArrayPredictor, span

WEIGHT = 2.0  # the prior's weight in failures: two seen and none expected give a factor of two
WINDOW = 86400.0
_LARGEST = 1000.0  # largest factor of a kind


@dataclass(frozen=True, eq=False, slots=True)
class Signs:
    """All signs of a machine's nodes, in order of time.

    Attributes:
        node: the node of each sign, shape (signs,).
        time: when each sign was seen, in seconds, ascending, shape (signs,).
        kind: each sign's index into ``kinds``, shape (signs,).
        kinds: names of kinds of signs.
        details: the observer and observation of each sign, for evidence; as long as ``node``.
    """

    node: NDArray[np.int64]
    time: NDArray[np.float64]
    kind: NDArray[np.int64]
    kinds: tuple[str, ...] = ()
    details: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        """Return the number of signs."""
        return len(self.time)


class Sign(NamedTuple):
    """One sign: the node's index, the time in seconds, the kind, and the observer's details."""

    node: int
    time: float
    kind: str
    detail: str = ""


def signs(rows: Iterable[Sign]) -> Signs:
    """Return signs in order of time.

    Args:
        rows: the signs in any order.
    """
    ordered = sorted(rows, key=lambda one: one.time)
    kinds = tuple(sorted({one.kind for one in ordered}))
    codes = {name: code for code, name in enumerate(kinds)}
    return Signs(
        np.array([one.node for one in ordered], dtype=np.int64),
        np.array([one.time for one in ordered], dtype=np.float64),
        np.array([codes[one.kind] for one in ordered], dtype=np.int64),
        kinds,
        tuple(one.detail for one in ordered),
    )


class Signed(ArrayPredictor):
    """A predictor whose hazard is larger after signs; of several active signs the largest factor counts.

    A sign is active until its window ends or its node fails.

    Args:
        base: the predictor without signs.
        seen: the signs.
        factor: the hazard's factor for each kind of sign, 1 or more, shape (kinds,).
        window: how long a sign raises the hazard, in seconds.
        threshold: probability from which ``will_fail`` is true.
    """

    def __init__(
        self, base: ArrayPredictor, seen: Signs, factor: Floats, window: float, threshold: float
    ) -> None:
        super().__init__(f"{base.name}+signs", base.nodes, threshold)
        if len(factor) != len(seen.kinds) or (len(factor) and not (factor >= 1.0).all()) or not window > 0:
            raise UsageError("signs: each kind has a factor of 1 or more, and the window is above 0")
        self.base = base
        self.seen = seen
        self.factor = factor
        self.window = window
        # Signs of a kind with factor 1 change nothing and are left out.
        useful = factor[seen.kind] > 1.0 if len(seen) else np.zeros(0, dtype=np.bool_)
        self._rows = np.flatnonzero(useful)
        order, self._offsets = by_node(self.nodes, seen.node[self._rows], seen.time[self._rows])
        self._rows = self._rows[order]
        self._times = seen.time[self._rows]
        self._ends = np.minimum(self._times + window, self._next_failures())

    @property
    def history(self) -> History:
        """The failure history of the base predictor."""
        found: History = self.base.history  # type: ignore[attr-defined]  # every fitted predictor has a history
        return found

    def _next_failures(self) -> Floats:
        """Return when the node of each sign failed next; ``inf`` for a node that has not failed since."""
        history, node = self.history, self.seen.node[self._rows]
        order, offsets = by_node(self.nodes, history.node, history.start)
        starts = np.append(history.start[order], np.inf)
        place = rank(offsets, history.start[order], node, self._times, inclusive=True)
        return np.where(place < offsets[node + 1], starts[place], np.inf)

    def holding(self, node: Nodes, known: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Return each node's factor at a time, and the index of the sign that gives it (-1 for no sign).

        Args:
            node: indices of nodes, shape (questions,).
            known: the time of each question in seconds, shape (questions,).
        """
        row_of = np.asarray(node, dtype=np.int64)
        factor, which = np.ones(len(row_of)), np.full(len(row_of), -1, dtype=np.int64)
        if not len(self._times):
            return factor, which
        last = rank(self._offsets, self._times, row_of, known, inclusive=True)
        # The ends of a node's signs ascend in the order of the signs' times.
        first = rank(self._offsets, self._ends, row_of, known, inclusive=True)
        while (inside := first < last).any():
            row = self._rows[np.where(inside, first, 0)]
            value = np.where(inside, self.factor[self.seen.kind[row]], 1.0)
            which = np.where(value > factor, row, which)
            factor = np.maximum(factor, value)
            first = first + 1
        return factor, which

    def probability(
        self, node: Nodes, start: Floats, duration: Floats, known: Floats | None = None
    ) -> Floats:
        node, start, duration, known = self.checked(node, start, duration, known)
        plain = self.base.probability(node, start, duration, known)
        factor, _ = self.holding(node.ravel(), np.minimum(known, start).ravel())
        return np.asarray(1.0 - (1.0 - plain) ** factor.reshape(plain.shape))

    def as_arrays(self) -> Compiled:
        """Return the base predictor's arrays with one more anchor where a sign begins or ends."""
        base = self.base.compiled()
        owner = self.seen.node[self._rows]
        node = np.repeat(np.arange(self.nodes), np.diff(base.anchor_offsets))
        time = np.concatenate([base.anchors, self._times, self._ends])
        node = np.concatenate([node, owner, owner])
        order, offsets = by_node(self.nodes, node, time)
        node, time = node[order], time[order]
        index = rank(base.anchor_offsets, base.anchors, node, time, inclusive=True) - 1
        index = np.maximum(index, base.anchor_offsets[node])
        factor, _ = self.holding(node, time)
        return base._replace(
            threshold=self.threshold,
            anchor_offsets=offsets,
            anchors=time,
            age=base.age[index] + np.maximum(time - base.anchors[index], 0.0),
            curve=base.curve[index],
            scale=base.scale[index] * factor,
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        # The sign that raises the hazard is named before the base predictor's reason.
        plain = self.base.explain(node, start, duration, known).evidence
        factor, which = self.holding(np.array([node]), np.array([known]))
        if which[0] < 0:
            return plain
        row = int(which[0])
        kind, detail = self.seen.kinds[self.seen.kind[row]], self.seen.details[row]
        ago = span(max(known - float(self.seen.time[row]), 0.0))
        told = f" ({detail})" if detail else ""
        return f"{kind} {ago} before{told}, {factor[0]:.1f} times the usual hazard; without it: {plain}"

    def observe(self, failures: History) -> Signed:
        return Signed(self.base.observe(failures), self.seen, self.factor, self.window, self.threshold)


def fit(base: ArrayPredictor, history: History, seen: Signs) -> Signed:
    """Learn the hazard factor of each kind of sign.

    Args:
        base: predictor fitted to the history; its expected failures are compared with the actual ones.
        history: the failures; signs whose window ends after the history are not used.
        seen: the signs.
    """
    window = WINDOW
    factor = np.ones(len(seen.kinds))
    for kind in range(len(seen.kinds)):
        mine = (seen.kind == kind) & (seen.time + window <= history.finish) & (seen.time >= history.begin)
        node, begin = _apart(seen.node[mine], seen.time[mine], window)
        if not len(node):
            continue
        chance = base.probability(node, begin, np.asarray(window), begin)
        expected = float(-np.log1p(-np.minimum(chance, 1.0 - 1e-9)).sum())
        came = float(_failed(history, node, begin, window).sum())
        factor[kind] = min(max(1.0, (WEIGHT + came) / (WEIGHT + expected)), _LARGEST)
    return Signed(base, seen, factor, window, base.threshold)


def _apart(
    node: NDArray[np.int64], time: Floats, window: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return nodes and times of signs, without a node's signs inside the window of its previous kept sign."""
    kept: list[tuple[int, float]] = []
    last: dict[int, float] = {}
    for one, when in zip(node.tolist(), time.tolist(), strict=True):
        if when >= last.get(one, -np.inf) + window:
            last[one] = when
            kept.append((one, when))
    return np.array([one for one, _ in kept], dtype=np.int64), np.array([when for _, when in kept])


def _failed(history: History, node: NDArray[np.int64], begin: Floats, window: float) -> NDArray[np.bool_]:
    from whesl.prediction.failures.measures import failed_within

    # A failure at the very time of a sign was not predicted by it.
    return failed_within(history, node, np.nextafter(begin, np.inf), np.asarray(window))
