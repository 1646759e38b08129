"""A site's learned model: a predictor whose nodes have names, with its origin and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import WheslError
from whesl.placement.site.history.usefulness import Criterion, Verdict
from whesl.prediction.failures import predictor_files
from whesl.prediction.failures.predictor_base import ArrayPredictor

_FAR = 30 * 86400.0  # seconds over which the mean rate gives the expected time to failure


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a model, and its scores on unseen weeks.

    Attributes:
        learned: when the model was fitted, in seconds since the epoch.
        begin: begin of the history, in seconds since the epoch.
        finish: end of the history, in seconds since the epoch.
        failures: number of failures in the history.
        sources: for each source of records, a text on what was found in it.
        predictor: the predictor's name, as in ``whesl lab predict``; ``prior`` for too short a history.
        prior: why the history was too short, and what was taken instead; "" for a sufficient history.
        horizon: how far ahead the scored questions look, in seconds.
        skill: 1 - Brier / Brier of the base rate on unseen weeks; None if nothing was scored.
        interval: 95 % interval of the skill.
        beats_base: whether the predictor is better than the base rate beyond chance.
        scores: the skill of each candidate predictor.
        verdict: whether the choice of a predictor was useful on the last weeks (``whesl placement score``).
        criteria: the conditions of the verdict; empty if the history is too short for a verdict.
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
    """The failure risk of one node.

    Attributes:
        node: the node's name.
        probability: probability that the node fails within each horizon, in the order of the horizons.
        expected: expected time to failure in seconds, at the mean rate of the next month.
        evidence: one sentence that gives the reason; "" if no evidence was requested.
    """

    node: str
    probability: tuple[float, ...]
    expected: float
    evidence: str = ""


@dataclass(frozen=True, eq=False)
class SiteModel:
    """A predictor with the names of its nodes.

    Attributes:
        predictor: the predictor, whose nodes are indices into ``names``.
        names: names of the nodes.
        about: origin and scores of the model.
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
            nodes: names of nodes; a node that the model does not know gets the median of the known nodes.
            now: the current time, in seconds since the epoch.
            horizon: length of the interval, in seconds.
        """
        every = np.arange(len(self.names))
        known = self.predictor.probability(every, np.asarray(now), np.asarray(horizon))
        usual = float(np.median(known)) if len(known) else 0.0
        return np.array([known[self.index[name]] if name in self.index else usual for name in nodes])

    def risks(
        self, nodes: Sequence[str], now: float, horizons: Sequence[float], *, explained: float = 2.0
    ) -> list[NodeRisk]:
        """Return the failure risk of each node.

        Args:
            nodes: names of nodes; see ``probability``.
            now: the current time, in seconds since the epoch.
            horizons: lengths of the intervals, in seconds.
            explained: probability within the last horizon from which a node gets evidence, which takes time.
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
    """Write a model to a file; the file gets its name only when it is complete on disk.

    Args:
        model: the site's predictor with its origin and scores.
        path: the file, which is replaced where it exists.

    Raises:
        WheslError: the file cannot be written.
    """
    predictor_files.save(model.predictor, path, msgspec.to_builtins(model.about))


def load(path: Path) -> SiteModel:
    """Read a model from a file.

    Args:
        path: a file of ``whesl placement learn``.

    Raises:
        WheslError: the file cannot be read, or does not hold a model with names of nodes.
    """
    predictor, about = predictor_files.load_with(path)
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
