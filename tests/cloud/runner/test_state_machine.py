"""The runner's decisions, on a virtual clock and with scripted sides."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cloud.runner import worlds
from whesl.cloud.core.plan_records import Domain, Settings
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.events_and_commands import (
    Command,
    Copied,
    Copy,
    End,
    Heard,
    Limits,
    Looked,
    Refused,
    Seen,
    Send,
    Start,
    Tick,
)
from whesl.cloud.runner.messages import ExecutorReport
from whesl.cloud.runner.run_records import ExecutorState, Made
from whesl.cloud.runner.state import RunState
from whesl.cloud.runner.state_machine import Core
from whesl.cloud.transfer.port import Digest

T0 = 1_000_000.0
DIGEST = Digest(size=1, sha256="0" * 64)
BOTH = (Domain.HPC, Domain.CLOUD)


class World:
    """A run whose sides do what a test says."""

    def __init__(
        self,
        *,
        nodes: int = 1,
        instances: int = 1,
        backup: bool = False,
        seconds: float = 10.0,
        checkpoints: bool = False,
        **limits: object,
    ) -> None:
        self.seconds = seconds
        flow = worlds.two_stages(2, seconds, Path("ledger"))
        stages = (msgspec.structs.replace(stage, checkpoints=checkpoints) for stage in flow.stages)
        self.workflow = msgspec.structs.replace(flow, stages=tuple(stages))
        settings = Settings(long=3600.0, short=300.0, rebalance=False)
        self.plan = worlds.plan(
            self.workflow, nodes=nodes, instances=instances, now=T0, settings=settings, backup=backup
        )
        self.limits = Limits(platforms=(worlds.PLATFORM,), **limits)  # type: ignore[arg-type] # given by tests
        self.journal: list[tuple[r.Record, float]] = []
        self.commands: list[Command] = []
        self.now = T0
        started = r.RunStarted(run="run", workflow="two", content="", deadline=T0 + 10800)
        copied = r.FileCopied(name="input", domain=Domain.HPC, digest=DIGEST)
        self.journal = [(started, T0), (copied, T0)]
        self.restart()

    def restart(self, stop: str = "") -> None:
        """Begin anew from the journal, as after a kill; ``stop`` says why the run is to end."""
        state = RunState(self.workflow)
        for record, time in self.journal:
            encoded = msgspec.json.encode(record)
            state.take(msgspec.json.decode(encoded, type=type(record)), time)
        initial = worlds.initial(self.workflow, self.plan, self.seconds)
        self.core = Core(state, self.limits, initial, BOTH)
        self.take(self.core.resume(self.now, stop))

    def take(self, outcome: tuple[list[r.Record], list[Command]]) -> None:
        self.journal += [(record, self.now) for record in outcome[0]]
        self.commands += outcome[1]

    def tell(self, event: object, after: float = 1.0) -> None:
        self.now += after
        self.take(self.core.step(event, self.now))  # type: ignore[arg-type] # one of the core's events

    def taken(self, kind: type) -> list[Command]:
        """Return the commands of a kind that came since the last call."""
        found = [command for command in self.commands if isinstance(command, kind)]
        self.commands = [command for command in self.commands if not isinstance(command, kind)]
        return found

    def seen(self, known_as: str, state: ExecutorState, **more: object) -> None:
        domain = self.core.state.executors[known_as].domain
        seen = {known_as: Seen(state=state, handle=f"h-{known_as}", **more)}  # type: ignore[arg-type] # as given
        self.tell(Looked(domain=domain, began=self.now, seen=seen))

    def up(self, known_as: str) -> None:
        self.seen(known_as, ExecutorState.WAITING)
        domain = self.core.state.executors[known_as].domain
        self.tell(
            Heard(
                domain=domain,
                began=self.now,
                said=(ExecutorReport(executor=known_as, number=0, time=self.now),),
            )
        )

    def said(self, send: Send, status: int | None = 0) -> None:
        assignment = send.assignment
        said = ExecutorReport(
            executor=send.executor,
            number=assignment.number,
            time=self.now,
            task=assignment.task,
            attempt=assignment.attempt,
            status=status,
            seconds=10.0,
            outputs=tuple(Made(name=name, digest=DIGEST) for name in assignment.outputs),
        )
        self.tell(Heard(domain=send.domain, began=self.now, said=(said,)))

    def copy(self) -> None:
        """Carry all copies out."""
        while found := self.taken(Copy):
            for one in found:
                assert isinstance(one, Copy)
                self.tell(Copied(name=one.name, domain=one.domain, digest=DIGEST, seconds=1.0))


def first(world: World, domain: Domain) -> str:
    """Return the first executor of a side that was asked for."""
    return next(one.id for one in world.core.state.executors.values() if one.domain is domain)


def test_records_come_before_their_commands() -> None:
    """Each executor that is started was written down, with its end time in the cloud."""
    world = World()
    asked = {record.id: record for record, _ in world.journal if isinstance(record, r.ExecutorAsked)}
    starts = [one.asked for one in world.taken(Start) if isinstance(one, Start)]
    assert starts and all(asked[one.id] == one for one in starts)
    assert all(one.ends > T0 + 3600 for one in starts if one.domain is Domain.CLOUD)


def test_a_restart_asks_again_for_what_may_not_have_been_done() -> None:
    """The same executors, by the same names; a task's message is sent again with the same number."""
    world = World()
    before = {one.asked.id for one in world.taken(Start) if isinstance(one, Start)}
    world.restart()
    assert {one.asked.id for one in world.taken(Start) if isinstance(one, Start)} == before
    world.up(first(world, Domain.HPC))
    (sent,) = world.taken(Send)
    world.restart()
    assert sent in world.taken(Send)
    assert len([record for record, _ in world.journal if isinstance(record, r.Assigned)]) == 1


