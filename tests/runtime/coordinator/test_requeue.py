"""A job is ordered to run again once, whatever an earlier order of the same came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.journals import report
from tests.runtime.coordinator.world import World, exception, raised, spec, step
from whesl.language.spec import Entity, ResourceKind
from whesl.managers.resource.port import JobRecord, Limits
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.model.errors import RefusedError, TransientError
from whesl.model.outcomes import RequeueSaid
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import BadNode, Grade
from whesl.runtime.coordinator.core.events_and_commands import Requeue
from whesl.runtime.coordinator.effects.workflow_recovery_steps import carry_out
from whesl.runtime.journal.records.coordinator_records import RequeueDone
from whesl.runtime.wire.messages import Escalate, EscalationDecision, Finished, NodeSuspect, RecoveryRequest


class Cluster:
    """A scheduler with one job; what happens between a look and an order is the test's."""

    name = "stand-in"

    def __init__(self, between: Callable[[Cluster], None]) -> None:
        self.job = JobRecord(id="7", state=JobState.RUNNING)
        self._between = between

    def scheduler(self, _name: str, _environment: Mapping[str, str]) -> Any:
        return self

    def jobs(self, _ids: Sequence[str]) -> dict[str, JobRecord]:
        return {"7": self.job}

    def allow_requeue(self, _job: str) -> None:
        raise TransientError("no change after a loss")

    def requeue(self, _job: str) -> None:
        self._between(self)
        raise RefusedError("Job/step already completing or completed")


def order(cluster: Cluster, *, withdrawn: bool = False) -> RequeueDone:
    command = Requeue(task="w/a", token="w/a@7.0", rjms="slurm", job_id="7", restarts=0, withdrawn=withdrawn)
    ended = carry_out(command, cluster, {})  # type: ignore[arg-type]  # a stand-in
    assert isinstance(ended, RequeueDone)
    return ended


def test_an_earlier_order_that_came_between_is_this_one_done() -> None:
    def earlier(cluster: Cluster) -> None:
        cluster.job = JobRecord(id="7", state=JobState.PENDING, restarts=1)

    assert order(Cluster(earlier)).outcome == "done"


def test_what_is_refused_and_has_not_happened_is_refused() -> None:
    ended = order(Cluster(lambda _: None))
    assert (ended.outcome, ended.reason) == ("refused", "Job/step already completing or completed")


def test_why_it_could_not_be_allowed_again_is_told_where_it_is_refused() -> None:
    """Without slurmdbd Slurm takes no change to a job that a lost node has left."""
    ended = order(Cluster(lambda _: None), withdrawn=True)
    assert ended.reason == "Job/step already completing or completed; no change after a loss"


def test_a_job_that_its_owner_runs_again_may_be_run_again_afterwards() -> None:
    """A script that requeues itself again and again was refused the second time."""
    world = World()
    world.workflow()
    for restarts in range(4):
        world.register("a", restarts=restarts)
    assert world.ports.fake.allowed == []


def test_a_new_run_gets_the_limits_of_its_attempt() -> None:
    world = World()
    more = step(Entity.SCHEDULER, ResourceKind.JOB, attempts=[{"memory": "64G", "time": 90}])
    world.workflow(spec(exception("OOM", more)))
    a = world.register("a")
    world.ports.fake.put("job-a")
    world.tell(a, RecoveryRequest(raised=raised("OOM", "a")))
    world.wait(10, a)
    assert world.ports.fake.limits == {"job-a": Limits(time=90, memory=65536)}


@pytest.mark.parametrize("goes_on", [True, False])
def test_the_limit_of_a_rule_bounds_its_new_runs(goes_on: bool) -> None:
    """The second new run was refused, whatever LIMIT said, and would have had the first one's time.

    The isolator counts where its journal goes on in each run. An isolator that was told to end leaves its
    result, so that the next run's begins a journal: on a real Slurm all new runs had the first one's time.
    """
    world = World()
    more = step(Entity.SCHEDULER, ResourceKind.JOB, attempts=[{"time": 60}, {"time": 90}])
    world.workflow(spec(exception("SLOW", more)))
    for run, minutes in enumerate((60, 90, 90)):
        world.ports.fake.put("job-a", restarts=run)
        a = world.register("a", restarts=run)
        number = run + 1 if goes_on else 1
        world.tell(a, RecoveryRequest(raised=raised("SLOW", "a", number), earlier=number - 1))
        world.wait(10, a)
        assert world.ports.fake.requeued == ["job-a"] * (run + 1)
        assert world.ports.fake.limits["job-a"].time == minutes
    world.ports.fake.put("job-a", restarts=3)
    a = world.register("a", restarts=3)
    world.tell(a, Escalate(raised=raised("NODELOST", "a", 4), reason="spares-exhausted"))
    world.wait(10, a)
    assert world.told(a, EscalationDecision)[-1].action == "fail" and len(world.ports.fake.requeued) == 3


