"""What looks after nodes, by itself: when the resource manager is asked, and what it is told to have left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import waiting
from tests.isolator.conftest import make_setup
from tests.isolator.started import Start, start, token
from whesl.isolator import fencing, nodes
from whesl.isolator.events import Event, KillAttempt, KillConfirmed
from whesl.isolator.nodes import Nodes
from whesl.isolator.taskdir import Job, TaskDir
from whesl.isolator.worker import Worker
from whesl.model.errors import RefusedError
from whesl.model.states import NodeState
from whesl.rjms.port import NodeEvent, Step, StepRequest

__all__ = ["start", "token"]  # fixtures

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

    def __init__(self, place: Path, half_ended: int = 0) -> None:
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
            half_ended,
        )

    def turn(self) -> None:
        for call in (*self.worker.results(), *self.asker.results()):
            call()
        self.nodes.poll(time.monotonic())

    def close(self) -> None:
        self.nodes.close()
        self.worker.close()
        self.asker.close()

    def fenced(self, token: str, *active: str) -> KillConfirmed:
        """End the first attempt, and return what was said of it."""
        self.nodes.fence(KillAttempt(attempt=1, nodes=active), token, None)

        def confirmed() -> list[KillConfirmed]:
            self.turn()
            return [event for event in self.events if isinstance(event, KillConfirmed)]

        found: list[KillConfirmed] = waiting.until(confirmed, "the end of the attempt", PATIENCE)
        return found[0]

    def explained(self, attempt: int) -> bool:
        self.turn()
        return not self.nodes.may_tell_more(attempt, time.monotonic())


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.setattr(nodes, "ASK_EVERY", 1000.0)
    monkeypatch.setattr(fencing, "START_PATIENCE", 0.1)  # nobody will speak for the other node
    made = Shell(tmp_path)
    yield made
    made.close()


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


def test_a_launcher_that_had_to_be_killed_may_leave_its_step_on_the_nodes(
    shell: Shell, start: Start, token: str
) -> None:
    process = start("while :; do sleep 0.1; done", token, "srun")
    assert shell.fenced(token, "n1").lingering == ("n1",)
    assert process.wait(PATIENCE) == -9


def test_a_lost_spare_leaves_a_launcher_the_time_to_end_by_itself(
    shell: Shell, start: Start, token: str
) -> None:
    shell.nodes.hear(NodeEvent(node="n2", state=NodeState.DOWN, reason="", time=0.0))
    assert shell.nodes.lost == ("n2",)
    process = start("sleep 0.05; exit 7", token, "srun")
    assert shell.fenced(token, "n1").lingering == ()
    assert process.wait(PATIENCE) == 7


def test_a_fence_that_an_earlier_isolator_had_begun_may_have_killed_launchers(
    shell: Shell, tmp_path: Path
) -> None:
    assert shell.fenced("none.1", "n1").lingering == ()
    other = Shell(tmp_path / "other", half_ended=1)
    try:
        assert other.fenced("none.1", "n1").lingering == ("n1",)
    finally:
        other.close()