def test_data_come_before_the_task() -> None:
    """An input on the other side is copied first; a copy that failed is made again later."""
    world = World(nodes=0, again=10.0)
    world.up(first(world, Domain.CLOUD))
    (copy,) = world.taken(Copy)
    assert isinstance(copy, Copy) and (copy.name, copy.domain) == ("input", Domain.CLOUD)
    assert not world.taken(Send)
    world.tell(Copied(name="input", domain=Domain.CLOUD, why="the network is away"))
    assert not world.taken(Copy) and world.core.state.troubles
    world.tell(Tick(), after=11.0)
    world.copy()
    assert world.taken(Send) and not world.core.state.troubles


def test_who_is_not_seen_is_not_gone() -> None:
    """An executor that a look leaves out keeps its task."""
    world = World(instances=0)
    executor = first(world, Domain.HPC)
    world.up(executor)
    for _ in range(50):
        world.tell(Looked(domain=Domain.HPC, began=world.now, seen={}))
    assert world.core.state.executors[executor].task
    assert not any(isinstance(record, r.TaskLost) for record, _ in world.journal)


def test_what_a_gone_executor_said_is_read_first() -> None:
    """Its job has ended, and its result is among the messages: nothing is lost."""
    world = World(instances=0)
    executor = first(world, Domain.HPC)
    world.up(executor)
    (sent,) = world.taken(Send)
    assert isinstance(sent, Send)
    world.seen(executor, ExecutorState.GONE)
    world.said(sent)
    assert world.core.state.tasks[sent.assignment.task].done
    assert not any(isinstance(record, r.TaskLost) for record, _ in world.journal)


def test_a_lost_task_is_given_to_another_executor_and_the_old_result_is_no_result() -> None:
    """A message of an attempt that was given up changes nothing."""
    world = World(instances=0)
    executor = first(world, Domain.HPC)
    world.up(executor)
    (sent,) = world.taken(Send)
    assert isinstance(sent, Send)
    world.seen(executor, ExecutorState.GONE)
    world.tell(Heard(domain=Domain.HPC, began=world.now, said=()), after=2.0)
    world.tell(Heard(domain=Domain.HPC, began=world.now, said=()), after=2.0)
    (lost,) = [record for record, _ in world.journal if isinstance(record, r.TaskLost)]
    assert lost.task == sent.assignment.task
    world.said(sent)
    assert not world.core.state.tasks[sent.assignment.task].done


