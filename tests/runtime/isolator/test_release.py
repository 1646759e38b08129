"""Lost nodes given back at a task's end: by whom, when not, and never for long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from whesl.managers.resource import lost_node_release
from whesl.managers.resource.lost_node_release import Release
from whesl.managers.resource.port import Allocation
from whesl.managers.resource.single_host import HostAllocation
from whesl.model.states import TaskState
from whesl.report import task_summary as summary
from whesl.runtime.isolator import shutdown
from whesl.runtime.isolator.core.events_and_commands import Finish
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.shutdown import may_give_back
from whesl.runtime.isolator.task.taskdir import Job, TaskDir


class Silent(HostAllocation):
    """A resource manager that keeps whoever gives a node back waiting."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked: list[str] = []
        self.answer = threading.Event()

    def release(self, node: str) -> bool:
        """Note the node, and wait."""
        self.asked.append(node)
        self.answer.wait(120)
        return True


@pytest.fixture
def silent() -> Iterator[Silent]:
    made = Silent()
    yield made
    made.answer.set()


def test_a_silent_resource_manager_does_not_hold_up_the_exit_status(
    silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_node_release, "LIMIT", 0.1)
    giving = Release(silent, ("n02", "n03"))
    giving.wait()
    assert silent.asked == ["n02"]
    silent.answer.set()


def test_each_lost_node_is_given_back(silent: Silent) -> None:
    silent.answer.set()
    Release(silent, ("n02", "n03")).wait()
    assert silent.asked == ["n02", "n03"]


def test_nothing_is_asked_when_nothing_is_lost(silent: Silent) -> None:
    Release(silent, ()).wait()
    assert silent.asked == []


@pytest.mark.parametrize(
    ("code", "state", "observe", "gives"),
    [
        (0, TaskState.COMPLETED, False, True),
        (3, TaskState.FAILED, False, True),
        (75, TaskState.ESCALATED, False, False),
        (75, TaskState.FAILED, False, False),
        (0, TaskState.COMPLETED, True, False),
    ],
)
def test_a_job_that_may_run_again_keeps_its_nodes(
    code: int, state: TaskState, observe: bool, gives: bool
) -> None:
    """Without slurmdbd a requeue would not be possible any more; and who observes touches nothing."""
    assert may_give_back(Finish(code=code, state=state, reason=""), observe=observe) is gives


def test_a_summary_that_cannot_be_made_keeps_no_task_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A defect in it ended the isolator five times; agents that nobody told to leave stayed for minutes."""

    def broken(*_: object) -> None:
        raise KeyError(1)

    job = cast(Job, SimpleNamespace(setup=None))
    ended = cast(State, SimpleNamespace(ended=object()))
    monkeypatch.setattr(summary, "summarise", broken)
    said = shutdown.summarise(TaskDir(tmp_path), job, cast(Allocation, object()), ended, tuple, ())
    assert said == "" and "the summary could not be made" in caplog.text
