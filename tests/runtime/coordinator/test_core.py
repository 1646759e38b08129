"""The coordinator's core on a virtual clock: admission, recoveries, dependents, escalation, silence."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.journals import rebuild, report
from tests.runtime.coordinator.world import FULL, RULES, World, done, exception, raised, spec, step
from whesl.language.spec import Entity, Operation, ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.pathmap import PathMap, PathRule
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.core.state import Outcome, Settings
from whesl.runtime.coordinator.json_views import task_view
from whesl.runtime.wire.messages import (
    AnyMessage,
    Escalate,
    Finished,
    Heartbeat,
    Reconfigure,
    RecoveryDone,
    RecoveryGrant,
    RecoveryRequest,
    Register,
    Welcome,
)

MOVED = Configuration(path_map=PathMap((PathRule("/old", "/new"),)))


class TestAdmission:
    def test_the_first_claim_is_admitted(self, world: World) -> None:
        peer = world.register("a")
        (welcome,) = world.told(peer, Welcome)
        assert welcome.admitted and welcome.heartbeat == 5.0
        assert world.task("a").state is TaskState.RUNNING
        assert world.task("b").state is TaskState.REGISTERED

    def test_a_newer_claim_of_the_same_job_replaces_the_older_which_is_fenced(self, world: World) -> None:
        old = world.register("a")
        new = world.register("a", restarts=1)
        assert world.told(new, Welcome)[0].admitted
        assert [w.admitted for w in world.told(old, Welcome)] == [True, False]
        assert world.task("a").claim == "job-a.1"
        world.tell(old, Finished(task="w/a", state=TaskState.FAILED, exit_code=1, attempts=1))
        assert world.task("a").state is TaskState.RUNNING

    @pytest.mark.parametrize("before", ["living", "restarted"])
    def test_a_job_with_the_number_of_one_that_has_ended_runs_the_task_anew(
        self, world: World, before: str
    ) -> None:
        """A cluster that was set up anew counts its jobs from one again."""
        old = world.register("a", run="x.")
        world.tell(old, RecoveryRequest(raised=raised(FULL, "a")))
        world.tell(old, done("a"))
        world.tell(old, Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=2))
        if before == "restarted":
            world.restart()
        new = world.register("a", run="y.", peer="w/a#again")
        assert world.task("a").state is TaskState.RUNNING and world.task("a").exceptions == 0
        world.tell(new, RecoveryRequest(raised=msgspec.structs.replace(raised(FULL, "a"), time=world.now)))
        assert world.told(new, RecoveryGrant)
        world.restart()
        assert world.task("a").run == "y."

    def test_a_restarted_isolator_of_a_task_that_has_ended_revives_nothing(self, world: World) -> None:
        old = world.register("a", run="x.")
        world.tell(old, Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1))
        world.register("a", run="x.", peer="w/a#late")
        assert world.task("a").state is TaskState.COMPLETED

    @pytest.mark.parametrize("seen_before", [True, False])
    def test_a_late_register_of_an_old_claim_is_refused(self, world: World, seen_before: bool) -> None:
        if seen_before:
            world.register("a", restarts=9)
        new = world.register("a", restarts=10)
        late = world.register("a", restarts=9, peer="late")
        (welcome,) = world.told(late, Welcome)
        assert not welcome.admitted and "10" in welcome.reason
        assert world.task("a").peer == new

    @pytest.mark.parametrize("word", ["finished", "request", "escalate", "done"])
    def test_what_a_replaced_claim_said_is_nobodys_word_even_before_its_registration(
        self, world: World, word: str
    ) -> None:
        """An isolator of the old claim was started again, and its registration comes after its news."""
        world.register("a")
        world.register("a", restarts=1)
        exception = raised(FULL, "a")
        messages: dict[str, AnyMessage] = {
            "finished": Finished(
                task="w/a", state=TaskState.CANCELLED, exit_code=143, attempts=1, claim="job-a.0"
            ),
            "request": RecoveryRequest(raised=exception, claim="job-a.0"),
            "escalate": Escalate(raised=exception, reason="budget-spent", claim="job-a.0"),
            "done": RecoveryDone(
                task="w/a", ordinal=1, exception=FULL, outcome=RecoveryOutcome.FAILED, claim="job-a.0"
            ),
        }
        before = world.state.durable()
        world.tell("w/a#old claim, second isolator", messages[word])
        assert world.state.durable() == before

    def test_another_job_is_not_admitted_while_the_owner_lives(self, world: World) -> None:
        owner = world.register("a")
        second = world.register("a", job="job-2")
        (welcome,) = world.told(second, Welcome)
        assert not welcome.admitted and welcome.again and "job-a" in welcome.reason
        assert world.task("a").peer == owner

    def test_another_job_is_admitted_once_the_task_has_ended(self, world: World) -> None:
        owner = world.register("a")
        world.tell(owner, Finished(task="w/a", state=TaskState.FAILED, exit_code=1, attempts=1))
        second = world.register("a", job="job-2")
        assert world.told(second, Welcome)[0].admitted
        assert world.task("a").state is TaskState.RUNNING
        assert world.task("a").exit_code is None

    def test_an_end_heard_without_a_registration_does_not_close_the_task_to_the_next_job(
        self, world: World
    ) -> None:
        peer = "w/a#job-a.0"
        world.tell(peer, Finished(task="w/a", state=TaskState.FAILED, exit_code=1, attempts=1))
        assert world.task("a").state is TaskState.FAILED
        assert world.register("a", peer=peer) == peer  # its registration comes after its last words
        assert world.task("a").state is TaskState.FAILED

    def test_the_next_job_takes_a_task_over_whose_owner_never_registered(self, world: World) -> None:
        gone = Finished(task="w/a", state=TaskState.FAILED, exit_code=1, attempts=1)
        world.tell("w/a#job-a.0", gone)
        peer = world.register("a", job="job-again")
        assert world.task("a").live
        world.tell(peer, Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1))
        assert world.task("a").state is TaskState.COMPLETED

    def test_an_isolator_that_was_started_again_keeps_its_task(self, world: World) -> None:
        world.register("a")
        again = world.register("a", peer="w/a#second", attempt=1, state=TaskState.RECOVERING)
        assert world.told(again, Welcome)[0].admitted
        assert world.task("a").peer == again
        assert world.task("a").state is TaskState.RECOVERING

    def test_an_unknown_name_is_matched_by_workspace_or_step_and_instance(self, world: World) -> None:
        peer = world.register("a", task="w/a_other-name", workspace="/old/w/b", step="zzz")
        assert world.task("b").peer == peer
        world.tell(peer, Finished(task="w/a_other-name", state=TaskState.COMPLETED, exit_code=0, attempts=1))
        assert world.task("b").state is TaskState.COMPLETED
        other = world.register("c", task="w/strange")
        assert world.task("c").peer == other

    def test_a_task_of_no_workflow_stands_alone(self, world: World) -> None:
        peer = world.register("a", task="alone/t", workflow="alone", step="t")
        world.tell(peer, RecoveryRequest(raised=msgspec.structs.replace(raised(FULL, "a"), task="alone/t")))
        (grant,) = world.told(peer, RecoveryGrant)
        assert not grant.refused
        assert "w/a" in world.state.tasks and world.task("a").state is TaskState.REGISTERED


class TestConfigurations:
    def test_dependents_running_and_to_come_get_the_path_map_of_a_job_level_recovery(
        self, world: World
    ) -> None:
        a, b, x = world.register("a"), world.register("b"), world.register("x")
        world.tell(a, done("a", dependents_map=MOVED, signal=10))
        (told,) = world.told(b, Reconfigure)
        assert (told.signal, told.configuration.version) == (10, 1)
        assert told.configuration.path_map == MOVED.path_map
        assert not world.told(x, Reconfigure) and not world.told(a, Reconfigure)
        d = world.register("d")
        (welcome,) = world.told(d, Welcome)
        assert welcome.configuration.path_map == MOVED.path_map and welcome.configuration.version == 1

    def test_a_repeated_or_late_message_changes_nothing(self, world: World) -> None:
        a, b = world.register("a"), world.register("b")
        message = done("a", dependents_map=MOVED)
        world.tell(a, message)
        before = world.state.durable()
        world.tell(a, message)
        world.tell(a, done("a", outcome="paused"))
        assert world.state.durable() == before
        assert len(world.told(b, Reconfigure)) == 1

    def test_a_pause_may_be_followed_by_a_relaunch(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, done("a", outcome="paused"))
        world.tell(a, done("a", dependents_map=MOVED))
        assert world.task("b").configuration.version == 1
        assert world.task("a").outcomes == {1: Outcome(RecoveryOutcome.RELAUNCHED)}

    def test_the_first_recovery_of_a_new_run_is_no_repeat_of_the_run_before(self, world: World) -> None:
        """Both are its task's first; the new run's first registration is the one that comes late."""
        old = world.register("a")
        world.tell(old, done("a", outcome="failed", raised=10.0))
        world.tell(old, Finished(task="w/a", state=TaskState.FAILED, exit_code=1, attempts=1))
        new = world.register("a", job="job-2", attempt=1)
        world.tell(new, done("a", dependents_map=MOVED, raised=20.0))
        assert world.task("b").configuration.path_map == MOVED.path_map
        world.tell(new, done("a", dependents_map=MOVED, raised=20.0))
        assert world.task("b").configuration.version == 1

    def test_two_recoveries_compose(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, done("a", 1, dependents_map=MOVED))
        second = Configuration(path_map=PathMap((PathRule("/new", "/newer"),)))
        world.tell(a, done("a", 2, dependents_map=second))
        assert world.task("d").configuration.path_map.path("/old/f") == "/newer/f"
        assert world.task("d").configuration.version == 2

    def test_failed_recoveries_reach_nobody(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, done("a", outcome="failed", dependents_map=MOVED))
        assert world.task("b").configuration.version == 0

    def test_two_workflows_do_not_touch_each_other(self, world: World) -> None:
        other = Workflow(
            id="v",
            name="v",
            wms="maestro",
            root="/v",
            tasks=(Task(id="v/a", step="a"), Task(id="v/b", step="b", parents=("v/a",))),
        )
        world.workflow(workflow=other)
        a = world.register("a")
        world.register("a", task="v/a", workflow="v", job="job-v")
        world.tell(a, done("a", dependents_map=MOVED))
        assert world.state.tasks["v/b"].configuration.version == 0
        assert world.task("b").configuration.version == 1


class TestWorkflowLevel:
    def test_own_steps_then_the_grant_then_dependents(self, world: World) -> None:
        a, b = world.register("a"), world.register("b")
        world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
        assert [d["step"] for d in world.kinds("step-done")] == [
            "WMS FILESYSTEM.REPLACE",
            "DEPENDENT_JOB JOB.REPLACE",
        ]
        (grant,) = world.told(a, RecoveryGrant)
        assert grant.configuration.path_map == MOVED.path_map and not grant.refused
        assert not world.told(b, Reconfigure), "dependents are told when the failed task runs again"
        world.tell(a, done("a"))
        last = world.told(b, Reconfigure)[-1]
        assert last.configuration.path_map == MOVED.path_map
        assert last.configuration.environment == {"SEEN": "1"}

    def test_a_repeated_request_is_answered_again_and_done_once(self, world: World) -> None:
        a = world.register("a")
        for _ in range(3):
            world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
        assert world.ports.wms.calls == 1
        assert sum(isinstance(m, RecoveryGrant) for p, m in world.sent if p == a) == 3

    def test_a_request_that_overtakes_its_registration_is_not_forgotten(self, world: World) -> None:
        world.register("a")
        new = "w/a#job-a.1"
        world.tell(new, RecoveryRequest(raised=raised(FULL, "a"), claim="job-a.1"))
        world.register("a", restarts=1, peer=new)
        assert world.told(new, RecoveryGrant)
        assert world.ports.wms.calls == 1

    def test_an_old_grant_is_none_for_another_exception_of_the_same_number(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("GLITCH", "a")))
        assert world.told(a, RecoveryGrant)
        later = msgspec.structs.replace(raised(FULL, "a"), time=world.now + 50)
        new = "w/a#job-a.1"
        world.tell(new, RecoveryRequest(raised=later, claim="job-a.1"))  # before it registers
        world.register("a", restarts=1, peer=new)
        assert world.ports.wms.calls == 1
        assert world.told(new, RecoveryGrant)[-1].configuration.path_map

    def test_a_restarted_isolator_is_granted_again(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
        again = world.register("a", peer="w/a#again", attempt=1)
        assert len(world.told(again, RecoveryGrant)) == 1
        world.tell(again, done("a"))
        third = world.register("a", peer="w/a#third", attempt=2)
        assert not world.told(third, RecoveryGrant)

    def test_a_transient_failure_is_tried_again(self, world: World) -> None:
        a = world.register("a")
        world.ports.wms.transient = 3
        world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
        assert not world.told(a, RecoveryGrant)
        world.wait(30, a)
        assert world.told(a, RecoveryGrant) and world.ports.wms.calls == 1

    def test_what_never_works_is_refused_within_the_isolators_patience(self, world: World) -> None:
        a = world.register("a")
        world.ports.wms.transient = 10_000
        world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
        world.wait(115, a)
        (grant,) = world.told(a, RecoveryGrant)
        assert "busy" in grant.refused

    def test_a_refusal_is_passed_on_and_changes_nothing(self, world: World) -> None:
        a = world.register("a")
        world.ports.wms.refuse = "no room anywhere"
        world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
        (grant,) = world.told(a, RecoveryGrant)
        assert "no room anywhere" in grant.refused
        assert world.task("a").configuration.version == world.task("b").configuration.version == 0

    def test_arguments_that_cannot_be_filled_in_are_refused(self) -> None:
        world = World()
        bad = step(Entity.SCHEDULER, ResourceKind.NODE, Operation.REMOVE, node="${nobody}")
        world.workflow(spec(exception("E", bad)))
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("E", "a")))
        assert "nobody" in world.told(a, RecoveryGrant)[0].refused

    def test_what_an_entity_does_not_offer_is_refused(self) -> None:
        world = World()
        world.workflow(spec(exception("E", step(Entity.SCHEDULER, ResourceKind.FILESYSTEM, filesystem="/n"))))
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("E", "a")))
        assert "not offered" in world.told(a, RecoveryGrant)[0].refused

    def test_a_scheduler_step_notes_the_suspect(self) -> None:
        world = World()
        remove = step(Entity.SCHEDULER, ResourceKind.NODE, Operation.REMOVE, node="${node}")
        world.workflow(spec(exception("E", remove)))
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("E", "a")))
        assert world.ports.fake.marked == ["n1"]
        assert world.state.bad_nodes["n1"].source == "coordinator"
        b = world.register("b")
        assert [bad.node for bad in world.told(b, Welcome)[0].bad_nodes] == ["n1"]

    def test_a_custom_handler_runs_in_the_coordinator(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        from whesl.language.spec import OperationDeclaration, ResourceDeclaration

        place = tmp_path_factory.mktemp("handler")
        handler = place / "handler"
        handler.write_text(
            f'#!/bin/sh\ncat > {place}/asked\necho \'{{"outcome": "continue", "note": "did it"}}\'\n'
        )
        handler.chmod(0o755)
        declared = ResourceDeclaration(
            resource=ResourceKind.NODE,
            operations=(OperationDeclaration(operation=Operation.REMOVE, handler=str(handler)),),
        )
        world = World()
        remove = step(Entity.SCHEDULER, ResourceKind.NODE, Operation.REMOVE, node="${node}")
        world.workflow(spec(exception("E", remove), handlers=(declared,)))
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("E", "a")))
        assert json.loads((place / "asked").read_text())["step"]["arguments"]["node"] == "n1"
        assert world.kinds("step-done")[0]["note"] == "did it"
        assert not world.told(a, RecoveryGrant)[0].refused

    def test_the_job_runs_again_where_the_rules_say_so(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("AGAIN", "a")))
        assert world.ports.fake.requeued == ["job-a"]
        world.tell(a, Finished(task="w/a", state=TaskState.CANCELLED, exit_code=143, attempts=1))
        assert not world.task("a").state.final
        new = world.register("a", restarts=1)
        assert world.told(new, Welcome)[0].configuration.environment == {"A": "1"}
        assert not world.told(new, RecoveryGrant)


class TestAnswers:
    def test_the_new_start_is_answer_enough(self, world: World) -> None:
        """The scheduler took the order and did not say so: the job's first attempt has what was changed."""
        a = world.register("a")
        world.ports.fake.silent = 10_000
        world.tell(a, RecoveryRequest(raised=raised("AGAIN", "a")))
        world.ports.fake.put("job-a", restarts=1)
        new = world.register("a", restarts=1)
        assert world.told(new, Welcome)[0].configuration.environment == {"A": "1"}
        assert {order.status for order in world.state.requeues.values()} == {"done"}
        world.ports.fake.silent = 0
        world.wait(120, new)
        assert world.ports.fake.requeued == []

    def test_a_restart_takes_up_what_bears_the_name_of_an_older_job_s_recovery(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("AGAIN", "a")))
        assert world.ports.fake.requeued == ["job-a"]
        world.tell(a, Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1))
        second = world.register("a", job="job-2")
        world.ports.wms.transient = 1
        later = msgspec.structs.replace(raised(FULL, "a"), time=world.now + 50)
        world.tell(second, RecoveryRequest(raised=later))
        assert not world.told(second, RecoveryGrant)
        world.restart()
        assert world.told(second, RecoveryGrant)

    def test_nothing_stays_open_of_a_task_that_has_ended(self, world: World) -> None:
        a = world.register("a")
        world.ports.wms.transient = 10_000
        world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
        world.ports.fake.put("job-a", JobState.FAILED)
        world.wait(90)
        assert world.task("a").told_by == "scheduler"
        assert not any(recovery.open for recovery in world.state.recoveries.values())


