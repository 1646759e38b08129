"""When the agents of a task's other nodes are started: their step may not stand before the script's own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import waiting
from tests.runtime.isolator.conftest import exception, make_setup, node_exception
from whesl.language.spec import ExceptionSpec
from whesl.managers.resource.port import StepPlace
from whesl.model.errors import CouldNotObserveError
from whesl.runtime.isolator.nodes.agents_when_needed import LateAgents
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
    tmp_path: Path, rules: tuple[ExceptionSpec, ...], answers: tuple[list[StepPlace] | None, ...], when: str
) -> None:
    """``sacct -j $SLURM_JOB_ID.0`` told of the agents' step in each job of several nodes."""
    setup, manager, asker = make_setup(*rules, nodes=("n1", "n2")), _Numbers(*answers), Worker()
    started: list[object] = []
    with contextlib.closing(asker):
        late = LateAgents(
            setup,
            manager,  # type: ignore[arg-type]  # a stand-in
            asker,
            lambda: SimpleNamespace(sockets=()),  # type: ignore[arg-type,return-value]  # as above
            started.append,
            tmp_path / "link.json",
        )
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
