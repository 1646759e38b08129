"""Random runs on small tori, checked by an audit that shares no code with the loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.lab.simulators.torus.audit import audit
from whesl.lab.simulators.torus.event_loop import Jobs, Outcome, run
from whesl.lab.simulators.torus.measures import measures
from whesl.placement.policies.torus.boxes import torus
from whesl.placement.policies.torus.choice import RULES
from whesl.placement.policies.torus.scheduling_pass import Settings
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.given_accuracy_predictors import confidence, none, tie_breaking

# Compiled for the first time, the loops take half a minute of a processor.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DIMS = (2, 2, 4)
GEOMETRY = torus(*DIMS)


def jobs_of(rows: list[tuple[int, int, int]]) -> Jobs:
    """Jobs from (gap before it, size, time)."""
    size = np.array([row[1] for row in rows], dtype=np.int64)
    submit = np.cumsum([row[0] for row in rows]).astype(np.float64)
    return Jobs(submit, size, GEOMETRY.fitting[size], np.array([float(row[2]) for row in rows]))


def history(failures: list[tuple[int, int]], last: float) -> History:
    time = np.array(sorted({(float(t), n) for t, n in failures}), dtype=np.float64).reshape(-1, 2)
    node = time[:, 1].astype(np.int32)
    return History(16, 0.0, last, node, time[:, 0].copy(), time[:, 0].copy(), node * 0)


def simulate(
    rows: list[tuple[int, int, int]], truth: History, policy: str, level: float = 0.5, **how: bool
) -> tuple[Jobs, Outcome]:
    jobs = jobs_of(rows)
    predictor = tie_breaking(truth, level, 1) if policy == "tie-breaking" else confidence(truth, level)
    how = {"migration": True, "backfill": True, "per_query": False} | how
    chosen = Settings(RULES[policy], how["backfill"], 7 if how["per_query"] else -1)
    outcome = run(
        GEOMETRY,
        chosen,
        predictor.compiled(),
        how["migration"],
        jobs,
        truth.start,
        truth.node.astype(np.int64),
        True,
    )
    return jobs, outcome


ROWS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 16), st.integers(1, 60)), min_size=1, max_size=25
)
FAILURES = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 15)), max_size=12)


@given(ROWS, FAILURES, st.sampled_from(sorted(RULES)), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_every_run_is_in_order(
    rows: list[tuple[int, int, int]],
    failures: list[tuple[int, int]],
    policy: str,
    migration: bool,
    backfill: bool,
    per_query: bool,
) -> None:
    truth = history(failures, 1000.0)
    jobs, outcome = simulate(rows, truth, policy, migration=migration, backfill=backfill, per_query=per_query)
    falls = list(zip(truth.start.tolist(), truth.node.tolist(), strict=True))
    assert audit(DIMS, jobs, outcome, falls) == []
    figures = measures(jobs, outcome, 16)
    assert 0.0 <= figures.unused <= 1.0
    assert figures.lost >= -1e-9
    assert figures.mean_bounded_slowdown >= 1.0
    again = simulate(rows, truth, policy, migration=migration, backfill=backfill, per_query=per_query)[1]
    assert np.array_equal(again.end, outcome.end)


@given(ROWS, FAILURES)
@settings(max_examples=examples(30), deadline=None)
def test_without_predictions_all_rules_are_krevats(
    rows: list[tuple[int, int, int]], failures: list[tuple[int, int]]
) -> None:
    truth = history(failures, 1000.0)
    ends = [simulate(rows, truth, policy, level=0.0)[1].end for policy in RULES]
    assert all(np.array_equal(end, ends[0]) for end in ends)


@given(ROWS)
@settings(max_examples=examples(50), deadline=None)
def test_jobs_start_in_order_of_arrival_without_backfilling(rows: list[tuple[int, int, int]]) -> None:
    _, outcome = simulate(rows, history([], 1.0), "krevat", backfill=False)
    assert (np.diff(outcome.start) >= 0).all()


def test_migration_makes_room_for_the_head() -> None:
    """Four small jobs leave eight nodes free, in two parts; packed anew, the next job of eight fits."""
    rows = [(0, 4, 100), (0, 4, 10), (0, 4, 100), (0, 4, 10), (20, 8, 5)]
    moved = simulate(rows, history([], 1.0), "krevat")[1]
    assert moved.start[4] == 20.0
    apart = simulate(rows, history([], 1.0), "krevat", migration=False)[1]
    assert moved.migrations == (apart.start[4] > 20.0)


def test_a_killed_job_starts_again_from_its_beginning_in_its_place() -> None:
    rows = [(0, 16, 100), (10, 16, 50), (0, 1, 5)]
    _, outcome = simulate(rows, history([(40, 3)], 200.0), "krevat")
    assert outcome.attempts.tolist() == [2, 1, 1]
    assert outcome.start.tolist() == [40.0, 140.0, 190.0]
    assert outcome.wasted.tolist() == [640.0, 0.0, 0.0]
    assert outcome.hits == 1


def test_balancing_avoids_the_node_that_fails() -> None:
    truth = history([(50, 0)], 200.0)
    assert simulate([(0, 4, 100)], truth, "balancing")[1].hits == 0
    assert simulate([(0, 4, 100)], truth, "tie-breaking", level=1.0)[1].hits == 0
    assert simulate([(0, 4, 100)], truth, "krevat")[1].hits == 1


def test_reliable_holds_no_job_back_beyond_its_run_time_after_its_arrival() -> None:
    """A job could be held back from one end to the next, again and again.

    The third job arrives at 11 and runs 8 s. Killed at 18, it had better wait for the end at 20: too late.
    """
    rows = [(4, 4, 20), (4, 2, 12), (3, 4, 8), (2, 4, 2)]
    failures = [(41, 3), (17, 2), (47, 15), (18, 7), (0, 11), (54, 12), (52, 11), (51, 1)]
    _, outcome = simulate(rows, history(failures, 1000.0), "reliable", level=0.9)
    assert outcome.start.tolist() == [4.0, 8.0, 18.0, 13.0]


def test_the_audit_can_fail() -> None:
    jobs, outcome = simulate([(0, 8, 10), (0, 16, 10), (0, 8, 5)], history([(3, 0)], 20.0), "krevat")
    good = [(3.0, 0)]
    assert audit(DIMS, jobs, outcome, good) == []
    assert audit(DIMS, jobs, outcome, [])
    assert audit(DIMS, jobs, outcome, [(4.0, 0), (4.0, 15)])
    assert audit(DIMS, jobs._replace(time=jobs.time + 1), outcome, good)
    assert audit(DIMS, jobs, outcome._replace(end=outcome.end + 1), good)
    assert audit(DIMS, jobs, outcome._replace(event_box=np.zeros_like(outcome.event_box)), good)
    boxes = outcome.event_box.copy()
    boxes[:, :3] = 0
    boxes[:, 3:] = (2, 2, 2)
    assert audit(DIMS, jobs, outcome._replace(event_box=boxes), good)
    assert audit(DIMS, jobs, outcome._replace(promised=np.array([[1.0, 0.0, 1.0]])), [])


def test_no_predictor_means_no_difference() -> None:
    compiled = none(16).compiled()
    jobs = jobs_of([(0, 4, 10)])
    outcome = run(
        GEOMETRY, Settings(1, True, -1), compiled, True, jobs, np.zeros(0), np.zeros(0, np.int64), False
    )
    assert outcome.end[0] == pytest.approx(10.0)
    assert len(outcome.event_time) == 0
