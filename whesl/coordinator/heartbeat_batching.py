"""What arrived together, as events for the core, and what each comes to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol, TypeVar

import msgspec

from whesl.coordinator.core import machine
from whesl.coordinator.core.events import Arrived, Command, Event, HeartbeatsArrived, Journal
from whesl.coordinator.core.state import State
from whesl.records.coordinator import AnyRecord
from whesl.wire.messages import AnyMessage, Heartbeat


class Delivered(Protocol):
    """A message, and the peer that it is from."""

    @property
    def peer(self) -> str:
        """One start of one client."""

    @property
    def message(self) -> AnyMessage:
        """What it says."""


D = TypeVar("D", bound=Delivered)


def events_of(deliveries: Iterable[D]) -> Iterator[tuple[Event, tuple[D, ...]]]:
    """Yield an event for each message, in order, and which messages it stands for; heartbeats together.

    A turn of the core takes longer than what a heartbeat changes, and most of what arrives are heartbeats.
    """
    for beats, some in groupby(deliveries, key=lambda delivery: type(delivery.message) is Heartbeat):
        if beats:
            together = tuple(some)
            yield _heartbeats(together), together
            continue
        for delivery in some:
            yield Arrived(peer=delivery.peer, message=delivery.message), (delivery,)


def transition(
    state: State, event: Event, origins: Sequence[Any], now: float
) -> tuple[State, list[AnyRecord], list[Command]]:
    """Return what an event comes to: the next state, what has to be written down first, and what to do then.

    Args:
        state: the present one.
        event: what happened.
        origins: of the messages that it stands for. That of a single one is in the first record: so a
            coordinator that starts again knows that it was taken in.
        now: seconds since the epoch.
    """
    state, commands = machine.step(state, event, now)
    records = [command.record for command in commands if isinstance(command, Journal)]
    if records and len(origins) == 1 and origins[0] is not None:
        records[0] = msgspec.structs.replace(records[0], message=origins[0])
    return state, records, [command for command in commands if not isinstance(command, Journal)]


def _heartbeats(deliveries: Iterable[Delivered]) -> HeartbeatsArrived:
    return HeartbeatsArrived(
        beats=tuple((d.peer, d.message) for d in deliveries if isinstance(d.message, Heartbeat))
    )