@pytest.mark.parametrize("back", [60.0, 7200.0])
def test_a_clock_that_is_set_back_keeps_nothing_waiting(back: float) -> None:
    """Lost tasks are given to others, intervals go on, ends are told again."""
    world = World(instances=0)
    executor = first(world, Domain.HPC)
    world.up(executor)
    world.seen(executor, ExecutorState.GONE)
    before = world.now
    world.now -= back
    # What began by the old clock proves nothing: it may have been read before the executor was gone.
    world.tell(Heard(domain=Domain.HPC, began=before, said=()))
    assert not any(isinstance(record, r.TaskLost) for record, _ in world.journal)
    world.tell(Tick())
    world.tell(Heard(domain=Domain.HPC, began=world.now + 0.5, said=()))
    assert any(isinstance(record, r.TaskLost) for record, _ in world.journal)
    scaled = sum(isinstance(record, r.Scaled) for record, _ in world.journal)
    world.tell(Tick(), after=301.0)
    assert sum(isinstance(record, r.Scaled) for record, _ in world.journal) > scaled
    world.take(world.core.stop("it was stopped", world.now))
    assert world.taken(End)
    world.now -= back
    world.tell(Tick())
    assert world.taken(End)


def test_a_copy_that_failed_is_made_again_when_the_clock_was_set_back() -> None:
    world = World(nodes=0, again=10.0)
    world.up(first(world, Domain.CLOUD))
    (copy,) = world.taken(Copy)
    assert isinstance(copy, Copy)
    world.tell(Copied(name=copy.name, domain=copy.domain, why="the network is away"))
    world.now -= 7200.0
    world.tell(Tick())
    assert world.taken(Copy)


def test_an_instance_that_never_ends_is_told_to_people() -> None:
    """The run does not end before it, and says which one it waits for, until it is gone."""
    world = World(nodes=0)
    executor = first(world, Domain.CLOUD)
    world.up(executor)
    world.take(world.core.stop("it was stopped", world.now))
    for _ in range(25):
        assert not world.core.over
        world.tell(Tick(), after=31.0)
        world.seen(executor, ExecutorState.UP)
    for known_as in [one.id for one in world.core.state.executors.values() if one.id != executor]:
        world.seen(known_as, ExecutorState.GONE)
    assert len(world.taken(End)) > 20
    assert f"h-{executor}" in world.core.state.troubles[f"ending {executor}"]
    world.seen(executor, ExecutorState.GONE)
    assert world.core.over and not world.core.state.troubles


def test_a_lost_executor_is_replaced() -> None:
    """At the next short interval, for the rest of its time."""
    world = World(nodes=0)
    executor = first(world, Domain.CLOUD)
    world.up(executor)
    world.taken(Start)
    world.seen(executor, ExecutorState.GONE, why="lost")
    world.tell(Tick(), after=301.0)
    (again,) = [one for one in world.taken(Start) if isinstance(one, Start)]
    assert again.asked.instead == executor and again.asked.seconds < 3 * 3600 - 300


def test_executors_that_never_come_up_are_not_asked_for_without_end() -> None:
    """Six in a row, and the next hour tries again."""
    world = World(instances=0)
    for _ in range(8):
        for one in world.taken(Start):
            assert isinstance(one, Start)
            world.seen(one.asked.id, ExecutorState.GONE, why="its job has ended: FAILED")
        world.tell(Tick(), after=301.0)
    asked = [record for record, _ in world.journal if isinstance(record, r.ExecutorAsked)]
    assert len(asked) <= 12 and world.core.state.troubles


def test_a_failed_task_is_tried_again_and_then_given_up() -> None:
    """What depends on it is not run; the run ends, says so, and leaves nothing."""
    world = World(instances=0, retries=1)
    for one in [one for one in world.core.state.executors.values() if one.domain is Domain.HPC]:
        world.up(one.id)
    for _ in range(12):
        for sent in world.taken(Send):
            assert isinstance(sent, Send)
            world.said(sent, status=1 if sent.assignment.task == "a0" else 0)
    failed = [record for record, _ in world.journal if isinstance(record, r.TaskFailed)]
    assert [record.final for record in failed] == [False, True]
    for end in world.taken(End):
        assert isinstance(end, End)
        world.seen(end.id, ExecutorState.GONE)
    assert world.core.over and world.core.state.ended is not None
    assert not world.core.state.ended.complete and "a0" in world.core.state.ended.why
    assert world.core.state.done == {"first": 1, "second": 1, "gather": 0}


def test_the_budget_holds() -> None:
    """No instance beyond it, and it is said."""
    world = World(nodes=0, budget=2.5)
    starts = world.taken(Start)
    assert len(starts) == 1  # of three; one costs 1.86 for its three hours
    assert "budget" in world.core.state.troubles


