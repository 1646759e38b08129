"""Policies over several clusters in plain Python start the jobs that the compiled loop starts, and when."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba")

from whesl.lab.simulators.cluster.policy_object_event_loop import simulate
from whesl.lab.simulators.cluster.simulation_records import Workload
from whesl.lab.simulators.grid.event_loop import POLICIES, Grid, Jobs, Options, Outages, run
from whesl.model.errors import UsageError, WheslError
from whesl.placement.policies.multicluster.cluster_policy_adapter import RULES, ClusterPolicy
from whesl.placement.policies.port import Nodes, Queue, Running, View

# Compiled for the first time, the loops take half a minute of a processor.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SIZES = np.array([4, 8, 3], dtype=np.int64)
CLUSTER = np.repeat(np.arange(3), SIZES)
PREFERENCE = np.array([1, 2, 0], dtype=np.int64)
SUITS = np.array([[True, True, True], [True, False, False], [False, True, True], [False, False, True]])
LARGEST = np.where(SUITS, SIZES, 0).max(axis=1)
NONE = Outages(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
GRID = Grid(np.arange(4), SIZES, PREFERENCE)

# Gap before it, processors, time, kind; of processors at most what a cluster that suits has.
ROWS = st.lists(
    st.tuples(st.integers(0, 15), st.integers(1, 8), st.integers(1, 50), st.integers(0, 3)).map(
        lambda row: (row[0], min(row[1], int(LARGEST[row[3]])), *row[2:])
    ),
    min_size=1,
    max_size=25,
)


def arrays(rows: list[tuple[int, int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times of arrival, processors, run times and kinds."""
    table = np.array(rows, dtype=np.int64)
    return (
        np.cumsum(table[:, 0]).astype(float),
        table[:, 1].copy(),
        table[:, 2].astype(float),
        table[:, 3].copy(),
    )


@pytest.mark.parametrize("rule", ["fcfs", "fcfs-lb", "easy", "cons"])
@given(rows=ROWS)
@settings(max_examples=30)
def test_decisions_are_those_of_the_compiled_loop(rule: str, rows: list[tuple[int, int, int, int]]) -> None:
    submit, cpus, time, kind = arrays(rows)
    fast = run(
        GRID, Jobs(submit, cpus, time, kind, SUITS), NONE, Options(POLICIES[rule], 3, 20.0, 2.0, 1000, False)
    )
    policy = ClusterPolicy(CLUSTER, SUITS, lambda job: kind[job], PREFERENCE, rule, seed=3)
    work = Workload(np.arange(len(cpus)), submit, cpus, time, time, np.full(len(cpus), np.inf))
    slow = simulate(work, int(SIZES.sum()), policy)
    start, where = np.empty(len(cpus)), np.empty(len(cpus), dtype=np.int64)
    start[slow.job] = slow.start
    where[slow.job] = [CLUSTER[slow.nodes(index)[0]] for index in range(len(slow.job))]
    assert start.tolist() == fast.start.tolist()
    assert where.tolist() == fast.cluster.tolist()


@given(rows=ROWS)
@settings(max_examples=15)
def test_local_search_runs_every_job_within_one_cluster(
    rows: list[tuple[int, int, int, int]],
) -> None:
    submit, cpus, time, kind = arrays(rows)
    policy = ClusterPolicy(CLUSTER, SUITS, lambda job: kind[job], PREFERENCE, "ls")
    work = Workload(np.arange(len(cpus)), submit, cpus, time, time, np.full(len(cpus), np.inf))
    done = simulate(work, int(SIZES.sum()), policy)
    assert sorted(done.job.tolist()) == list(range(len(cpus)))
    for index, job in enumerate(done.job):
        (cluster,) = set(CLUSTER[done.nodes(index)].tolist())
        assert SUITS[kind[job], cluster]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="no rule 'best' on clusters"):
        ClusterPolicy(CLUSTER, SUITS, lambda job: job, rule="best")
    few = np.ones(2, dtype=bool)
    whole, times = np.zeros(0, dtype=np.int64), np.zeros(0)
    view = View(
        Nodes(few, few),
        Queue(whole, times, whole, times, times),
        Running(whole, times, times, np.zeros(1, dtype=np.int64), whole),
    )
    for rule in RULES:
        with pytest.raises(WheslError, match="the machine has 2 nodes, and the clusters 15"):
            ClusterPolicy(CLUSTER, SUITS, lambda job: job, rule=rule).decide(view, None, 0.0)
