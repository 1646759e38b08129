"""Jobs that wait or are lost before anybody but their scheduler knows of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.coordinator.world import World
from whesl.managers.resource.port import JobRecord, Limits
from whesl.managers.workflow.submission.exactly_once_submission import Ledger, Submission
from whesl.model import home as places
from whesl.model.states import JobState
from whesl.runtime.coordinator.client import unregistered_jobs
from whesl.runtime.coordinator.client.journal_state import Known
from whesl.runtime.coordinator.client.unregistered_jobs import UnregisteredJobs
from whesl.runtime.wire.messages import Command


class Scheduler:
    """A scheduler with job 42; ``allowed``: it may be run again."""

    def __init__(self, allowed: bool = True) -> None:
        self.allowed = allowed
        self.record = JobRecord(id="42", state=JobState.RUNNING, batch_host="n1")
        self.again: list[str] = []
        self.lifted: list[str] = []
        self.fitted: list[tuple[tuple[str, ...], tuple[int, int]]] = []

    def jobs(self, ids: list[str]) -> dict[str, JobRecord]:
        return {job: self.record for job in ids if job == "42"}

    def requeue_lost(self, job_id: str) -> bool:
        self.again += [job_id] * self.allowed
        return self.allowed

    def requeue_with(self, job_id: str, limits: Limits) -> str:
        raise NotImplementedError

    def fit_waiting(self, record: JobRecord, used: tuple[str, ...], sizes: tuple[int, int]) -> None:
        self.fitted.append((used, sizes))

    def lift_hold(self, record: JobRecord) -> None:
        self.lifted.append(record.id)


class Site:
    """A home in which task w/a is job 42."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.coordinator = World()
        self.coordinator.workflow()
        directory = home / "workflows" / "w" / "submissions"
        directory.mkdir(parents=True)
        Ledger(directory, "w/a").write(Submission(number=1, job="42", sizes=(2, 3)))
        self.home = home
        self.time = 0.0
        known = lambda _home, _since: Known(state=self.coordinator.state)  # noqa: E731 - a stand-in
        monkeypatch.setattr(unregistered_jobs, "known_state", known)
        self.scheduler = Scheduler(**options)
        self.said: list[str] = []
        self.told: list[dict[str, str]] = []
        monkeypatch.setattr(unregistered_jobs, "request", self._request)
        self.starts = UnregisteredJobs(
            home,
            "w",
            self.scheduler,  # type: ignore[arg-type]  # what is used of it
            60,
            self.said.append,
            now=lambda: self.time,
        )

    def _request(self, home: Path, message: Command, timeout: float) -> None:
        self.told.append(message.arguments)
        self.coordinator.tell("run", message)

    def wait(self, reason: str) -> None:
        self.scheduler.record = JobRecord(id="42", state=JobState.PENDING, reason=reason)
        self.starts.look()

    def lose(self) -> None:
        self.scheduler.record = JobRecord(
            id="42", state=JobState.RUNNING, batch_host="n1", batch_host_lost=True, nodes=("n2", "n3")
        )

    def begin(self, **setup: Any) -> None:
        """An isolator has begun, and has not reached the coordinator."""
        directory = Path(places.task(str(self.home), "w/a"))
        directory.mkdir(parents=True, exist_ok=True)
        setup = {"job_id": "42", "restarts": 0, "own_node": "n1", "moves": True, **setup}
        (directory / "job.json").write_text(json.dumps({"setup": setup, "command": []}))


def test_a_job_without_its_batch_host_is_run_again_once_that_was_seen_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch)
    site.starts.look()
    site.lose()
    site.starts.look()
    assert site.scheduler.again == []
    site.starts.look()
    assert site.scheduler.again == ["42"]
    (line,) = site.said
    assert "w/a: job 42 lost n1 before it began" in line


