"""All ZeroMQ sockets of WHESL: always encrypted by CURVE, always with a closed list of admitted keys.

CURVE (https://rfc.zeromq.org/spec/26/) encrypts and authenticates both ends; the server checks the client's
key by ZAP (https://rfc.zeromq.org/spec/27/) against its list of keys. No function blocks.
"""

from __future__ import annotations

import errno
import logging
import random
import struct
from collections import Counter

import zmq

from whesl.model.errors import WheslError
from whesl.runtime.wire.keys import KeyPair
from whesl.runtime.wire.own_addresses import bracketed

MAX_FRAME = 32 * 1024 * 1024
QUEUE = 20_000
# The queue of connections to accept, bounded by the system's net.core.somaxconn. libzmq's default of 100 is
# too small for ten thousand isolators that start at once: a refused one tries again after a second or more.
BACKLOG = 4096
# Milliseconds for a handshake. libzmq's default of 30 s is too short for thousands of handshakes on a busy
# machine, since an abandoned handshake starts over. A longer time would let silent clients hold connections.
HANDSHAKE = 60_000
PAUSE = 2.0  # the longest wait before a client reconnects, seconds
# Milliseconds for a TCP connection, the same as between ZMTP's heartbeats.
CONNECT = 5_000
# The most frames, and the most events of connections, that one call takes: the caller has other work too.
_MOST_FRAMES = 1000
_MOST_EVENTS = 10_000
_DOMAIN = "whesl"
# Plain integers: operations on pyzmq's enumerations take longer than the calls they belong to.
_READABLE, _NOW, _AND_MORE = int(zmq.POLLIN), int(zmq.DONTWAIT), int(zmq.DONTWAIT | zmq.SNDMORE)
# The first frame of a monitor's message: event, and descriptor or error number (zmq_socket_monitor(3)).
_MONITORED = struct.Struct("=Hi")
_REFUSALS = int(
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
# The authenticator logs every handshake; WHESL counts refused ones instead.
_SILENT = logging.getLogger("whesl.wire.zap")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class BindError(WheslError):
    """The address cannot be listened on."""


class _Admission:
    """The check of a client's key for ZAP."""

    def __init__(self, admitted: frozenset[str]) -> None:
        self._admitted = frozenset(key.encode() for key in admitted)

    def callback(self, domain: str, key: bytes) -> bool:
        """Answer for one handshake (called by pyzmq's authenticator)."""
        return key in self._admitted


class ServerSocket:
    """A ROUTER socket that admits only clients with known keys, and reports lost connections by peer.

    Args:
        host: address or interface to listen on, ``*`` for all.
        port: 0 for any free one; the chosen one is ``port``.
        keys: the server's own pair of keys.
        admitted: public keys of the admitted clients.
        ports: the ports to choose from when ``port`` is 0; None: any.
        listening: a descriptor that listens on ``port`` already, which the server takes over.

    The caller polls ``socket`` and ``monitor``; ``counters`` counts refused clients and dropped frames.

    Raises BindError.
    """

    def __init__(
        self,
        host: str,
        port: int,
        keys: KeyPair,
        admitted: frozenset[str],
        ports: range | None = None,
        listening: int | None = None,
    ) -> None:
        self.counters: Counter[str] = Counter()
        self._peer_of: dict[int, bytes] = {}  # peers by the descriptor of their connection
        self._descriptor_of: dict[bytes, int] = {}  # descriptors by peer
        self._open: set[int] = set()  # descriptors of connections that have not been closed
        self._happened: list[tuple[bytes, bytes | None]] = []
        # Each server has a context of its own, since ZAP has one handler for each context.
        self._context = zmq.Context()
        # Imported here, since the module loads asyncio, which clients do not need.
        from zmq.auth.thread import ThreadAuthenticator

        self._zap = ThreadAuthenticator(self._context, log=_SILENT)
        self._zap.start()
        self._zap.configure_curve_callback(_DOMAIN, credentials_provider=_Admission(admitted))
        self.socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        self.socket.curve_server = True
        self.socket.curve_publickey = keys.public.encode()
        self.socket.curve_secretkey = keys.secret.encode()
        self.socket.zap_domain = _DOMAIN.encode()
        self.socket.linger = 0
        self.socket.maxmsgsize = MAX_FRAME
        self.socket.sndhwm = self.socket.rcvhwm = QUEUE
        self.socket.backlog = BACKLOG
        self.socket.handshake_ivl = HANDSHAKE
        self.socket.ipv6 = True  # IPv6 as well as IPv4, where the machine has both
        if listening is not None:
            self.socket.use_fd = listening
        # A peer that reconnects under its name replaces its old connection, and sending to a lost peer is an
        # error instead of a silent drop.
        self.socket.router_handover = True
        self.socket.router_mandatory = True
        self.monitor: zmq.Socket[bytes] = self.socket.get_monitor_socket(
            zmq.EVENT_DISCONNECTED | zmq.EVENT_ACCEPTED | _REFUSALS
        )
        self.monitor.linger = 0
        try:
            self._bind(host, port, ports)
        except BindError:
            self.close()
            raise
        self.port = int(self.socket.getsockopt_string(zmq.LAST_ENDPOINT).rsplit(":", 1)[1])

    def _bind(self, host: str, port: int, ports: range | None) -> None:
        candidates: list[int | str] = [port or "*"]
        if not port and ports is not None:
            # Random order, since other processes of this machine may choose from the same range at the same
            # time.
            candidates = [*random.sample(ports, len(ports))]
        reason = ""
        for candidate in candidates:
            try:
                self.socket.bind(f"tcp://{bracketed(host)}:{candidate}")
            except zmq.ZMQError as error:
                reason = error.strerror or str(error)
                if error.errno != errno.EADDRINUSE:
                    break
            else:
                return
        chosen = f"{ports[0]} to {ports[-1]}" if ports and not port else port or "any"
        raise BindError(
            f"cannot listen on {host} port {chosen}: {reason}",
            hint="other processes have all these ports, or the address is not of this machine"
            if len(candidates) > 1
            else "another process has the port, or the address is not of this machine",
        )

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], ...]:
        """What has to be polled for reading."""
        return (self.socket, self.monitor)

    def receive(self) -> list[tuple[bytes, bytes | None]]:
        """Return events in order: (peer, content) for a message, (peer, None) for a lost connection.

        A peer whose connection was replaced is reported as lost first. Invalid frames are counted and
        dropped. The sockets stay readable while further events wait.
        """
        socket = self.socket
        for _ in range(_MOST_FRAMES):
            # The query costs a fifth of the exception that a read of an empty socket raises.
            if not int(socket.get(zmq.EVENTS)) & _READABLE:
                break
            peer = socket.recv(_NOW)
            frame = socket.recv(_NOW, copy=False)
            if frame.more:
                while socket.get(zmq.RCVMORE):
                    socket.recv(_NOW)
                self.counters["malformed"] += 1
                continue
            descriptor = frame.get(zmq.SRCFD)
            live = isinstance(descriptor, int) and self._spoke(peer, descriptor)
            self._happened.append((peer, frame.bytes))
            if not live and peer not in self._descriptor_of:
                # These are the last messages of a connection that has closed already.
                self._happened.append((peer, None))
        self._watch()
        happened, self._happened = self._happened, []
        return happened

    def _spoke(self, peer: bytes, descriptor: int) -> bool:
        """Note the connection of a peer; False when that connection has closed already."""
        # Read the monitor first: a peer that reconnects may get the same descriptor as before.
        self._watch()
        if self._peer_of.get(descriptor) == peer:
            return True
        if descriptor not in self._open:
            return False
        self._closed(self._descriptor_of.get(peer, descriptor))
        self._closed(descriptor)
        self._peer_of[descriptor] = peer
        self._descriptor_of[peer] = descriptor
        return True

    def _closed(self, descriptor: int) -> None:
        """Note that a connection has closed, and that its peer is lost."""
        peer = self._peer_of.pop(descriptor, None)
        if peer is not None:
            del self._descriptor_of[peer]
            self._happened.append((peer, None))

    def _watch(self) -> None:
        """Handle the monitor's events in order: a descriptor closes before it is used again."""
        for event, descriptor in _events(self.monitor):
            if event & _REFUSALS:
                self.counters["refused"] += 1
            elif event == zmq.EVENT_ACCEPTED:
                self._open.add(descriptor)
            elif event == zmq.EVENT_DISCONNECTED:
                self._open.discard(descriptor)
                self._closed(descriptor)

    def send(self, peer: bytes, content: bytes) -> bool:
        """Send to one peer; False when the peer is not connected or its queue is full.

        Args:
            peer: the peer's name.
            content: the frame.
        """
        try:
            self.socket.send(peer, _AND_MORE)
            self.socket.send(content, _NOW)
        except (zmq.Again, zmq.ZMQError) as error:
            self.counters["unsent"] += 1
            if error.errno not in (zmq.EAGAIN, zmq.EHOSTUNREACH):
                raise
            return False
        return True

    def close(self) -> None:
        """Close everything. Closing twice is no error."""
        if self._context.closed:
            return
        self.socket.disable_monitor()
        self.monitor.close()
        self.socket.close()
        self._zap.stop()
        self._context.term()


