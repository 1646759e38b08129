"""What is refused before a run begins, and what a task that failed has said."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from whesl.cli.cloud.run_options_and_progress import told
from whesl.cli.cloud.run_status import stop
from whesl.cloud.core.plan_records import DataFile, Settings, Stage, Task, Workflow
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.runner import messages
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.events_and_commands import Limits
from whesl.cloud.runner.messages import Assignment, ExecutorReport
from whesl.cloud.runner.run_lifecycle import Setup
from whesl.cloud.runner.site_file import Site
from whesl.cloud.runner.worker import Worker
from whesl.cloud.runner.workflow_check import difference, runnable
from whesl.cloud.transfer.directory import DirectoryStore
from whesl.model.errors import RefusedError, UsageError
from whesl.runtime.journal.store import Journal


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


def test_a_workflow_is_told_from_that_of_a_run() -> None:
    # The result of a run was shown for another workflow in its directory.
    run = workflow(task("a"), task("b"), task("c"))
    assert difference(run, workflow(task("c"), task("a"), task("b"))) == ""
    other = workflow(task("a", ("false",)), task("b"), task("d"))
    assert difference(run, other) == "tasks new: d; tasks gone: c; tasks changed: a"
    assert difference(run, msgspec.structs.replace(run, name="v")) == "it is called 'w', not 'v'"


def test_a_stop_whose_runner_dies_before_it_has_seen_it_goes_on_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It had waited for ever.
    called = []

    def carry(place: Path, *, in_json: bool) -> int:
        called.append(place)
        if len(called) == 1:
            raise RefusedError("another process carries it out")
        return 0

    monkeypatch.setattr("whesl.cli.cloud.run_options_and_progress.carry", carry)
    setup = Setup(
        run="r",
        workflow=workflow(task("a")),
        initial=ScalerState(start=0.0, deadline=1.0, settings=Settings(), tables=()),
        limits=Limits(),
        site=Site(),
    )
    (tmp_path / "run.json").write_bytes(msgspec.json.encode(setup))
    done = CliRunner().invoke(stop, [str(tmp_path)])
    assert "has not started" in str(done.exception) and not called and not (tmp_path / "stop").exists()
    started = r.RunStarted(run="r", workflow="w", content="", deadline=1.0)
    with Journal(tmp_path / "journal.db") as journal:
        journal.append_many([(r.NAMES[type(started)], started)], time.time())
    done = CliRunner().invoke(stop, [str(tmp_path)])
    assert done.exit_code == 0, done
    assert called == [tmp_path, tmp_path] and (tmp_path / "stop").exists()


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


def test_a_lost_task_is_not_said_to_be_given_to_another_executor() -> None:
    # After `cloud stop` it was said, and nothing followed; where it is given, a line of its own says so.
    assert told(r.TaskLost(task="a", executor="e", attempt=1, why="it is gone")) == "a: lost (it is gone)"
