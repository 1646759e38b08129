"""Simulation of workflows under a policy, with its measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.workflow.event_loop import run
from whesl.lab.simulators.workflow.state import ASKED, ATTEMPTS, NODES_ASKED, NODES_RIGHT, RESCHEDULED, RIGHT
from whesl.lab.simulators.workflow.workload import Workload
from whesl.lab.simulators.workflow.workload import failures as by_node
from whesl.model.errors import WheslError
from whesl.placement.policies.list_scheduling import Ranked, TaskPolicy
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.given_accuracy_predictors import none
from whesl.prediction.failures.port import Predictor


@dataclass(frozen=True, eq=False, slots=True)
class Attempts:
    """Attempts of tasks in the order of their ends; arrays of shape (attempts,).

    Attributes:
        task: index of the task.
        node: index of the node.
        start: time of dispatch in seconds, at which the transfers begin.
        end: time at which the attempt completed or was killed, in seconds.
        completed: True for a completed attempt, False for a killed attempt.
    """

    task: NDArray[np.int64]
    node: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    completed: NDArray[np.bool_]

    def rows(self) -> Iterator[tuple[int, int, float, float, bool]]:
        """Yield (task, node, start, end, completed) of each attempt."""
        columns = (self.task, self.node, self.start, self.end, self.completed)
        return zip(*(column.tolist() for column in columns), strict=True)


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """The measures of a run.

    Attributes:
        policy: the policy's name.
        predictor: the predictor's name.
        makespan: time from each workflow's arrival to its last task's end, in seconds, shape (workflows,).
        loss: total time of killed attempts, with transfers, in seconds.
        reschedulings: number of killed attempts.
        aaa: the share of right answers, with each free node counted once in each pass with a ready task; nan
            without answers.
        asked: number of answers that ``aaa`` counts.
        aaa_asked: the share of right answers to the policy's own questions.
        questions: number of the policy's own questions.
        submit: time at which each task became ready, in seconds, shape (tasks,).
        start: time of each task's last dispatch, in seconds, shape (tasks,).
        end: end of each task, in seconds, shape (tasks,).
        node: node on which each task completed, shape (tasks,).
        killed: number of killed attempts at each task, shape (tasks,).
        lost: total time of each task's killed attempts, in seconds, shape (tasks,).
        attempts: all attempts.
    """

    policy: str
    predictor: str
    makespan: NDArray[np.float64]
    loss: float
    reschedulings: int
    aaa: float
    asked: int
    aaa_asked: float
    questions: int
    submit: NDArray[np.float64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    node: NDArray[np.int64]
    killed: NDArray[np.int64]
    lost: NDArray[np.float64]
    attempts: Attempts


def simulate(
    workload: Workload,
    policy: TaskPolicy,
    history: History | None = None,
    predictor: Predictor | None = None,
    *,
    plain: bool = False,
) -> Outcome:
    """Simulate workflows to their ends.

    Args:
        workload: the tasks on their machine.
        policy: the policy that assigns tasks to nodes.
        history: the failures that happen; None for none.
        predictor: the predictor that the policy asks; None for a policy that expects no failure.
        plain: whether a compiled policy also runs in plain Python.

    Raises:
        WheslError: the history belongs to another machine, the policy lacks its predictor, or some tasks
            never end.
    """
    nodes = workload.cost.shape[1]
    aware = not isinstance(policy, Ranked) or policy.aware
    if predictor is None and isinstance(policy, Ranked) and policy.aware:
        raise WheslError(
            f"{policy.name} asks a predictor, and there is none",
            hint="name one: --predictor exact, aoa:0.7, none",
        )
    asked = predictor if predictor is not None and aware else none(nodes)
    compiled = asked.compiled()
    if len(compiled.event_offsets) != nodes + 1:
        raise WheslError(
            f"the predictor knows {len(compiled.event_offsets) - 1} nodes, and the machine has {nodes}"
        )
    state = run(workload, by_node(history, nodes), policy, compiled, plain)
    counts = state.counts
    over = int(counts[ATTEMPTS])
    submit = workload.arrival[workload.workflow]
    children = np.repeat(np.arange(len(submit)), np.diff(workload.parent_offsets))
    np.maximum.at(submit, children, state.finish[workload.parents])
    finish = np.full(len(workload.arrival), -np.inf)
    np.maximum.at(finish, workload.workflow, state.finish)
    return Outcome(
        policy.name,
        asked.name,
        finish - workload.arrival,
        float(state.lost.sum()),
        int(counts[RESCHEDULED]),
        float(counts[NODES_RIGHT] / counts[NODES_ASKED]) if counts[NODES_ASKED] else np.nan,
        int(counts[NODES_ASKED]),
        float(counts[RIGHT] / counts[ASKED]) if counts[ASKED] else np.nan,
        int(counts[ASKED]),
        submit,
        state.start,
        state.finish,
        state.node,
        state.killed,
        state.lost,
        Attempts(
            state.attempt[:over, 0],
            state.attempt[:over, 1],
            state.span[:over, 0],
            state.span[:over, 1],
            state.completed[:over],
        ),
    )
