"""One simulated run of workflows, and what it measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whesl.lab.simulators.workflow.event_loop import run
from whesl.lab.simulators.workflow.state import ASKED, ATTEMPTS, NODES_ASKED, NODES_RIGHT, RESCHEDULED, RIGHT
from whesl.lab.simulators.workflow.workload import failures as by_node
from whesl.model.errors import WheslError
from whesl.placement.policies.list_scheduling import Ranked
from whesl.prediction.failures.given_accuracy import none

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whesl.lab.simulators.workflow.workload import Workload
    from whesl.placement.policies.list_scheduling import TaskPolicy
    from whesl.prediction.failures.failure_history import History
    from whesl.prediction.failures.port import Predictor


@dataclass(frozen=True, eq=False, slots=True)
class Attempts:
    """Attempts of tasks in the order of their ends; arrays of shape (attempts,).

    Attributes:
        task: which task.
        node: where.
        start: when it was dispatched, in seconds; its transfers begin then.
        end: when it ended or was killed, in seconds.
        completed: whether it was not killed.
    """

    task: NDArray[np.int64]
    node: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    completed: NDArray[np.bool_]

    def rows(self) -> Iterator[tuple[int, int, float, float, bool]]:
        """Yield task, node, start, end and whether it was not killed, of each."""
        columns = (self.task, self.node, self.start, self.end, self.completed)
        return zip(*(column.tolist() for column in columns), strict=True)


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """What a run measured.

    Attributes:
        policy: its name.
        predictor: its name.
        makespan: from each workflow's arrival to its last end, in seconds, shape (workflows,).
        loss: seconds of killed attempts, transfers included.
        reschedulings: how many attempts were killed.
        aaa: the share of right answers, each free node asked about once in each pass with a ready task; nan
            where nothing was asked.
        asked: how many answers that share is of.
        aaa_asked: the share of right answers to the questions that the policy asked itself.
        questions: how many those were.
        submit: when each task became ready, in seconds, shape (tasks,).
        start: when it was dispatched last, in seconds.
        end: when it ended, in seconds.
        node: where.
        killed: how many of its attempts were killed.
        lost: seconds of those.
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
    """Run workflows to their end.

    Args:
        workload: the tasks on their machine.
        policy: who starts where.
        history: the failures that happen; None for none.
        predictor: what a policy that asks is told; None for one that expects no failure.
        plain: the loop in plain Python for a compiled policy too.

    Raises:
        WheslError: failures of another machine, a policy that asks without a predictor, or tasks that
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
