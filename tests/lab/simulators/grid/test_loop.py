"""Random runs on small grids, checked by an audit that shares no code with the loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.lab.simulators.grid.audit import audit
from whesl.lab.simulators.grid.event_loop import POLICIES, Grid, Jobs, Options, Outages, Outcome, run
from whesl.placement.policies.multicluster.schedule_local_search import gain

# Compiled for the first time, the loops take half a minute of a processor.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# Three clusters of 2 x 2, 1 x 8 and 3 x 1 processors; the second is the fastest, then the third.
GRID = Grid(
    np.array([0, 2, 3, 6]), np.array([2, 2, 8, 1, 1, 1], dtype=np.int64), np.array([1, 2, 0], dtype=np.int64)
)
SUITS = np.array([[True, True, True], [True, False, False], [False, True, True], [False, False, True]])
NONE = Outages(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))

ROWS = st.lists(
    st.tuples(st.integers(0, 15), st.integers(1, 8), st.integers(1, 50), st.integers(0, 3)),
    min_size=1,
    max_size=25,
)
DOWN = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 200), st.integers(1, 80)), max_size=10)


def jobs_of(rows: list[tuple[int, int, int, int]]) -> Jobs:
    """Jobs from (gap before it, processors, time, kind)."""
    submit = np.cumsum([row[0] for row in rows]).astype(np.float64)
    cpus, kind = (np.array([row[i] for row in rows], dtype=np.int64) for i in (1, 3))
    return Jobs(submit, cpus, np.array([float(row[2]) for row in rows]), kind, SUITS)


def outages_of(rows: list[tuple[int, int, int]]) -> Outages:
    """Outages from (machine, start, length); what overlaps an earlier one of its machine is left out."""
    kept: list[tuple[int, int, int]] = []
    for machine, start, length in sorted(rows, key=lambda row: (row[1], row[0])):
        if all(m != machine or s + e < start for m, s, e in kept):
            kept.append((machine, start, length))
    table = np.array(kept, dtype=np.float64).reshape(-1, 3)
    return Outages(table[:, 0].astype(np.int64), table[:, 1].copy(), table[:, 1] + table[:, 2])


def simulate(jobs: Jobs, outages: Outages, policy: str, seed: int = 1) -> Outcome:
    return run(GRID, jobs, outages, Options(POLICIES[policy], seed, 20.0, 2.0, 1000, True))


@given(ROWS, DOWN, st.sampled_from(sorted(POLICIES)))
@settings(max_examples=examples(200), deadline=None)
def test_every_run_is_in_order(
    rows: list[tuple[int, int, int, int]], down: list[tuple[int, int, int]], policy: str
) -> None:
    jobs, outages = jobs_of(rows), outages_of(down)
    outcome = simulate(jobs, outages, policy)
    assert audit(GRID, jobs, outages, outcome, policy) == []
    again = simulate(jobs, outages, policy)
    assert np.array_equal(again.end, outcome.end)
    assert np.array_equal(again.cluster, outcome.cluster)


@given(ROWS)
@settings(max_examples=examples(50), deadline=None)
def test_fcfs_starts_in_order_of_arrival(rows: list[tuple[int, int, int, int]]) -> None:
    starts = simulate(jobs_of(rows), NONE, "fcfs").start
    starts = starts[~np.isnan(starts)]
    assert (np.diff(starts) >= 0).all()


def test_of_equal_starts_the_fastest_cluster_is_taken_and_reservations_go_to_the_earliest() -> None:
    jobs = jobs_of([(0, 8, 100, 0), (0, 3, 50, 0), (0, 4, 10, 0), (0, 3, 5, 0)])
    outcome = simulate(jobs, NONE, "cons")
    assert outcome.cluster.tolist() == [1, 2, 0, 0]
    assert outcome.start.tolist() == [0.0, 0.0, 0.0, 10.0]


def test_easy_overtakes_on_other_clusters_and_in_the_head_s_shadow() -> None:
    jobs = jobs_of([(0, 6, 100, 2), (0, 8, 10, 0), (0, 2, 100, 2), (0, 2, 101, 0), (0, 2, 50, 2)])
    outcome = simulate(jobs, NONE, "easy")
    assert outcome.start.tolist() == [0.0, 100.0, 0.0, 0.0, 101.0]
    assert outcome.cluster.tolist() == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_failure_kills_what_runs_on_the_machine_in_part_and_no_more(policy: str) -> None:
    """A job on both machines of the first cluster dies with one of them; it is not run again."""
    jobs = jobs_of([(0, 3, 100, 1), (0, 8, 100, 0)])
    outages = Outages(np.array([1]), np.array([40.0]), np.array([60.0]))
    outcome = simulate(jobs, outages, policy)
    assert outcome.state.tolist() == [1, 0]
    assert outcome.end.tolist() == [40.0, 100.0]


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_job_that_no_cluster_can_hold_is_cancelled(policy: str) -> None:
    """Too large for any that suits it, or since machines are gone."""
    jobs = jobs_of([(0, 5, 10, 1), (0, 4, 10, 1), (50, 4, 10, 1)])
    outages = Outages(np.array([0]), np.array([20.0]), np.array([1e6]))
    outcome = simulate(jobs, outages, policy)
    assert outcome.state.tolist() == [2, 0, 2]
    assert np.isnan(outcome.start[2])


def test_local_search_never_makes_the_weight_worse_and_mends_a_bad_order() -> None:
    """A long job before many short ones, on one cluster: CONS keeps that order, LS does not."""
    rows = [(0, 1, 30, 3), (0, 1, 30, 3), (0, 1, 30, 3), (1, 3, 1000, 3)] + [(0, 3, 5, 3)] * 6
    jobs = jobs_of(rows)
    plain, better = simulate(jobs, NONE, "cons"), simulate(jobs, NONE, "ls")
    assert better.searches[1] > 0
    assert (better.start - jobs.submit).mean() < (plain.start - jobs.submit).mean()
    assert gain(np.array([4.0, 2.0, 2.0]), np.array([2.0, 1.0, 1.0])) == pytest.approx(1.5)
    assert gain(np.array([1.0, 0.0, 1.0]), np.array([1.0, 3.0, 1.0])) < 0
    assert gain(np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0])) == 0


def test_balanced_fcfs_draws_clusters_by_its_seed() -> None:
    jobs = jobs_of([(5, 1, 5, 0)] * 30)
    used = [simulate(jobs, NONE, "fcfs-lb", seed).cluster.tolist() for seed in (1, 1, 2)]
    assert used[0] == used[1] != used[2]
    assert set(used[0]) == {0, 1, 2}
    assert set(simulate(jobs, NONE, "fcfs").cluster.tolist()) == {1}


def test_the_audit_can_fail() -> None:
    jobs = jobs_of([(0, 3, 100, 1), (0, 8, 100, 0), (5, 2, 10, 0)])
    outages = Outages(np.array([1]), np.array([40.0]), np.array([60.0]))
    outcome = simulate(jobs, outages, "cons")
    assert audit(GRID, jobs, outages, outcome, "cons") == []
    assert audit(GRID, jobs, NONE, outcome, "cons")
    assert audit(GRID, jobs._replace(cpus=jobs.cpus + 1), outages, outcome, "cons")
    assert audit(GRID, jobs._replace(suits=~SUITS), outages, outcome, "cons")
    assert audit(GRID, jobs, outages, outcome._replace(start=outcome.start - 1), "cons")
    assert audit(GRID, jobs, outages, outcome._replace(part_machine=outcome.part_machine * 0), "cons")
    assert audit(GRID, jobs, outages, outcome._replace(promised=outcome.promised[:0]), "cons")
    assert audit(GRID, jobs, outages, outcome._replace(state=outcome.state * 0 + np.int8(2)), "cons")


def test_a_search_ends_by_the_clock() -> None:
    """With hours for each search the schedule is that without a limit; with hardly any no change is made."""
    jobs = jobs_of([(0, 8, 50, 0), (0, 6, 40, 0), (1, 8, 30, 0), (1, 2, 10, 0), (1, 1, 5, 0), (1, 3, 9, 0)])
    none, hours, moment = (
        run(GRID, jobs, NONE, Options(POLICIES["ls"], 1, 1.0, 50.0, 10**9, True, seconds))
        for seconds in (np.inf, 7200.0, 1e-12)
    )
    assert none.searches[1] > 0
    assert np.array_equal(none.searches, hours.searches)
    assert np.array_equal(none.start, hours.start)
    assert moment.searches.tolist() == [0, 0]
    assert np.array_equal(moment.start, simulate(jobs, NONE, "cons").start)
