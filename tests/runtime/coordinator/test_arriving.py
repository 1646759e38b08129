"""Heartbeats that come together are one event, in their place among the other messages, and mean the same."""

from __future__ import annotations

from typing import NamedTuple

from tests.runtime.coordinator.world import World
from whesl.model.states import TaskState
from whesl.runtime.coordinator.core import state_machine
from whesl.runtime.coordinator.core.events_and_commands import Arrived, HeartbeatsArrived, Journal
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.coordinator.core.state_machine import events_of
from whesl.runtime.wire.messages import AnyMessage, Finished, Heartbeat


class Came(NamedTuple):
    peer: str
    message: AnyMessage


def beat(name: str, state: TaskState = TaskState.RUNNING, **more: float) -> Heartbeat:
    return Heartbeat(task=f"w/{name}", state=state, attempt=1, **more)


ENDED = Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1)


def test_order_is_kept_and_every_message_belongs_to_one_event() -> None:
    came = [Came("1", beat("a")), Came("2", beat("b")), Came("1", ENDED), Came("3", beat("x"))]
    found = list(events_of(came))
    assert [type(event) for event, _ in found] == [HeartbeatsArrived, Arrived, HeartbeatsArrived]
    assert [message for _, some in found for message in some] == came
    assert isinstance(found[0][0], HeartbeatsArrived) and found[0][0].beats == (
        ("1", beat("a")),
        ("2", beat("b")),
    )
    assert not list(events_of([]))


def test_together_they_change_what_they_would_change_alone(world: World) -> None:
    a, b = world.register("a", attempt=1), world.register("b", attempt=1)
    strange = ("nobody", beat("a", TaskState.PAUSED)), (a, beat("b", TaskState.PAUSED)), (a, beat("unknown"))
    late = world.now - 3600
    beats = (*strange, (a, beat("a", TaskState.RECOVERING, time=late)), (b, beat("b")), (a, beat("a")))

    def alone() -> tuple[State, list[Journal]]:
        state, records = world.state, []
        for peer, message in beats:
            state, commands = state_machine.step(state, Arrived(peer=peer, message=message), world.now + 5)
            records += [command for command in commands if isinstance(command, Journal)]
        return state, records

    state, commands = state_machine.step(world.state, HeartbeatsArrived(beats=beats), world.now + 5)
    assert alone() == (state, [command for command in commands if isinstance(command, Journal)])
    assert dict(state.volatile.heard)["w/a"] == dict(state.volatile.heard)["w/b"] == world.now + 5
    assert state.tasks["w/a"].state is TaskState.RUNNING and state.tasks["w/a"].behind > 3000
    assert "w/x" not in state.volatile.heard
