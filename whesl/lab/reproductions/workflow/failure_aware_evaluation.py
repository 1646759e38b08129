"""FLAW's evaluation: windows of failure records, predictions of many accuracies, one to ten workflows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whesl.lab.readers.workflow_graph import Graph
from whesl.lab.simulators.workflow.generate import Shape, layered
from whesl.lab.simulators.workflow.simulate import simulate
from whesl.lab.simulators.workflow.workload import workload
from whesl.placement.policies.list_scheduling import AWARE_FIFO, FIFO, FLAW, RANK_HYBD, RELIABLE, Ranked
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.given_accuracy_predictors import exact, none, of_accuracy
from whesl.prediction.failures.port import Predictor

DAY = 86400.0
# Range of the windows: 2001-01-01 to 2003-01-01, in Unix seconds.
YEARS = (978307200.0, 1041379200.0)
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
MIXED_LEVELS = (0.5, 0.6)
# The common description of RANK_HYBD: by ascending rank while the pool holds several workflows.
HYBRID = Ranked("RANK_HYBD, ascending", hybrid=True)
HYBRID_FLAW = Ranked("FLAW, ascending", aware=True, hybrid=True)
_AWARE = (("levels", FLAW), ("fifo", AWARE_FIFO), ("ascending", HYBRID_FLAW), ("reliable", RELIABLE))


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of an evaluation.

    Attributes:
        windows: number of windows of failures.
        nodes: number of nodes of a window, drawn from the records' nodes.
        length: length of a window, in seconds.
        traces: traces of predictions for each window and level of accuracy.
        mixes: traces for each window and level in the sweep of the mix.
        concurrent: numbers of workflows that run at once.
        shape: size and structure of the workflows.
        seed: random seed of the whole evaluation.
    """

    windows: int = 10
    nodes: int = 32
    length: float = 61 * DAY
    traces: int = 5
    mixes: int = 10
    concurrent: Sequence[int] = (1, 2, 4, 6, 8, 10)
    shape: Shape = Shape()  # noqa: RUF009  frozen
    seed: int = 0


class Row(NamedTuple):
    """The measures of one run.

    Attributes:
        window: the window's number.
        part: ``levels`` (FLAW), ``fifo``, ``ascending`` (FLAW), ``reliable``, or ``mixes`` (FLAW).
        policy: the policy's name.
        aoa: the accuracy of the predictions.
        mix: false positives as a share of the wrong predictions; nan without wrong predictions.
        concurrent: number of workflows that ran at once.
        makespan: mean makespan of the workflows, in seconds.
        loss: time lost in killed attempts, in seconds.
        reschedulings: number of killed attempts.
        aaa: share of right answers, with each free node counted once in a pass.
        aaa_asked: share of right answers to the policy's own questions.
        failures: number of the window's failures that began before the last workflow's end.
    """

    window: int
    part: str
    policy: str
    aoa: float
    mix: float
    concurrent: int
    makespan: float
    loss: float
    reschedulings: int
    aaa: float
    aaa_asked: float
    failures: int


def window(history: History, nodes: Sequence[int], begin: float, length: float) -> History:
    """Return the failures of some nodes in a window of time, as the history of a smaller machine.

    Args:
        history: the recorded failures.
        nodes: indices of the nodes; the new machine numbers them in this order.
        begin: begin of the window, in seconds.
        length: length of the window, in seconds.
    """
    number = {int(node): index for index, node in enumerate(nodes)}
    rows = [
        (number[int(node)], max(float(start), begin), float(end))
        for node, start, end in zip(history.node, history.start, history.end, strict=True)
        if int(node) in number and start < begin + length and end > begin
    ]
    return merged(len(nodes), begin, begin + length, rows)


def windows(history: History, plan: Plan) -> Iterator[tuple[History, list[Graph], np.random.SeedSequence]]:
    """Yield the failures, the workflows, and the random seed of the predictions of each window.

    Args:
        history: the recorded failures of at least ``plan.nodes`` nodes.
        plan: the size of the evaluation.
    """
    for seed in np.random.SeedSequence(plan.seed).spawn(plan.windows):
        drawn, graphs, predictions = seed.spawn(3)
        generator = np.random.default_rng(drawn)
        nodes = np.sort(generator.permutation(history.nodes)[: plan.nodes])
        begin = generator.uniform(YEARS[0], YEARS[1] - plan.length)
        shapes = np.random.default_rng(graphs)
        workflows = [layered(shapes, plan.shape, f"g{number}") for number in range(max(plan.concurrent))]
        yield window(history, nodes.tolist(), begin, plan.length), workflows, predictions


def one_window(
    number: int, truth: History, graphs: Sequence[Graph], seed: np.random.SeedSequence, plan: Plan
) -> Iterator[Row]:
    """Run all policies and accuracies on one window.

    Args:
        number: the window's number.
        truth: the window's failures.
        graphs: the window's workflows.
        seed: random seed of the predictions.
        plan: the size of the evaluation.
    """
    generator = np.random.default_rng(seed)
    part: str
    policy: Ranked
    cases: list[tuple[str, Ranked, float, float, Predictor | None]] = [
        ("levels", RANK_HYBD, 0.0, np.nan, None),
        ("levels", FLAW, 1.0, np.nan, exact(truth)),
        ("fifo", FIFO, 0.0, np.nan, None),
        ("fifo", AWARE_FIFO, 1.0, np.nan, exact(truth)),
        ("ascending", HYBRID, 0.0, np.nan, None),
        ("ascending", HYBRID_FLAW, 1.0, np.nan, exact(truth)),
        ("reliable", RELIABLE, 0.0, np.nan, none(truth.nodes)),
        ("reliable", RELIABLE, 1.0, np.nan, exact(truth)),
    ]
    for level in LEVELS:
        for _ in range(plan.traces):
            mix = float(generator.random())
            predictor: Predictor | None = of_accuracy(truth, level, mix, int(generator.integers(2**32)))
            for part, policy in _AWARE:
                cases.append((part, policy, level, mix, predictor))
    for level in MIXED_LEVELS:
        for mix in np.linspace(0.0, 1.0, plan.mixes):
            predictor = of_accuracy(truth, level, float(mix), int(generator.integers(2**32)))
            cases.append(("mixes", FLAW, level, float(mix), predictor))
    most = max(plan.concurrent)
    for concurrent in plan.concurrent:
        arrival = [truth.begin] * concurrent
        tasks = workload(graphs[:concurrent], np.ones(truth.nodes), 1.0, arrival)
        for part, policy, aoa, mix, predictor in cases:
            if part != "levels" and concurrent != most:
                continue
            outcome = simulate(tasks, policy, truth, predictor)
            yield Row(
                number,
                part,
                policy.name,
                aoa,
                mix,
                concurrent,
                float(outcome.makespan.mean()),
                outcome.loss,
                outcome.reschedulings,
                outcome.aaa,
                outcome.aaa_asked,
                int(np.count_nonzero(truth.start < outcome.end.max())),
            )