def test_what_waits_for_its_scheduler_does_not_undo_an_ancestor_s_paths(world: World) -> None:
    a, b = world.register("a"), world.register("b")
    world.ports.fake.put("job-b")
    world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
    world.ports.fake.silent = 100
    world.tell(b, RecoveryRequest(raised=raised("AGAIN", "b")))
    assert not world.ports.fake.requeued
    world.tell(a, done("a"))
    assert world.task("b").configuration.path_map.rules == (PathRule("/old", "/new"),)
    world.ports.fake.silent = 0
    world.wait(120)
    assert world.ports.fake.requeued == ["job-b"]
    welcome = world.told(world.register("b", restarts=1), Welcome)[-1]
    assert welcome.configuration.path_map.rules == (PathRule("/old", "/new"),)
    assert welcome.configuration.environment == {"SEEN": "1", "A": "1"}


@pytest.mark.parametrize(
    ("base", "new", "present", "expected"),
    [
        ({}, {"environment": {"A": "1"}}, {"version": 3}, {"environment": {"A": "1"}}),
        ({}, {"nodes": 2}, {"time_limit": 9.0}, {"nodes": 2, "time_limit": 9.0}),
        ({"nodes": 2}, {"nodes": 2, "skip": True}, {"nodes": 3}, {"nodes": 3, "skip": True}),
        (
            {"environment": {"A": "1", "B": "1"}},
            {"environment": {"A": "2"}},
            {"environment": {"A": "1", "B": "1", "C": "1"}},
            {"environment": {"A": "2", "C": "1"}},
        ),
        (
            {"excluded_nodes": ("n1", "n2")},
            {"excluded_nodes": ("n2", "n3")},
            {"excluded_nodes": ("n1", "n2", "n4")},
            {"excluded_nodes": ("n2", "n4", "n3")},
        ),
        (  # a rule that this recovery did not make is not made again over a newer one
            {"path_map": PathMap().with_rule("/a", "/b")},
            {"path_map": PathMap().with_rule("/a", "/b").with_rule("/x", "/y")},
            {"path_map": PathMap().with_rule("/a", "/b").with_rule("/b", "/c")},
            {"path_map": PathMap().with_rule("/a", "/b").with_rule("/b", "/c").with_rule("/x", "/y")},
        ),
        (
            {"path_map": PathMap().with_rule("/a", "/b")},
            {},
            {"path_map": PathMap().with_rule("/a", "/b").with_rule("/x", "/y")},
            {"path_map": PathMap().with_rule("/x", "/y")},
        ),
    ],
)
def test_a_change_upon_another_change(
    base: dict[str, object], new: dict[str, object], present: dict[str, object], expected: dict[str, object]
) -> None:
    made = Configuration(**new).rebased(Configuration(**base), Configuration(**present))  # type: ignore[arg-type] # fields of all types by name
    assert made == Configuration(**expected)  # type: ignore[arg-type] # the same


