"""Another user, and whoever listens to the network: not admitted, nothing to replay, no way to flood."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from tests import waiting
from tests.security.stranger import STRANGER, crowd, needs_root, open_place, result_of, run_as, start_as
from whesl.managers.resource.embedded.channel import Channel, ChannelClosedError, Directory
from whesl.model.errors import TransientError
from whesl.runtime.coordinator.client import start
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire import curve_sockets
from whesl.runtime.wire.agent_link import LinkClient, LinkServer
from whesl.runtime.wire.client import request
from whesl.runtime.wire.curve_sockets import ClientSocket
from whesl.runtime.wire.endpoint import Endpoint, read_endpoint, write_endpoint
from whesl.runtime.wire.keys import KeyPair, LinkKeys, user_keys
from whesl.runtime.wire.messages import WIRE_VERSION, Command, Envelope, Query, encode

PATIENCE = 60.0
CROWD = 400  # connections of a stranger at once
KNOCKERS = 40


class Ping(msgspec.Struct, tag="ping"):
    number: int


def until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    return waiting.until(condition, what, patience)


@pytest.fixture
def coordinator(whesl_home: Path, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    """A real coordinator on loopback; the session's own fixture ends it."""
    monkeypatch.setenv("WHESL_BIND", "127.0.0.1")
    user_keys(whesl_home)
    return start.ensure_running(whesl_home)


def commands(home: Path) -> list[str]:
    """Return the ids of the commands that a coordinator has carried out."""
    with Journal(home / "coordinator" / "journal.db", read_only=True) as journal:
        return [record.data["id"] for record in journal.read() if record.kind == "command"]


def health(home: Path) -> dict[str, Any]:
    reply = request(home, Query(what="health"), PATIENCE)
    body: dict[str, Any] = msgspec.json.decode(reply.body)
    return body


def refused(home: Path) -> int:
    return int(health(home)["counters"].get("refused", 0))


def mark(node: str, number: str) -> Command:
    return Command(id=number, action="add-node", target=node, arguments={"reason": "test"})


# Not admitted ---------------------------------------------------------------------------------------


def _knock(port: int, server: str, own: KeyPair | None, mechanism: str) -> bool:
    """Try to say a command and return whether anything came back."""
    context = zmq.Context()
    knocker = context.socket(zmq.DEALER)
    knocker.linger = 0
    if mechanism == "curve":
        assert own is not None
        knocker.curve_serverkey = server.encode()
        knocker.curve_publickey, knocker.curve_secretkey = own.public.encode(), own.secret.encode()
    elif mechanism == "plain":
        knocker.plain_username, knocker.plain_password = b"user", b"word"
    knocker.connect(f"tcp://127.0.0.1:{port}")
    with suppress(zmq.Again):  # refused before it has said anything: such a socket never has a peer again
        knocker.send(encode(Envelope(WIRE_VERSION, "w/evil", "i", 1, mark("n66", "evil"))), zmq.NOBLOCK)
    answered = bool(knocker.poll(700))
    knocker.close()
    context.term()
    return answered


@needs_root
@pytest.mark.parametrize("mechanism", ["null", "plain", "curve"])
def test_a_stranger_is_not_admitted(coordinator: Endpoint, whesl_home: Path, mechanism: str) -> None:
    """Without a key, and with one of its own, though it knows the server's public key."""
    before = refused(whesl_home)
    own = KeyPair.generate()
    port, server = coordinator.port, coordinator.public_key
    assert run_as(STRANGER, lambda: _knock(port, server, own, mechanism)) is False
    until(lambda: refused(whesl_home) > before, "the refusal is counted")
    assert commands(whesl_home) == []