def dealer(context: zmq.Context[zmq.Socket[bytes]], keys: KeyPair, pause: float = PAUSE) -> zmq.Socket[bytes]:
    """Make a client's DEALER socket, not connected yet.

    Args:
        context: the ZeroMQ context.
        keys: the client's own pair of keys.
        pause: the longest wait before a lost connection is tried again, seconds.
    """
    made: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    made.curve_publickey = keys.public.encode()
    made.curve_secretkey = keys.secret.encode()
    # CURVE needs some server key from the start; the client's own public key stands in for it.
    made.curve_serverkey = keys.public.encode()
    made.linger = 0
    made.maxmsgsize = MAX_FRAME
    made.sndhwm = made.rcvhwm = QUEUE
    # Send on finished connections only: ``delivery`` keeps and repeats other messages.
    made.immediate = True
    # libzmq adds a random time of up to the interval to each wait, so that clients do not reconnect in step.
    made.reconnect_ivl = 100
    made.reconnect_ivl_max = int(pause * 1000)
    made.handshake_ivl = HANDSHAKE
    made.ipv6 = True  # IPv6 as well as IPv4
    # Where packets are dropped, the system retries ever more seldom; a new connection is faster.
    made.connect_timeout = CONNECT
    # A dead machine closes no connection; ZMTP's heartbeats notice it.
    made.heartbeat_ivl = 5000
    made.heartbeat_timeout = 15000
    return made


