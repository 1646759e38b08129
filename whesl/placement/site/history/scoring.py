"""A site's score: the verdict on the predictor that learn would have chosen before the last weeks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whesl.lab.predictor_evaluation import catalogue
from whesl.model.errors import UsageError
from whesl.placement.site.history import model_selection, rolling, usefulness
from whesl.placement.site.history.site_history import SiteHistory
from whesl.placement.site.history.site_score import Scored
from whesl.placement.site.history.usefulness import Estimate

WEEKS = 8.0  # default number of scored weeks
_SHARE = 0.25  # largest share of the history that is scored by default
_LEAST = 2.0  # least number of weeks of history for a score
_WEEK = 7 * 86400.0


def weeks(found: SiteHistory) -> float:
    """Return the default number of scored weeks: ``WEEKS``, or a quarter of a short history."""
    return min(WEEKS, _SHARE * (found.history.finish - found.history.begin) / _WEEK)


def score(
    found: SiteHistory,
    scored: float,
    *,
    asked: Sequence[str] = (),
    horizon: float = 86400.0,
    refits: int = 4,
    seed: int = 0,
    lost: float | None = None,
    advance: Callable[[float], None] = lambda _: None,
) -> Scored:
    """Score the predictor that learn would have chosen before the last weeks, and all others, on those weeks.

    Args:
        found: the history from the site's records.
        scored: number of scored weeks.
        asked: names of predictors to choose from; empty for all.
        horizon: how far ahead predictions look, in seconds.
        refits: how often predictors are fitted anew in the scored weeks.
        seed: seed of the random numbers.
        lost: mean node-hours that a node's failure costs the job on it; None for the estimate from the
            history's jobs, or ``usefulness.LOST`` without jobs.
        advance: called for each fitted predictor.

    Raises:
        UsageError: the history is too short, or no question can be asked.
    """
    history = found.history
    length = (history.finish - history.begin) / _WEEK
    if length < _LEAST or scored * (1 + 1 / refits) >= length:
        raise UsageError(
            f"{length:.1f} weeks of history leave nothing before the last {scored:g} to learn from",
            hint=f"try --weeks {length / 4:.1f}"
            if length >= _LEAST
            else "too little to score: go on observing",
        )
    stake = next((one for one in (lost, found.lost) if one is not None), usefulness.LOST)
    what = rolling.plan(history, scored, horizon=horizon, steps=refits, seed=seed, lost=stake)
    before = history.until(what.origins[1])
    tried = rolling.names(before, found.seen, asked)
    choice = model_selection.choose(
        before, found.seen, asked=asked, horizon=horizon, seed=seed, advance=advance
    )
    every = dict.fromkeys((rolling.NEVER, catalogue.BASE, catalogue.RECENCY, *tried, choice.name))
    rolled = rolling.roll(history, found.seen, tuple(every), what, advance)
    if not rolled.questions:
        raise UsageError("no node was up and in service for a whole horizon in these weeks")
    chosen = choice.name if choice.name in rolled.scores else catalogue.BASE
    why = f"{chosen} is what learn would have taken before these weeks"
    why += f": {choice.prior}." if choice.prior else ", as the best on the part of the history before them."
    one = rolled.scores[chosen]
    criteria = usefulness.criteria(
        one.use,
        Estimate(one.skill, *one.interval),
        one.over_recency if chosen != catalogue.RECENCY else None,
        failures=rolled.failures,
        rate=rolled.rate,
    )
    return Scored(rolled, chosen, why, stake, lost is None and found.lost is None, criteria)