@given(
    budget=st.floats(0.1, 30),
    instances=st.integers(1, 4),
    steps=st.lists(st.tuples(st.floats(1, 3000), st.booleans()), max_size=12),
)
def test_whatever_happens_no_instance_is_promised_beyond_the_budget_and_its_end_is_told_before(
    budget: float, instances: int, steps: list[tuple[float, bool]]
) -> None:
    """An instance that had a task left when its time was over ran beyond the budget."""
    world = World(nodes=0, instances=instances, budget=budget, seconds=900.0)
    for seconds, ends in [(0.0, False), *steps]:
        alive = [one for one in world.core.state.executors.values() if one.alive]
        if ends and alive:
            world.seen(alive[0].id, ExecutorState.GONE)
        world.tell(Tick(), after=seconds)
        state = world.core.state
        # What runs to its end time, where it ends itself. What was gone before it had a name cost nothing.
        most = sum(
            one.asked.hourly * max(60.0, min(one.gone or one.asked.ends, one.asked.ends) - one.since) / 3600
            for one in state.executors.values()
            if one.handle or not one.gone
        )
        assert most <= budget + 1e-6
        if "budget" in state.troubles or state.cost(world.now) >= budget:
            # It said "80 % are spent" of whatever was.
            spent, of, _ = state.troubles["the budget's end is near"].split(" ", 2)
            assert of == "of" and 0.0 <= float(spent) <= budget + 0.01


def test_a_refused_executor_is_gone() -> None:
    """It cost nothing."""
    world = World(nodes=0)
    executor = first(world, Domain.CLOUD)
    world.tell(Refused(id=executor, why="no such image"))
    assert world.core.state.executors[executor].state is ExecutorState.GONE
    assert world.core.state.executors[executor].cost(world.now + 3600) == 0


@pytest.mark.parametrize("told", [True, False])
def test_a_revoked_instance_takes_no_new_task(told: bool) -> None:
    """From its notice on."""
    world = World(nodes=0)
    executor = first(world, Domain.CLOUD)
    world.up(executor)
    world.copy()
    (sent,) = world.taken(Send)
    assert isinstance(sent, Send)
    if told:
        world.seen(executor, ExecutorState.UP, revoked=True)
    world.said(sent)
    given = [one for one in world.taken(Send) if isinstance(one, Send) and one.executor == executor]
    assert bool(given) is not told


def test_a_stop_ends_all() -> None:
    """Also what was only asked for."""
    world = World()
    world.take(world.core.stop("it was stopped", world.now))
    ended = {one.id for one in world.taken(End) if isinstance(one, End)}
    assert ended == set(world.core.state.executors)
    for known_as in ended:
        world.seen(known_as, ExecutorState.GONE)
    assert world.core.over


def test_a_stop_after_a_killed_runner_starts_nothing_and_gives_nothing() -> None:
    # It bought what the schedule wanted, and what the last owner had asked for, and then ended them.
    world = World(nodes=2, instances=3, backup=True)
    executor = first(world, Domain.CLOUD)
    world.up(executor)
    world.copy()
    world.commands.clear()
    world.restart(stop="it was stopped")
    for after in (1.0, 4000.0):
        world.tell(Tick(), after=after)
    assert {type(command) for command in world.commands} == {End}
    assert {one.id for one in world.taken(End) if isinstance(one, End)} == set(world.core.state.executors)


@pytest.mark.parametrize("domain", Domain)
def test_what_was_to_end_before_it_had_a_name_is_looked_for_and_not_started(domain: Domain) -> None:
    # On the cluster's side it was waited for without end, on the cloud's until its end time.
    world = World()
    executor = first(world, domain)
    world.commands.clear()
    world.restart(stop="it was stopped")
    for one in list(world.core.state.executors):
        if one != executor:
            world.seen(one, ExecutorState.GONE)
    world.tell(Looked(domain=domain, began=world.now, seen={}))
    told = world.core.state.executors[executor].ending
    world.tell(Looked(domain=domain, began=told + world.limits.unseen, seen={}))
    assert world.core.state.executors[executor].alive and not world.core.over
    world.tell(Looked(domain=domain, began=told + world.limits.unseen + 1, seen={}), after=500.0)
    assert not world.core.state.executors[executor].alive and world.core.over
    assert not world.taken(Start)


def test_what_is_shown_late_is_ended() -> None:
    world = World()
    executor = first(world, Domain.CLOUD)
    world.restart(stop="it was stopped")
    world.commands.clear()
    world.now += 60
    world.seen(executor, ExecutorState.UP)
    assert executor in {one.id for one in world.taken(End) if isinstance(one, End)}
    world.tell(Looked(domain=Domain.CLOUD, began=world.now, seen={}), after=60)
    assert world.core.state.executors[executor].alive


