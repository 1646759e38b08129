"""The compiled checkpoint models beside plain SimPy processes that share none of their code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.lab.simulators.checkpoints.plain_model import Application
from whesl.checkpoints.core import interval
from whesl.lab.simulators.checkpoints import evaluate, event_loop, machine_and_application_files


def plan(name: str, **changes: float) -> event_loop.Plan:
    base = event_loop.Plan(
        work=2000.0,
        buffer_write=4.0,
        drain=6.0,
        all_write=20.0,
        one_write=3.0,
        buffer_read=2.0,
        migration=9.0,
        migration_cost=0.0,
        rate=1 / 250,
        unmet=1.0,
        proactive=0.0,
        safeguard=name == "M1",
        migrate=name in ("M2", "P2"),
        prioritize=name in ("P1", "P2"),
    )
    return base._replace(**changes)  # type: ignore[arg-type]  # only times and rates are changed


def incidents(rows: list[tuple[float, float, bool]]) -> event_loop.Incidents:
    rows = sorted([*rows, (math.inf, 1e9, True)], key=lambda row: row[1])
    return event_loop.Incidents(*(np.array(column) for column in zip(*rows, strict=True)))


@st.composite
def fates(draw: st.DrawFn) -> list[tuple[float, float, bool]]:
    """Failures at moments that differ, many within one action of each other."""
    gaps = draw(st.lists(st.floats(0.31, 300.0), min_size=0, max_size=12))
    # No two things at one instant: which comes first is not said.
    failed = np.cumsum(np.array(gaps) * 1.0173717 + 0.0137913)
    rows = []
    for index, moment in enumerate(failed):
        lead = draw(st.one_of(st.just(math.inf), st.floats(0.05, 60.0)))
        real = draw(st.booleans()) or lead == math.inf
        lead = lead * 1.0017391 + 0.0031
        predicted = max(float(moment) - lead, 0.011 * (index + 1)) if lead < math.inf else lead
        rows.append((predicted, float(moment), real))
    return rows


@pytest.mark.costly
@pytest.mark.parametrize("name", ["B", "M1", "M2", "P1", "P2"])
@settings(max_examples=examples(60), deadline=None)
@given(rows=fates())
def test_a_run_costs_what_plain_processes_say(name: str, rows: list[tuple[float, float, bool]]) -> None:
    if name == "B":
        rows = [(math.inf, failed, real) for _, failed, real in rows if real]
    drawn = incidents(rows)
    ours = event_loop.run(plan(name), drawn)
    theirs = Application(plan(name), drawn)
    assert ours.failures == theirs.failures
    assert (ours.migrated, ours.committed) == (theirs.moved, theirs.met)
    measured = (ours.makespan, ours.checkpoint, ours.recomputation, ours.recovery)
    plainly = (theirs.makespan, theirs.blocked, theirs.lost, theirs.recovered)
    assert measured == pytest.approx(plainly, abs=1e-3)
    # Every second is computing, or one of the three overheads.
    assert ours.makespan == pytest.approx(2000.0 + sum(measured[1:]), abs=1e-3)


def test_without_failures_only_checkpoints_cost() -> None:
    outcome = event_loop.run(plan("P2"), incidents([]))
    assert outcome.recomputation == outcome.recovery == 0.0
    assert outcome.checkpoint == pytest.approx(4.0 * outcome.checkpoints)


def test_incidents_that_end_before_the_run_are_no_result() -> None:
    short = event_loop.Incidents(np.array([math.inf]), np.array([50.0]), np.array([True]))
    assert math.isnan(event_loop.run(plan("B"), short).makespan)


@given(
    cost=st.floats(0.1, 500.0),
    between=st.floats(1e3, 1e7),
    recall=st.floats(0, 0.95),
    precision=st.floats(0.2, 1),
    parts=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_the_compiled_interval_is_the_formula(
    cost: float, between: float, recall: float, precision: float, parts: tuple[float, float]
) -> None:
    migrated, committed = parts[0], (1 - parts[0]) * parts[1]
    accuracy = interval.Accuracy(recall, precision, migrated, committed)
    numbers = plan(
        "P2",
        buffer_write=cost,
        unmet=1.0 - recall * (migrated + committed),
        proactive=recall * committed / precision,
    )
    assert event_loop.interval(numbers, 1.0 / between) == pytest.approx(
        interval.with_errors(cost, between, accuracy), rel=1e-6
    )


@pytest.mark.costly
def test_results_do_not_depend_on_threads_and_models_meet_the_same_failures() -> None:
    summit, applications = machine_and_application_files.load(None, None)
    chosen = [evaluate.Setting(applications[0], summit.failures[0], name) for name in ("B", "P1", "P2")]
    one = evaluate.evaluate(summit, chosen, 7, 20, jobs=1)
    assert one == evaluate.evaluate(summit, chosen, 7, 20, jobs=3)
    assert one != evaluate.evaluate(summit, chosen, 8, 20, jobs=1)
