"""Exceptions raised from outside: which tasks are meant, what is refused, that none is raised twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.journals import rebuild, report
from tests.runtime.coordinator.world import RULES, World, exception, spec
from whesl.language.spec import Level
from whesl.model.evidence import PredictedFailure
from whesl.model.states import JobState, TaskState
from whesl.runtime.coordinator.core.external_exceptions import MOST_WAITING
from whesl.runtime.coordinator.core.state import Settings
from whesl.runtime.wire.messages import Control, Finished, PredictFailure, RaiseException, Reply


def raise_(world: World, name: str = "GLITCH", identity: str = "r1", **where: str) -> Reply:
    world.tell("cli-9", RaiseException(id=identity, exception=name, **where))
    return world.reply("cli-9")


def said(reply: Reply) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(reply.body)
    return body


def predict(world: World, node: str, identity: str = "p1", lead: float = 30.0) -> Reply:
    prediction = PredictedFailure(node=node, time=0.0, lead=lead, confidence=0.9, evidence="EDAC")
    world.tell("cli-9", PredictFailure(id=identity, prediction=prediction))
    return world.reply("cli-9")


def test_every_task_on_the_node_is_told_of_its_predicted_failure(world: World) -> None:
    a, x = world.register("a", nodes=("n1", "n2.site")), world.register("x", nodes=("n2.site",))
    b = world.register("b", nodes=("n1",))
    reply = predict(world, "n2")
    assert said(reply)["tasks"] == ["w/a", "w/x"]
    assert predict(world, "n2") == reply
    for peer in (a, x):
        told = {message.id: message for message in world.told(peer, PredictFailure)}
        (only,) = told.values()
        assert (only.prediction.node, only.prediction.lead) == ("n2.site", 30.0)
    assert not world.told(b, PredictFailure)
    assert not predict(world, "n9", "p2").ok


def test_the_lead_is_what_is_left_when_an_isolator_is_told_again(world: World) -> None:
    world.register("a", nodes=("n1",))
    predict(world, "n1")
    world.restart()
    world.wait(12.0)
    again = world.register("a", peer="w/a#2", attempt=1)
    assert world.told(again, PredictFailure)[0].prediction.lead == pytest.approx(18.0, abs=0.5)


def ends(world: World, name: str, peer: str) -> None:
    world.tell(peer, Finished(task=f"w/{name}", state=TaskState.COMPLETED, exit_code=0, attempts=1))


def test_a_task_is_told_until_it_has_taken_it(world: World) -> None:
    a = world.register("a")
    reply = raise_(world, task="a", evidence="it will fail")
    assert reply.ok and said(reply)["tasks"] == ["w/a"]
    (told,) = world.told(a, RaiseException)
    assert (told.exception, told.task, told.evidence) == ("GLITCH", "w/a", "it will fail")
    again = world.register("a", peer="w/a#2", attempt=1)
    assert world.told(again, RaiseException) == [told]
    world.tell(again, report(task="w/a", kind="control", time=world.now, data={"id": told.id}))
    assert not world.told(world.register("a", peer="w/a#3", attempt=1), RaiseException)


def test_what_was_raised_on_a_run_that_has_ended_is_not_raised_on_the_jobs_next_one(world: World) -> None:
    """Its isolator had it, and was killed before the coordinator knew; the next run took it a second time."""
    first = world.register("a", job="7")
    raise_(world, task="a")
    world.ports.fake.put("7", JobState.PENDING, restarts=1)
    ended = Finished(task="w/a", state=TaskState.CANCELLED, exit_code=143, attempts=1, terminated=True)
    world.tell(first, ended)
    world.wait(30)
    second = world.register("a", job="7", restarts=1)
    assert not world.told(second, RaiseException)
    raise_(world, identity="r2", task="a")
    assert world.told(second, RaiseException)


def test_told_again_it_is_one_and_is_answered_as_before(world: World) -> None:
    a = world.register("a")
    first = raise_(world, task="a")
    assert raise_(world, task="a") == first
    world.restart()
    assert raise_(world, task="a") == first
    assert len({message.id for message in world.told(a, RaiseException)}) == 1
    raise_(world, identity="r2", task="a")
    assert len({message.id for message in world.told(a, RaiseException)}) == 2


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("write", range(1, 4))
def test_killed_at_any_write_it_is_raised_once(write: int, torn: bool) -> None:
    world = World()
    world.workflow()
    a = world.register("a")
    world.crash_at = frozenset({world.writes + write})
    world.torn = world.crash_at if torn else frozenset()
    message = RaiseException(id="r1", exception="GLITCH", task="a")
    # A command line's messages have no identity in the journal: without an answer it tells again.
    world.tell("cli-9", message)
    reply = raise_(world, task="a")
    (told,) = world.told(a, RaiseException)
    world.tell(a, report(task="w/a", kind="control", time=world.now, data={"id": told.id}))
    world.restart()
    assert raise_(world, task="a") == reply
    assert world.told(a, RaiseException) == [told]
    assert rebuild(world.journal, Settings()).controls == {}


def test_a_node_is_that_of_every_task_that_runs_there(world: World) -> None:
    a, x = world.register("a", nodes=("n1", "n2.site")), world.register("x", nodes=("n2.site",))
    b = world.register("b", nodes=("n1",))
    assert said(raise_(world, node="n2"))["tasks"] == ["w/a", "w/x"]
    assert [world.told(peer, RaiseException)[0].node for peer in (a, x)] == ["n2.site", "n2.site"]
    assert not world.told(b, RaiseException)


def test_a_node_that_a_task_has_left_is_its_own_no_more(world: World) -> None:
    a = world.register("a", nodes=("n1", "n2"))
    world.tell(
        a, report(task="w/a", kind="attempt", time=world.now + 1, data={"attempt": 2, "nodes": ["n2"]})
    )
    reply = raise_(world, node="n1")
    assert not reply.ok and "no running task uses the node 'n1'" in reply.error
    assert raise_(world, identity="r2", node="n2").ok


def test_a_job_is_that_of_its_tasks(world: World) -> None:
    world.register("a", job="71")
    world.register("b", job="72")
    assert said(raise_(world, job="72"))["tasks"] == ["w/b"]
    reply = raise_(world, identity="r2", job="73")
    assert "no running task belongs to a job '73'" in reply.error
    assert said(reply)["candidates"] == ["71", "72"]
    ends(world, "b", "w/b#72.0")
    assert "job 72 has ended: it was that of w/b" in raise_(world, identity="r3", job="72").error


def test_without_a_place_it_is_the_only_task_that_can_be_meant(world: World) -> None:
    world.register("a")
    assert said(raise_(world))["tasks"] == ["w/a"]
    world.register("b")
    reply = raise_(world, identity="r2")
    assert not reply.ok and said(reply)["candidates"] == ["w/a", "w/b"]


def test_what_cannot_be_raised_is_refused_and_says_why(world: World) -> None:
    assert "w/a has not started" in raise_(world, identity="1", task="a").error
    a = world.register("a")
    reply = raise_(world, "GLICH", "2", task="a")
    assert "no exception 'GLICH' is declared for w/a" in reply.error
    assert said(reply)["candidates"] == ["GLITCH"]
    assert "there is no task 'nobody'" in raise_(world, identity="3", task="nobody").error
    assert "not several" in raise_(world, identity="4", task="a", node="n1").error
    ends(world, "a", a)
    assert "w/a has ended: it is completed" in raise_(world, identity="5", task="a").error
    assert "no running task uses the node 'n1'" in raise_(world, identity="6", node="n1").error
    assert "no task is running" in raise_(world, identity="7").error
    assert not world.told(a, RaiseException)


def test_it_has_to_be_declared_for_that_very_task() -> None:
    world = World()
    only_a = exception("ONLY", level=Level.JOB_LEVEL)
    world.workflow(
        spec(type(only_a)(**{**{f: getattr(only_a, f) for f in only_a.__struct_fields__}, "jobs": ("a",)}))
    )
    world.register("a")
    b = world.register("b")
    assert "declared, but not for w/b" in raise_(world, "ONLY", "1", task="b").error
    reply = said(raise_(world, "ONLY", "2", node="n1"))
    assert (reply["tasks"], reply["uncovered"]) == (["w/a"], ["w/b"])
    assert not world.told(b, RaiseException)


def test_a_task_of_no_workflow_has_the_exceptions_that_its_isolator_told_of() -> None:
    world = World()
    peer = world.register("lone", workflow="exec", exceptions=("MINE",))
    assert raise_(world, "MINE", task="lone").ok
    assert world.told(peer, RaiseException)
    assert said(raise_(world, "MIEN", "r2", task="lone"))["candidates"] == ["MINE"]


def test_a_task_that_takes_nothing_is_not_told_without_end(world: World) -> None:
    a = world.register("a")
    for number in range(MOST_WAITING):
        assert raise_(world, identity=f"r{number}", task="a").ok
    assert "has not taken" in raise_(world, identity="more", task="a").error
    for message in world.told(a, RaiseException):
        world.tell(a, report(task="w/a", kind="control", time=world.now, data={"id": message.id}))
    assert raise_(world, identity="again", task="a").ok


def test_what_was_raised_on_a_task_that_has_ended_is_not_that_of_its_next_run(world: World) -> None:
    a = world.register("a")
    raise_(world, task="a")
    ends(world, "a", a)
    again = world.register("a", job="other")
    assert not world.told(again, RaiseException)
    assert not world.told(again, Control)
    assert RULES.exception("GLITCH")
