"""Loops in C, in plain Python and a slow reference give the same attempts; policies keep their promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.lab.simulators.cluster.reference import Reference
from whesl.lab.native import cluster_event_loop
from whesl.lab.simulators.cluster import python_event_loop
from whesl.lab.simulators.cluster.audit import audit
from whesl.lab.simulators.cluster.simulation import simulate
from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
from whesl.model.errors import UsageError, WheslError
from whesl.placement.policies.easy import Easy
from whesl.placement.policies.fcfs import Fcfs
from whesl.placement.policies.port import Decisions, View
from whesl.placement.policies.reliable import Reliable, choose, expected_loss
from whesl.prediction.failures import given_accuracy_predictors, periodic_and_survival_prediction
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.port import Predictor

Row = tuple[int, Attempts]


@st.composite
def traces(draw: st.DrawFn) -> tuple[Workload, int, History]:
    """Small machines, and such of more than one word of bits; few or many failures; checkpoints."""
    nodes = draw(st.sampled_from([1, 3, 7, 64, 65, 130]))
    count = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    submit = np.sort(rng.integers(0, draw(st.sampled_from([1, 60, 400])), count)).astype(float)
    run = rng.integers(1, 40, count).astype(float)
    work = Workload(
        np.arange(count),
        submit,
        rng.integers(1, nodes + 1, count),
        run,
        run + rng.integers(0, 3, count) * rng.integers(0, 40, count),
        np.where(rng.random(count) < 0.5, np.inf, rng.integers(1, 12, count)),
    )
    failures = []
    if draw(st.booleans()):
        for _ in range(draw(st.integers(1, 40))):
            start = int(rng.integers(1, 300))
            failures.append((int(rng.integers(nodes)), start, start + int(rng.integers(0, 30))))
    return work, nodes, merged(nodes, 0.0, 400.0, failures)


def rows(attempts: Attempts) -> list[tuple[int, float, float, bool, list[int]]]:
    return [
        (int(job), float(start), float(end), bool(killed), attempts.nodes(index).tolist())
        for index, (job, start, end, killed) in enumerate(
            zip(attempts.job, attempts.start, attempts.end, attempts.killed, strict=True)
        )
    ]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
@settings(max_examples=examples(25), deadline=None)
@given(trace=traces())
def test_a_slow_reference_agrees(policy: str, trace: tuple[Workload, int, History]) -> None:
    work, nodes, history = trace
    result = simulate(work, nodes, policy, history=history)
    times = sorted(
        [(float(t), int(n), False) for t, n in zip(history.start, history.node, strict=True)]
        + [(float(t), int(n), True) for t, n in zip(history.end, history.node, strict=True)],
        key=lambda change: (change[0], change[2]),
    )
    columns = (work.submit, work.size, work.run, work.estimate, work.checkpoint)
    jobs = list(zip(*(values.tolist() for values in columns), strict=True))
    reference = Reference(jobs, nodes, times, policy)
    expected = [(a.job, a.start, a.stopped, a.killed, a.nodes) for a in reference.simulate()]
    assert rows(result.attempts) == expected
    assert audit(work, nodes, result.attempts, history) == []


@settings(max_examples=examples(60), deadline=None)
@given(trace=traces(), aoa=st.sampled_from([0.3, 0.7, 1.0]))
def test_plain_python_decides_as_the_compiled_loop(trace: tuple[Workload, int, History], aoa: float) -> None:
    work, nodes, history = trace
    predictor = given_accuracy_predictors.of_accuracy(history, aoa, 0.5, 1)
    for name, policy in (("fcfs", Fcfs()), ("easy", Easy()), ("reliable", Reliable())):
        compiled = simulate(work, nodes, name, history=history, predictor=predictor).attempts
        attempts = python_event_loop.simulate(work, nodes, policy, history=history, predictor=predictor)
        assert rows(attempts) == rows(compiled)
        assert audit(work, nodes, compiled, history) == []


@settings(max_examples=examples(60), deadline=None)
@given(trace=traces())
def test_the_same_figures_where_nothing_is_compiled(trace: tuple[Workload, int, History]) -> None:
    work, nodes, history = trace
    for name in ("fcfs", "easy", "conservative"):
        compiled = simulate(work, nodes, name, history=history)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster_event_loop, "library", lambda: None)
            plain = simulate(work, nodes, name, history=history)
        assert rows(plain.attempts) == rows(compiled.attempts)
        assert np.array_equal(plain.promised, compiled.promised)
        assert plain.measures == compiled.measures or all(
            one == other or (one != one and other != other)
            for one, other in zip(plain.measures.values(), compiled.measures.values(), strict=True)
        )


@settings(max_examples=examples(60), deadline=None)
@given(trace=traces())
def test_conservative_delays_no_reservation(trace: tuple[Workload, int, History]) -> None:
    work, nodes, _ = trace
    result = simulate(work, nodes, "conservative")
    assert (result.outcome.start <= result.promised).all()
    assert np.isfinite(result.promised).all()


@settings(max_examples=examples(60), deadline=None)
@given(trace=traces())
def test_easy_does_not_delay_the_head(trace: tuple[Workload, int, History]) -> None:
    """A job that waits at the front starts no later than the estimates of those that run say by then."""
    work, nodes, _ = trace
    outcome = simulate(work, nodes, "easy").outcome
    start, estimate = outcome.start, work.estimate
    for head in range(len(start)):
        ahead = [job for job in range(head) if start[job] > work.submit[head]]
        since = max([work.submit[head], *(start[job] for job in ahead)])
        if start[head] == since:
            continue
        # At `since` it is at the front: whatever runs then, by its estimate, bounds its start.
        running = (start <= since) & (outcome.end > since)
        ends = sorted(zip((start + estimate)[running].tolist(), work.size[running].tolist(), strict=True))
        free = nodes - int(work.size[running].sum())
        bound = since
        for end, size in ends:
            if free >= work.size[head]:
                break
            free, bound = free + size, end
        assert start[head] <= bound


def test_backfilling_at_the_shadow_time_and_on_extra_nodes() -> None:
    """Job 0 holds 2 of 4 nodes to 10, job 1 asks for 3; job 2 ends by 10, job 4 takes an extra node."""
    work = Workload(
        np.arange(5),
        np.array([0.0, 1.0, 2.0, 3.0, 9.0]),
        np.array([2, 3, 1, 2, 1]),
        np.array([10.0, 5.0, 8.0, 8.0, 5.0]),
        np.array([10.0, 5.0, 8.0, 8.0, 5.0]),
        np.full(5, np.inf),
    )
    outcome = simulate(work, 4, "easy").outcome
    assert outcome.start.tolist() == [0.0, 10.0, 2.0, 15.0, 9.0]


class Wrong:
    """A policy that starts the first job on given nodes."""

    name = "wrong"

    def __init__(self, nodes: list[int]) -> None:
        self.nodes = nodes

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        nodes = np.array(self.nodes)
        return Decisions(view.queue.job[:1], np.array([0, len(nodes)]), nodes)


@pytest.mark.parametrize("nodes", [[0], [0, 0], [0, 1, 2], [0, -1], [3, 4]])
def test_a_policy_that_is_wrong_is_refused(nodes: list[int]) -> None:
    work = Workload(np.arange(1), np.zeros(1), np.array([2]), np.ones(1), np.ones(1), np.full(1, np.inf))
    with pytest.raises(WheslError, match="policy wrong"):
        python_event_loop.simulate(work, 4, Wrong(nodes))


def test_what_cannot_be_simulated_is_refused() -> None:
    work = Workload(np.arange(1), np.zeros(1), np.array([9]), np.ones(1), np.ones(1), np.full(1, np.inf))
    with pytest.raises(UsageError, match="asks for 9 nodes of a machine of 8"):
        simulate(work, 8)
    with pytest.raises(UsageError, match="no policy"):
        simulate(work, 9, "sjf")
    with pytest.raises(UsageError, match="predictor"):
        simulate(work, 9, "reliable")
    with pytest.raises(WheslError, match="failures"):
        simulate(work, 9, history=merged(20, 0, 1, [(12, 0.5, 1.0)]))


def test_a_node_that_stays_down_leaves_jobs_unstarted() -> None:
    work = Workload(np.arange(2), np.zeros(2), np.array([2, 1]), np.ones(2), np.ones(2), np.full(2, np.inf))
    for policy in ("fcfs", "easy", "conservative"):
        result = simulate(work, 2, policy, history=merged(2, -9, 9, [(0, -1.0, np.inf)]))
        assert np.isnan(result.outcome.start[0])
        assert result.measures["ended"] == (0 if policy == "fcfs" else 1)


def test_choice_of_nodes() -> None:
    """The nodes of least risk; among equal ones those that fail soon after the job."""
    predictor = given_accuracy_predictors.Given("given", 5, [1, 2], [50.0, 150.0])
    free = np.arange(5)
    assert choose(predictor, free, 1, 0.0, 100.0, np.inf).nodes.tolist() == [2]
    assert choose(predictor, free, 4, 0.0, 100.0, np.inf).nodes.tolist() == [0, 2, 3, 4]
    every = choose(predictor, free, 5, 0.0, 100.0, 20.0)
    assert every.probability == pytest.approx(1.0)
    assert every.loss == pytest.approx(expected_loss(1.0, 5, 100.0, 20.0)) == pytest.approx(50.0)


@pytest.mark.parametrize("now", [3_000.0, 9_100.0])
def test_a_fitted_predictor_gives_the_same_nodes_in_c(now: float) -> None:
    """Node 0 fails each 1,000 seconds; the other nodes failed once each, and so have different risks."""
    periodic = [(0, 1000.0 * turn, 1000.0 * turn + 1) for turn in range(1, 9)]
    once = [(node, 700.0 * node, 710.0 * node) for node in range(1, 12)]
    history = merged(12, 0.0, 9_000.0, periodic + once)
    predictor = periodic_and_survival_prediction.fit(history, tolerance=5.0)
    assert len(predictor.compiled().period) == 1
    for size in range(1, 12):
        one = np.ones(1)
        work = Workload(np.arange(1), now * one, np.full(1, size), 900.0 * one, 900.0 * one, np.inf * one)
        found = simulate(work, 12, "reliable", predictor=predictor).attempts
        plain = python_event_loop.simulate(work, 12, Reliable(), predictor=predictor)
        assert rows(found) == rows(plain)


def test_reliable_loses_less_than_easy() -> None:
    rng = np.random.default_rng(3)
    count, nodes = 400, 32
    run = rng.integers(100, 4000, count).astype(float)
    work = Workload(
        np.arange(count),
        np.sort(rng.uniform(0, 2e5, count)),
        rng.integers(1, 9, count),
        run,
        run,
        np.full(count, np.inf),
    )
    failures = [(int(rng.integers(nodes)), t, t + 600.0) for t in np.sort(rng.uniform(0, 2e5, 150)).tolist()]
    history = merged(nodes, 0.0, 3e5, failures)
    easy = simulate(work, nodes, "easy", history=history).measures
    known = simulate(
        work, nodes, "reliable", history=history, predictor=given_accuracy_predictors.exact(history)
    )
    assert audit(work, nodes, known.attempts, history) == []
    assert known.measures["node_hours_lost"] < 0.2 * easy["node_hours_lost"]
