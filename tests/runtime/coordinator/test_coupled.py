"""Tasks that run together and exchange data: what becomes of one when the other is recovered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.coordinator.world import FULL, MOVE, World, exception, raised, spec, step
from whesl.language.spec import Entity, Level, ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.pathmap import PathMap
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.core.dependents_and_names import coupled, dependents
from whesl.runtime.wire.messages import Finished, Reconfigure, RecoveryDone, RecoveryGrant, RecoveryRequest

MOVED = Configuration(path_map=PathMap().with_rule("/old", "/new"))
RULES = spec(
    exception(FULL, step(Entity.JOB, ResourceKind.FILESYSTEM, **MOVE), level=Level.JOB_LEVEL),
    exception("LOST", step(Entity.JOB, ResourceKind.NODE), level=Level.JOB_LEVEL),
    exception(
        "BROKEN",
        step(Entity.DEPENDENT_JOB, ResourceKind.JOB, environment={"AFTER": "broken"}),
        step(Entity.JOB, ResourceKind.JOB),
    ),
)


def task(step: str, instance: str = "", **more: Any) -> Task:
    name = f"{step}_{instance}" if instance else step
    return Task(id=f"w/{name}", step=step, instance=instance, **more)


STUDY = Workflow(
    id="w",
    name="w",
    wms="maestro",
    root="/old/w",
    tasks=(
        task("sim", "1"),
        task("sim", "2"),
        task("analysis", "1"),
        task("analysis", "2"),
        task("plot", parents=("w/analysis_1", "w/analysis_2")),
        task("x"),
    ),
).with_coupled((("sim", "ana*"),))


@pytest.fixture
def study() -> World:
    """Both couples run, and a stranger."""
    made = World()
    made.workflow(RULES, STUDY)
    return made


def register(world: World, step: str, instance: str = "") -> str:
    name = f"{step}_{instance}" if instance else step
    return world.register(name, step=step, instance=instance)


def restarted(exception: str, **more: Any) -> RecoveryDone:
    outcome = RecoveryOutcome.RELAUNCHED
    return RecoveryDone(
        **{"task": "w/sim_1", "ordinal": 1, "exception": exception, "outcome": outcome, **more}
    )


def test_couples_go_by_instance_both_ways_and_with_what_depends_on_them(study: World) -> None:
    assert coupled(study.state, "w/sim_1") == ("w/analysis_1",)
    assert coupled(study.state, "w/analysis_2") == ("w/sim_2",)
    assert dependents(study.state, "w/sim_1") == ("w/analysis_1", "w/plot")
    assert dependents(study.state, "w/analysis_2") == ("w/sim_2", "w/plot")
    assert dependents(study.state, "w/x") == ()


@pytest.mark.parametrize("signal", [0, 10])
def test_new_paths_reach_the_task_that_runs_beside(study: World, signal: int) -> None:
    sim, partner, other = (register(study, *name) for name in (("sim", "1"), ("analysis", "1"), ("x",)))
    study.tell(sim, restarted(FULL, dependents_map=MOVED, signal=signal))
    (told,) = study.told(partner, Reconfigure)
    assert (told.configuration.path_map, told.signal) == (MOVED.path_map, signal)
    assert not study.told(other, Reconfigure)
    untold = study.kinds("not-told")
    assert [each["task"] for each in untold] == ([] if signal else ["w/analysis_1"])


def test_a_job_replaced_step_of_dependents_restarts_the_running_ones(study: World) -> None:
    sim, partner = register(study, "sim", "1"), register(study, "analysis", "1")
    study.tell(sim, RecoveryRequest(raised=raised("BROKEN", "sim_1")))
    assert study.told(sim, RecoveryGrant)
    assert not study.told(partner, Reconfigure)
    study.tell(sim, restarted("BROKEN"))
    (told,) = study.told(partner, Reconfigure)
    assert told.configuration.environment == {"AFTER": "broken"}
    assert told.configuration.restart > 0
    assert study.kinds("not-told") == []
    # The next one is later, so that it is another restart.
    study.wait(5, sim, partner)
    study.tell(sim, RecoveryRequest(raised=raised("BROKEN", "sim_1", 2)))
    study.tell(sim, restarted("BROKEN", ordinal=2))
    assert study.told(partner, Reconfigure)[-1].configuration.restart > told.configuration.restart


def test_a_partner_of_which_the_rules_say_nothing_is_told_to_the_user(study: World) -> None:
    sim, partner = register(study, "sim", "1"), register(study, "analysis", "1")
    for _ in range(2):  # told once, whatever is repeated
        study.tell(sim, restarted("LOST"))
    (untold,) = study.kinds("not-told")
    assert (untold["task"], untold["other"]) == ("w/analysis_1", "w/sim_1")
    assert "DEPENDENT_JOB" in untold["reason"]
    study.tell(partner, Finished(task="w/analysis_1", state=TaskState.COMPLETED, exit_code=0, attempts=1))
    study.tell(sim, restarted("LOST", ordinal=2))
    assert len(study.kinds("not-told")) == 1


def test_a_partner_that_does_not_answer_is_told_to_the_user(study: World) -> None:
    sim, _ = register(study, "sim", "1"), register(study, "analysis", "1")
    study.wait(60, sim)
    study.tell(sim, restarted(FULL, dependents_map=MOVED, signal=10))
    (untold,) = study.kinds("not-told")
    assert "does not answer" in untold["reason"]


@pytest.mark.parametrize("told_by", ["isolator", "scheduler"])
def test_a_partner_that_has_failed_for_good_is_told(study: World, told_by: str) -> None:
    """The other one waited for its data until its time was over, and nobody said so."""
    sim, partner, other = (register(study, *name) for name in (("sim", "1"), ("analysis", "1"), ("x",)))
    if told_by == "isolator":
        study.tell(sim, Finished(task="w/sim_1", state=TaskState.FAILED, exit_code=1, attempts=1))
    else:
        study.ports.fake.put("job-sim_1", JobState.FAILED)
        study.wait(60, partner, other)
    assert study.task("sim_1").state is TaskState.FAILED
    assert study.told(partner, Reconfigure)[-1].configuration.failed == ("w/sim_1",)
    assert not study.told(other, Reconfigure)
    (told,) = study.kinds("coupled-failed")
    assert (told["task"], told["other"]) == ("w/analysis_1", "w/sim_1")


def test_a_partner_that_has_completed_is_nobody_s_business(study: World) -> None:
    sim, partner = register(study, "sim", "1"), register(study, "analysis", "1")
    study.tell(sim, Finished(task="w/sim_1", state=TaskState.COMPLETED, exit_code=0, attempts=1))
    assert not study.told(partner, Reconfigure)
