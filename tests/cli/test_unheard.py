"""Jobs that ended before the coordinator heard of their isolator."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runtime.coordinator.world import World
from whesl.managers.resource.port import JobRecord
from whesl.managers.workflow.submission.exactly_once_submission import Ledger, Submission
from whesl.model.errors import TransientError
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.client import start, unheard_task_outcomes
from whesl.runtime.coordinator.client.journal_state import Known
from whesl.runtime.wire.messages import Command, Finished, Reply, Welcome


def record(job: str, state: JobState, **more: Any) -> JobRecord:
    return JobRecord(id=job, state=state, raw_state=state.value, **more)


def test_what_was_heard_or_has_ended_is_not_asked_about() -> None:
    world = World()
    world.workflow()
    world.register("a")
    assert "w/a" not in unheard_task_outcomes.unheard(world.state, "w")
    assert "w/b" in unheard_task_outcomes.unheard(world.state, "w")
    assert unheard_task_outcomes.unheard(world.state, "other") == ()


def test_only_sure_ends_are_told() -> None:
    jobs = {f"w/{number}": str(number) for number in range(6)}
    records = {
        "0": record("0", JobState.NODE_FAIL),
        "1": record("1", JobState.RUNNING),
        "2": record("2", JobState.UNKNOWN),
        "3": record("3", JobState.CANCELLED),
        "4": record("4", JobState.CANCELLED, nodes=("n1",), exit_code=15),
        "5": record("5", JobState.FAILED, nodes=("n1",), exit_code=-9),
    }
    told = {command.target: command.arguments for command in unheard_task_outcomes.ends(jobs, records)}
    assert told == {
        "w/0": {"job": "0", "state": "NODE_FAIL", "word": "NODE_FAIL", "exit_code": "-1"},
        "w/4": {"job": "4", "state": "CANCELLED", "word": "CANCELLED", "exit_code": "15"},
        "w/5": {"job": "5", "state": "FAILED", "word": "FAILED", "exit_code": "137"},
        "w/3": {
            "job": "",
            "state": "CANCELLED",
            "word": "its job 3 was cancelled before it began",
            "exit_code": "-1",
        },
    }


def test_what_has_no_job_has_ended_with_its_manager() -> None:
    submissions = {
        "w/refused": Submission(number=1, refused="sbatch: invalid partition specified: debug"),
        "w/never": None,
        "w/unclear": Submission(number=1),
        "w/again": Submission(number=2, job="8", refused="sbatch: not now"),
    }
    told = {
        command.target: (command.arguments["state"], command.arguments["word"])
        for command in unheard_task_outcomes.never_submitted(submissions)
    }
    assert told == {
        "w/refused": ("FAILED", "it was not submitted: sbatch: invalid partition specified: debug"),
        "w/never": ("CANCELLED", "it was never submitted: its manager has ended"),
    }


def test_tasks_without_a_job_do_not_stay_registered_for_ever() -> None:
    world = World()
    world.workflow()
    for command in unheard_task_outcomes.never_submitted(
        {"w/a": Submission(number=1, refused="no such partition"), "w/b": None}
    ):
        world.tell("cli-9", command)
    assert (world.task("a").state, world.task("a").reason) == (
        TaskState.FAILED,
        "it was not submitted: no such partition",
    )
    assert world.task("b").state is TaskState.CANCELLED
    peer = world.register("b", job="8")
    assert world.told(peer, Welcome)[-1].admitted, "somebody submitted it all the same"


WORKFLOW = Workflow(
    id="w",
    name="w",
    wms="batch",
    root="/",
    tasks=(
        Task(id="w/a", step="a"),
        Task(id="w/b", step="b"),
        Task(id="w/c_3", step="c", instance="3"),
        Task(id="w/here", step="here"),
    ),
)


class Manager:
    """A scheduler that knows one job, or does not answer."""

    def __init__(self, answers: bool) -> None:
        self.answers = answers

    def jobs(self, ids: list[str]) -> dict[str, JobRecord]:
        if not self.answers:
            raise TransientError("slurmctld is busy")
        return {job: record(job, JobState.NODE_FAIL) for job in ids}


@pytest.mark.parametrize("answers", [True, False])
def test_the_record_of_submissions_names_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    world = World()
    world.workflow(workflow=WORKFLOW)
    directory = tmp_path / "workflows" / "w" / "submissions"
    directory.mkdir(parents=True)
    Ledger(directory, "w/a").write(Submission(number=1, job="42"))
    (directory / "w%2Fb.json").write_text("damaged")
    # The elements of a job array are one submission.
    Ledger(directory, "w/c").write(Submission(number=1, job="43"))
    said: list[Command] = []

    def request(_home: Path, message: Command, _timeout: float) -> Reply:
        said.append(message)
        return Reply(ok=True)

    monkeypatch.setattr(unheard_task_outcomes, "known_state", lambda _home: Known(state=world.state, seq=0))
    monkeypatch.setattr(unheard_task_outcomes, "scheduler", lambda _name: Manager(answers))
    monkeypatch.setattr(unheard_task_outcomes, "ensure_running", lambda _home: None)
    monkeypatch.setattr(unheard_task_outcomes, "request", request)
    unheard_task_outcomes.tell(tmp_path, WORKFLOW, "slurm", {"w/a", "w/b", "w/c_3"})
    ended = [(command.target, command.arguments["job"]) for command in said]
    assert ended == [("w/a", "42"), ("w/c_3", "43_3")] * answers


@pytest.mark.parametrize("last_words", [True, False])
def test_a_task_that_was_heard_is_told_when_its_job_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_words: bool
) -> None:
    world = World()
    world.workflow(workflow=WORKFLOW)
    peer = world.register("a", job="42")
    said: list[Command] = []
    looks: list[int] = []

    def state(_home: Path) -> Known:
        looks.append(1)
        if last_words and len(looks) == 2:
            world.tell(
                peer, Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1, claim="42.0")
            )
        return Known(state=world.state, seq=0)

    def request(_home: Path, message: Command, _timeout: float) -> Reply:
        said.append(message)
        return Reply(ok=True)

    monkeypatch.setattr(unheard_task_outcomes, "known_state", state)
    monkeypatch.setattr(unheard_task_outcomes, "scheduler", lambda _name: Manager(answers=True))
    monkeypatch.setattr(unheard_task_outcomes, "ensure_running", lambda _home: None)
    monkeypatch.setattr(unheard_task_outcomes, "request", request)
    monkeypatch.setattr(unheard_task_outcomes, "_LAST_WORDS", 0.1)
    monkeypatch.setattr(unheard_task_outcomes, "_LOOK", 0.01)
    unheard_task_outcomes.tell(tmp_path, WORKFLOW, "slurm", set())
    ended = [(command.target, command.arguments["job"], command.arguments["state"]) for command in said]
    assert ended == [("w/a", "42", "NODE_FAIL")] * (not last_words)


@pytest.mark.parametrize("holder", [7, 8], ids=["it runs", "an earlier one's endpoint"])
def test_a_coordinator_that_has_the_lock_is_given_time_to_answer(
    holder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine it was asked for half a second each time, and its tasks stayed "registered"."""
    asked: list[float] = []

    def running(_home: Path, timeout: float) -> dict[str, str] | None:
        asked.append(timeout)
        return {}

    monkeypatch.setattr(start, "read_endpoint", lambda _home: SimpleNamespace(foreign=False, pid=7))
    monkeypatch.setattr(start, "_elsewhere", lambda _found: False)
    monkeypatch.setattr(start, "running", running)
    monkeypatch.setattr(start, "_starting", lambda *_: holder)
    start.ensure_running(tmp_path)
    assert asked == [2.0 if holder == 7 else 0.5]


def test_another_host_s_endpoint_shortens_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays when that host dies, and its coordinator does not answer."""
    answers, work = iter([None] * 5 + [{"pid": 9}]), iter(range(100))
    monkeypatch.setattr(start, "START_LIMIT", 0.01)
    monkeypatch.setattr(start, "read_endpoint", lambda _home: SimpleNamespace(foreign=False, pid=7))
    monkeypatch.setattr(start, "_elsewhere", lambda _found: True)
    monkeypatch.setattr(start, "running", lambda *_: next(answers))
    monkeypatch.setattr(start, "_spawn", lambda *_: SimpleNamespace(poll=lambda: None, pid=9))
    monkeypatch.setattr(start, "_work", lambda _pid: next(work))
    start.ensure_running(tmp_path)
    assert next(answers, None) is None
