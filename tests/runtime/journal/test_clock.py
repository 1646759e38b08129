"""A daemon's clock is set once and goes on evenly, whatever is done to its host's."""

from __future__ import annotations

from pathlib import Path

from whesl.model.workflow import Task
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.resume import state_of
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.journal.store import Journal


class Host:
    """A host whose clock is set while ``passed`` goes on."""

    def __init__(self) -> None:
        self.passed = 50.0
        self.ahead = 1_000_000.0

    def wall(self) -> float:
        return self.passed + self.ahead

    def monotonic(self) -> float:
        return self.passed

    def clock(self) -> Clock:
        return Clock(self.wall, self.monotonic)


def test_a_step_of_the_hosts_clock_changes_nothing() -> None:
    host = Host()
    clock = host.clock()
    assert clock() == 1_000_050.0
    for step in (3600.0, -7200.0):
        host.ahead += step
        host.passed += 1.0
    assert clock() == 1_000_052.0


def test_the_next_start_takes_the_hosts_clock_but_never_goes_back() -> None:
    host = Host()
    host.ahead += 3600.0
    later = host.clock()
    assert later() == 1_003_650.0
    later.follow(1_000_000.0)
    assert later() == 1_003_650.0
    later.follow(1_009_000.0)
    host.passed += 2.0
    assert later() == 1_009_002.0


def test_what_is_no_time_is_not_followed() -> None:
    clock = Host().clock()
    for damaged in (float("nan"), float("inf"), float("-inf")):
        clock.follow(damaged)
    assert clock() == 1_000_050.0


def test_an_isolator_goes_on_from_its_journals_last_time(tmp_path: Path) -> None:
    task = Task(id="w/a", step="a")
    setup = Setup(task=task, workflow="w", claim="1.0", nodes=("n1",), own_node="n1")
    host = Host()
    with Journal(tmp_path / "journal.db") as journal:
        journal.append("begun", {"claim": "1.0", "rjms": "", "job_id": "1", "observe": False}, 1_000_400.0)
        host.ahead -= 500.0
        clock = host.clock()
        state_of(journal, TaskDir(tmp_path), Job(setup=setup), clock)
    assert clock() == 1_000_400.0