@needs_root
def test_a_stranger_on_the_link_of_agents_is_not_admitted() -> None:
    keys = LinkKeys.generate()
    server: LinkServer[Any] = LinkServer("127.0.0.1", 0, keys, [Ping])
    client = LinkClient(f"tcp://127.0.0.1:{server.port}", keys, "n01", [Ping])
    try:
        public, port, own = keys.server.public, server.port, KeyPair.generate()
        for mechanism in ("null", "curve"):
            assert run_as(STRANGER, partial(_knock, port, public, own, mechanism)) is False
        until(lambda: server.receive() or server.counters["refused"] >= 2, "both are counted")
        assert server.peers == frozenset()
        until(lambda: client.changes() or client.connected, "an agent is admitted")
    finally:
        client.close()
        server.close()


@needs_root
def test_a_socket_of_the_embedded_cluster_asks_who_connects() -> None:
    """Also when its directory and its own mode have been opened to all."""
    with open_place() as place:
        listener = Directory(str(place)).listen("server")
        listener.setblocking(True)
        (place / "server").chmod(0o666)

        def connect() -> str:
            with socket.socket(socket.AF_UNIX) as channel:
                channel.settimeout(PATIENCE)
                channel.connect(str(place / "server"))
                with suppress(ConnectionError):
                    channel.sendall(b"{}\n")
                    return repr(channel.recv(100))
                return repr(b"")

        started = start_as(STRANGER, connect)
        connection, _ = listener.accept()
        with pytest.raises(ChannelClosedError):
            Channel(connection)
        assert result_of(started) == repr(b"")
        listener.close()


# Replay ---------------------------------------------------------------------------------------------


class Recorder:
    """A proxy in the network: passes everything on, and keeps what the client said."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.said = bytearray()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                threading.Thread(target=self._pass, args=(client, server, self.said), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, None), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, kept: bytearray | None) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if kept is not None:
                    kept += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._listener.close()


def _replay(port: int, said: bytes, pieces: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as channel:
        channel.settimeout(2)
        size = max(1, len(said) // pieces)
        with suppress(OSError):
            for begin in range(0, len(said), size):
                channel.sendall(said[begin : begin + size])
                channel.recv(65536)
            while channel.recv(65536):
                pass


def test_a_recorded_session_says_nothing_when_it_is_played_again(
    coordinator: Endpoint, whesl_home: Path
) -> None:
    """Whole, and in pieces so that the server's answers come in between."""
    recorder = Recorder(coordinator.port)
    write_endpoint(whesl_home, msgspec.structs.replace(coordinator, port=recorder.port))
    assert request(whesl_home, mark("n07", "once"), PATIENCE).ok
    write_endpoint(whesl_home, coordinator)
    recorder.close()
    said = bytes(recorder.said)
    assert len(said) > 400, "greeting, handshake and the command itself"
    assert b"n07" not in said, "nothing of it can be read"
    assert commands(whesl_home) == ["once"]
    before = refused(whesl_home)
    for pieces in (1, 5):
        _replay(coordinator.port, said, pieces)
    until(lambda: refused(whesl_home) >= before + 2, "both are counted")
    assert commands(whesl_home) == ["once"]


def test_a_message_that_comes_twice_is_done_once(coordinator: Endpoint, whesl_home: Path) -> None:
    """In an admitted session: the same frame again, and the same command under a new number."""
    with_keys = ClientSocket(user_keys(whesl_home).client)
    with_keys.connect(f"tcp://127.0.0.1:{coordinator.port}", coordinator.public_key)
    until(lambda: with_keys.events() or with_keys.connected, "connection")
    frame = encode(Envelope(WIRE_VERSION, "cli-twice", "i", 1, mark("n07", "twice")))
    later = encode(Envelope(WIRE_VERSION, "cli-twice", "i", 2, mark("n07", "twice")))
    for content in (frame, frame, frame):
        assert with_keys.send(content)
    until(lambda: health(whesl_home)["counters"].get("repeated", 0) >= 2, "two are counted")
    assert with_keys.send(later)
    assert with_keys.send(encode(Envelope(WIRE_VERSION, "cli-twice", "i", 3, mark("n08", "other"))))
    until(lambda: "other" in commands(whesl_home), "the next command")
    assert commands(whesl_home) == ["twice", "other"]
    with_keys.close()