def test_a_new_run_is_kept_off_the_nodes_that_new_jobs_are_kept_off() -> None:
    """A job without a fit spare was run again, and could get the unfit node again."""
    world = World()
    world.workflow()
    a = world.register("a", sizes=(2, 3))
    for node, grade in (("n2", Grade.BLAMED), ("n3", Grade.SUSPECTED)):
        bad = BadNode(
            node=node, reason="check", task="w/a", time=world.now, expires=world.now + 60, grade=grade
        )
        world.tell(a, NodeSuspect(bad_node=bad))
    world.tell(a, Escalate(raised=raised("NODELOST", "a"), reason="spares-exhausted"))
    world.wait(10, a)
    assert world.ports.fake.limits == {"job-a": Limits(avoid=("n2",), sizes=(2, 3))}


def test_a_job_that_waits_to_run_again_is_fitted_to_the_nodes_that_are_up() -> None:
    """It asked for its spare for ever where Slurm called a node down only long after the requeue."""
    world = World()
    world.workflow()
    a = world.register("a", sizes=(2, 3))
    world.tell(a, Escalate(raised=raised("NODELOST", "a"), reason="spares-exhausted"))
    world.wait(300)
    assert set(world.ports.fake.fitted) == {("job-a", ("n1", "n2"), (2, 3))}


def test_who_gives_no_other_limits_says_so() -> None:
    cluster = Cluster(lambda _: None)
    command = Requeue(task="w/a", token="w/a@7.0", rjms="slurm", job_id="7", restarts=0, memory=65536)
    ended = carry_out(command, cluster, {})  # type: ignore[arg-type]  # a stand-in
    assert isinstance(ended, RequeueDone) and ended.outcome == "refused"
    assert ended.reason == "stand-in gives a job that runs again neither more time nor more memory"


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


@pytest.mark.parametrize(("default", "changed"), [("0", ["Requeue=1"]), ("1", [])])
def test_only_what_whesl_has_withdrawn_is_allowed_again(default: str, changed: list[str]) -> None:
    """Where every job may run again, a job's user alone withdraws it (``scontrol update Requeue=0``)."""
    scheduler = SlurmScheduler({})
    commands = Config(f"JobRequeue              = {default}\n")
    scheduler._commands = commands
    scheduler.allow_requeue("7")
    assert commands.changed == changed


LOST = (JobState.NODE_FAIL, JobState.OUT_OF_MEMORY)
DOWN = {"node": "n2", "state": "down", "reason": "silent", "source": "agent"}


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("said", list(RequeueSaid))
def test_a_job_in_danger_runs_again_only_as_its_user_has_said(said: RequeueSaid, kept: bool) -> None:
    """A job of --no-requeue ran again after a lost node: the coordinator had allowed it.

    A job that ends with a lost node is Slurm's: it runs again or not, as without us.
    """
    world = World()
    world.workflow()
    a = world.register("a", requeue=said, kept=kept)
    world.tell(a, report(task="w/a", kind="node", time=world.now, data=DOWN))
    world.ports.fake.put("job-a", batch_host="n1")
    world.wait(60)
    assert bool(world.ports.fake.allowed) is (kept and said is RequeueSaid.NOTHING)


def test_a_job_that_is_to_run_once_is_not_run_again_by_a_rule_either() -> None:
    world = World()
    world.workflow()
    a = world.register("a", requeue=RequeueSaid.NO, kept=True)
    world.tell(a, Escalate(raised=raised("NODELOST", "a"), reason="spares-exhausted"))
    world.wait(10, a)
    (told,) = world.told(a, EscalationDecision)
    assert (told.action, told.reason) == ("fail", "its user wants no second run (--no-requeue)")
    assert not world.ports.fake.requeued and not world.ports.fake.allowed


def test_the_loss_of_a_job_that_is_to_run_once_is_told_as_its_scheduler_tells_it() -> None:
    """It was cancelled before Slurm, which was about to end it, had said NODE_FAIL."""
    world = World()
    world.workflow()
    world.register("a", requeue=RequeueSaid.NO)
    world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
    until_asked = 0
    while not world.state.volatile.hostless:
        world.wait(1)
        until_asked += 1
        assert until_asked < 60
    assert not world.ports.fake.cancelled
    world.ports.fake.put("job-a", JobState.NODE_FAIL, raw_state="NODE_FAIL")
    world.wait(30)
    assert world.task("a").state is TaskState.FAILED and "NODE_FAIL" in world.task("a").reason
    assert not world.ports.fake.cancelled and not world.ports.fake.requeued


def test_a_job_that_is_to_run_once_and_that_slurm_leaves_without_its_script_is_ended() -> None:
    """Slurm ends no job of --no-kill that has lost its batch host."""
    world = World()
    world.workflow()
    world.register("a", requeue=RequeueSaid.NO, kept=True)
    world.ports.fake.put("job-a", batch_host="n1", batch_host_lost=True)
    world.wait(90)
    assert world.task("a").state is TaskState.FAILED and "no second run" in world.task("a").reason
    assert world.ports.fake.cancelled == ["job-a"] and not world.ports.fake.requeued


