"""What people tell the coordinator, and the memory of bad nodes that they share with it."""

from __future__ import annotations

import json

import pytest

from tests.journals import report
from tests.runtime.coordinator.world import DIAMOND, World
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Task, Workflow
from whesl.runtime.wire.messages import (
    Command,
    Control,
    Heartbeat,
    NodeSuspect,
    RegisterWorkflow,
    Reply,
    Welcome,
)


class TestPeople:
    def tell(self, world: World, action: str, target: str, identity: str = "c1", **arguments: str) -> Reply:
        world.tell("cli-9", Command(id=identity, action=action, target=target, arguments=arguments))
        return world.reply("cli-9")

    def test_resume_reaches_a_paused_task_once(self, world: World) -> None:
        a = world.register("a")
        world.tell(a, report(task="w/a", kind="paused", time=world.now + 1, data={"reason": "DISK: budget"}))
        assert world.task("a").state is TaskState.PAUSED
        for _ in range(2):
            assert self.tell(world, "resume", "a").ok
        assert len(world.told(a, Control)) == 1
        again = world.register("a", peer="w/a#2", attempt=1, state=TaskState.PAUSED)
        assert len(world.told(again, Control)) == 1, "a control that was not taken is told again"
        world.tell(again, report(task="w/a", kind="control", time=world.now, data={"id": "c1"}))
        third = world.register("a", peer="w/a#3", attempt=1)
        assert not world.told(third, Control)

    def test_resume_of_what_is_not_paused_says_so(self, world: World) -> None:
        world.register("a")
        reply = self.tell(world, "resume", "w/a")
        assert not reply.ok and "running, not paused" in reply.error
        assert self.tell(world, "resume", "w/a").error == reply.error

    def test_ambiguous_and_unknown_names_list_candidates(self) -> None:
        world = World()
        tasks = (
            Task(id="w/solve_1", step="solve", instance="1"),
            Task(id="w/solve_2", step="solve", instance="2"),
        )
        world.workflow(workflow=Workflow(id="w", name="w", wms="maestro", root="/", tasks=tasks))
        reply = self.tell(world, "cancel", "solve", "c1")
        assert json.loads(reply.body)["candidates"] == ["w/solve_1", "w/solve_2"]
        reply = self.tell(world, "cancel", "slove_2", "c2")
        assert "w/solve_2" in json.loads(reply.body)["candidates"]
        assert self.tell(world, "cancel", "solve_2", "c3").ok
        assert world.state.tasks["w/solve_2"].state is TaskState.CANCELLED

    def test_a_job_that_ended_before_its_isolator_was_heard_is_told(self, world: World) -> None:
        said = {"job": "7", "state": "NODE_FAIL", "word": "NODE_FAIL", "exit_code": "-1"}
        assert self.tell(world, "job-ended", "w/a", "c1", **said).ok
        assert world.task("a").state is TaskState.FAILED
        assert world.task("a").reason == "job 7 ended and its isolator did not say how: NODE_FAIL"
        peer = world.register("a", job="8")
        assert world.told(peer, Welcome)[-1].admitted, "its manager runs it again"
        assert world.task("a").live

    def test_the_end_of_a_job_that_is_looked_after_is_nobody_else_s_word(self, world: World) -> None:
        world.register("a")
        assert self.tell(world, "job-ended", "w/a", job="7", state="FAILED").ok
        assert world.task("a").live

    def test_a_task_that_was_heard_does_not_recover_when_its_job_has_ended(self, world: World) -> None:
        """The report was printed with a task that recovers; its job was over, its isolator killed with it."""
        peer = world.register("a", job="7")
        world.tell(peer, Heartbeat(task="w/a", state=TaskState.RECOVERING, attempt=1, time=world.now))
        assert world.task("a").state is TaskState.RECOVERING
        assert self.tell(world, "job-ended", "w/a", job="7", state="NODE_FAIL", word="NODE_FAIL").ok
        assert (world.task("a").state, world.task("a").live) == (TaskState.FAILED, False)
        assert world.task("a").reason == "job 7 ended and its isolator did not say how: NODE_FAIL"

    @pytest.mark.parametrize("said", [{"state": "RUNNING"}, {"state": "gone"}, {"exit_code": "x"}, {}])
    def test_no_end_is_made_up(self, world: World, said: dict[str, str]) -> None:
        assert not self.tell(world, "job-ended", "w/a", "c1", job="7", **said).ok
        assert not self.tell(world, "job-ended", "w/nobody", "c2", job="7", state="FAILED").ok
        assert world.task("a").state is TaskState.REGISTERED

    def test_a_task_cancelled_before_its_start_is_not_admitted(self, world: World) -> None:
        self.tell(world, "cancel", "b")
        peer = world.register("b")
        (welcome,) = world.told(peer, Welcome)
        assert not welcome.admitted and "cancelled" in welcome.reason

    def test_a_silent_task_is_cancelled_through_its_scheduler(self, world: World) -> None:
        world.register("a")
        world.wait(60)
        self.tell(world, "cancel", "a")
        assert world.ports.fake.cancelled == ["job-a"]
        assert world.task("a").state is TaskState.CANCELLED

    def test_the_job_that_was_to_be_cancelled_is_and_no_later_one_of_its_task(self, world: World) -> None:
        world.register("a")
        world.wait(60)
        world.ports.fake.silent = 100
        self.tell(world, "cancel", "a")
        # Its manager has submitted the task anew, before the scheduler answers.
        assert world.told(world.register("a", job="job-2"), Welcome)[-1].admitted
        world.ports.fake.silent = 0
        world.wait(120)
        assert world.ports.fake.cancelled == ["job-a"]
        assert not world.state.cancels

    def test_the_memory_of_bad_nodes_expires(self, world: World) -> None:
        assert self.tell(world, "add-node", "n5", hours="1", reason="smells").ok
        assert [bad.node for bad in world.told(world.register("a"), Welcome)[0].bad_nodes] == ["n5"]
        world.now += 3601
        assert world.told(world.register("b"), Welcome)[0].bad_nodes == ()
        assert self.tell(world, "forget-node", "n5", "c2").ok
        assert not self.tell(world, "forget-node", "n5", "c3").ok

    @pytest.mark.parametrize("hours", ["0", "-1", "soon", "nan", "1e9"])
    def test_nonsense_is_refused(self, world: World, hours: str) -> None:
        assert not self.tell(world, "add-node", "n5", hours=hours).ok

    def test_a_specification_that_is_none_is_refused(self, world: World) -> None:
        world.tell("cli-3", RegisterWorkflow(workflow=DIAMOND, spec=b"{", rjms="fake"))
        assert not world.reply("cli-3").ok


class TestBadNodes:
    def test_a_node_that_was_bad_before_is_counted_until_it_is_forgotten(self, world: World) -> None:
        a = world.register("a")

        def bad(time: float) -> BadNode:
            return BadNode(node="n7", reason="E", task="w/a", time=time, expires=time + 10.0)

        # The second is said twice: by the isolator, and by a step of the coordinator's own.
        for time in (100.0, 200.0, 200.0, 300.0):
            world.tell(a, NodeSuspect(bad_node=bad(time)))
        known = world.state.bad_nodes["n7"]
        assert (known.count, known.first, known.time) == (3, 100.0, 300.0)
        world.restart()
        assert world.state.bad_nodes["n7"] == known
        world.tell("cli-1", Command(id="c1", action="forget-node", target="n7"))
        world.tell(a, NodeSuspect(bad_node=bad(400.0)))
        assert world.state.bad_nodes["n7"].count == 1
