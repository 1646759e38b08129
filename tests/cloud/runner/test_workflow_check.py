"""What is refused before a run begins, and what a task that failed has said."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from whesl.cli.cloud.run_options_and_progress import told
from whesl.cloud.core.records import DataFile, Stage, Task, Workflow
from whesl.cloud.runner import messages
from whesl.cloud.runner import records as r
from whesl.cloud.runner.messages import Assignment, ExecutorReport
from whesl.cloud.runner.worker import Worker
from whesl.cloud.runner.workflow_check import runnable
from whesl.cloud.transfer.directory import DirectoryStore
from whesl.model.errors import UsageError


def task(name: str, command: tuple[str, ...] = ("true",), reads: str = "", writes: str = "") -> Task:
    inputs = tuple(DataFile(name=one) for one in reads.split())
    return Task(
        name=name,
        stage="s",
        command=command,
        inputs=inputs,
        outputs=tuple(DataFile(name=one) for one in writes.split()),
    )


def workflow(*tasks: Task) -> Workflow:
    return Workflow(name="w", stages=(Stage(name="s", tasks=len(tasks)),), tasks=tasks)


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([task("a", ("echo", "a\0b"))], "1 commands cannot be started: 'echo' of a"),
        ([task("a", ("", "x"))], "1 commands cannot be started: '' of a"),
        ([task("a", writes="/etc/x")], "1 files lie outside of the data: '/etc/x' of a"),
        ([task("a", reads="b/../../x")], "1 files lie outside of the data: 'b/../../x' of a"),
        ([task("a", writes=".")], "1 files lie outside of the data: '.' of a"),
        ([task("a", writes="x"), task("b", writes="./x")], "1 files have no one writer: 'x' of a and b"),
        ([task("a", writes="x x")], "1 files have no one writer: 'x' twice"),
        ([task("a", reads="x", writes="x")], "1 files have no one writer: 'x', which a also reads"),
        (
            [task("a", writes="x"), task("b", writes="x/y")],
            "1 files have no one writer: 'x/y' of b below the file 'x' of a",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(tasks: list[Task], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        runnable(workflow(*tasks))
    assert caught.value.message == said


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        runnable(workflow(task("a", ("",)), task("b", writes="../x"), task("c", reads="y", writes="y")))
    assert len(caught.value.message.splitlines()) == 3
    runnable(workflow(task("a", writes="x"), task("b", reads="x", writes="y")))


@pytest.mark.parametrize(
    ("command", "status", "why"),
    [
        (("sh", "-c", "echo first; echo no such molecule >&2; exit 3"), 3, "no such molecule"),
        (("sh", "-c", "exit 3"), 3, ""),
        # It ended the executor, each of its successors, and so on to the deadline.
        (("echo", "a\0b"), 1, "embedded null byte"),
    ],
)
def test_a_failed_task_s_last_line_is_told(
    tmp_path: Path, command: tuple[str, ...], status: int, why: str
) -> None:
    store = DirectoryStore(tmp_path)
    assignment = Assignment(number=1, workflow="w", task="a", stage="s", attempt=1, command=command)
    store.write(messages.message("e", 1), msgspec.json.encode(assignment))
    worker = Worker(store, "e", ends=time.time() + 600, poll=0.01, scratch=tmp_path)
    found = worker._perform(assignment)
    assert isinstance(found, ExecutorReport)
    assert (found.status, found.why) == (status, why)
    failed = r.TaskFailed(task="a", attempt=1, executor="e", status=status, why=found.why)
    line = f"a: failed with status {status}, it is tried again"
    assert told(failed) == (f"{line}: {why}" if why else line)
