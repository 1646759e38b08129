"""When the agents of a task's other nodes are started: their step may not stand before the script's own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from tests import waiting
from tests.runtime.isolator.conftest import exception, make_setup, node_exception
from whesl.language.spec import ExceptionSpec
from whesl.managers.resource.port import StepPlace
from whesl.model.errors import CouldNotObserveError
from whesl.runtime.isolator.nodes.node_fencing import Nodes
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.wire.blocking_call_worker import Worker


class _Numbers:
    """An allocation of numbered steps."""

    def __init__(self, *answers: list[StepPlace] | None) -> None:
        self.answers = list(answers)

    def end_steps_of(self, launchers: Collection[int]) -> frozenset[str]:
        return frozenset()

    def step_places(self) -> list[StepPlace]:
        answer = self.answers.pop(0)
        if answer is None:
            raise CouldNotObserveError("busy")
        return answer


STEP = [StepPlace(1, ("n1",))]


@pytest.mark.parametrize(
    ("rules", "answers", "when"),
    [
        ((), (), "never"),
        ((exception(),), ([], [], STEP), "after the first step"),
        ((exception(),), ([], None), "after the first step"),  # nobody knows
        ((node_exception(),), (), "at once"),
    ],
)
def test_agents_are_started_as_late_as_the_rules_allow(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rules: tuple[ExceptionSpec, ...],
    answers: tuple[list[StepPlace] | None, ...],
    when: str,
) -> None:
    """``sacct -j $SLURM_JOB_ID.0`` told of the agents' step in each job of several nodes."""
    started: list[Nodes] = []

    def start(nodes: Nodes) -> object:
        started.append(nodes)
        return object()

    monkeypatch.setattr(Nodes, "_start_agents", start)
    job = Job(setup=make_setup(*rules, nodes=("n1", "n2")), command=("true",))
    manager, asker = _Numbers(*answers), Worker()
    with contextlib.closing(asker):
        nodes = Nodes(TaskDir(tmp_path), job, manager, asker, asker, lambda _: None)  # type: ignore[arg-type] # a stand-in
        late = nodes._late
        assert bool(started) is (when == "at once")

        def asked() -> bool:
            late.poll(time.monotonic())
            for call in asker.results():
                call()
            return not manager.answers and bool(started)

        if when == "after the first step":
            waiting.until(asked, "agents", 30.0)
        late.poll(time.monotonic())
        assert bool(started) is (when != "never")
        late.begin()
        late.begin()
    assert len(started) == 1