class ClientSocket:
    """A DEALER socket that is connected to one server at a time.

    Args:
        keys: the client's own pair of keys.
        identity: the connection's name at the server; empty: the server chooses one.
        pause: the longest wait before a lost connection is tried again, seconds.

    The caller polls ``socket`` and ``monitor``. ``connected`` is the state at the last call of ``events``,
    ``refused`` counts refused handshakes, ``failed``: the address refuses connections or has no route.
    """

    def __init__(self, keys: KeyPair, identity: bytes = b"", pause: float = PAUSE) -> None:
        self.connected = False
        self.failed = False
        self.refused = 0
        self._endpoint = ""
        self._context = zmq.Context()
        self.socket = dealer(self._context, keys, pause)
        if identity:
            self.socket.identity = identity
        self.monitor: zmq.Socket[bytes] = self.socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED | _REFUSALS
        )
        self.monitor.linger = 0

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], ...]:
        """What has to be polled for reading."""
        return (self.socket, self.monitor)

    @property
    def endpoint(self) -> str:
        """The address in use, empty for none."""
        return self._endpoint

    def connect(self, endpoint: str, server_key: str) -> None:
        """Switch to another server; the connection is made in the background.

        Args:
            endpoint: ``tcp://host:port``.
            server_key: the server's public key.

        Raises WheslError when the address is malformed.
        """
        self.disconnect()
        self.events()  # events of the address from before are dropped
        self.failed = False
        try:
            self.socket.curve_serverkey = server_key.encode()
            self.socket.connect(endpoint)
        except zmq.ZMQError as error:
            raise WheslError(f"not an address: {endpoint!r} ({error.strerror})") from error
        self._endpoint = endpoint

    def disconnect(self) -> None:
        """Close the connection."""
        if self._endpoint:
            self.socket.disconnect(self._endpoint)
            self._endpoint = ""
            self.connected = False

    def events(self) -> list[bool]:
        """Return the changes of the connection since the last call: True made, False lost."""
        changes = []
        for event, _ in _events(self.monitor):
            if event & _REFUSALS:
                self.refused += 1
                continue
            if event == zmq.EVENT_CONNECT_RETRIED:
                self.failed = True
                continue
            self.connected = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            changes.append(self.connected)
        return changes

    def receive(self) -> list[bytes]:
        """Return the contents that have arrived; frames of another shape are dropped."""
        arrived: list[bytes] = []
        while True:
            try:
                frames = self.socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return arrived
            if len(frames) == 1:
                arrived.append(frames[0])

    def send(self, content: bytes) -> bool:
        """Send a frame; False when there is no connection or its queue is full."""
        try:
            self.socket.send(content, zmq.DONTWAIT)
        except zmq.Again:
            return False
        return True

    def close(self) -> None:
        """Close everything. Closing twice is no error."""
        if self._context.closed:
            return
        self.socket.disable_monitor()
        self.monitor.close()
        self.socket.close()
        self._context.term()


def _events(monitor: zmq.Socket[bytes]) -> list[tuple[int, int]]:
    """Return the (event, descriptor or error number) pairs that wait on a monitor."""
    found: list[tuple[int, int]] = []
    # A query of the state costs a tenth of a poll, and runs for each frame.
    while len(found) < _MOST_EVENTS and int(monitor.get(zmq.EVENTS)) & _READABLE:
        # Decoded here, since pyzmq's own decoder makes and keeps an enumeration member for each descriptor.
        event, value = _MONITORED.unpack(monitor.recv_multipart(_NOW)[0])
        found.append((event, value))
    return found
