"""When the resource manager is asked why an attempt has ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import waiting
from tests.isolator.conftest import make_setup
from whesl.isolator import nodes
from whesl.isolator.events import Event, KillAttempt
from whesl.isolator.nodes import Nodes
from whesl.isolator.taskdir import Job, TaskDir
from whesl.isolator.worker import Worker
from whesl.model.errors import RefusedError
from whesl.model.states import NodeState
from whesl.rjms.port import Step, StepRequest

PATIENCE = 30.0


class Asked:
    """An allocation that starts no agents, and counts how often it is asked for its nodes."""

    def __init__(self) -> None:
        self.times = 0

    def launch(self, request: StepRequest) -> Step:
        raise RefusedError("no steps here")

    def node_states(self) -> dict[str, NodeState]:
        self.times += 1
        return {"n1": NodeState.UP, "n2": NodeState.UP}


class Shell:
    """As much of an isolator as looks after nodes."""

    def __init__(self, place: Path) -> None:
        self.allocation = Asked()
        self.events: list[Event] = []
        self.worker, self.asker = Worker(), Worker()
        job = Job(setup=make_setup(nodes=("n1", "n2")), command=("true",))
        self.nodes = Nodes(
            TaskDir(place),
            job,
            self.allocation,  # type: ignore[arg-type]  # a stand-in
            self.worker,
            self.asker,
            self.events.append,
        )

    def turn(self) -> None:
        for call in (*self.worker.results(), *self.asker.results()):
            call()
        self.nodes.poll(time.monotonic())

    def explained(self, attempt: int) -> bool:
        self.turn()
        return not self.nodes.may_tell_more(attempt, time.monotonic())


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.setattr(nodes, "ASK_EVERY", 1000.0)
    made = Shell(tmp_path)
    yield made
    made.nodes.close()
    made.worker.close()
    made.asker.close()


def test_an_attempt_that_ends_by_itself_is_explained_by_the_resource_manager(shell: Shell) -> None:
    waiting.until(lambda: shell.explained(1), "an answer", PATIENCE)
    assert shell.allocation.times == 1


def test_nobody_is_asked_why_an_attempt_has_ended_that_is_fenced(shell: Shell) -> None:
    """The question is a process that competes with the restart, and its answer is known."""
    shell.nodes.fence(KillAttempt(attempt=1, nodes=("n1", "n2")), f"{time.time()}.1", None)
    waiting.until(lambda: shell.explained(1), "nothing more to hear", PATIENCE)
    assert shell.allocation.times == 0
    waiting.until(lambda: shell.explained(2), "an answer about the next one", PATIENCE)
    assert shell.allocation.times == 1
