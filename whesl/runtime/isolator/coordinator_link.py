"""Messages from an isolator's coordinator; without a coordinator, files that users leave in
the task's directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whesl.runtime.isolator import shutdown
from whesl.runtime.isolator.core.events_and_commands import (
    CoordinatorFound,
    CoordinatorLost,
    CoordinatorMessage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import zmq

    from whesl.runtime.isolator.core.events_and_commands import Event
    from whesl.runtime.isolator.task.raise_requests import Left
    from whesl.runtime.wire.client import CoordinatorClient
    from whesl.runtime.wire.messages import AnyMessage


class CoordinatorLink:
    """The connection of one isolator to the coordinator.

    Args:
        client: the connection to the coordinator; None to run without a coordinator.
        left: the requests that users leave in the task's directory, read when there is no coordinator.
    """

    def __init__(self, client: CoordinatorClient | None, left: Left) -> None:
        self._client = client
        self._left = left
        self._connected = False

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], ...]:
        """The sockets that become readable when the coordinator has sent a message."""
        return tuple(self._client.sockets) if self._client is not None else ()

    def next_deadline(self, now: float, *, paused: bool) -> float:
        """Return the latest time of the next call of ``heard``, in seconds of the monotonic clock.

        Args:
            now: the monotonic clock's time in seconds.
            paused: whether the task is paused.
        """
        if self._client is not None:
            return self._client.next_deadline()
        return self._left.next_deadline(now, paused=paused)

    def heard(self, now: float, *, paused: bool, begun: Callable[[], bool]) -> Iterator[Event]:
        """Yield the events of received messages, in order.

        Args:
            now: the monotonic clock's time in seconds.
            paused: whether the task is paused.
            begun: returns whether the task has had an attempt; called after the messages are handled.
        """
        if self._client is None:
            for message in self._left.taken(now, paused=paused):
                yield CoordinatorMessage(message=message)
            return
        for received in self._client.receive():
            yield CoordinatorMessage(message=received)
        self._client.tick()
        was, self._connected = self._connected, self._client.connected()
        if was and not self._connected:
            yield CoordinatorLost()
        elif self._connected and not was and begun():
            yield CoordinatorFound()

    def send(self, message: AnyMessage) -> None:
        """Send a message to the coordinator; without a coordinator, do nothing."""
        if self._client is not None:
            self._client.send(message)

    def part(self) -> None:
        """Resend unacknowledged messages for a short while; leave the rest in the coordinator's spool."""
        if self._client is not None:
            shutdown.part(self._client)
