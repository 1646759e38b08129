"""What a task cannot settle in its allocation, and tasks that are silent: the scheduler is asked, once."""

from __future__ import annotations

import pytest

from tests.equipment.world import START
from tests.journals import report
from tests.runtime.coordinator.world import World, done, exception, raised, spec
from whesl.language.spec import Level, Otherwise
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import RequeueSaid
from whesl.model.pathmap import PathMap, PathRule
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import BadNode
from whesl.runtime.coordinator.json_views import task_view
from whesl.runtime.wire.messages import (
    Escalate,
    EscalationDecision,
    Finished,
    Heartbeat,
    NodeSuspect,
    RecoveryRequest,
    Welcome,
)

MOVED = Configuration(path_map=PathMap((PathRule("/old", "/new"),)))


class TestEscalation:
    def escalate(self, world: World, peer: str, reason: str = "spares-exhausted", ordinal: int = 1) -> None:
        world.tell(peer, Escalate(raised=raised("DEAD", "a", ordinal), reason=reason))

    def test_the_same_job_runs_again_once_and_never_twice(self, world: World) -> None:
        a = world.register("a")
        for _ in range(3):
            self.escalate(world, a)
        assert world.ports.fake.requeued == ["job-a"]
        assert {d.action for d in world.told(a, EscalationDecision)} == {"requeue"}
        world.tell(a, Finished(task="w/a", state=TaskState.ESCALATED, exit_code=75, attempts=1))
        assert world.task("a").state is TaskState.ESCALATED
        new = world.register("a", restarts=1, attempt=1)
        world.ports.fake.put("job-a", restarts=1)
        self.escalate(world, new, ordinal=2)
        assert world.ports.fake.requeued == ["job-a"]
        (decision,) = world.told(new, EscalationDecision)
        assert decision.action == "fail" and "already" in decision.reason

    def test_a_spent_budget_fails_visibly(self, world: World) -> None:
        a = world.register("a")
        self.escalate(world, a, "budget-spent")
        assert world.told(a, EscalationDecision)[0].action == "fail"
        assert not world.ports.fake.requeued

    def test_a_named_exception_that_says_pause_pauses(self) -> None:
        world = World()
        world.workflow(
            spec(
                exception("DEAD", level=Level.JOB_LEVEL),
                exception("HOLD", otherwise=Otherwise.PAUSE),
            )
        )
        a = world.register("a")
        message = Escalate(raised=raised("DEAD", "a"), reason="budget-spent", escalate_to="HOLD")
        world.tell(a, message)
        assert world.told(a, EscalationDecision)[0].action == "pause"

    def test_a_scheduler_that_does_not_answer_is_asked_again(self, world: World) -> None:
        a = world.register("a")
        world.ports.fake.silent = 4
        self.escalate(world, a)
        assert not world.told(a, EscalationDecision)
        world.wait(60, a)
        assert world.ports.fake.requeued == ["job-a"]
        assert world.told(a, EscalationDecision)[0].action == "requeue"

    def test_a_refusal_fails_visibly(self, world: World) -> None:
        a = world.register("a")
        world.ports.fake.refuse = "not permitted"
        self.escalate(world, a)
        (decision,) = world.told(a, EscalationDecision)
        assert decision.action == "fail" and "not permitted" in decision.reason

    def test_an_isolator_that_left_before_the_refusal_is_not_forgotten(self, world: World) -> None:
        a = world.register("a")
        world.ports.fake.silent = 2
        world.ports.fake.refuse = "not permitted"
        self.escalate(world, a)
        world.tell(a, Finished(task="w/a", state=TaskState.FAILED, exit_code=9, attempts=1))
        assert not world.task("a").state.final
        world.wait(30)
        assert world.task("a").state is TaskState.FAILED
        assert world.task("a").exit_code == 9


