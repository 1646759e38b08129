"""An encrypted link with keys of its own, as between an isolator and its agents.

The link carries a union of tagged structs that its user defines. It reports a lost connection at once, with
the peer's name. Messages in flight are lost with the connection: users repeat important messages when the
peer is back (``PeerFound``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec
import zmq

from whesl.runtime.wire.curve_sockets import PAUSE, ClientSocket, ServerSocket
from whesl.runtime.wire.keys import LinkKeys

LINK_VERSION = 1
M = TypeVar("M", bound=msgspec.Struct)


class PeerFound(msgspec.Struct, frozen=True):
    """A peer has sent its first message on its present connection."""

    peer: str


class PeerLost(msgspec.Struct, frozen=True):
    """A peer's connection has closed, or a new one has replaced it (``PeerFound`` follows at once)."""

    peer: str


class Received(msgspec.Struct, Generic[M], frozen=True):
    """A peer's message."""

    peer: str
    message: M


class _Codec(Generic[M]):
    def __init__(self, kinds: Sequence[type[M]]) -> None:
        union = kinds[0]
        for kind in kinds[1:]:
            union = union | kind  # type: ignore[assignment]  # a union of types is no type to mypy
        self._decoder = msgspec.msgpack.Decoder(tuple[int, union])  # type: ignore[valid-type]  # as above
        self._encoder = msgspec.msgpack.Encoder()

    def encode(self, message: M) -> bytes:
        return self._encoder.encode((LINK_VERSION, message))

    def decode(self, content: bytes) -> M | None:
        """Decode a message; None for a malformed one or one of another version."""
        try:
            version, message = self._decoder.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return message if version == LINK_VERSION else None


class LinkServer(Generic[M]):
    """The listening end.

    Args:
        host: address to listen on, ``*`` for all.
        port: 0 for any; the chosen one is ``port``. A restarted server passes the old one.
        keys: the link's keys.
        kinds: the tagged structs that may be received.
        ports: the ports to choose from when ``port`` is 0; None: any.
        listening: a descriptor that listens on ``port`` already, which the server takes over.

    Poll ``sockets`` for reading, then call ``receive``. ``counters`` has refused, malformed, unsent.

    Raises BindError.
    """

    def __init__(
        self,
        host: str,
        port: int,
        keys: LinkKeys,
        kinds: Sequence[type[M]],
        ports: range | None = None,
        listening: int | None = None,
    ) -> None:
        admitted = frozenset({keys.client.public})
        self._socket = ServerSocket(host, port, keys.server, admitted, ports, listening)
        self._codec = _Codec(kinds)
        self._peers: set[str] = set()
        self.port = self._socket.port

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], ...]:
        """The sockets that the caller polls for reading."""
        return self._socket.sockets

    @property
    def counters(self) -> Counter[str]:
        """How often peers were refused, frames malformed, messages not sent."""
        return self._socket.counters

    @property
    def peers(self) -> frozenset[str]:
        """The peers that are connected now."""
        return frozenset(self._peers)

    def receive(self) -> list[PeerFound | PeerLost | Received[M]]:
        """Return the events since the last call, without waiting."""
        events: list[PeerFound | PeerLost | Received[M]] = []
        for identity, content in self._socket.receive():
            peer = identity.decode(errors="replace")
            if content is None:
                if peer in self._peers:
                    self._peers.remove(peer)
                    events.append(PeerLost(peer))
                continue
            message = self._codec.decode(content)
            if message is None:
                self.counters["malformed"] += 1
                continue
            if peer not in self._peers:
                self._peers.add(peer)
                events.append(PeerFound(peer))
            events.append(Received(peer, message))
        return events

    def send(self, peer: str, message: M) -> bool:
        """Send to one peer; False when the peer is not connected or its queue is full.

        Args:
            peer: the peer's name.
            message: the message.
        """
        return self._socket.send(peer.encode(), self._codec.encode(message))

    def close(self) -> None:
        """Close the link."""
        self._socket.close()


class LinkClient(Generic[M]):
    """The connecting end.

    Args:
        endpoint: ``tcp://host:port``.
        keys: the link's keys.
        name: the peer's name at the server, unique among the server's peers, at most 255 bytes.
        kinds: the tagged structs that may be received.
        pause: the longest wait before a lost connection is tried again, seconds.

    ``connected`` is True after a finished handshake. The client connects and reconnects by itself.
    """

    def __init__(
        self, endpoint: str, keys: LinkKeys, name: str, kinds: Sequence[type[M]], pause: float = PAUSE
    ) -> None:
        self._socket = ClientSocket(keys.client, name.encode(), pause)
        self._codec = _Codec(kinds)
        self.malformed = 0
        self._socket.connect(endpoint, keys.server.public)

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], ...]:
        """The sockets that the caller polls for reading."""
        return self._socket.sockets

    @property
    def connected(self) -> bool:
        """Whether the link was connected at the last call of ``changes``."""
        return self._socket.connected

    def changes(self) -> list[bool]:
        """Return the changes of the connection since the last call: True made, False lost."""
        return self._socket.events()

    def receive(self) -> list[M]:
        """Return the messages that have arrived, never blocking."""
        messages = []
        for content in self._socket.receive():
            message = self._codec.decode(content)
            if message is None:
                self.malformed += 1
            else:
                messages.append(message)
        return messages

    def send(self, message: M) -> bool:
        """Send; False when there is no connection."""
        return self._socket.send(self._codec.encode(message))

    def close(self) -> None:
        """Close the link."""
        self._socket.close()
