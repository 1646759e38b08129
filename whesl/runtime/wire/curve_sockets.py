"""The only place where ZeroMQ sockets are made: always CURVE, always with a closed list of admitted keys.

CURVE (https://rfc.zeromq.org/spec/26/) encrypts and names both ends; the server asks ZAP
(https://rfc.zeromq.org/spec/27/) whether the client's key is one of those it was given. Nothing here blocks.
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
# Connections that wait to be accepted; the system's net.core.somaxconn bounds it. Ten thousand isolators that
# start at once would meet libzmq's own 100, and what is refused is tried again after a second or more.
BACKLOG = 4096
# Milliseconds for a handshake: with thousands waiting, on a busy machine, libzmq's own 30 s are not enough,
# and one that is given up is begun anew. Not more, since who never ends it holds a connection as long.
HANDSHAKE = 60_000
PAUSE = 2.0  # the longest one before a client tries to connect again, seconds
# Milliseconds for a connection to be made, as long as ZMTP's heartbeats are apart.
CONNECT = 5_000
# At most so many frames, or events of connections, are taken at once: the caller has other things to do.
_MOST_FRAMES = 1000
_MOST_EVENTS = 10_000
_DOMAIN = "whesl"
# Plain numbers: the arithmetic of pyzmq's enumerations takes longer than the calls that it is for.
_READABLE, _NOW, _AND_MORE = int(zmq.POLLIN), int(zmq.DONTWAIT), int(zmq.DONTWAIT | zmq.SNDMORE)
# The first frame of a monitor's message: event, and descriptor or error number (zmq_socket_monitor(3)).
_MONITORED = struct.Struct("=Hi")
_REFUSALS = int(
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
# The authenticator tells of every handshake; what was refused is counted instead.
_SILENT = logging.getLogger("whesl.wire.zap")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class BindError(WheslError):
    """The address cannot be listened on."""


class _Admission:
    """ZAP's question: is this client's key admitted?"""

    def __init__(self, admitted: frozenset[str]) -> None:
        self._admitted = frozenset(key.encode() for key in admitted)

    def callback(self, domain: str, key: bytes) -> bool:
        """Answer for one handshake (called by pyzmq's authenticator)."""
        return key in self._admitted


class ServerSocket:
    """A ROUTER that admits only clients with known keys, and knows whose connection was lost.

    Args:
        host: address or interface to listen on, ``*`` for all.
        port: 0 for any free one; the chosen one is ``port``.
        keys: the server's own pair.
        admitted: public keys of the clients that may speak.
        ports: those that may be chosen when ``port`` is 0; None: any.
        listening: a descriptor that listens on ``port`` already, taken over.

    ``socket`` and ``monitor`` are to be polled; ``counters`` counts what was refused or dropped.

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
        # A peer that comes back under its name takes the place of its old connection; sending to a peer
        # that is gone is told instead of dropped in silence.
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
            # In no order: others on this machine choose from the same range at the same moment.
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
        """Return what happened, in order: (peer, content) for a message, (peer, None) for a lost connection.

        A peer whose connection was replaced is lost first. Frames of another shape are counted and dropped.
        Where more waits than is taken at once, the sockets stay readable.
        """
        socket = self.socket
        for _ in range(_MOST_FRAMES):
            # Asking first costs a fifth of the exception that says that nothing waits.
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
                # The last messages of a connection that has closed already.
                self._happened.append((peer, None))
        self._watch()
        happened, self._happened = self._happened, []
        return happened

    def _spoke(self, peer: bytes, descriptor: int) -> bool:
        """Note which connection bears a peer; False when that connection has closed already."""
        # First, always: a peer that came back may have been given the very descriptor that it had before.
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
        """Take in what the monitor tells, in its order: a descriptor is closed before it is used again."""
        for event, descriptor in _events(self.monitor):
            if event & _REFUSALS:
                self.counters["refused"] += 1
            elif event == zmq.EVENT_ACCEPTED:
                self._open.add(descriptor)
            elif event == zmq.EVENT_DISCONNECTED:
                self._open.discard(descriptor)
                self._closed(descriptor)

    def send(self, peer: bytes, content: bytes) -> bool:
        """Send to one peer; False when it is not connected or its queue is full."""
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
    """Make a client's DEALER that is not connected yet; ``pause`` as for ``ClientSocket``."""
    made: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    made.curve_publickey = keys.public.encode()
    made.curve_secretkey = keys.secret.encode()
    # Until a server is named there is no key of its own; a pair's own public key keeps CURVE switched on.
    made.curve_serverkey = keys.public.encode()
    made.linger = 0
    made.maxmsgsize = MAX_FRAME
    made.sndhwm = made.rcvhwm = QUEUE
    # Only to a finished connection: what cannot be sent now is repeated by delivery, not kept twice.
    made.immediate = True
    # libzmq adds a random part of up to the interval to each wait, so that clients do not come in step.
    made.reconnect_ivl = 100
    made.reconnect_ivl_max = int(pause * 1000)
    made.handshake_ivl = HANDSHAKE
    made.ipv6 = True  # IPv6 as well as IPv4
    # Where packets are dropped, the system asks ever more seldom, at last once a minute: begin anew.
    made.connect_timeout = CONNECT
    # A server whose machine died closes nothing; ZMTP's own heartbeat notices it.
    made.heartbeat_ivl = 5000
    made.heartbeat_timeout = 15000
    return made


class ClientSocket:
    """A DEALER that speaks to one server at a time.

    Args:
        keys: the client's own pair.
        identity: the name under which the server knows the connection; empty for one of its choice.
        pause: the longest one before a lost connection is tried again, seconds.

    ``socket`` and ``monitor`` are to be polled; ``connected`` is what ``events`` saw last, ``refused`` counts
    handshakes, ``failed``: the address answered with a refusal, or no way leads there.
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
        """Speak to another server from now on; the connection is made in the background.

        Args:
            endpoint: ``tcp://host:port``.
            server_key: the server's public key.

        Raises WheslError when the address has no valid form.
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
        """Send; False when there is no connection or its queue is full."""
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
    # Asking for the state costs a tenth of what a poll does, and this is done for each frame.
    while len(found) < _MOST_EVENTS and int(monitor.get(zmq.EVENTS)) & _READABLE:
        # Read here: pyzmq's own reading makes a member of an enumeration of each descriptor, and keeps it.
        event, value = _MONITORED.unpack(monitor.recv_multipart(_NOW)[0])
        found.append((event, value))
    return found
