"""What arrived together, as events for the core. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Protocol, TypeVar

from whesl.coordinator.core.events import Arrived, Event, HeartbeatsArrived
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


def _heartbeats(deliveries: Iterable[Delivered]) -> HeartbeatsArrived:
    return HeartbeatsArrived(
        beats=tuple((d.peer, d.message) for d in deliveries if isinstance(d.message, Heartbeat))
    )
