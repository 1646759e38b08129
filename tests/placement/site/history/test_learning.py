"""Which predictor a site gets, and what rolling scores say of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.prediction.failures.histories import DAY, HOUR
from whesl.model.errors import UsageError
from whesl.placement.site.history import model_selection, report, rolling, scoring, usefulness
from whesl.placement.site.history.site_history import SiteHistory
from whesl.placement.site.history.usefulness import Verdict
from whesl.prediction.failures import failure_precursors
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.failure_precursors import Sign, Signs

NOTHING = failure_precursors.signs([])


def site(
    nodes: int = 24, days: float = 120.0, bad: int = 3, every: float = 4.0, usual: float = 150.0
) -> History:
    """Return a site of which some nodes fail every few days, the others seldom."""
    draw = np.random.default_rng(5)
    failures = []
    for node in range(nodes):
        mean = every if node < bad else usual
        at = draw.exponential(mean * DAY)
        while at < days * DAY:
            failures.append((node, at, at + HOUR))
            at += HOUR + draw.exponential(mean * DAY)
    return replace(merged(nodes, 0.0, days * DAY, failures), names=tuple(f"n{n}" for n in range(nodes)))


def found(history: History, seen: Signs = NOTHING) -> SiteHistory:
    return SiteHistory(history, seen, {"events": "some"}, [])


def test_nodes_that_fail_again_and_again_are_learned() -> None:
    history = site()
    made, choice = model_selection.learn(found(history), 1.0, asked=("base", "prior", "survival", "frailty"))
    assert choice.prior == ""
    assert choice.name in ("frailty", "prior")
    assert made.about.beats_base
    rows = made.risks(made.names, history.finish, (DAY,))
    rows.sort(key=lambda row: -row.probability[0])
    assert {row.node for row in rows[:3]} == {"n0", "n1", "n2"}


def test_a_site_where_all_nodes_are_alike_is_told_that_nothing_beats_the_base_rate() -> None:
    history = site(nodes=60, days=300.0, bad=0, usual=100.0)
    made, choice = model_selection.learn(found(history), 1.0, asked=("base", "prior", "frailty"))
    assert not made.about.beats_base
    assert choice.rolled is not None
    assert choice.rolled.failures >= usefulness.ENOUGH
    for name in ("prior", "frailty"):
        assert not choice.rolled.scores[name].better


def test_a_handful_of_failures_proves_nothing() -> None:
    history = site(days=60.0, bad=1, every=3.0, usual=2000.0)
    rolled = rolling.roll(history, NOTHING, ("none", "frailty"), rolling.plan(history, 2.0))
    assert 0 < rolled.failures < usefulness.ENOUGH
    assert not rolled.scores["frailty"].better


@pytest.mark.parametrize(
    ("history", "told"),
    [
        (site(days=20.0), "20 days, of 28 that are needed"),
        (site(bad=0, usual=2000.0), "failures, of 20 that are needed"),
        (site(nodes=2, days=5.0, bad=0), "0 failures, of 20 that are needed and 5 days"),
    ],
)
def test_too_little_history_is_told_and_gets_the_prior(history: History, told: str) -> None:
    made, choice = model_selection.learn(found(history), 1.0)
    assert told in choice.prior
    assert "Los Alamos" in made.about.prior
    assert (choice.name, made.predictor.name, choice.rolled) == ("prior", "prior", None)
    assert np.isfinite(made.probability(made.names, history.finish, DAY)).all()


def test_no_failure_in_the_last_weeks_gets_the_prior_too() -> None:
    history = site(days=60.0)
    quiet = replace(history, finish=200 * DAY)
    choice = model_selection.choose(quiet, NOTHING, asked=("base", "frailty"))
    assert choice.name == "prior"
    assert "no failure in the last" in choice.prior


def test_signs_that_precede_failures_are_chosen() -> None:
    history = site(nodes=60, days=200.0, bad=0, usual=60.0)
    draw = np.random.default_rng(1)
    rows = [
        Sign(int(node), float(start) - 8 * HOUR, "chains:memory", "EDAC")
        for node, start in zip(history.node, history.start, strict=True)
        if draw.random() < 0.7
    ]
    made, choice = model_selection.learn(
        found(history, failure_precursors.signs(rows)), 1.0, asked=("base", "frailty")
    )
    assert choice.name.endswith("+signs")
    assert made.about.beats_base
    assert choice.rolled is not None
    score = choice.rolled.scores[choice.name]
    assert score.alarms.recall > 0.5
    assert score.alarms.precision > 0.5
    assert 0 < np.median(score.alarms.lead) <= DAY


def test_no_answer_uses_what_comes_after_its_question() -> None:
    """Failures of the scored weeks move elsewhere: answers before the first of them stay."""
    history = site()
    plan = rolling.plan(history, 4.0)
    first = float(history.start[history.start > plan.origins[1]][0])
    later = history.start >= first
    moved = replace(history, node=np.where(later, (history.node + 1) % 24, history.node).astype(np.int32))
    one, other = (
        rolling.roll(each, NOTHING, ("frailty",), plan).scores["frailty"].brier for each in (history, moved)
    )
    assert one != other  # the outcomes did change
    for each in (history, moved):
        past = each.until(first - 1.0)
        assert past.node.tolist() == history.until(first - 1.0).node.tolist()


def test_who_says_that_no_node_ever_fails_has_no_alarm() -> None:
    history = site()
    rolled = rolling.roll(history, NOTHING, ("none", "base", "frailty"), rolling.plan(history, 6.0))
    never = rolled.scores["none"]
    assert (never.alarms.alarms, never.alarms.recall) == (0, 0.0)
    assert never.brier == pytest.approx(rolled.rate)
    assert rolled.scores["base"].alarms.alarms == 0
    assert rolled.scores["frailty"].brier < rolled.scores["base"].brier < never.brier
    done = scoring.score(found(history), 6.0, asked=("base", "frailty"))
    page = report.page(found(history), done)
    assert page.tone == ("good" if done.verdict is Verdict.POSITIVE else "warn")
    assert "The verdict on frailty is" in page.verdict


def test_an_unknown_predictor_is_refused() -> None:
    with pytest.raises(UsageError, match="no predictor 'frailt'"):
        model_selection.choose(site(), NOTHING, asked=("frailt",))