def test_a_job_that_ended_with_its_only_node_had_no_other_one() -> None:
    world = World()
    world.workflow()
    world.register("a", nodes=("n1",), requeue=RequeueSaid.NO)
    world.ports.fake.put("job-a", JobState.NODE_FAIL, raw_state="NODE_FAIL")
    world.wait(60)
    assert world.task("a").reason.endswith("NODE_FAIL; the job had no node besides n1")


@pytest.mark.parametrize("state", [JobState.NODE_FAIL, JobState.CANCELLED, JobState.COMPLETED])
def test_how_a_job_ended_under_its_isolator_its_scheduler_says(state: JobState) -> None:
    """A node that went down took the batch shell first: its isolator called the task cancelled."""
    world = World()
    world.workflow()
    a = world.register("a")
    ended = Finished(
        task="w/a", state=TaskState.FAILED, exit_code=137, attempts=1, claim="job-a.0", with_job=True
    )
    world.tell(a, ended)
    assert world.task("a").state is TaskState.UNOBSERVED
    world.ports.fake.put("job-a", state, raw_state=state.value)
    world.wait(30)
    expected = {"CANCELLED": TaskState.CANCELLED, "COMPLETED": TaskState.COMPLETED}
    assert world.task("a").state is expected.get(state.value, TaskState.FAILED)
    assert state.value in world.task("a").reason


def ends_by_sigterm(world: World, peer: str, state: TaskState = TaskState.CANCELLED, code: int = 143) -> None:
    """As an isolator that hears what all of its job hears."""
    told = {"code": code, "state": state, "reason": "terminated", "terminated": True}
    world.tell(peer, report(task="w/a", kind="finished", time=world.now, data=told))
    world.tell(
        peer,
        Finished(task="w/a", state=state, exit_code=code, attempts=1, claim="job-a.0", terminated=True),
    )


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.RUNNING, JobState.COMPLETING])
@pytest.mark.parametrize("code", [0, 143])
def test_a_job_that_its_own_script_runs_again_has_not_ended(state: JobState, code: int) -> None:
    """The end of its first run, by the SIGTERM of the requeue, was told as "cancelled"."""
    world = World()
    world.workflow()
    a = world.register("a", sizes=(2, 3))
    world.ports.fake.put("job-a", state, restarts=1)
    ends_by_sigterm(world, a, TaskState.CANCELLED if code else TaskState.COMPLETED, code)
    world.wait(300)
    assert world.task("a").state is TaskState.UNOBSERVED
    assert world.task("a").reason == "job job-a was requeued, and runs again"
    assert not world.ports.fake.lifted, "its user's own requeue waits as long as without us"
    assert set(world.ports.fake.fitted) == {("job-a", ("n1", "n2"), (2, 3))}, "and waits for no lost node"
    world.ports.fake.put("job-a", JobState.RUNNING, restarts=1)
    second = world.register("a", restarts=1)
    assert world.task("a").state is TaskState.RUNNING and world.task("a").parted is None
    world.ports.fake.put("job-a", JobState.COMPLETED, restarts=1)
    ended = Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1, claim="job-a.1")
    world.tell(second, ended)
    assert world.task("a").state is TaskState.COMPLETED


@pytest.mark.parametrize(
    ("state", "became"),
    [
        *((state, TaskState.CANCELLED) for state in JobState if state.ended and state not in LOST),
        *((state, TaskState.FAILED) for state in LOST),
    ],
)
def test_a_job_that_ended_by_sigterm_and_does_not_run_again_is_told_at_once(
    state: JobState, became: TaskState
) -> None:
    world = World()
    world.workflow()
    a = world.register("a")
    world.ports.fake.put("job-a", JobState.COMPLETING)
    ends_by_sigterm(world, a)
    world.wait(2)
    assert world.task("a").state is TaskState.UNOBSERVED
    world.ports.fake.put("job-a", state, raw_state=state.value)
    world.wait(2)
    assert (world.task("a").state, world.task("a").exit_code) == (became, 143)
    assert world.task("a").reason == f"terminated ({state.value})"


@pytest.mark.parametrize("answers", [True, False])
def test_a_task_that_was_ended_alone_or_whose_scheduler_is_away_is_told_as_its_isolator_did(
    answers: bool,
) -> None:
    """SIGTERM may have come to a step of the job, which goes on."""
    world = World()
    world.workflow()
    a = world.register("a")
    world.ports.fake.silent = 0 if answers else 1000
    ends_by_sigterm(world, a)
    world.wait(30)
    assert (world.task("a").state, world.task("a").exit_code) == (TaskState.CANCELLED, 143)
    assert world.task("a").reason == "terminated"


def test_a_coordinator_that_is_restarted_meanwhile_asks_again() -> None:
    world = World()
    world.workflow()
    a = world.register("a")
    world.ports.fake.put("job-a", JobState.COMPLETING)
    ends_by_sigterm(world, a)
    world.restart()
    world.ports.fake.put("job-a", JobState.TIMEOUT, raw_state="TIMEOUT")
    world.wait(3)
    assert world.task("a").state is TaskState.CANCELLED