def test_a_batch_host_that_a_restarted_scheduler_has_forgotten_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm 22.05 named another node of the job; the job ran on without its script until its time limit."""
    site = Site(tmp_path, monkeypatch)
    site.starts.look()
    site.scheduler.record = JobRecord(id="42", state=JobState.RUNNING, batch_host="n2")
    for _ in range(2):
        site.starts.look()
    assert site.scheduler.again == ["42"]
    (line,) = site.said
    assert "w/a: job 42 lost n1 before it began" in line
    site.scheduler.record = JobRecord(id="42", state=JobState.RUNNING, batch_host="n3", restarts=1)
    for _ in range(3):
        site.starts.look()
    assert site.scheduler.again == ["42"], "its next run is on another node"


def test_a_job_that_another_of_its_nodes_may_take_over_is_left_to_that_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a job, whose task went on in place, was requeued, and then waited for its lost node for ever."""
    site = Site(tmp_path, monkeypatch)
    site.begin()
    site.lose()
    for site.time in (0.0, 3.0, 30.0, 59.0):
        site.starts.look()
    assert site.scheduler.again == []
    site.begin(own_node="n2", moves=False)
    for site.time in (62.0, 200.0):
        site.starts.look()
    assert site.scheduler.again == [], "n2 has taken it over"


@pytest.mark.parametrize(
    ("begun", "then"),
    [({}, 60.0), ({"moves": False}, 3.0), ({"restarts": 1, "own_node": "n2"}, 3.0), (None, 3.0)],
    ids=["no node takes it over", "none can", "another run", "nothing has begun"],
)
def test_it_is_run_again_where_no_other_node_takes_it_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: dict[str, Any] | None, then: float
) -> None:
    site = Site(tmp_path, monkeypatch)
    if begun is not None:
        site.begin(**begun)
    site.lose()
    site.starts.look()
    site.time = then - 0.1
    site.starts.look()
    assert site.scheduler.again == ([] if then > 3.0 else ["42"])
    site.time = then
    site.starts.look()
    assert site.scheduler.again[:1] == ["42"]


def test_a_job_that_waits_to_run_again_is_fitted_to_the_nodes_that_are_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after Slurm's own requeue, of which only this module knows before an isolator has registered."""
    site = Site(tmp_path, monkeypatch)
    site.lose()
    site.starts.look()
    assert site.scheduler.fitted == []
    site.scheduler.record = JobRecord(id="42", state=JobState.PENDING, restarts=1)
    site.starts.look()
    assert site.scheduler.fitted == [(("n2", "n3"), (2, 3))]


def test_a_doubt_that_was_cleared_up_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path, monkeypatch)
    whole = site.scheduler.record
    for record_lost in (True, False, True):
        if record_lost:
            site.lose()
        else:
            site.scheduler.record = whole
        site.starts.look()
    assert site.scheduler.again == []


def test_a_job_whose_isolator_was_heard_is_the_coordinator_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch)
    site.lose()
    site.starts.look()
    site.coordinator.register("a", job="42")
    site.starts.look()
    assert site.scheduler.again == []
    assert site.scheduler.lifted == ["42"], "and its hold is the coordinator's too"


def test_who_forbids_a_second_run_is_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path, monkeypatch, allowed=False)
    site.lose()
    for _ in range(3):
        site.starts.look()
    assert site.scheduler.again == []
    assert site.said == []


def test_why_a_job_waits_is_said_once_and_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of more nodes than there are showed no reason; who had started it had to ask squeue."""
    site = Site(tmp_path, monkeypatch)
    site.wait("PartitionNodeLimit")
    assert not site.said and not site.told, "a job may wait for a moment"
    site.wait("PartitionNodeLimit")
    assert site.said == ["w/a (job 42) waits: PartitionNodeLimit"]
    assert site.coordinator.task("a").reason == "job 42 waits: PartitionNodeLimit"
    for reason in ("2 jobs ahead", "2 jobs ahead", "1 jobs ahead", "1 jobs ahead", "PartitionNodeLimit"):
        site.wait(reason)
    assert site.said[1:] == ["w/a (job 42) waits: 2 jobs ahead"]
    assert site.coordinator.task("a").reason == "job 42 waits: 1 jobs ahead"
    site.coordinator.register("a", job="42")
    assert site.coordinator.task("a").reason == ""


def test_a_task_that_waits_for_another_one_of_its_workflow_is_not_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = Site(tmp_path, monkeypatch).coordinator.state
    record = JobRecord(id="42", state=JobState.PENDING, reason="Dependency")
    children = [task.id for task in state.workflows["w"].workflow.tasks if task.parents]
    assert unregistered_jobs.waiting(state, "w", dict.fromkeys([*children, "w/a"], record)) == {
        "w/a": "Dependency"
    }
