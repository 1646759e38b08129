"""What came out of a site's score."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whesl.placement.site.history import usefulness
from whesl.placement.site.history.usefulness import Criterion, Verdict

if TYPE_CHECKING:
    from whesl.placement.site.history.rolling import Rolled, Score


class Scored(NamedTuple):
    """What came out.

    Attributes:
        rolled: how each predictor did on the last weeks.
        chosen: the one that learn would have taken before them.
        why: how it was chosen.
        lost: node-hours that a node's failure is taken to cost.
        assumed: whether ``lost`` is an assumption, and not what jobs or the caller said.
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
        """How the chosen predictor did."""
        return self.rolled.scores[self.chosen]
