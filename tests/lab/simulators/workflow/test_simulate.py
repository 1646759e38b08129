"""Workflows on nodes that fail: FLAW's worked example, the audit, the compiled loop beside the plain one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.lab.readers.workflow_graph import graph
from whesl.lab.reproductions.workflow.example import example
from whesl.lab.simulators.workflow.audit import audit
from whesl.lab.simulators.workflow.simulate import Outcome, simulate
from whesl.lab.simulators.workflow.workload import Workload, workload
from whesl.model.errors import WheslError
from whesl.placement.policies.list_scheduling import (
    AWARE_FIFO,
    FIFO,
    FLAW,
    RANK_HYBD,
    RELIABLE,
    Dispatch,
    Ranked,
    Ready,
    least_expected,
)
from whesl.prediction.failures.compiled_predictor import Compiled
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.given_accuracy_predictors import Given, exact, none

# The first call compiles, on a busy machine for minutes.
pytestmark = pytest.mark.timeout(600)

HYBRID = Ranked("hybrid", hybrid=True)


def test_the_worked_example_of_rank_hybd() -> None:
    tasks, truth, _ = example()
    outcome = simulate(tasks, RANK_HYBD, truth)
    assert (outcome.makespan.tolist(), outcome.loss, outcome.reschedulings) == ([155.0], 30.0, 4)
    rows = list(
        zip(
            outcome.attempts.task,
            outcome.attempts.node,
            outcome.attempts.start,
            outcome.attempts.end,
            strict=True,
        )
    )
    assert rows[:2] == [(0, 0, 0, 15), (0, 1, 15, 55)]
    assert sorted(rows[2:5]) == [(1, 0, 55, 60), (2, 2, 55, 60), (3, 1, 55, 60)]
    assert sorted(rows[5:]) == [(1, 0, 65, 105), (2, 2, 65, 105), (3, 1, 65, 100), (4, 0, 105, 155)]


def test_the_worked_example_of_flaw() -> None:
    tasks, truth, predictions = example()
    outcome = simulate(tasks, FLAW, truth, predictions)
    assert (outcome.makespan.tolist(), outcome.loss, outcome.reschedulings) == ([150.0], 20.0, 1)
    assert (outcome.aaa, outcome.asked) == (0.9, 10)
    assert (outcome.aaa_asked, outcome.questions) == (6 / 7, 7)
    rows = list(
        zip(
            outcome.attempts.task,
            outcome.attempts.node,
            outcome.attempts.start,
            outcome.attempts.end,
            strict=True,
        )
    )
    assert rows == [
        (0, 1, 0, 40),
        (3, 1, 40, 60),
        (1, 0, 40, 80),
        (2, 2, 40, 80),
        (3, 1, 65, 100),
        (4, 0, 100, 150),
    ]


def test_upward_ranks_of_the_example() -> None:
    assert example()[0].rank == pytest.approx([138.333, 82.333, 80.667, 91.667, 45.0], abs=1e-3)


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Workload, History, Given]:
    """Up to three workflows on up to five nodes, many times equal, failures and wrong predictions."""
    nodes = draw(st.integers(1, 5))
    graphs = []
    for number in range(draw(st.integers(1, 3))):
        count = draw(st.integers(1, 8))
        pairs = [(one, other) for other in range(count) for one in range(other)]
        chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12)) if pairs else []
        edges = [(one, other, float(draw(st.integers(0, 6)))) for one, other in chosen]
        runtimes = draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
        graphs.append(graph(f"g{number}", [f"t{task}" for task in range(count)], runtimes, edges))
    speeds = np.array(draw(st.lists(st.sampled_from([1.0, 2.0]), min_size=nodes, max_size=nodes)))
    arrivals = [float(draw(st.integers(0, 10))) for _ in graphs]
    times = st.tuples(st.integers(0, nodes - 1), st.integers(0, 80), st.integers(0, 10))
    failures = [(node, float(at), float(at + last)) for node, at, last in draw(st.lists(times, max_size=12))]
    said = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, 80)), max_size=10))
    predictions = Given("random", nodes, [one[0] for one in said], [float(one[1]) for one in said])
    return workload(graphs, speeds, 1.0, arrivals), merged(nodes, 0.0, 100.0, failures), predictions


def rows(outcome: Outcome) -> list[tuple[int, int, float, float, bool]]:
    held = outcome.attempts
    return sorted(
        zip(*(getattr(held, field.name).tolist() for field in dataclasses.fields(held)), strict=True)
    )


@settings(max_examples=examples(150), deadline=None)
@given(workloads(), st.sampled_from([RANK_HYBD, FLAW, FIFO, AWARE_FIFO, HYBRID, RELIABLE]))
def test_runs_are_possible_and_both_loops_agree(
    case: tuple[Workload, History, Given], policy: Ranked
) -> None:
    tasks, truth, predictions = case
    compiled = simulate(tasks, policy, truth, predictions)
    audit(tasks, truth, compiled)
    plain = simulate(tasks, policy, truth, predictions, plain=True)
    assert rows(plain) == rows(compiled)
    assert compiled.questions >= 0
    assert 0 <= compiled.aaa <= 1


def test_a_task_of_no_length_ends_when_it_was_killed() -> None:
    """The audit took the end of its second attempt, at the same time, for one before the failure."""
    reading = graph(
        "g", ["a", "b", "c", "d"], [0, 0, 0, 1], [(0, 1, 0.0), (0, 2, 2.0), (1, 2, 0.0), (0, 3, 0.0)]
    )
    others = [graph(name, ["t"], [3], []) for name in "hi"]
    tasks = workload([reading, *others], np.array([1.0, 1.0]), 1.0, [0.0, 0.0, 0.0])
    truth = merged(2, 0.0, 100.0, [(0, 4.0, 4.0)])
    outcome = simulate(tasks, RANK_HYBD, truth)
    assert [row[3:] for row in outcome.attempts.rows() if row[0] == 2] == [(4.0, False), (4.0, True)]
    audit(tasks, truth, outcome)


@settings(max_examples=examples(60), deadline=None)
@given(workloads())
def test_with_exact_predictions_nothing_that_is_asked_about_is_lost(
    case: tuple[Workload, History, Given],
) -> None:
    """What is still lost is lost with another node: the one that a task reads from."""
    tasks, truth, _ = case
    outcome = simulate(tasks, FLAW, truth, exact(truth))
    downs = {(int(node), float(start)) for node, start in zip(truth.node, truth.start, strict=True)}
    for _, node, start, end, completed in rows(outcome):
        assert completed or start == end or (node, end) not in downs
    if outcome.asked:
        assert outcome.aaa == outcome.aaa_asked == 1


@settings(max_examples=examples(30), deadline=None)
@given(workloads())
def test_a_predictor_that_never_expects_a_failure_is_none(case: tuple[Workload, History, Given]) -> None:
    tasks, truth, _ = case
    assert rows(simulate(tasks, FLAW, truth, none(truth.nodes))) == rows(simulate(tasks, RANK_HYBD, truth))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"loss": 31.0}, "the loss is 30"),
        ({"reschedulings": 5}, "4 attempts were killed"),
        ({"makespan": np.array([154.0])}, "another makespan"),
    ],
)
def test_the_audit_finds_wrong_sums(change: dict[str, Any], said: str) -> None:
    tasks, truth, _ = example()
    with pytest.raises(WheslError, match=said):
        audit(tasks, truth, dataclasses.replace(simulate(tasks, RANK_HYBD, truth), **change))


@pytest.mark.parametrize(
    ("row", "column", "value", "said"),
    [
        (0, "node", 1, "killed at 15.0 s without a failure"),
        (2, "completed", True, "ends twice"),
        (8, "start", 100.0, "before its parent"),
        (8, "end", 150.0, "where 50.0 s are needed"),
        (8, "node", 1, "where 55.0 s are needed"),
        (1, "completed", False, "never end"),
    ],
)
def test_the_audit_finds_what_is_not_possible(row: int, column: str, value: float, said: str) -> None:
    tasks, truth, _ = example()
    outcome = simulate(tasks, RANK_HYBD, truth)
    changed = getattr(outcome.attempts, column).copy()
    changed[row] = value
    attempts = dataclasses.replace(outcome.attempts, **{column: changed})
    with pytest.raises(WheslError, match=said):
        audit(tasks, truth, dataclasses.replace(outcome, attempts=attempts))


def test_the_audit_finds_what_survives_a_failure_and_what_starts_on_a_lost_node() -> None:
    tasks, truth, _ = example()
    outcome = simulate(tasks, RANK_HYBD)
    with pytest.raises(WheslError, match="over a failure"):
        audit(tasks, truth, outcome)
    with pytest.raises(WheslError, match="without a failure"):
        audit(tasks, None, simulate(tasks, RANK_HYBD, truth))


def test_tasks_that_never_end_are_said() -> None:
    tasks = workload([graph("g", ["a"], [10.0], [])], np.ones(1), 1.0, [5.0])
    with pytest.raises(WheslError, match="1 tasks never end: 1 are ready"):
        simulate(tasks, RANK_HYBD, merged(1, 0.0, 100.0, [(0, 1.0, np.inf)]))


def test_a_task_waits_until_a_predicted_failure_has_passed() -> None:
    tasks = workload([graph("g", ["a"], [10.0], [])], np.ones(1), 1.0, [0.0])
    outcome = simulate(tasks, FLAW, None, Given("one", 1, [0], [7.0]))
    assert outcome.start[0] == np.nextafter(7.0, np.inf)
    assert outcome.aaa == 0.5


@pytest.mark.parametrize(
    ("nodes", "predictor", "said"), [(2, None, "those of 2 nodes"), (3, none(4), "knows 4 nodes")]
)
def test_another_machine_is_refused(nodes: int, predictor: Given | None, said: str) -> None:
    with pytest.raises(WheslError, match=said):
        simulate(example()[0], FLAW, merged(nodes, 0.0, 1.0, []), predictor or none(3))


def test_a_policy_that_asks_needs_a_predictor() -> None:
    with pytest.raises(WheslError, match="FLAW asks a predictor"):
        simulate(example()[0], FLAW)


class Last:
    """A policy of one's own: the last ready task on the last free node."""

    name = "last"

    def decide(self, view: Ready, predictor: Compiled, now: float) -> Dispatch:
        free = np.flatnonzero(np.isfinite(view.duration[-1]))
        return Dispatch(view.task[-1:][: len(free)], free[-1:])


