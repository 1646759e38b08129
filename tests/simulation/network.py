"""Both ends of the wire around the real delivery, and a network that loses, repeats, delays and reorders.

The ends do what ``whesl.runtime.wire.client`` and ``whesl.runtime.wire.server`` do with their sockets.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from tests.simulation.world import World
from whesl.runtime.wire.client import CONTACT_LIMIT
from whesl.runtime.wire.delivery import Inbox, Outbox
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


class Delivery(NamedTuple):
    """A new message at the coordinator, to be settled once it is in the journal."""

    peer: str
    message: AnyMessage
    envelope: Envelope

    @property
    def origin(self) -> list[object] | None:
        """What identifies the message in the journal."""
        envelope = self.envelope
        if not envelope.number or self.peer.startswith("cli-"):
            return None
        return [envelope.sender, envelope.incarnation, envelope.number, envelope.floor]


class Network:
    """Everything between the daemons. ``server`` is the coordinator's end, None while it is down."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.server: Server | None = None
        self.clients: dict[str, Client] = {}

    def carry(self, who: str, frame: bytes, chance: random.Random, arrive: Callable[[bytes], None]) -> None:
        """Carry a frame between a task and the coordinator, or lose it, or bring it twice, or late."""
        world = self.world
        nature = world.scenario.network
        if world.out(who) or world.out(NAME) or (nature.loss and chance.random() < nature.loss):
            return
        copies = 2 if nature.twice and chance.random() < nature.twice else 1
        for _ in range(copies):
            world.after(nature.delay * chance.random() ** 2, arrive, frame)

    def to_server(self, frame: bytes) -> None:
        """A frame arrives at the coordinator's place."""
        if self.server is not None:
            self.server.receive(frame)

    def to_client(self, peer: str, frame: bytes) -> None:
        """A frame arrives at a client's place."""
        client = self.clients.get(peer)
        if client is not None:
            client.receive(frame)

    def coordinator_is_back(self) -> None:
        """Every client sees a new connection sooner or later, and says that it is there."""
        chance = self.world.chance(f"greet {self.world.now}")
        for client in list(self.clients.values()):
            self.world.after(0.5 * chance.random(), client.greet)


class Client:
    """The isolator's end (or a person's).

    Args:
        network: the network.
        who: which link it uses.
        incarnation: of this start of the sender.
        heard: takes new messages.
        contact: told when contact with the coordinator was made (True) or lost (False).
    """

    def __init__(
        self,
        network: Network,
        who: str,
        sender: str,
        incarnation: str,
        heard: Callable[[AnyMessage], None],
        contact: Callable[[bool], None],
    ) -> None:
        self.network = network
        self.world = network.world
        self.who = who
        self.peer = f"{sender}#{incarnation}"
        self.outbox = Outbox(sender, incarnation)
        self.open = True
        self.connected = False
        self.vital: dict[int, AnyMessage] = {}  # not acknowledged, and not only for people
        self._inbox = Inbox()
        self._heard = heard
        self._contact = contact
        self._last = float("-inf")
        self._chance = self.world.chance(f"net {self.peer}")
        self._due: float | None = None
        network.clients[self.peer] = self

    def send(self, message: AnyMessage) -> None:
        """Send, and repeat until it is written down; heartbeats are not repeated."""
        if self.open:
            envelope = self.outbox.post(
                message,
                self.world.now,
                reliable=not isinstance(message, (Heartbeat, Ack)),
                expendable=isinstance(message, Report),
            )
            if envelope.number and not isinstance(message, Report):
                self.vital[envelope.number] = message
            self._put(envelope)
            self._plan()

    def greet(self) -> None:
        """The connection was made again: say so, and say again what waits."""
        if self.open:
            self.send(Ack(number=0))
            self.outbox.hurry(self.world.now)
            self._repeat()

    def receive(self, frame: bytes) -> None:
        """Take a frame in."""
        envelope = decode(frame)
        if not self.open or envelope is None:
            return
        self._last = self.world.now
        if not self.connected:
            self.connected = True
            self.world.at(self._last + CONTACT_LIMIT + 0.001, self._look)
            self._contact(True)
        message = envelope.message
        if isinstance(message, Ack):
            self.outbox.acknowledged(message.number)
            self.vital.pop(message.number, None)
            return
        new = self._inbox.accept(envelope)
        if envelope.number and self._inbox.seen(envelope):
            self.send(Ack(number=envelope.number))
        if new and self.open:
            self._heard(message)

    def close(self) -> None:
        """The process is gone."""
        self.open = False
        self.network.clients.pop(self.peer, None)

    def _look(self) -> None:
        if not self.open:
            return
        if self.world.now - self._last > CONTACT_LIMIT:
            self.connected = False
            self._contact(False)
        else:
            self.world.at(self._last + CONTACT_LIMIT + 0.001, self._look)

    def _repeat(self) -> None:
        self._due = None
        if self.open:
            for envelope in self.outbox.due(self.world.now):
                self._put(envelope)
            self._plan()

    def _plan(self) -> None:
        deadline = self.outbox.next_deadline()
        if deadline is not None and (self._due is None or self._due <= self.world.now):
            # One look for many messages: a repetition may come a little late, never early.
            self._due = deadline + 0.1
            self.world.at(self._due, self._repeat)

    def _put(self, envelope: Envelope) -> None:
        self.network.carry(self.who, encode(envelope), self._chance, self.network.to_server)