class TestSilence:
    def test_silence_is_unobserved_and_not_gone(self, world: World) -> None:
        a = world.register("a")
        world.wait(14, a)
        world.wait(200)
        assert world.task("a").state is TaskState.UNOBSERVED
        assert "nothing was heard" in task_view(world.task("a"))["reason"]
        world.tell(a, Heartbeat(task="w/a", state=TaskState.RUNNING, attempt=0))
        assert world.task("a").state is TaskState.RUNNING
        assert task_view(world.task("a"))["reason"] == ""

    def test_a_suspended_job_is_called_so_and_left_alone(self, world: World) -> None:
        """However long it is: nothing in it runs, so nothing in it can be late."""
        world.register("a")
        world.ports.fake.put("job-a", suspended=True)
        world.wait(3600)
        assert world.task("a").state is TaskState.UNOBSERVED
        assert task_view(world.task("a"))["reason"] == "job job-a is suspended"
        assert len(world.kinds("unobserved")) == 2, "said once"
        world.ports.fake.put("job-a")
        world.wait(30)
        assert "nothing was heard" in task_view(world.task("a"))["reason"]
        assert not world.ports.fake.requeued
        assert not world.ports.fake.cancelled

    def test_why_a_job_that_is_to_run_again_waits_is_told(self, world: World) -> None:
        """It needs as many nodes as before: with one down, a small cluster may not have them for hours."""
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
        world.wait(60)
        assert world.ports.fake.requeued == ["job-a"]
        world.ports.fake.put("job-a", JobState.PENDING, restarts=1, reason="Resources: waits for nodes")
        world.wait(3600)
        assert task_view(world.task("a"))["reason"] == "job job-a waits: Resources: waits for nodes"
        assert len(world.kinds("job-waits")) == 1, "said once"
        world.ports.fake.put("job-a", batch_host="n2", restarts=1)
        world.wait(30)
        assert task_view(world.task("a"))["reason"] == "job job-a runs again, and has not been heard of"

    def test_a_coordinator_that_is_restarted_all_the_time_notices_silence(self, world: World) -> None:
        world.register("a")
        b = world.register("b")
        for _ in range(4):
            world.wait(10, b)
            world.restart()
        world.wait(9, b)
        assert world.task("a").state is TaskState.UNOBSERVED
        assert world.task("b").state is TaskState.RUNNING
        assert not world.task("b").quiet
        assert len(world.kinds("quiet")) == 1

    def test_the_end_of_a_job_is_seen_twice_over_restarts_too(self, world: World) -> None:
        """What was ordered to run again has long to begin: longer than such a coordinator lives."""
        a = world.register("a")
        world.tell(a, RecoveryRequest(raised=raised("AGAIN", "a")))
        assert world.ports.fake.requeued == ["job-a"]
        world.ports.fake.put("job-a", JobState.COMPLETED, exit_code=0)
        for _ in range(12):
            world.wait(12)
            world.restart()
        assert world.task("a").state is TaskState.COMPLETED
        assert world.task("a").told_by == "scheduler"

    @pytest.mark.parametrize("told_by", ["isolator", "scheduler", "nobody"])
    def test_a_completed_job_that_lost_a_node_has_not_completed_its_task(
        self, world: World, told_by: str
    ) -> None:
        """Its user's own --no-kill let it outlive the node; the isolator was killed and told no end."""
        a = world.register("a", nodes=("n1", "n2", "n3"))
        attempt = {"attempt": 1, "token": "t", "nodes": ["n1", "n2"], "configuration_version": 0}
        world.tell(a, report("w/a", "attempt", START, attempt))
        # The third is a spare: its loss is no matter.
        for node in ("n2", "n3") if told_by == "isolator" else ("n3",):
            lost = {"node": node, "state": "down", "reason": "", "source": "rjms"}
            world.tell(a, report("w/a", "node", START + 1, lost))
        world.ports.fake.down = ("n2", "n3", "n9") if told_by == "scheduler" else ("n3", "n9")
        world.ports.fake.put("job-a", JobState.COMPLETED, exit_code=0, nodes=("n1",))
        world.wait(60)
        task = world.task("a")
        assert task.told_by == "scheduler"
        if told_by == "nobody":
            assert task.state is TaskState.COMPLETED
        else:
            assert task.state is TaskState.FAILED
            assert task.reason.endswith("n2 was lost while the task used it")

    def test_a_coordinator_that_hears_for_less_than_a_heartbeat_calls_nobody_silent(
        self, world: World
    ) -> None:
        world.register("a")
        world.wait(10)
        for _ in range(20):
            world.now += 60.0
            world.restart()
            world.wait(5)
        assert world.task("a").state is TaskState.RUNNING

    def test_any_word_of_an_isolator_s_is_a_sign_of_life(self, world: World) -> None:
        a = world.register("a")
        words = (
            report(task="w/a", kind="launched", time=START),
            NodeSuspect(bad_node=BadNode(node="n7", reason="lost", task="w/a", time=START, expires=START)),
            RecoveryRequest(raised=raised("GLITCH", "a")),
            done("a"),
            Heartbeat(task="w/a", state=TaskState.RUNNING, attempt=1),
        )
        for word in words:
            world.wait(9)
            world.tell(a, word)
            world.wait(4)
            assert world.task("a").state is not TaskState.UNOBSERVED, type(word).__name__

    def test_who_is_heard_again_is_not_quiet_any_more(self, world: World) -> None:
        a = world.register("a")
        world.wait(10)
        assert world.task("a").quiet
        world.wait(2, a)
        assert not world.task("a").quiet
        world.restart()
        world.wait(10)
        assert world.task("a").state is TaskState.RUNNING

    def test_no_answer_of_the_scheduler_is_no_end(self, world: World) -> None:
        world.register("a")
        world.ports.fake.records.clear()
        world.ports.fake.silent = 10_000
        world.wait(600)
        assert world.task("a").state is TaskState.UNOBSERVED

    @pytest.mark.parametrize(
        ("job", "expected"),
        [
            (JobState.FAILED, TaskState.FAILED),
            (JobState.NODE_FAIL, TaskState.FAILED),
            (JobState.TIMEOUT, TaskState.FAILED),
            (JobState.CANCELLED, TaskState.CANCELLED),
            (JobState.COMPLETED, TaskState.COMPLETED),
            (JobState.UNKNOWN, TaskState.UNOBSERVED),
            (JobState.PENDING, TaskState.UNOBSERVED),
            (None, TaskState.FAILED),
        ],
    )
    def test_the_schedulers_word_counts(
        self, world: World, job: JobState | None, expected: TaskState
    ) -> None:
        world.register("a")
        if job is None:
            del world.ports.fake.records["job-a"]
        else:
            world.ports.fake.put("job-a", job)
        world.wait(120)
        assert world.task("a").state is expected
        assert (world.task("a").told_by == "scheduler") == expected.final

    def test_last_words_that_come_late_win(self, world: World) -> None:
        a = world.register("a")
        world.ports.fake.put("job-a", JobState.FAILED)
        while not world.task("a").over:
            world.wait(1)
        world.tell(a, Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=2))
        world.wait(60)
        assert world.task("a").state is TaskState.COMPLETED

    def test_a_lost_batch_host_runs_the_same_job_again_once(self, world: World) -> None:
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
        world.wait(100)
        assert world.ports.fake.requeued == ["job-a"]
        assert "n1" in world.state.bad_nodes
        new = world.register("a", restarts=1)
        assert world.told(new, Welcome)[0].admitted
        world.ports.fake.put("job-a", batch_host="n2", batch_host_lost=True, restarts=1)
        world.wait(100)
        assert world.ports.fake.requeued == ["job-a"]
        assert world.task("a").state is TaskState.FAILED
        assert world.ports.fake.cancelled == ["job-a"], "its manager would wait for ever"

    def test_a_lost_batch_host_whose_task_another_node_takes_over_runs_on(self, world: World) -> None:
        """The job was run again while it went on from its second node, and for each silence afterwards."""
        world.register("a", moves=True)
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True, nodes=("n2", "n3"))
        world.wait(60)
        assert not world.ports.fake.requeued, "another node may take the task over"
        world.register("a", moves=True, nodes=("n2", "n3"))
        world.wait(200)
        assert world.task("a").state is TaskState.UNOBSERVED and not world.ports.fake.requeued
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True, nodes=("n3",))
        world.wait(30)
        assert not world.ports.fake.requeued, "the third node may take it over in its turn"
        world.wait(100)
        assert world.ports.fake.requeued == ["job-a"], "nobody has taken it over"

    def test_a_batch_host_that_a_restarted_scheduler_has_forgotten_is_lost(self, world: World) -> None:
        """Slurm 22.05 named another node of the job, which ran on without its script until its time limit."""
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1")
        world.wait(100)
        assert not world.ports.fake.requeued, "its isolator is silent, and no more is known"
        world.ports.fake.put("job-a", batch_host="n2")
        world.wait(100)
        assert world.ports.fake.requeued == ["job-a"]
        assert "n1" in world.state.bad_nodes and "n2" not in world.state.bad_nodes

    @pytest.mark.parametrize("forgotten", [False, True])
    @pytest.mark.parametrize("restarts", [1, 2])
    def test_a_second_run_that_loses_its_batch_host_before_it_is_heard_is_given_up(
        self, world: World, forgotten: bool, restarts: int
    ) -> None:
        """Nobody asked for it: the job ran on without its script until its time limit.

        Slurm counts two restarts where it had placed the new run on the dead node first (24.05 to 26.05).
        """
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
        world.wait(100)
        assert world.ports.fake.requeued == ["job-a"]
        world.ports.fake.put("job-a", batch_host="n2", restarts=restarts)
        world.wait(20)
        assert world.task("a").state is TaskState.ESCALATED
        # Known as lost, or forgotten by a scheduler that was restarted: then it names another node.
        host = "n3" if forgotten else "n2"
        world.ports.fake.put("job-a", batch_host=host, batch_host_lost=not forgotten, restarts=restarts)
        world.wait(20)
        assert world.task("a").state is TaskState.FAILED and "n2 is lost" in world.task("a").reason
        assert world.ports.fake.requeued == world.ports.fake.cancelled == ["job-a"]
        assert "n2" in world.state.bad_nodes and "n3" not in world.state.bad_nodes

    def test_a_second_run_that_the_scheduler_begins_once_more_elsewhere_has_lost_nothing(
        self, world: World
    ) -> None:
        """The node on which the run before began is not the one that this run has lost."""
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
        world.wait(100)
        for restarts, host in ((1, "n2"), (2, "n3")):
            world.ports.fake.put("job-a", batch_host=host, restarts=restarts)
            world.wait(60)
        assert not world.ports.fake.cancelled
        new = world.register("a", restarts=2)
        assert world.told(new, Welcome)[0].admitted
        assert world.ports.fake.requeued == ["job-a"]

    def test_a_run_that_the_scheduler_began_elsewhere_is_left_alone(self, world: World) -> None:
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n2", restarts=1)
        world.wait(100)
        assert not world.ports.fake.requeued

    def test_a_job_in_danger_may_be_run_again_before_the_scheduler_knows(self, world: World) -> None:
        """Slurm without slurmdbd takes that word only as long as no lost node has left the job."""
        a = world.register("a", requeue=RequeueSaid.NOTHING, kept=True)
        assert world.ports.fake.allowed == []
        lost = {"node": "n2", "state": "down", "reason": "silent", "source": "agent"}
        world.tell(a, report(task="w/a", kind="node", time=world.now, data=lost))
        assert world.ports.fake.allowed == ["job-a"]
        world.ports.fake.put("job-a")
        world.wait(20)
        assert world.ports.fake.allowed == ["job-a"] * 2, "its isolator is silent"
        world.register("a", restarts=1, requeue=RequeueSaid.NOTHING, kept=True)
        world.wait(20)
        assert len(world.ports.fake.allowed) == 2, "a job is run again once"

    def test_a_hold_that_comes_after_the_requeue_is_lifted(self, world: World) -> None:
        """Slurm sets it when it gives the old run's dead batch host up, and forgets what was said before."""
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
        world.wait(60)
        assert world.ports.fake.requeued == ["job-a"]
        assert world.ports.fake.lifted, "it is looked at until it runs"
        world.register("a", restarts=1)
        world.ports.fake.lifted.clear()
        world.wait(10)
        assert not world.ports.fake.lifted

    def test_a_silent_scheduler_is_told_again(self, world: World) -> None:
        a = world.register("a", requeue=RequeueSaid.NOTHING, kept=True)
        world.ports.fake.silent = 2
        lost = {"node": "n2", "state": "down", "reason": "silent", "source": "agent"}
        world.tell(a, report(task="w/a", kind="node", time=world.now, data=lost))
        assert world.ports.fake.allowed == []
        world.wait(10, a)
        assert world.ports.fake.allowed == ["job-a"]
        assert world.task("a").state is TaskState.RUNNING

    def test_observe_mode_leaves_a_lost_job_alone(self) -> None:
        world = World()
        world.workflow(observe=True)
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
        world.wait(100)
        assert not world.ports.fake.requeued and not world.ports.fake.cancelled
        assert not world.ports.fake.allowed and not world.ports.fake.lifted

    def test_a_job_that_never_comes_back_after_its_requeue_fails_visibly(self, world: World) -> None:
        world.register("a")
        world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
        world.wait(60)
        world.ports.fake.put("job-a", JobState.CANCELLED, restarts=1)
        world.wait(120)
        assert world.task("a").state is TaskState.CANCELLED

    def test_a_restarted_coordinator_gives_everybody_time_to_speak(self, world: World) -> None:
        world.register("a")
        world.now += 10_000
        world.restart()
        world.wait(10)
        assert world.task("a").state is TaskState.RUNNING

    def test_a_task_without_a_scheduler_stays_unobserved(self, world: World) -> None:
        world.register("a", rjms="")
        world.wait(300)
        assert world.task("a").state is TaskState.UNOBSERVED
