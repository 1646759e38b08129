"""Many silent tasks: the scheduler is asked about their jobs together, or one by one where it must be."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from whesl.managers.resource.port import JobRecord
from whesl.model.errors import CouldNotObserveError, UsageError
from whesl.model.states import JobState
from whesl.runtime.coordinator.core.events_and_commands import LookAtJob
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.coordinator.effects.manager_calls import Calls
from whesl.runtime.coordinator.effects.workflow_recovery_steps import look_at_jobs
from whesl.runtime.wire.blocking_call_worker import Worker


class Cluster:
    """A scheduler that knows some jobs, and writes down what it is asked."""

    def __init__(self, known: Mapping[str, JobRecord], away: bool = False) -> None:
        self.known = known
        self.away = away
        self.asked: list[tuple[str, ...]] = []
        self.lifted: list[str] = []

    def scheduler(self, _name: str, _environment: Mapping[str, str]) -> Any:
        return self

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        self.asked.append(tuple(ids))
        if self.away:
            raise CouldNotObserveError("squeue did not answer")
        if bad := [job for job in ids if not job.isdigit()]:
            raise UsageError(f"not a job id: {bad[0]}")
        return {job: self.known[job] for job in ids if job in self.known}

    def lift_hold(self, record: JobRecord) -> None:
        self.lifted.append(record.id)
        if record.restarts > 1:
            raise CouldNotObserveError("scontrol did not answer")


def record(job: str, **more: Any) -> JobRecord:
    return JobRecord(id=job, state=JobState.RUNNING, raw_state="RUNNING", **more)


def look(task: str, job: str, *, start: bool = False) -> LookAtJob:
    return LookAtJob(task=task, rjms="slurm", job_id=job, start=start)


def test_one_question_is_asked_for_all_jobs() -> None:
    cluster = Cluster({"1": record("1"), "2": record("2", restarts=1), "4": record("4", restarts=2)})
    looks = [look("a", "1", start=True), look("b", "2", start=True), look("b2", "2"), look("c", "3")]
    seen = look_at_jobs(cluster, "slurm", [*looks, look("d", "4", start=True)], {})  # type: ignore[arg-type]  # a stand-in
    assert cluster.asked == [("1", "2", "3", "4")] and cluster.lifted == ["2", "4"]
    assert [(found.task, found.record and found.record.id, found.unseen) for found in seen] == [
        ("a", "1", ""),
        ("b", "2", ""),
        ("b2", "2", ""),
        ("c", None, ""),
        ("d", None, "scontrol did not answer"),
    ]


def test_what_is_no_job_spoils_nobody_elses_answer() -> None:
    cluster = Cluster({"1": record("1"), "2": record("2")})
    seen = look_at_jobs(cluster, "slurm", [look("a", "1"), look("b", "?"), look("c", "2")], {})  # type: ignore[arg-type]  # a stand-in
    assert [(found.task, found.record is not None, bool(found.unseen)) for found in seen] == [
        ("a", True, False),
        ("b", False, True),
        ("c", True, False),
    ]


def test_no_answer_is_not_asked_for_again_one_by_one() -> None:
    cluster = Cluster({}, away=True)
    seen = look_at_jobs(cluster, "slurm", [look("a", "1"), look("b", "2")], {})  # type: ignore[arg-type]  # a stand-in
    assert len(cluster.asked) == 1 and all(found.unseen and found.record is None for found in seen)


def test_one_question_is_asked_for_all_that_fell_silent_together() -> None:
    cluster = Cluster({str(number): record(str(number)) for number in range(1200)})
    workers = Worker(4)
    seen: list[Any] = []
    calls = Calls(workers, seen.extend, cluster, subprocess.DEVNULL)  # type: ignore[arg-type]  # a stand-in
    for number in range(1200):
        calls.make(look(f"t{number}", str(number)), State())
    calls.look_at_jobs(State())
    deadline = time.monotonic() + 60
    while len(seen) < 1200 and time.monotonic() < deadline:
        for deliver in workers.results():
            deliver()
    assert sorted(len(ids) for ids in cluster.asked) == [200, 500, 500]
    assert {found.task for found in seen} == {f"t{number}" for number in range(1200)}
    assert all(found.record is not None for found in seen)