# Floods ---------------------------------------------------------------------------------------------


@needs_root
def test_a_crowd_of_strangers_does_not_keep_the_user_from_its_coordinator(
    coordinator: Endpoint, whesl_home: Path
) -> None:
    """Connections that say nothing, say garbage, or shake hands with keys that are not admitted."""
    port, server = coordinator.port, coordinator.public_key

    def connect() -> list[Any]:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(CROWD)]
        context = zmq.Context()
        knockers = []
        for number in range(KNOCKERS):
            own = KeyPair.generate()
            knocker = context.socket(zmq.DEALER)
            knocker.linger, knocker.reconnect_ivl = 0, 1
            knocker.curve_serverkey = server.encode()
            knocker.curve_publickey, knocker.curve_secretkey = own.public.encode(), own.secret.encode()
            knocker.connect(f"tcp://127.0.0.1:{port}")
            knockers.append(knocker)
            with socket.create_connection(("127.0.0.1", port)) as garbage:
                garbage.sendall(os.urandom(200 + number))
        return [*silent, *knockers]

    before = health(whesl_home)
    with crowd(STRANGER, CROWD + KNOCKERS, connect):
        for number in range(10):
            assert request(whesl_home, mark(f"n{number}", f"c{number}"), PATIENCE).ok
        during = health(whesl_home)
        assert during["counters"]["refused"] > before["counters"].get("refused", 0)
    assert commands(whesl_home) == [f"c{number}" for number in range(10)]
    assert during["pid"] == before["pid"], "it was never restarted"


def test_silent_connections_are_closed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handshake that does not come is not waited for: descriptors are given back."""
    monkeypatch.setattr(curve_sockets, "HANDSHAKE", 500)
    keys = LinkKeys.generate()
    server: LinkServer[Any] = LinkServer("127.0.0.1", 0, keys, [Ping])
    channels = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    for channel in channels:
        channel.settimeout(PATIENCE)
        with suppress(ConnectionError):
            while channel.recv(1000):
                pass
        channel.close()
    assert server.receive() == []
    server.close()


@needs_root
def test_more_strangers_than_descriptors(coordinator: Endpoint, whesl_home: Path) -> None:
    """Who is connected stays connected and is served; when the crowd has gone, others are let in again."""
    endpoint = coordinator
    _, hard = resource.prlimit(endpoint.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(endpoint.pid, resource.RLIMIT_NOFILE, (128, hard))
    admitted = ClientSocket(user_keys(whesl_home).client)
    admitted.connect(f"tcp://127.0.0.1:{endpoint.port}", endpoint.public_key)
    until(lambda: admitted.events() or admitted.connected, "connection")
    address = ("127.0.0.1", endpoint.port)
    with crowd(STRANGER, 300, lambda: [socket.create_connection(address) for _ in range(300)]):
        for number in range(1, 6):
            said = mark(f"n{number}", f"c{number}")
            assert admitted.send(encode(Envelope(WIRE_VERSION, "cli-there", "i", number, said)))
        until(lambda: len(commands(whesl_home)) == 5, "all are carried out")
    assert health(whesl_home)["pid"] == endpoint.pid
    admitted.close()


def test_without_the_key_a_copied_endpoint_is_of_no_use(
    coordinator: Endpoint, whesl_home: Path, tmp_path: Path
) -> None:
    """Everything but the secret: the address, the server's public key, a home with keys of one's own."""
    thief = tmp_path / "thief"
    user_keys(thief)
    (thief / "coordinator").mkdir(mode=0o700)
    found = read_endpoint(whesl_home)
    assert found is not None
    write_endpoint(thief, found)
    with pytest.raises(TransientError):
        request(thief, mark("n66", "evil"), 1.5)
    assert commands(whesl_home) == []
