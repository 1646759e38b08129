"""The verdict: equal nodes are never worth acting on, truly bad ones are, and a table does what it can."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.placement.site.history.test_learning import NOTHING, found, site
from tests.prediction.failures.histories import DAY, HOUR, weibull_machine
from whesl.cli.group import cli
from whesl.lab.predictor_evaluation.evaluation import Questions
from whesl.model.errors import RefusedError
from whesl.placement.site.history import model, model_selection, report, rolling, scoring, usefulness
from whesl.placement.site.history.site_score import Scored
from whesl.placement.site.history.usefulness import Criterion, Estimate, Verdict
from whesl.placement.site.slurm.prediction_sources import Sources
from whesl.prediction.failures import recency
from whesl.prediction.failures.failure_history import History, merged

CHEAP = ("base", "recency", "frailty")
NAMES = tuple(Verdict)


def named(history: History) -> History:
    return replace(history, names=tuple(f"n{number}" for number in range(history.nodes)))


def scored(history: History, *asked: str) -> Scored:
    return scoring.score(found(named(history)), 6.0, asked=asked or CHEAP)


@pytest.mark.costly
@pytest.mark.parametrize(("usual", "seed"), list(itertools.product((2.0, 20.0, 100.0), range(3))))
def test_equal_nodes_are_never_positive(usual: float, seed: int) -> None:
    # At a failure every other day nearly each alarm is right: no node is worth preferring all the same.
    equal = weibull_machine(nodes=40, days=160.0, shape=1.0, scale=usual * DAY, seed=seed)
    assert scored(equal).verdict is not Verdict.POSITIVE


@pytest.mark.costly
@pytest.mark.parametrize(("bad", "every"), [(1, 0.5), (2, 1.5), (4, 2.0)])
def test_a_machine_with_truly_bad_nodes_is_positive(bad: int, every: float) -> None:
    done = scored(site(nodes=60, days=200.0, bad=bad, every=every, usual=400.0))
    assert done.verdict is Verdict.POSITIVE, report.lines(done)
    assert done.score.use.gain.low > 0
    # The same alarms are not worth it where a failure costs next to nothing.
    cheap = scoring.score(found(site(nodes=60, days=200.0, bad=bad, every=every)), 6.0, asked=CHEAP, lost=0.5)
    assert cheap.verdict is Verdict.NOT_POSITIVE


def recent(seed: int, nodes: int = 60, days: float = 250.0) -> History:
    """Return a machine where the time since the last failure is all: who is back fails soon, or late."""
    draw = np.random.default_rng(seed)
    failures = []
    for node in range(nodes):
        at = float(draw.exponential(40 * DAY))
        while at < days * DAY:
            failures.append((node, at, at + HOUR))
            soon = float(draw.exponential(1.5 * DAY))
            at += HOUR + (soon if soon < DAY else DAY + float(draw.exponential(40 * DAY)))
    return named(merged(nodes, 0.0, days * DAY, failures))


@pytest.mark.parametrize("seed", range(3))
def test_where_recency_alone_counts_the_table_is_taken(seed: int) -> None:
    done = scored(recent(seed))
    assert done.chosen == "recency"
    over = done.rolled.scores["frailty"].over_recency
    assert over is not None
    assert over.above(0.0) is not True


@pytest.mark.costly
def test_where_recency_alone_counts_the_learned_one_does_not_win() -> None:
    world = recent(3, nodes=40, days=160.0)
    what = rolling.plan(world, 8.0, steps=1)
    one = rolling.roll(world, NOTHING, ("recency", "learned"), what).scores["learned"]
    assert one.over_recency is not None
    assert one.over_recency.above(0.0) is not True


def test_too_few_failures_are_too_little_to_tell() -> None:
    done = scored(site(days=200.0, bad=1, every=12.0, usual=4000.0))
    assert 0 < done.rolled.failures < usefulness.ENOUGH
    assert done.verdict is Verdict.TOO_LITTLE
    assert "too little to tell" in report.told(done)


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=5))
def test_a_verdict_is_positive_where_every_condition_holds(holds: list[bool | None]) -> None:
    told = usefulness.verdict([Criterion("asks", one, "") for one in holds])
    assert (told is Verdict.POSITIVE) == all(holds)
    assert (told is Verdict.NOT_POSITIVE) == (bool(holds[0]) and False in holds)


def test_what_alarms_are_worth_by_hand() -> None:
    # Two nodes, a day each asked every six hours; node 0 fails at the end of the first day.
    start = np.tile(np.arange(0.0, 2 * DAY, 6 * HOUR), 2)
    node = np.repeat([0, 1], 8)
    failed = (node == 0) & (start < DAY)
    raised = start < DAY / 2
    worth = usefulness.use(
        raised,
        Questions(node, start, failed),
        horizon=DAY,
        every=np.full(16, 6 * HOUR),
        lost=96.0,
        seed=1,
        block=DAY,
    )
    assert (worth.withheld, worth.avoided, worth.false_alarms) == (24.0, 0.5, 1.0)
    assert worth.saved.value == 48.0
    assert worth.gain.value == 24.0
    assert worth.precision.value == 0.5
    assert worth.lift.value == 2.0
    assert worth.pays_from == 48.0


def test_no_alarm_is_worth_nothing() -> None:
    nobody = np.zeros(4, dtype=bool)
    asked = Questions(np.arange(4), np.zeros(4), nobody)
    worth = usefulness.use(nobody, asked, horizon=DAY, every=np.ones(4), lost=1.0, seed=1, block=DAY)
    assert (worth.withheld, worth.avoided) == (0.0, 0.0)
    assert math.isinf(worth.pays_from)
    assert worth.lift.above(2.0) is False


def test_what_a_failure_costs_is_what_the_jobs_lose() -> None:
    # One job of 4 of 8 nodes, all ten hours: a failure hits it half of the time and costs 20 node-hours.
    assert usefulness.stake([(10 * HOUR, 4)], 8, 10 * HOUR) == pytest.approx(10.0)
    # A job of the whole machine cannot be kept off any node.
    assert usefulness.stake([(10 * HOUR, 8)], 8, 10 * HOUR) == 0.0
    assert usefulness.stake([], 8, 10 * HOUR) is None


def test_rates_by_recency_are_those_of_a_table_by_hand() -> None:
    # Node 0 fails twice, half an hour apart; node 1 never.
    known = merged(2, 0.0, 100 * HOUR, [(0, 10 * HOUR, 10 * HOUR), (0, 10.5 * HOUR, 11 * HOUR)])
    table = recency.fit(known)
    mean = 2.5 / (99.5 * HOUR + 100 * HOUR)
    assert table.rates[0] == pytest.approx((1 + 1) / (1.5 * HOUR + 1 / mean))
    assert table.rates[-1] == pytest.approx(mean)  # nothing was seen of it
    assert table.never == pytest.approx((1 + 1) / (110 * HOUR + 1 / mean))
    after = table.probability(np.array([0, 1]), np.array(11 * HOUR), np.array(HOUR))
    assert after[0] == pytest.approx(-np.expm1(-table.rates[0] * HOUR))
    assert after[1] == pytest.approx(-np.expm1(-table.never * HOUR))
    assert "failed last 0 s ago" in table.explain(0, 11 * HOUR, HOUR).evidence
    assert "has not failed yet" in table.explain(1, 11 * HOUR, HOUR).evidence


def saved(path: Path, verdict: Verdict) -> Path:
    made, _ = model_selection.learn(found(site(days=40.0)), 1.0, asked=("frailty",))
    model.save(replace(made, about=replaced(made.about, verdict)), path)
    return path


def replaced(about: model.About, verdict: Verdict) -> model.About:
    import msgspec

    return msgspec.structs.replace(about, verdict=verdict)


@pytest.mark.parametrize("verdict", NAMES)
@pytest.mark.parametrize("despite", [None, "not-positive", "too-little"])
def test_only_a_verdict_that_is_positive_or_named_acts(
    verdict: Verdict, despite: str | None, tmp_path: Path
) -> None:
    path = saved(tmp_path / "site.npz", verdict)
    words = [
        "placement",
        "serve",
        "--active",
        "--model",
        str(path),
        "--dir",
        str(tmp_path / "none"),
        "--once",
    ]
    shown = CliRunner().invoke(cli, [*words, *(("--despite", despite) if despite else ())])
    # Who acts on what is shown to be of no use acts on what is not shown to be of any.
    refused = verdict is not Verdict.POSITIVE and despite not in (verdict.value, "not-positive")
    assert isinstance(shown.exception, RefusedError) == refused
    if refused:
        assert isinstance(shown.exception, RefusedError)
        assert f"--despite {verdict.value}" in str(shown.exception.hint)
    for act in ((), ("--act",)):
        flux = ["placement", "install", "--flux", str(path), "--dry-run", *act]
        shown = CliRunner().invoke(cli, [*flux, *(("--despite", despite) if despite else ())])
        assert isinstance(shown.exception, RefusedError) == (refused and bool(act))


def test_a_model_that_is_no_longer_of_use_is_put_down(tmp_path: Path) -> None:
    """The service runs for months, and the model is made anew each day."""
    path = saved(tmp_path / "site.npz", Verdict.POSITIVE)
    sources = Sources(path, None, acting=True)
    sources.check()
    asked = {"valid_for": 60.0, "horizons": (DAY,), "active": True, "cluster": ""}
    now = 40 * DAY

    def likely() -> float:
        made = sources.table(("n0", "n5"), now, **asked)  # type: ignore[arg-type]  # of the dict above
        assert made is not None
        return max(row.probability[0] for row in made.nodes)

    assert likely() > 0.1
    saved(tmp_path / "other.npz", Verdict.NOT_POSITIVE).replace(path)
    sources.refresh()
    assert "its score is not positive" in sources.problem
    assert likely() == 0.0
    watching = Sources(path, None)
    watching.check()
    assert watching.problem == ""
    saved(tmp_path / "third.npz", Verdict.POSITIVE).replace(path)
    sources.refresh()
    assert sources.problem == ""
    assert likely() > 0.1


def test_recency_is_taken_where_the_best_is_no_better_beyond_chance() -> None:
    world = recent(4)
    choice = model_selection.choose(world, NOTHING, asked=CHEAP)
    assert choice.name == "recency"
    assert choice.rolled is not None
    assert isinstance(choice.rolled.scores["frailty"].over_recency, Estimate)
    assert choice.rolled.scores["recency"].over_recency == (0.0, 0.0, 0.0)
    assert set(rolling.names(world, NOTHING)) >= {"recency", "base"}
