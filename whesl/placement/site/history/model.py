"""What a site has learned: a predictor whose nodes have names, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from whesl.model.errors import WheslError
from whesl.placement.site.history.usefulness import Criterion, Verdict
from whesl.prediction.failures import saving

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from whesl.prediction.failures.predictor_base import ArrayPredictor

_FAR = 30 * 86400.0  # the expected time to failure goes on at the mean rate of the next month


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model comes from, and how good it was on what it had not seen.

    Attributes:
        learned: when it was fitted, in seconds since the epoch.
        begin: of the history, likewise.
        finish: of the history, likewise.
        failures: how many it holds.
        sources: what was read, with how much was found in each.
        predictor: its name, as ``whesl lab predict`` takes it; ``prior`` with too little history.
        prior: why the history was too little, and what was taken instead; "" where it was enough.
        horizon: how far ahead it was scored, in seconds.
        skill: 1 - Brier / Brier of the base rate on weeks it had not seen; None where nothing was scored.
        interval: of the skill, 95 %.
        beats_base: whether it is better than the base rate beyond chance.
        scores: the skill of each predictor that was tried.
        verdict: whether the choice of a predictor was of use on the last weeks (``whesl placement score``).
        criteria: the conditions of the verdict; empty where the history is too short for one.
    """

    learned: float
    begin: float
    finish: float
    failures: int
    sources: dict[str, str] = {}
    predictor: str = ""
    prior: str = ""
    horizon: float = 86400.0
    skill: float | None = None
    interval: tuple[float, float] | None = None
    beats_base: bool = False
    scores: dict[str, float | None] = {}
    verdict: Verdict = Verdict.TOO_LITTLE
    criteria: tuple[Criterion, ...] = ()


class NodeRisk(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected of one node.

    Attributes:
        node: its name.
        probability: that it fails within each horizon that was asked for, in their order.
        expected: the expected time to failure in seconds, at the mean rate of the next month.
        evidence: one sentence that says why; "" unless it was asked for.
    """

    node: str
    probability: tuple[float, ...]
    expected: float
    evidence: str = ""


@dataclass(frozen=True, eq=False)
class SiteModel:
    """A predictor with the names of its nodes.

    Attributes:
        predictor: answers for indices of ``names``.
        names: the nodes.
        about: where it comes from.
    """

    predictor: ArrayPredictor
    names: tuple[str, ...]
    about: About

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each node by its name."""
        return {name: number for number, name in enumerate(self.names)}

    def probability(self, nodes: Sequence[str], now: float, horizon: float) -> NDArray[np.float64]:
        """Return the probability that each node fails in [now, now + horizon).

        Args:
            nodes: names; of one that the model does not know, the median of those that it does is told.
            now: the current time, in seconds since the epoch.
            horizon: in seconds.
        """
        every = np.arange(len(self.names))
        known = self.predictor.probability(every, np.asarray(now), np.asarray(horizon))
        usual = float(np.median(known)) if len(known) else 0.0
        return np.array([known[self.index[name]] if name in self.index else usual for name in nodes])

    def risks(
        self, nodes: Sequence[str], now: float, horizons: Sequence[float], *, explained: float = 2.0
    ) -> list[NodeRisk]:
        """Return what is expected of each node.

        Args:
            nodes: names; see ``probability``.
            now: the current time, in seconds since the epoch.
            horizons: in seconds.
            explained: the evidence is given from this probability on, of the last horizon; it takes a while.
        """
        columns = [self.probability(nodes, now, horizon) for horizon in horizons]
        far = np.clip(self.probability(nodes, now, _FAR), 1e-12, 1.0 - 1e-12)
        expected = _FAR / -np.log1p(-far)
        rows = []
        for place, name in enumerate(nodes):
            chances = tuple(float(column[place]) for column in columns)
            evidence = ""
            if chances and chances[-1] >= explained:
                evidence = f"{name} is not known to the model; it is taken for a usual node"
                if name in self.index:
                    evidence = self.predictor.explain(self.index[name], now, horizons[-1]).evidence
            rows.append(
                NodeRisk(node=name, probability=chances, expected=float(expected[place]), evidence=evidence)
            )
        return rows


def save(model: SiteModel, path: Path) -> None:
    """Write a model as data; the file gets its name only when it is complete on disk.

    Raises:
        WheslError: the file cannot be written.
    """
    saving.save(model.predictor, path, msgspec.to_builtins(model.about))


def load(path: Path) -> SiteModel:
    """Read a model.

    Args:
        path: a file of ``whesl placement learn``.

    Raises:
        WheslError: the file cannot be read, or is no model with names of nodes.
    """
    predictor, about = saving.load_with(path)
    history = getattr(predictor, "history", None)
    names = history.names if history is not None else ()
    if not names or about is None:
        raise WheslError(
            f"{path} is a predictor whose nodes have no names", hint="make it with `whesl placement learn`"
        )
    try:
        return SiteModel(predictor, names, msgspec.convert(about, About))
    except msgspec.ValidationError as error:
        raise WheslError(f"{path} does not say where it comes from: {error}") from error