def test_what_is_wrong_with_a_task_s_journal_is_shown_until_it_is_over(world: World) -> None:
    a = world.register("a")

    def told(trouble: str) -> str:
        world.tell(a, report(task="w/a", kind="journal", time=world.now, data={"trouble": trouble}))
        return str(task_view(world.task("a"))["trouble"])

    assert told("the disk is full") == "the disk is full"
    assert told("") == ""
    assert told("the disk is full")
    world.register("a", peer="w/a#job-a.0-2")
    assert world.task("a").trouble == "", "another isolator's journal may be well; it says so if not"
    assert rebuild(world.journal, Settings()) == world.state.durable()


def test_final_states_do_not_move(world: World) -> None:
    a = world.register("a")
    world.tell(a, Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1))
    before = world.state.durable().tasks["w/a"]
    world.tell(a, Heartbeat(task="w/a", state=TaskState.RUNNING, attempt=1))
    world.tell(a, report(task="w/a", kind="launched", time=world.now + 5))
    world.tell(a, Finished(task="w/a", state=TaskState.FAILED, exit_code=1, attempts=1))
    world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
    world.tell(a, Register(task="w/a", workflow="w", step="a", rjms="fake", job_id="job-a", claim="job-a.0"))
    assert world.task("a") == before


def test_the_state_is_what_the_journal_says(world: World) -> None:
    a = world.register("a")
    world.tell(a, RecoveryRequest(raised=raised(FULL, "a")))
    world.tell(a, done("a"))
    assert rebuild(world.journal, Settings()) == world.state.durable()


def test_rules_used_here_are_what_a_user_could_write() -> None:
    assert [e.name for e in RULES.exceptions] == [FULL, "DEAD", "AGAIN", "GLITCH", "STORM"]
