"""The result of a site's score."""

from __future__ import annotations

from typing import NamedTuple

from whesl.placement.site.history import usefulness
from whesl.placement.site.history.rolling import Rolled, Score
from whesl.placement.site.history.usefulness import Criterion, Verdict


class Scored(NamedTuple):
    """The scores of a site's predictors on the last weeks.

    Attributes:
        rolled: the scores of each predictor.
        chosen: name of the predictor that learn would have chosen before the last weeks.
        why: the reason for the choice, in a sentence.
        lost: mean node-hours that a node's failure costs.
        assumed: whether ``lost`` is an assumption, neither estimated from jobs nor given by the caller.
        criteria: the conditions of the verdict.
    """

    rolled: Rolled
    chosen: str
    why: str
    lost: float
    assumed: bool
    criteria: tuple[Criterion, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether the chosen predictor may act."""
        return usefulness.verdict(self.criteria)

    @property
    def score(self) -> Score:
        """The scores of the chosen predictor."""
        return self.rolled.scores[self.chosen]
