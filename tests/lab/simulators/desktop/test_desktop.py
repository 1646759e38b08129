"""A desktop grid: replication by reliability, the broker's loop beside its audit, generated machines."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.lab.reproductions.desktop.evaluation import Plan, around, one_site
from whesl.lab.reproductions.registry import Inputs, load
from whesl.lab.simulators.desktop.audit import audit
from whesl.lab.simulators.desktop.simulate import BEAT, DONE, FAILED, Outcome, Rules, simulate
from whesl.lab.simulators.desktop.synthetic_machines import DAY, HOUR, Jobs, Site, jobs, machines
from whesl.model.errors import WheslError
from whesl.placement.policies.job_replication import key_of, select
from whesl.prediction.failures import periodic_and_survival_prediction
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.given_accuracy_predictors import Given, exact, none

# The first call compiles, on a busy machine for minutes.
pytestmark = pytest.mark.timeout(600)


def chosen_of(
    risks: list[float], required: float, risk: float = 1.0, surest: bool = False
) -> tuple[list[int], float]:
    """Return the machines that are taken for a job of 10 s, where each fails with its risk."""
    nodes = len(risks)
    predictor = Given("given", nodes, np.arange(nodes), np.full(nodes, 5.0), risks).compiled()
    chosen = np.empty(nodes, dtype=np.int64)
    count, first = select(
        np.arange(nodes), predictor, 0.0, 10.0, required, risk, key_of(0, 1, 2), surest, chosen
    )
    return sorted(chosen[:count].tolist()), first


@pytest.mark.costly
def test_two_machines_of_70_and_80_per_cent_give_94() -> None:
    assert chosen_of([0.3, 0.2], 0.94)[0] == [0, 1]
    assert chosen_of([0.3, 0.2], 0.95)[0] == []


def test_a_machine_that_is_certain_to_fail_is_not_taken() -> None:
    assert chosen_of([1.0, 0.05, 1.0], 0.9)[0] == [1]
    assert chosen_of([1.0, 1.0], 0.1)[0] == []


def test_the_surest_come_first_and_need_fewest() -> None:
    assert chosen_of([0.5, 0.4, 0.1, 0.3], 0.9, surest=True)[0] == [2]
    assert chosen_of([0.5, 0.4, 1.0, 0.3], 0.85, surest=True)[0] == [1, 3]


def test_what_was_tried_before_counts() -> None:
    taken, risk = chosen_of([0.3, 0.3], 0.9, 0.3)
    assert len(taken) == 1
    assert risk == pytest.approx(0.09)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.999))
def test_no_more_machines_are_taken_than_needed(risks: list[float], required: float) -> None:
    taken, _ = chosen_of(risks, required)
    usable = float(np.prod([risk for risk in risks if risk < 1.0]))
    if not taken:
        assert usable > (1 - required) * (1 - 1e-9)
        return
    together = float(np.prod([risks[node] for node in taken]))
    assert together <= (1 - required) * (1 + 1e-9)
    # Without the last one taken it was not enough; which one that is follows from the draws.
    without = [float(np.prod([risks[other] for other in taken if other != node])) for node in taken]
    assert max(without) > (1 - required) * (1 - 1e-9)


def test_the_24_hour_example() -> None:
    """A reboot every 24 hours, the last at t: 10 hours are accepted at t + 5, and refused at t + 15."""
    days = np.arange(30)
    history = merged(
        1, 0.0, 30.5 * DAY, [(0, day * DAY + HOUR, day * DAY + HOUR + 60) for day in days.tolist()]
    )
    predictor = periodic_and_survival_prediction.fit(history, tolerance=300.0)
    last = 29 * DAY + HOUR
    machine, chosen = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    accepted = [
        select(
            machine, predictor.compiled(), last + later, 10 * HOUR, 0.8, 1.0, key_of(0, 0, 0), False, chosen
        )[0]
        for later in (5 * HOUR, 15 * HOUR)
    ]
    assert accepted == [1, 0]


def few(submit: list[float], duration: list[float]) -> Jobs:
    return Jobs(np.array(submit), np.array(duration), np.ones(len(submit), dtype=np.bool_))


@pytest.mark.costly
def test_a_job_that_is_killed_is_tried_again() -> None:
    truth = merged(1, 0.0, 1e5, [(0, 1000.0, 1200.0)])
    outcome = simulate(few([0.0], [2000.0]), truth, none(1).compiled(), Rules(0.9, False, 2, 0), 1e4)
    # Begun at the first beat, killed at 1000, begun again at the beat after it has come back.
    assert outcome.span.tolist() == [[BEAT, 1000.0], [1200.0, 3200.0]]
    assert (outcome.status.tolist(), outcome.finish.tolist(), outcome.used.tolist()) == (
        [DONE],
        [3200.0],
        [2700.0],
    )
    once = simulate(few([0.0], [2000.0]), truth, none(1).compiled(), Rules(0.9, False, 1, 0), 1e4)
    assert (once.status.tolist(), once.finish.tolist()) == ([FAILED], [1000.0])


def test_a_job_waits_where_the_predictor_knows() -> None:
    truth = merged(1, 0.0, 1e5, [(0, 1000.0, 1200.0)])
    outcome = simulate(few([0.0], [2000.0]), truth, exact(truth).compiled(), Rules(0.9, True, 0, 0), 1e4)
    assert outcome.span.tolist() == [[1200.0, 3200.0]]
    assert outcome.queue[:3].tolist() == [1, 1, 1]


@st.composite
def grids(draw: st.DrawFn) -> tuple[Jobs, History, Given, Rules]:
    nodes = draw(st.integers(1, 6))
    count = draw(st.integers(1, 12))
    submit = sorted(draw(st.lists(st.integers(0, 40), min_size=count, max_size=count)))
    duration = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
    times = st.tuples(st.integers(0, nodes - 1), st.integers(0, 90), st.integers(0, 8))
    downs = [(node, at * 150.0, (at + last) * 150.0) for node, at, last in draw(st.lists(times, max_size=15))]
    said = draw(
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, 60), st.floats(0, 1)), max_size=10)
    )
    predictor = Given(
        "random", nodes, [one[0] for one in said], [one[1] * 150.0 for one in said], [one[2] for one in said]
    )
    rules = Rules(
        draw(st.sampled_from([0.5, 0.9])),
        draw(st.booleans()),
        draw(st.sampled_from([0, 3])),
        draw(st.integers(0, 9)),
        draw(st.booleans()),
    )
    work = few([at * 150.0 for at in submit], [long * 150.0 for long in duration])
    return work, merged(nodes, 0.0, 15000.0, downs), predictor, rules


@settings(max_examples=examples(150), deadline=None)
@given(grids())
def test_runs_are_possible_and_the_same_again(case: tuple[Jobs, History, Given, Rules]) -> None:
    work, truth, predictor, rules = case
    outcome = simulate(work, truth, predictor.compiled(), rules, 60000.0)
    audit(work, truth, outcome, space=rules.space)
    assert np.isin(outcome.status, (DONE, FAILED)).all()
    again = simulate(work, truth, predictor.compiled(), rules, 60000.0)
    assert np.array_equal(outcome.span, again.span)


def changed(outcome: Outcome, **fields: Any) -> Outcome:
    return dataclasses.replace(outcome, **fields)


def test_the_audit_finds_what_is_not_possible() -> None:
    truth = merged(2, 0.0, 1e5, [(0, 1000.0, 1200.0), (1, 5000.0, 5100.0)])
    work = few([0.0, 0.0], [2000.0, 900.0])
    outcome = simulate(work, truth, none(2).compiled(), Rules(0.9, False, 3, 0), 1e4)
    audit(work, truth, outcome, space=False)
    wrong = {
        "before its submission": changed(outcome, span=outcome.span - 1000.0),
        "cannot complete|is not killed": changed(outcome, completed=~outcome.completed),
        "machine-seconds": changed(outcome, used=outcome.used + 1.0),
        "attempts, and": changed(outcome, attempts=outcome.attempts + 1),
        r"on machine 0 at .*: it cannot complete": changed(outcome, rows=np.zeros_like(outcome.rows)),
    }
    for said, run in wrong.items():
        with pytest.raises(WheslError, match=said):
            audit(work, truth, run, space=False)


def test_a_predictor_of_other_machines_is_refused() -> None:
    with pytest.raises(WheslError, match="knows 3 machines, and there are 2"):
        simulate(few([0.0], [1.0]), merged(2, 0.0, 1.0, []), none(3).compiled(), Rules(0.9, True, 0, 0), 10.0)


SMALL = Site(restarted=12, others=3, labs=3)


def test_machines_restart_daily() -> None:
    history = machines(np.random.default_rng(0), SMALL, 20 * DAY)
    assert history.nodes == 15
    in_time = np.abs(history.start % DAY - 4 * HOUR) < HOUR
    daily = np.bincount(history.node[in_time], minlength=15)
    assert (daily[:12] >= 16).all()
    assert (daily[12:] < 8).all()


def test_jobs_come_as_the_document_says() -> None:
    work = jobs(np.random.default_rng(0), DAY, 30 * DAY, 21.0)
    assert (np.diff(work.submit) >= 0).all()
    assert work.submit[0] >= DAY
    assert work.submit[-1] < 31 * DAY
    assert work.long.sum() == pytest.approx(30 * 24 * 3, rel=0.02)
    assert (~work.long).sum() == pytest.approx(30 * 24 * 6, rel=0.02)
    assert work.duration[work.long].mean() == pytest.approx(21 * HOUR, rel=0.01)


def test_a_queue_around_a_time_of_the_day() -> None:
    beat = np.arange(0.0, 3 * DAY, BEAT)
    assert around(beat, np.where(beat % DAY < 4 * HOUR, 7, 1), 4 * HOUR) == (7.0, 1.0)


def test_a_small_site() -> None:
    plan = Plan(site=SMALL, lengths=(21.0,), training=10 * DAY, test=1 * DAY, tail=3 * DAY)
    rows = [row for row, _ in one_site(0, np.random.SeedSequence(3), plan)]
    assert [(row.replication, row.policy) for row in rows] == [
        ("in time", "FFP"),
        ("in time", "NFFP"),
        ("in time", "Random"),
        ("in time", "reliable"),
        ("in space", "FFP"),
        ("in space", "NFFP"),
        ("in space", "reliable"),
    ]


@pytest.mark.slow
def test_the_experiment() -> None:
    found = load("desktop").run(Inputs(quick=True))
    assert {finding.source.split(", ")[-1] for finding in found.findings} >= {
        f"Fig. {n}" for n in range(7, 14)
    }
    assert "(synthetic)" in load("desktop").about
