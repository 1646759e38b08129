"""The coordinator's clients: isolators, which stay connected, and the command line, which sends one request.

No client waits for the coordinator in ``send`` or ``receive``: it keeps and repeats messages that cannot be
delivered now, and finds a restarted coordinator by its endpoint file.
"""

from __future__ import annotations

import os
import random
import socket
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import zmq

from whesl.model.errors import TransientError
from whesl.runtime.wire.curve_sockets import ClientSocket
from whesl.runtime.wire.delivery import Inbox, Outbox, new_incarnation
from whesl.runtime.wire.endpoint import Endpoint, read_endpoint
from whesl.runtime.wire.keys import user_keys
from whesl.runtime.wire.messages import Ack, AnyMessage, Heartbeat, Reply, Report, decode, encode
from whesl.runtime.wire.spool import leave, worth_leaving

# Seconds for which an address may stay silent before the next address is tried; an address that refuses or
# has no route is left at once. The time grows with each round through all addresses and is randomised:
# thousands of handshakes at once take long, and starting over makes them longer.
_ADDRESS_PATIENCE = 3.0
_MOST_PATIENCE = 30.0
_LOOK_INTERVAL = 0.5
CONTACT_LIMIT = 15.0


class CoordinatorClient:
    """A lasting connection to the user's coordinator, which reconnects by itself.

    Args:
        home: the WHESL home.
        sender: a name unique among the coordinator's clients: the task's id for an isolator.
        clock: returns seconds; ``now`` arguments have to be of the same clock.
        patience: seconds for which an address may stay silent before the next one is tried.

    Poll ``sockets`` (or ``socket`` alone) for reading, call ``receive`` when readable, and ``tick`` at
    ``next_deadline`` at the latest. ``dropped`` and ``malformed`` count messages given up and invalid frames.

    Raises HomeError when the home is not private.
    """

    def __init__(
        self,
        home: Path,
        sender: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        patience: float = _ADDRESS_PATIENCE,
    ) -> None:
        self.malformed = 0
        self._home = home
        self._clock = clock
        self._here = socket.gethostname()
        self._socket = ClientSocket(user_keys(home).client)
        self._outbox = Outbox(sender, new_incarnation())
        self._inbox = Inbox()
        self._endpoint: Endpoint | None = None
        self._hosts: tuple[str, ...] = ()
        self._choice = 0
        self._answered = ""  # the last address at which a coordinator answered
        self._chosen_at = float("-inf")
        self._first_patience = self._patience = patience
        self._look_interval = min(_LOOK_INTERVAL, patience)
        self._looked = float("-inf")
        self._heard = float("-inf")
        self._look(self._clock())

    @property
    def socket(self) -> zmq.Socket[bytes]:
        """The socket to poll for reading."""
        return self._socket.socket

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], ...]:
        """The socket and its monitor: polling both notices a restarted coordinator at once."""
        return self._socket.sockets

    @property
    def dropped(self) -> int:
        """The number of reports given up because too many messages waited."""
        return self._outbox.dropped

    @property
    def waiting(self) -> int:
        """The number of messages that the coordinator has not acknowledged."""
        return len(self._outbox)

    def send(self, message: AnyMessage, reliable: bool = True) -> None:
        """Send a message, and repeat it until the coordinator has recorded it.

        Args:
            message: the message.
            reliable: repeat the message; heartbeats are never repeated.
        """
        envelope = self._outbox.post(
            message,
            self._clock(),
            reliable=reliable and not isinstance(message, Heartbeat),
            expendable=isinstance(message, Report),
        )
        self._socket.send(encode(envelope))

    def receive(self) -> list[AnyMessage]:
        """Acknowledge and return the new messages; drop repeated messages."""
        now = self._clock()
        messages: list[AnyMessage] = []
        for frame in self._socket.receive():
            envelope = decode(frame)
            if envelope is None:
                self.malformed += 1
                continue
            self._heard = now
            self._answered = self._hosts[self._choice]
            self._patience = self._first_patience
            if isinstance(envelope.message, Ack):
                self._outbox.acknowledged(envelope.message.number)
                continue
            new = self._inbox.accept(envelope)
            if envelope.number and self._inbox.seen(envelope):
                self.send(Ack(number=envelope.number), reliable=False)
            if new:
                messages.append(envelope.message)
        self._greet(now)
        return messages

    def tick(self, now: float | None = None) -> None:
        """Follow the coordinator's address, and repeat messages that were not acknowledged in time."""
        now = self._clock() if now is None else now
        self._greet(now)
        if now - self._looked >= self._look_interval:
            self._look(now)
        for envelope in self._outbox.due(now):
            if not self._socket.send(encode(envelope)):
                # The coordinator is out of reach, so the other messages would not arrive either.
                break

    def next_deadline(self) -> float:
        """Return when ``tick`` has to be called, in the clock's seconds."""
        retry = self._outbox.next_deadline()
        look = self._looked + self._look_interval
        return look if retry is None else min(retry, look)

    def connected(self, now: float | None = None, within: float = CONTACT_LIMIT) -> bool:
        """Whether the coordinator has sent a message recently.

        Args:
            now: seconds of the client's clock; None: the present time.
            within: seconds that count as recent.
        """
        return (self._clock() if now is None else now) - self._heard <= within

    def leave(self) -> int:
        """Write unacknowledged messages to the spool, which the coordinator reads when it runs again.

        An ending isolator calls this. Its requests are left out, since no process waits for their answers.

        Returns the number of messages written. Raises OSError or HomeError when they cannot be written.
        """
        envelopes = worth_leaving(self._outbox.waiting())
        if envelopes:
            leave(self._home, self._outbox.incarnation, envelopes)
        return len(envelopes)

    def close(self) -> None:
        """Close the connection; messages that wait are dropped."""
        self._socket.close()

    def _greet(self, now: float) -> None:
        """Send a greeting after a new connection, and repeat waiting messages.

        A restarted coordinator may have messages for this client, and learns its route from the greeting.
        """
        if any(self._socket.events()):
            self.send(Ack(number=0), reliable=False)
            self._outbox.hurry(now)

    def _look(self, now: float) -> None:
        """Follow the endpoint file; try the next address when the present one stays silent."""
        self._looked = now
        talking = now - self._heard < CONTACT_LIMIT or not len(self._outbox)
        if self._socket.connected and talking:
            return
        found = read_endpoint(self._home)
        if found is None:
            return
        if found != self._endpoint:
            self._endpoint, self._hosts, self._patience = found, found.hosts(self._here), self._first_patience
            # A restarted coordinator usually has the previous address.
            self._choice = self._hosts.index(self._answered) if self._answered in self._hosts else 0
        elif now - self._chosen_at < self._pause():
            return
        else:
            self._choice = (self._choice + 1) % len(self._hosts)
            if self._choice == 0:
                self._patience = min(self._patience * random.uniform(1.5, 2.5), _MOST_PATIENCE)  # noqa: S311 - no secret
        self._chosen_at = now
        self._socket.connect(found.url(self._hosts[self._choice]), found.public_key)

    def _pause(self) -> float:
        """Return the seconds to try the present address.

        Few for an address that refuses, in the first round.
        """
        soon = self._socket.failed and self._patience == self._first_patience
        return self._look_interval if soon else self._patience


def request(home: Path, message: AnyMessage, timeout: float) -> Reply:
    """Send the coordinator one request and wait for its reply.

    Args:
        home: the WHESL home.
        message: Query, Command or RegisterWorkflow.
        timeout: seconds to wait.

    Raises TransientError when no reply came, HomeError when the home is not private.
    """
    deadline = time.monotonic() + timeout
    # A short timeout leaves time to try the coordinator's other addresses.
    patience = min(_ADDRESS_PATIENCE, timeout / 4)
    client = CoordinatorClient(home, f"cli-{os.getpid()}-{uuid.uuid4().hex[:8]}", patience=patience)
    try:
        client.send(message)
        poller = zmq.Poller()
        for watched in client.sockets:
            poller.register(watched, zmq.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            wait = min(left, max(0.0, client.next_deadline() - time.monotonic()))
            poller.poll(max(1, int(wait * 1000)))
            for answer in client.receive():
                if isinstance(answer, Reply):
                    return answer
            client.tick()
    finally:
        client.close()
    running = read_endpoint(home) is not None
    raise TransientError(
        f"the coordinator did not answer within {timeout:g} s",
        hint="see `whesl coordinator status`" if running else "start it with `whesl coordinator start`",
    )
