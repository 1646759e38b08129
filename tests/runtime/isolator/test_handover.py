"""A job that runs again while the lock of its earlier run is held, on another host."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.isolator.conftest import make_setup
from whesl.managers.resource.port import AllocationInfo, JobRecord, NodeRecord
from whesl.model.errors import CouldNotObserveError
from whesl.model.states import JobState, NodeState
from whesl.runtime.isolator.launch import stale_lock
from whesl.runtime.isolator.launch.stale_lock import Fate
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.locking import procfs, takeover_lock
from whesl.runtime.locking.takeover_lock import Owner

INFO = AllocationInfo(rjms="slurm", job_id="38", nodes=("n1",), batch_host="n1", restart_count=1)


class Manager:
    """A resource manager that knows one host and one job, or does not answer."""

    def __init__(
        self, host: NodeState | None = NodeState.UP, job: JobRecord | None = None, *, answers: bool = True
    ) -> None:
        self.host, self.job, self.answers = host, job, answers

    def __call__(self, _name: str) -> Any:
        return self

    def nodes(self) -> list[NodeRecord]:
        if not self.answers:
            raise CouldNotObserveError("away")
        return [NodeRecord(name="elsewhere", state=self.host)] if self.host is not None else []

    def jobs(self, _ids: Sequence[str]) -> dict[str, JobRecord]:
        return {self.job.id: self.job} if self.job is not None else {}


def job(state: JobState, **changes: Any) -> JobRecord:
    return JobRecord(id="37", state=state, **changes)


def owner(**changes: Any) -> Owner:
    return Owner(
        **{"pid": 1, "started": 1, "host": "elsewhere", "claim": "38.0", "job": "slurm:38", **changes}
    )


@pytest.mark.parametrize(
    ("holder", "manager", "expected"),
    [
        (owner(), Manager(NodeState.DOWN), Fate.DEAD),
        (owner(), Manager(NodeState.UP), Fate.SUPERSEDED),
        (owner(), Manager(NodeState.UNKNOWN), Fate.SUPERSEDED),
        (owner(), Manager(answers=False), Fate.SUPERSEDED),
        (owner(restarts=1), Manager(job=None), Fate.DEAD),
        (owner(host="elsewhere.site.org"), Manager(NodeState.DOWN), Fate.DEAD),
        (owner(job="slurm:37"), Manager(job=job(JobState.RUNNING)), Fate.ALIVE),
        (owner(job="slurm:37"), Manager(job=job(JobState.COMPLETING)), Fate.ALIVE),
        (owner(job="slurm:37"), Manager(job=job(JobState.UNKNOWN)), Fate.ALIVE),
        (owner(job="slurm:37"), Manager(job=job(JobState.NODE_FAIL)), Fate.DEAD),
        (owner(job="slurm:37"), Manager(job=job(JobState.RUNNING, batch_host_lost=True)), Fate.DEAD),
        (owner(job="slurm:37"), Manager(job=job(JobState.RUNNING, restarts=1)), Fate.SUPERSEDED),
        (owner(job="slurm:37"), Manager(None), Fate.UNKNOWN),  # another cluster's
        (owner(job="slurm:37"), Manager(answers=False), Fate.UNKNOWN),
        (owner(job=""), Manager(NodeState.DOWN), Fate.UNKNOWN),
        (owner(job="flux:f38"), Manager(NodeState.DOWN), Fate.UNKNOWN),
    ],
)
def test_what_the_resource_manager_knows_of_an_owner(holder: Owner, manager: Manager, expected: Fate) -> None:
    assert stale_lock.fate(holder, INFO, manager) is expected


class Held:
    """A task's directory whose lock another node's isolator holds."""

    def __init__(self, place: Path, **changes: Any) -> None:
        self.directory = TaskDir(place / "task")
        self.directory.make()
        self._lock = takeover_lock.take(str(self.directory.lock_file), owner(**changes))

    def leave(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def lost(self) -> bool:
        return takeover_lock.lost(str(self.directory.lock_file), takeover_lock.epoch_of(self._lock))

    def present(self, manager: Manager) -> Owner | None:
        setup = make_setup(claim="38.1", job_id="38", rjms="slurm", restarts=1)
        return stale_lock.present(self.directory, setup, INFO, manager)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    made = Held(tmp_path)
    yield made
    made.leave()


def test_a_job_s_next_start_waits_for_the_end_of_the_one_before(
    held: Held, capfd: pytest.CaptureFixture[str]
) -> None:
    timer = threading.Timer(0.5, held.leave)
    timer.start()
    assert held.present(Manager()) is None
    timer.join()
    assert "waiting for the end of claim 38.0 on elsewhere" in capfd.readouterr().err


def test_a_dead_host_s_lock_is_taken_over(held: Held, capfd: pytest.CaptureFixture[str]) -> None:
    assert held.present(Manager(NodeState.DOWN)) is None
    assert held.lost()
    assert "the lock of process 1 on elsewhere, claim 38.0 was taken over" in capfd.readouterr().err


def test_an_isolator_that_does_not_hear_loses_its_lock_in_the_end(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_lock, "HANDOVER", 0.3)
    assert held.present(Manager(NodeState.UP)) is None
    assert held.lost()


@pytest.mark.parametrize("changes", [{"job": "slurm:37"}, {"host": os.uname().nodename}, {"claim": "38.1"}])
def test_nobody_else_is_waited_for(tmp_path: Path, changes: dict[str, str]) -> None:
    """Another job's isolator is refused at once while that job runs, one of this machine is attached to."""
    other = Held(tmp_path, **changes)
    assert other.present(Manager(job=job(JobState.RUNNING))) is not None
    assert not other.lost()
    other.leave()


def test_an_owner_of_the_same_host_that_cannot_be_seen_from_here_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node came back at once, its processes numbered anew, and the dead owner's number was attached to."""
    monkeypatch.setattr(stale_lock, "HANDOVER", 0.3)
    boot = f"{procfs.boot().partition('/')[0]}/pid:[1]"
    other = Held(tmp_path, host="n1", boot=boot)
    assert other.present(Manager(NodeState.UP)) is None
    assert other.lost()
    other.leave()
