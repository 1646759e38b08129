"""A job is ordered to run again once, whatever an earlier order of the same came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.coordinator.world import World
from whesl.coordinator.core.events_and_commands import Requeue, RequeueEnded
from whesl.coordinator.effects.recovery_steps import carry_out
from whesl.model.errors import RefusedError
from whesl.model.states import JobState
from whesl.rjms.port import JobRecord
from whesl.rjms.slurm.command import SlurmCommands
from whesl.rjms.slurm.scheduler import SlurmScheduler


class Cluster:
    """A scheduler with one job; what happens between a look and an order is the test's."""

    def __init__(self, between: Callable[[Cluster], None]) -> None:
        self.job = JobRecord(id="7", state=JobState.RUNNING)
        self._between = between

    def scheduler(self, _name: str, _environment: Mapping[str, str]) -> Any:
        return self

    def jobs(self, _ids: Sequence[str]) -> dict[str, JobRecord]:
        return {"7": self.job}

    def requeue(self, _job: str) -> None:
        self._between(self)
        raise RefusedError("Job/step already completing or completed")


def order(cluster: Cluster) -> RequeueEnded:
    command = Requeue(token="w/a@7.0", rjms="slurm", job_id="7", restarts=0)
    ended = carry_out(command, cluster, {})  # type: ignore[arg-type]  # a stand-in
    assert isinstance(ended, RequeueEnded)
    return ended


def test_an_earlier_order_that_came_between_is_this_one_done() -> None:
    def earlier(cluster: Cluster) -> None:
        cluster.job = JobRecord(id="7", state=JobState.PENDING, restarts=1)

    assert order(Cluster(earlier)).outcome == "done"


def test_what_is_refused_and_has_not_happened_is_refused() -> None:
    ended = order(Cluster(lambda _: None))
    assert (ended.outcome, ended.reason) == ("refused", "Job/step already completing or completed")


def test_a_job_that_its_owner_runs_again_may_be_run_again_afterwards() -> None:
    """A script that requeues itself again and again was refused the second time."""
    world = World()
    world.workflow()
    for restarts in range(4):
        world.register("a", restarts=restarts)
    assert world.ports.fake.allowed == []


class Config(SlurmCommands):
    """A cluster of which the settings are known; it notes what is changed."""

    def __init__(self, config: str) -> None:
        super().__init__({})
        self._config = config
        self.changed: list[str] = []

    def run(self, *command: str, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> str:
        if "update" in command:
            self.changed.append(command[-1])
        return self._config if "config" in command else ""


@pytest.mark.parametrize(("default", "changed"), [("0", ["Requeue=0"]), ("1", [])])
def test_a_permission_that_every_job_has_is_not_taken_back(default: str, changed: list[str]) -> None:
    scheduler = SlurmScheduler({})
    commands = Config(f"JobRequeue              = {default}\n")
    scheduler._commands = commands
    scheduler.allow_requeue("7", allowed=False)
    assert commands.changed == changed
    scheduler.allow_requeue("7", allowed=True)
    assert commands.changed == [*changed, "Requeue=1"]
