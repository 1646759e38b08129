"""The coordinator's side of the network; it acknowledges messages only after they are recorded.

A *peer* is one start of one client: ``sender#incarnation``. A restarted isolator is another peer, so that two
claims of one task are distinct.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

import msgspec
import zmq

from whesl.runtime.wire.curve_sockets import ServerSocket
from whesl.runtime.wire.delivery import SENDERS, Inbox, Outbox, Remembered
from whesl.runtime.wire.keys import UserKeys
from whesl.runtime.wire.messages import (
    WIRE_VERSION,
    Ack,
    AnyMessage,
    Envelope,
    Heartbeat,
    Report,
    decode,
    encode,
)

NAME = "coordinator"
# The prefix of peers that send one request and leave: messages to them are not kept.
TRANSIENT = "cli-"
# Sender, incarnation, number, floor.
Origin = tuple[str, str, int, int]
# Seconds for which messages to a peer without a connection are kept. Later they are dropped, without harm:
# the coordinator sends a registering task its whole state.
_PATIENCE = 3600.0


class Delivery(msgspec.Struct, frozen=True):
    """A new message. Call ``CoordinatorServer.settle`` with it once it is in the journal."""

    peer: str
    message: AnyMessage
    envelope: Envelope

    @property
    def origin(self) -> Origin | None:
        """The identity of the message in the journal; None for messages that need none."""
        envelope = self.envelope
        if not envelope.number or self.peer.startswith(TRANSIENT):
            return None
        return (envelope.sender, envelope.incarnation, envelope.number, envelope.floor)


class CoordinatorServer:
    """The coordinator's socket, with reliable delivery in both directions.

    Args:
        host: address to listen on, ``*`` for all (only the user's own keys are admitted).
        port: 0 for any; the chosen one is ``port``.
        keys: the user's keys.
        incarnation: the name of this start of the coordinator.
        ports: the ports to choose from when ``port`` is 0; None: any.
        clock: returns monotonic time in seconds.

    ``counters`` has refused, malformed, repeated, unsent, unexpected.

    Raises BindError.
    """

    def __init__(
        self,
        host: str,
        port: int,
        keys: UserKeys,
        incarnation: str,
        *,
        ports: range | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._socket = ServerSocket(host, port, keys.coordinator, frozenset({keys.client.public}), ports)
        self._clock = clock
        self._incarnation = incarnation
        self._present = self._acknowledgement(0)  # the answer to each heartbeat
        self._inbox = Inbox()
        self._routes: OrderedDict[str, bytes] = OrderedDict()
        # Peers by route; tuples instead of sets, which take 200 bytes, since nearly all routes have one peer.
        self._peers: dict[bytes, tuple[str, ...]] = {}
        self._outboxes: dict[str, Outbox] = {}
        self._absent: dict[str, float] = {}  # the time at which each peer lost its connection, oldest first
        # A heap of times at which a peer may need repetitions, since checking ten thousand peers in each
        # round takes too long. ``_due`` has the valid time of each peer; other entries are skipped.
        self._deadlines: list[tuple[float, str]] = []
        self._due: dict[str, float] = {}
        self.port = self._socket.port
        self.counters = self._socket.counters

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], ...]:
        """What has to be polled for reading."""
        return self._socket.sockets

    def receive(self) -> list[Delivery]:
        """Return the new messages; repeats are acknowledged again and dropped."""
        new: list[Delivery] = []
        taken: set[tuple[str, int]] = set()
        for route, frame in self._socket.receive():
            if frame is None:
                self._left(route)
                continue
            envelope = decode(frame)
            if envelope is None:
                self.counters["malformed"] += 1
                continue
            peer = f"{envelope.sender}#{envelope.incarnation}"
            self._know(peer, route)
            if isinstance(envelope.message, Ack):
                if peer in self._outboxes:
                    self._outboxes[peer].acknowledged(envelope.message.number)
                if not envelope.message.number:
                    # The answer to a client's greeting shows that the server listens.
                    self._acknowledge(peer, 0)
            elif self._inbox.seen(envelope):
                self.counters["repeated"] += 1
                self._acknowledge(peer, envelope.number)
            elif not self._inbox.acceptable(envelope) or (peer, envelope.number) in taken:
                self.counters["repeated"] += 1
            else:
                if envelope.number:
                    taken.add((peer, envelope.number))
                new.append(Delivery(peer, envelope.message, envelope))
        return new

    def take_in(self, envelopes: Iterable[Envelope]) -> list[Delivery]:
        """Return the new messages among those that one peer left in the spool."""
        return [
            Delivery(f"{envelope.sender}#{envelope.incarnation}", envelope.message, envelope)
            for envelope in envelopes
            if not self._inbox.seen(envelope)
        ]

    def settle(self, delivery: Delivery) -> None:
        """Acknowledge a recorded message; heartbeats are answered with number 0."""
        self._inbox.remember(delivery.envelope)
        if delivery.envelope.number or type(delivery.message) is Heartbeat:
            self._acknowledge(delivery.peer, delivery.envelope.number)

    def recall(self, origin: Origin) -> None:
        """Mark a message as known that an earlier start of the coordinator recorded."""
        self._inbox.note(*origin)

    def memory(self) -> list[Remembered]:
        """Return the numbers of the messages that were taken in, for ``restore``."""
        return self._inbox.memory()

    def restore(self, memory: Iterable[Remembered]) -> None:
        """Mark the messages as known that an earlier start of the coordinator had taken in."""
        self._inbox.restore(memory)

    def send(self, peer: str, message: AnyMessage) -> None:
        """Send to a peer, and repeat until the peer acknowledges or is forgotten.

        Args:
            peer: the peer.
            message: the message.
        """
        outbox = self._outboxes.setdefault(peer, Outbox(NAME, self._incarnation))
        envelope = outbox.post(message, self._clock(), expendable=isinstance(message, Report))
        route = self._routes.get(peer)
        if route is not None:
            self._socket.send(route, encode(envelope))
            self._schedule(peer, outbox)

    def forget(self, peer: str) -> None:
        """Stop repeating messages to a peer that has ended."""
        self._outboxes.pop(peer, None)
        self._absent.pop(peer, None)
        self._due.pop(peer, None)

    def tick(self) -> None:
        """Repeat the messages that are due."""
        now = self._clock()
        while self._absent and now - next(iter(self._absent.values())) > _PATIENCE:
            self.forget(next(iter(self._absent)))
        while (deadline := self.next_deadline()) is not None and deadline <= now:
            _, peer = heapq.heappop(self._deadlines)
            del self._due[peer]
            route = self._routes.get(peer)
            if route is None:
                # A peer without a connection gets its messages when it reconnects.
                continue
            outbox = self._outboxes[peer]
            for envelope in outbox.due(now):
                self._socket.send(route, encode(envelope))
            self._schedule(peer, outbox)

    def next_deadline(self) -> float | None:
        """Return when ``tick`` has something to do, None when nothing waits."""
        while self._deadlines:
            deadline, peer = self._deadlines[0]
            if self._due.get(peer) == deadline:
                if len(self._outboxes[peer]):
                    return deadline
                del self._due[peer]
            heapq.heappop(self._deadlines)
        return None

    def _schedule(self, peer: str, outbox: Outbox) -> None:
        """Schedule a peer's next repetition, unless an earlier one is scheduled."""
        deadline = outbox.next_deadline()
        if deadline is not None and deadline < self._due.get(peer, math.inf):
            self._due[peer] = deadline
            heapq.heappush(self._deadlines, (deadline, peer))

    def idle(self) -> bool:
        """Whether everything sent to peers that are connected was acknowledged."""
        return not any(len(outbox) for peer, outbox in self._outboxes.items() if peer in self._routes)

    def waiting(self) -> int:
        """Return how many messages have not been acknowledged, over all peers."""
        return sum(len(outbox) for outbox in self._outboxes.values())

    def connected(self) -> int:
        """Return the number of connected peers, without those that send one request and leave."""
        return sum(not peer.startswith(TRANSIENT) for peer in self._routes)

    def connections(self) -> int:
        """Return the number of connections that have a peer."""
        return len(self._peers)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _left(self, route: bytes) -> None:
        for peer in self._peers.pop(route, ()):
            del self._routes[peer]
            self._absent[peer] = self._clock()
            # A command line that has disconnected does not return for its answer.
            if peer.startswith(TRANSIENT):
                self.forget(peer)

    def _know(self, peer: str, route: bytes) -> None:
        known = self._routes.get(peer)
        if known != route:
            if known is not None:
                self._unroute(peer, known)
            self._routes[peer] = route
            self._peers[route] = (*self._peers.get(route, ()), peer)
            self._absent.pop(peer, None)
            if peer in self._outboxes:
                self._outboxes[peer].hurry(self._clock())
                self._schedule(peer, self._outboxes[peer])
        self._routes.move_to_end(peer)
        while len(self._routes) > SENDERS:
            forgotten, old = self._routes.popitem(last=False)
            self._unroute(forgotten, old)
            self.forget(forgotten)

    def _unroute(self, peer: str, route: bytes) -> None:
        """Remove a peer from its connection."""
        left = tuple(other for other in self._peers[route] if other != peer)
        if left:
            self._peers[route] = left
        else:
            del self._peers[route]

    def _acknowledgement(self, number: int) -> bytes:
        return encode(Envelope(WIRE_VERSION, NAME, self._incarnation, 0, Ack(number=number)))

    def _acknowledge(self, peer: str, number: int) -> None:
        route = self._routes.get(peer)
        if route is not None:
            self._socket.send(route, self._acknowledgement(number) if number else self._present)