class Twice(Last):
    """One that starts a task twice."""

    def decide(self, view: Ready, predictor: Compiled, now: float) -> Dispatch:
        return Dispatch(np.repeat(view.task[:1], 2), np.array([0, 1]))


@settings(max_examples=examples(30), deadline=None)
@given(workloads())
def test_a_policy_of_ones_own(case: tuple[Workload, History, Given]) -> None:
    tasks, truth, _ = case
    audit(tasks, truth, simulate(tasks, Last(), truth))


def test_a_policy_that_starts_a_task_twice_is_refused() -> None:
    with pytest.raises(WheslError, match="task 0 is not ready, or node 1 is not free"):
        simulate(example()[0], Twice())


@pytest.mark.parametrize(
    ("exposed", "wait", "node"),
    [
        ([0.0, 0.0, 0.0], 1.0, 0),  # the earliest end
        ([0.5, 0.0, 0.0], 50.0, 1),  # 100 + 0.5 x 50 is more than 110
        ([0.1, 0.0, 0.0], 50.0, 0),  # 100 + 0.1 x 50 is less
        ([1.0, 1.0, 0.0], 30.0, -1),  # all lose at least 50: the next end is nearer
        ([1.0, 1.0, 0.0], np.inf, 0),  # nothing runs that could be waited for
    ],
)
def test_reliable_weighs_the_sources_of_the_input(exposed: list[float], wait: float, node: int) -> None:
    """Three nodes, of which the third is not free."""
    answers = np.empty(3, dtype=np.int8)
    duration = np.array([100.0, 110.0, np.inf])
    predictor = none(3).compiled()
    assert least_expected(duration, np.array(exposed), predictor, 0.0, wait, answers) == node
    assert answers.tolist() == [0, 0, -1]


def test_reliable_waits_where_that_costs_less_than_the_loss() -> None:
    """Node 1 is free and fails at 90; node 0 is free at 20, and the task waits for it."""
    first = graph("first", ["busy"], [20.0], [])
    long = graph("long", ["long"], [100.0], [])
    tasks = workload([first, long], np.array([1.0, 1.0]), 1.0, [0.0, 1.0])
    truth = merged(2, 0.0, 500.0, [(1, 90.0, 95.0)])
    outcome = simulate(tasks, RELIABLE, truth, exact(truth))
    assert (outcome.node.tolist(), outcome.start.tolist(), outcome.loss) == ([0, 0], [0.0, 20.0], 0.0)
