"""The evaluation's simulator: its cluster beside the lab's own, its executors by counting, whole cases."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the extra 'lab' is not installed")
from tests.alike import alike
from whesl.cloud import prices
from whesl.cloud.core.plan_records import Settings
from whesl.cloud.core.scaler_events import (
    EndInstances,
    Observation,
    RequestNodes,
    ScalerState,
    StageCount,
    StageTable,
    StartInstances,
)
from whesl.lab.simulators.cloud import (
    background_jobs,
    baseline_scalers,
    cluster,
    evaluate,
    executors,
    persistence_forecast,
)
from whesl.lab.simulators.cloud.evaluate import ADAPTIVE, CLOUD, OURS, PARSL
from whesl.lab.simulators.cluster import python_event_loop
from whesl.lab.simulators.cluster.simulation_records import Workload
from whesl.placement.policies.easy import Easy


def jobs(count: int, seed: int, nodes: int = 32) -> cluster.Jobs:
    source = np.random.default_rng(seed)
    submit = np.sort(source.integers(0, 40 * count, size=count)).astype(float)
    run = source.integers(10, 3000, size=count).astype(float)
    limit = run + source.integers(0, 3000, size=count).astype(float)
    return cluster.Jobs(submit, source.integers(1, nodes + 1, size=count).astype(float), run, limit)


# -- the cluster --


@pytest.mark.costly
@pytest.mark.parametrize("seed", alike(range(4)))
def test_the_cluster_starts_jobs_as_the_labs_own_simulation_does(seed: int) -> None:
    """FCFS + EASY, without a workflow: the same start for every job."""
    own = jobs(150, seed)
    whole = cluster.empty(32, own, 4)
    cluster.advance(whole, own, float(own.submit[0]), np.inf)
    count = len(own.submit)
    work = Workload(
        np.arange(count),
        own.submit,
        own.nodes.astype(np.int64),
        own.run,
        own.limit,
        np.full(count, np.inf),
    )
    known = python_event_loop.simulate(work, 32, Easy())
    start = np.empty(count)
    start[known.job] = known.start
    assert whole.start.tolist() == start.tolist()


def test_a_cluster_is_resumed_at_any_moment() -> None:
    own = jobs(200, 9)
    whole = cluster.empty(32, own, 4)
    cluster.advance(whole, own, 0.0, np.inf)
    for moment in (500.0, 3000.0, 9000.0):
        again = cluster.resumed(32, own, whole.start, moment, 4)
        cluster.advance(again, own, moment, np.inf)
        assert again.start.tolist() == whole.start.tolist()


def test_requests_of_one_node_run_beside_and_the_queues_head_is_not_delayed() -> None:
    # 4 nodes: one job on three of them until 100 (limit 100), a job of four waits for it.
    own = cluster.Jobs(
        np.array([0.0, 1.0]), np.array([3.0, 4.0]), np.array([100.0, 50.0]), np.array([100.0, 50.0])
    )
    one = cluster.empty(4, own, 8)
    cluster.advance(one, own, 0.0, 5.0)
    cluster.ask(one, 5.0, 0, 3, 3600.0)
    cluster.advance(one, own, 5.0, 90.0)
    assert one.state[cluster.GRANTED] == 0  # an hour would delay the head
    cluster.withdraw(one, 0, 3)
    cluster.ask(one, 90.0, 0, 2, 10.0)
    cluster.advance(one, own, 90.0, 95.0)
    assert one.grants[0].tolist() == [90.0, 0.0, 1.0]  # one fits, and is over when the head starts
    cluster.advance(one, own, 95.0, 1000.0)
    assert one.start.tolist() == [0.0, 100.0]
    counts = np.zeros(1, np.int64)
    cluster.waiting(one, counts)
    assert counts[0] == 0


def test_free_nodes_of_each_hour_are_the_least_in_it() -> None:
    own = cluster.Jobs(
        np.array([0.0, 4000.0]), np.array([3.0, 8.0]), np.array([3600.0, 100.0]), np.array([3600.0, 100.0])
    )
    found = cluster.least_free(10, own, np.array([0.0, 4000.0]), 0.0, 3)
    assert found.tolist() == [7, 2, 10]


def test_a_forecast_has_rising_quantiles_within_the_cluster() -> None:
    free = np.random.default_rng(2).integers(0, 50, size=400).astype(float)
    made = persistence_forecast.persistence(free, 300, 50, 0.0)
    assert len(made.nodes) == 24
    assert all(list(row) == sorted(row) and row[0] >= 0 and row[-1] <= 50 for row in made.nodes)
    later = free.copy()
    later[300:] = 0
    assert persistence_forecast.persistence(later, 300, 50, 0.0) == made, "nothing of the future is used"


# -- executors --


def shape(tasks: list[int], seconds: float, *, barrier: bool = False) -> executors.Shape:
    count = len(tasks)
    parent = np.arange(-1, count - 1).reshape(count, 1)
    return executors.Shape(
        np.array(tasks, np.int64),
        parent,
        np.full((count, 1), barrier),
        np.full((count, 2), seconds),
        np.full(count, 3.6),
        np.full(count, 1e6),
        np.full(count, 1e6),
        np.arange(count) == count - 1,
        np.ones(16),
        1e6,
        1e9,
        60.0,
        np.zeros(count),
    )


@pytest.mark.parametrize("preload", [True, False])
def test_every_task_is_done_once_on_either_side(preload: bool) -> None:
    flow = shape([100, 100, 50], 30.0)
    work = executors.begun(flow, 20)
    for stage in range(3):
        executors.add(work, stage, executors.HPC, 0, 1, 0.0, 0.0, 3600.0)
        executors.add(work, stage, executors.CLOUD, 0, 2, 0.0, 120.0, 1e9)
    executors.advance(work, flow, 0.0, 7200.0, 60.0, preload)
    assert work.done.sum(axis=1).tolist() == [100, 100, 50]
    assert (work.done > 0).all()
    assert work.queue.sum() + work.origin.sum() + work.coming.sum() + work.depth.sum() == 0
    executors.finish(work, flow, 7200.0)
    # Three times two instances at 3.6 an hour for two hours.
    assert work.tally[executors.COST] == pytest.approx(6 * 2 * 3.6)
    assert work.tally[executors.COPIES] > 0


def test_no_task_runs_behind_a_barrier_before_all_are_done() -> None:
    flow = shape([10, 4], 100.0, barrier=True)
    work = executors.begun(flow, 20)
    executors.add(work, 0, executors.CLOUD, 0, 4, 0.0, 0.0, 1e9)
    executors.add(work, 1, executors.CLOUD, 0, 4, 0.0, 0.0, 1e9)
    executors.advance(work, flow, 0.0, 300.0, 60.0, True)
    assert work.done[1].sum() == 0
    executors.advance(work, flow, 300.0, 900.0, 60.0, True)
    assert work.done.sum(axis=1).tolist() == [10, 4]


def test_what_an_hours_end_interrupts_goes_on_elsewhere() -> None:
    flow = shape([1], 5000.0)
    work = executors.begun(flow, 20)
    executors.add(work, 0, executors.HPC, 0, 1, 0.0, 0.0, 3600.0)
    executors.advance(work, flow, 0.0, 3660.0, 60.0, True)
    assert work.done.sum() == 0
    assert work.depth[0] == 1
    assert 1390 < work.parts[0, 0] < 1410
    executors.add(work, 0, executors.HPC, 0, 1, 3660.0, 3660.0, 7260.0)
    executors.advance(work, flow, 3660.0, 5220.0, 60.0, True)
    assert work.done.sum() == 1


def test_an_instance_ends_after_its_task_and_is_billed_until_then() -> None:
    flow = shape([10], 100.0)
    work = executors.begun(flow, 20)
    executors.add(work, 0, executors.CLOUD, executors.BACKUP, 1, 0.0, 0.0, 1e9)
    executors.advance(work, flow, 0.0, 60.0, 60.0, True)
    executors.stop(work, 0, executors.BACKUP, 1)
    executors.advance(work, flow, 60.0, 600.0, 60.0, True)
    assert work.done.sum() == 1
    # The input is copied for a second first.
    assert work.tally[executors.BACKUP_COST] == pytest.approx(101 / 3600 * 3.6)


# -- the other schedulers --


def state(deadline: float) -> ScalerState:
    table = StageTable(
        stage="a",
        tasks=100,
        parents=(),
        hpc=60.0,
        cloud=60.0,
        platform="c",
        limit=1000,
        nodes=(),
        instances=(),
        planned=(),
        end=deadline,
    )
    return ScalerState(start=0.0, deadline=deadline, settings=Settings(), tables=(table,))


def test_bicer_asks_for_idle_nodes_until_the_deadline_and_takes_waiting_ones_for_running() -> None:
    seen = Observation(stages=(StageCount(),))
    asked = baseline_scalers.bicer(state(3000.0), seen, 1, 0.0)
    assert asked == (
        RequestNodes(stage="a", count=1, seconds=3000.0),
        StartInstances(stage="a", platform="c", count=1, purpose=asked[1].purpose, until=3000.0),  # type: ignore[union-attr]  # the second is one
    )
    waiting = Observation(stages=(StageCount(hpc_waiting=2, cloud_scheduled=1),))
    (ended,) = baseline_scalers.bicer(state(3000.0), waiting, 9, 0.0)
    assert isinstance(ended, EndInstances)
    assert ended.count == 1


def test_parsl_asks_anew_when_nothing_waits() -> None:
    seen = Observation(stages=(StageCount(ready=100),))
    assert baseline_scalers.parsl(state(3000.0), seen, 3) == (
        RequestNodes(stage="a", count=4, seconds=3600.0),
    )
    assert (
        baseline_scalers.parsl(state(3000.0), Observation(stages=(StageCount(ready=9, hpc_waiting=1),)), 3)
        == ()
    )


# -- cases --


@pytest.mark.slow
def test_cases_under_every_scheduler_are_sound_and_the_same_again() -> None:
    log = background_jobs.generated(60, 20, 3)
    plan = evaluate.Plan(cases=1, nodes=60, variants=(*evaluate.DOCUMENT, OURS), workflows=("OAI",))
    (case,) = evaluate.cases(plan, [log])
    case = case._replace(deadline=6, inputs=400)
    rows = evaluate.judged(case, plan, [log], prices.load())
    found = {row.scheduler: row for row in rows}
    assert set(found) == {*evaluate.DOCUMENT, OURS}
    for row in rows:
        assert all(0 <= share <= 1 for share in row.completion)
        assert row.cost >= 0
        assert (row.finished is not None) == all(share == 1 for share in row.completion)
    assert found[PARSL].cost == 0
    assert found[CLOUD].by_cluster == 0
    assert found[ADAPTIVE].completion[0] > 0.5
    assert found[OURS].probability is not None
    assert evaluate.judged(case, plan, [log], prices.load()) == rows
