"""Thousands who are told a new configuration, a few at a time: in order, the newest, nobody left out."""

from __future__ import annotations

from tests.runtime.coordinator.world import World, done
from whesl.model.configuration_changes import Configuration
from whesl.model.pathmap import PathMap
from whesl.model.states import TaskState
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.core import state_machine
from whesl.runtime.coordinator.core.events_and_commands import Arrived, Journal, Send, Tell
from whesl.runtime.coordinator.core.recovery.dependent_reconfiguration import WaitingPeers
from whesl.runtime.journal.records.coordinator_records import Configured
from whesl.runtime.wire.messages import Finished, Reconfigure, Welcome

COUNT = 300
WIDE = Workflow(
    id="w",
    name="w",
    wms="maestro",
    root="/old/w",
    tasks=(
        Task(id="w/a", step="a", workspace="/old/w/a"),
        *(
            Task(id=f"w/n{number}", step=f"n{number}", workspace=f"/old/w/n{number}", parents=("w/a",))
            for number in range(COUNT)
        ),
    ),
)
MOVED = Configuration(path_map=PathMap().with_rule("/old", "/new"))


def wide() -> tuple[World, str, list[str]]:
    """A workflow of one task and many dependents, all running."""
    world = World()
    world.workflow(workflow=WIDE)
    first = world.register("a")
    return world, first, [world.register(f"n{number}") for number in range(COUNT)]


def test_one_record_and_one_command_stand_for_all() -> None:
    world, first, _ = wide()
    message = done("a", dependents_map=MOVED, signal=10)
    _, commands = state_machine.step(world.state, Arrived(peer=first, message=message), world.now)
    journalled = [c.record for c in commands if isinstance(c, Journal)]
    (record,) = [record for record in journalled if isinstance(record, Configured)]
    assert len(record.tasks) == COUNT and len(record.configurations) == 1
    assert [c.signal for c in commands if isinstance(c, Tell) and len(c.tasks) == COUNT] == [10]
    assert not any(isinstance(c, Send) for c in commands)


def test_all_are_told_in_order_a_few_at_a_time() -> None:
    world, first, peers = wide()
    waiting_peers = WaitingPeers()
    state, commands = state_machine.step(
        world.state, Arrived(peer=first, message=done("a", dependents_map=MOVED, signal=10)), world.now
    )
    for command in commands:
        if isinstance(command, Tell):
            waiting_peers.add(state, command)
    told: list[Send] = []
    while waiting_peers:
        some = waiting_peers.take(state, 7)
        assert 0 < len(some) <= 7
        told += some
    assert [send.peer for send in told] == peers
    for send in told:
        assert isinstance(send.message, Reconfigure) and send.message.signal == 10
        assert send.message.configuration.path_map == MOVED.path_map


def test_who_was_replaced_or_has_ended_is_passed_over_and_the_rest_hears_the_newest() -> None:
    world, first, peers = wide()
    waiting_peers = WaitingPeers()

    def change(ordinal: int, signal: int, variable: str) -> None:
        dependents = Configuration(environment={variable: "1"})
        message = done("a", ordinal, dependents_map=dependents, signal=signal)
        world.state, commands = state_machine.step(
            world.state, Arrived(peer=first, message=message), world.now
        )
        for command in commands:
            if isinstance(command, Tell):
                waiting_peers.add(world.state, command)

    change(1, 10, "ONE")
    waiting_peers.take(world.state, 1)
    world.tell(peers[1], Finished(task="w/n1", state=TaskState.COMPLETED, exit_code=0, attempts=1))
    world.register("n2", restarts=1)
    change(2, 0, "TWO")
    told: dict[str, Reconfigure] = {}
    for send in waiting_peers.take(world.state, len(waiting_peers)):
        assert isinstance(send.message, Reconfigure)
        told[send.peer] = send.message
    new = "w/n2#job-n2.1"
    assert set(told) == {*peers, new} - {peers[1], peers[2]}
    assert all(message.configuration.environment == {"ONE": "1", "TWO": "1"} for message in told.values())
    # The first change's signal is not lost with the second one, where it was not sent.
    assert told[peers[0]].signal == 0 and told[peers[3]].signal == 10


def test_what_was_said_first_is_heard_first() -> None:
    """An isolator that knows a configuration ignores the signal that comes with it."""
    world, first, peers = wide()
    world.tell(first, done("a", dependents_map=MOVED, signal=10))
    world.sent.clear()
    world.restart()
    said = [message for peer, message in world.sent if peer == peers[-1]]
    assert [type(message) for message in said] == [Reconfigure, Welcome]
    assert isinstance(said[0], Reconfigure) and said[0].signal == 10


def test_one_who_waits_is_told_before_anything_newer() -> None:
    world, first, peers = wide()
    state, commands = state_machine.step(
        world.state, Arrived(peer=first, message=done("a", dependents_map=MOVED)), world.now
    )
    waiting_peers = WaitingPeers()
    for command in commands:
        if isinstance(command, Tell):
            waiting_peers.add(state, command)
    send = waiting_peers.before(state, peers[-1])
    assert send is not None and isinstance(send.message, Reconfigure)
    assert waiting_peers.before(state, peers[-1]) is None and len(waiting_peers) == COUNT - 1


def test_a_task_that_comes_back_is_told_the_signal_of_the_change_it_has_not_heard_of() -> None:
    world, first, _ = wide()
    world.tell(first, done("a", dependents_map=MOVED, signal=10))
    later = Configuration(path_map=PathMap().with_rule("/later", "/still"))
    world.tell(first, done("a", 2, dependents_map=later))
    welcome = world.told(world.register("n7"), Welcome)[-1]
    assert (welcome.signal, welcome.configuration.version) == (10, 2)