class Server:
    """The coordinator's end.

    Args:
        network: the network.
        incarnation: of this start of the coordinator.
        hear: takes new messages.
    """

    def __init__(self, network: Network, incarnation: str, hear: Callable[[Delivery], None]) -> None:
        self.network = network
        self.world = network.world
        self.incarnation = incarnation
        self.inbox = Inbox()
        self._hear = hear
        self._routes: set[str] = set()
        self._outboxes: dict[str, Outbox] = {}
        self._chance = self.world.chance(f"net {incarnation}")
        self._due: float | None = None
        network.server = self

    def recall(self, origin: list[object]) -> None:
        """Take a message as known that an earlier coordinator wrote down."""
        sender, incarnation, number, floor = origin
        self.inbox.remember(
            Envelope(
                WIRE_VERSION, str(sender), str(incarnation), int(str(number)), Ack(number=0), int(str(floor))
            )
        )

    def receive(self, frame: bytes) -> None:
        """Take a frame in."""
        envelope = decode(frame)
        if envelope is None:
            return
        peer = f"{envelope.sender}#{envelope.incarnation}"
        if peer not in self._routes:
            self._routes.add(peer)
            if peer in self._outboxes:
                self._outboxes[peer].hurry(self.world.now)
                self._repeat()
        message = envelope.message
        if isinstance(message, Ack):
            if peer in self._outboxes:
                self._outboxes[peer].acknowledged(message.number)
            if not message.number:
                self._acknowledge(peer, 0)
        elif self.inbox.seen(envelope):
            self._acknowledge(peer, envelope.number)
        elif self.inbox.acceptable(envelope):
            self._hear(Delivery(peer, message, envelope))

    def settle(self, delivery: Delivery) -> None:
        """Acknowledge what was written down."""
        self.inbox.remember(delivery.envelope)
        if delivery.envelope.number or isinstance(delivery.message, Heartbeat):
            self._acknowledge(delivery.peer, delivery.envelope.number)

    def send(self, peer: str, message: AnyMessage) -> None:
        """Send to a peer, repeated until acknowledged."""
        outbox = self._outboxes.get(peer)
        if outbox is None:
            outbox = self._outboxes[peer] = Outbox(NAME, self.incarnation)
        envelope = outbox.post(message, self.world.now, expendable=isinstance(message, Report))
        if peer in self._routes:
            self._put(peer, envelope)
            self._plan()

    def forget(self, peer: str) -> None:
        """A peer is over."""
        self._outboxes.pop(peer, None)

    def _repeat(self) -> None:
        self._due = None
        if self.network.server is not self:
            return
        for peer, outbox in self._outboxes.items():
            if peer in self._routes and peer in self.network.clients:
                for envelope in outbox.due(self.world.now):
                    self._put(peer, envelope)
        self._plan()

    def _plan(self) -> None:
        deadlines = [
            deadline
            for peer, outbox in self._outboxes.items()
            if peer in self._routes
            and peer in self.network.clients
            and (deadline := outbox.next_deadline()) is not None
        ]
        if deadlines and (self._due is None or self._due <= self.world.now):
            self._due = min(deadlines) + 0.1
            self.world.at(self._due, self._repeat)

    def _acknowledge(self, peer: str, number: int) -> None:
        self._put(peer, Envelope(WIRE_VERSION, NAME, self.incarnation, 0, Ack(number=number)))

    def _put(self, peer: str, envelope: Envelope) -> None:
        who = peer.partition("#")[0].rpartition("/")[2]
        self.network.carry(
            who, encode(envelope), self._chance, lambda frame: self.network.to_client(peer, frame)
        )