@pytest.mark.parametrize("instead", [False, True])
def test_what_the_cluster_refuses_the_cloud_does_at_the_next_look(instead: bool) -> None:
    """It asked the cluster five times more, and the cloud an hour later."""
    world = World(nodes=1, instances=0, cloud_instead=instead)
    world.tell(Refused(id=first(world, Domain.HPC), why="Invalid account"))
    world.commands.clear()
    world.tell(Tick(), after=300.0)
    started = [one.asked.domain for one in world.taken(Start) if isinstance(one, Start)]
    assert started == [Domain.CLOUD if instead else Domain.HPC]


def test_a_trial_that_was_refused_stands_until_the_cluster_takes_a_request() -> None:
    # The first interval said "works again", though no request had been made since.
    world = World(nodes=1, instances=1, cloud_instead=True)
    trial = r.Trouble(what="requests to the cluster", why="Invalid account")
    world.journal[2:] = [(trial, T0)]
    world.restart()
    world.tell(Tick(), after=300.0)
    assert world.core.state.troubles[trial.what] == trial.why
    world.seen(first(world, Domain.HPC), ExecutorState.WAITING)
    world.tell(Tick(), after=300.0)
    assert trial.what not in world.core.state.troubles


@pytest.mark.parametrize("instead", [False, True])
def test_while_the_cluster_refuses_the_cloud_is_paid_only_where_the_user_said_so(instead: bool) -> None:
    # "Invalid account" made it buy all of the cluster's part in the cloud.
    world = World(nodes=1, instances=2, backup=True, cloud_instead=instead)
    asked = world.core.state.executors[first(world, Domain.CLOUD)].asked
    waits = world.core.view().must_wait
    assert waits(asked, world.now) is not instead and not waits(asked, world.now + 61.0)  # it says nothing
    for one in [one for one in world.core.state.executors.values() if one.domain is Domain.HPC]:
        world.tell(Refused(id=one.id, why="Invalid account"))
    view = world.core.view()
    assert (view.forbidden(asked), view.must_wait(asked, world.now)) == (not instead, False)
    world.commands.clear()
    world.restart()
    assert world.core.view().forbidden(asked) is not instead
    for one in list(world.core.state.executors.values()):
        if one.domain is Domain.CLOUD:
            world.seen(one.id, ExecutorState.GONE)
    world.commands.clear()
    world.tell(Tick(), after=3600.0)
    started = [one.asked.domain for one in world.taken(Start) if isinstance(one, Start)]
    assert (Domain.CLOUD in started) is instead and Domain.HPC in started
    said = world.core.state.troubles["requests to the cluster"]
    assert said.startswith("Invalid account") and ("--cloud-instead" in said) is not instead
    # As soon as the cluster takes a request, all is as planned.
    new = [one for one in world.core.state.executors.values() if one.domain is Domain.HPC and one.alive]
    world.seen(new[0].id, ExecutorState.WAITING)
    world.tell(Tick(), after=3600.0)
    assert any(one.asked.domain is Domain.CLOUD for one in world.taken(Start) if isinstance(one, Start))
    assert "requests to the cluster" not in world.core.state.troubles


@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize(("minutes", "hours"), [(40, 1), (120, 3)])
def test_a_node_is_asked_for_as_long_as_a_task_needs_and_given_only_what_ends_on_it(
    minutes: float, hours: int, checkpoints: bool
) -> None:
    # Tasks of two hours were given to nodes for an hour, and none of them ended.
    world = World(nodes=1, instances=0, seconds=60 * minutes, checkpoints=checkpoints)
    (asked, *_) = (one.asked for one in world.taken(Start) if isinstance(one, Start))
    assert asked.domain is Domain.HPC and asked.seconds == 3600.0 * (1 if checkpoints else hours)
    world.up(asked.id)
    world.copy()
    given = [one for one in world.taken(Send) if isinstance(one, Send) and one.executor == asked.id]
    assert [one.assignment.stage for one in given] == ["first"]
    world.now += 60 * minutes
    world.said(given[0])
    again = [one for one in world.taken(Send) if isinstance(one, Send) and one.executor == asked.id]
    assert len(again) == int(checkpoints and minutes < 60)
