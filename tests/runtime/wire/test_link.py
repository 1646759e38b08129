"""The isolator's link to its agents on loopback: who is admitted, what is dropped, when a loss is told."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import zmq

from tests import waiting
from whesl.runtime.wire.agent_link import LinkClient, LinkServer, PeerFound, PeerLost, Received
from whesl.runtime.wire.curve_sockets import BindError, ClientSocket
from whesl.runtime.wire.keys import KeyPair, LinkKeys

PATIENCE = 60.0


class Ping(msgspec.Struct, tag="ping"):
    number: int


class Pong(msgspec.Struct, tag="pong"):
    text: str


def until(condition: Callable[[], Any], what: str, meanwhile: Callable[[], object] = lambda: None) -> Any:
    return waiting.until(condition, what, PATIENCE, meanwhile)


class TestLink:
    @pytest.fixture
    def server(self) -> Iterator[tuple[LinkServer[Any], LinkKeys]]:
        keys = LinkKeys.generate()
        server: LinkServer[Any] = LinkServer("127.0.0.1", 0, keys, [Ping, Pong])
        yield server, keys
        server.close()

    def client(self, port: int, keys: LinkKeys, name: str) -> LinkClient[Any]:
        return LinkClient(f"tcp://127.0.0.1:{port}", keys, name, [Ping, Pong])

    def send(self, client: LinkClient[Any], message: Any) -> None:
        until(lambda: client.changes() or client.connected, "connection")
        assert client.send(message)

    def collect(self, server: LinkServer[Any], count: int) -> list[Any]:
        events: list[Any] = []
        until(
            lambda: len(events) >= count,
            f"{count} events",
            meanwhile=lambda: events.extend(server.receive()),
        )
        return events

    def test_messages_go_both_ways_by_name(self, server: tuple[LinkServer[Any], LinkKeys]) -> None:
        link, keys = server
        with contextlib.closing(self.client(link.port, keys, "n01")) as client:
            self.send(client, Ping(7))
            assert self.collect(link, 2) == [PeerFound("n01"), Received("n01", Ping(7))]
            assert link.send("n01", Pong("hello"))
            assert until(client.receive, "answer") == [Pong("hello")]
        assert not link.send("nobody", Pong("x"))
        assert link.counters["unsent"] == 1

    def test_each_loss_is_told_with_its_name(self, server: tuple[LinkServer[Any], LinkKeys]) -> None:
        link, keys = server
        clients = [self.client(link.port, keys, f"n{i}") for i in range(4)]
        for client in clients:
            self.send(client, Ping(1))
        self.collect(link, 8)
        clients[2].close()
        assert self.collect(link, 1) == [PeerLost("n2")]
        assert link.peers == {"n0", "n1", "n3"}
        for index in (0, 1, 3):
            clients[index].close()
        assert {event.peer for event in self.collect(link, 3)} == {"n0", "n1", "n3"}

    def test_a_killed_process_is_noticed(self, server: tuple[LinkServer[Any], LinkKeys]) -> None:
        link, keys = server
        program = (
            "import sys, time, msgspec\nfrom whesl.runtime.wire.keys import LinkKeys\n"
            "from whesl.runtime.wire.agent_link import LinkClient\n"
            "class Ping(msgspec.Struct, tag='ping'):\n    number: int\n"
            "keys = msgspec.json.decode(sys.stdin.buffer.read(), type=LinkKeys)\n"
            "client = LinkClient(sys.argv[1], keys, 'victim', [Ping])\n"
            "while not client.send(Ping(1)):\n    time.sleep(0.01)\n"
            "time.sleep(60)\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", program, f"tcp://127.0.0.1:{link.port}"], stdin=subprocess.PIPE
        )
        assert child.stdin is not None
        child.stdin.write(msgspec.json.encode(keys))
        child.stdin.close()
        try:
            self.collect(link, 2)
        finally:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        assert self.collect(link, 1) == [PeerLost("victim")]

    def test_a_peer_that_came_back_is_found_again(self, server: tuple[LinkServer[Any], LinkKeys]) -> None:
        link, keys = server
        first = self.client(link.port, keys, "n01")
        self.send(first, Ping(1))
        self.collect(link, 2)
        first.close()
        second = self.client(link.port, keys, "n01")
        self.send(second, Ping(2))
        events: list[Any] = []
        until(
            lambda: Received("n01", Ping(2)) in events,
            "second",
            meanwhile=lambda: events.extend(link.receive()),
        )
        assert link.peers == {"n01"}
        second.close()

    def test_a_restarted_server_on_the_old_port_is_found(self) -> None:
        keys = LinkKeys.generate()
        first: LinkServer[Any] = LinkServer("127.0.0.1", 0, keys, [Ping])
        client = self.client(first.port, keys, "n01")
        self.send(client, Ping(1))
        self.collect(first, 2)
        first.close()
        until(lambda: False in client.changes(), "loss seen by the client")
        second: LinkServer[Any] = LinkServer("127.0.0.1", first.port, keys, [Ping])
        until(lambda: True in client.changes(), "connection again")
        client.send(Ping(2))
        assert self.collect(second, 2)[1] == Received("n01", Ping(2))
        client.close()
        second.close()

    def test_wrong_and_missing_keys_are_refused_and_counted(
        self, server: tuple[LinkServer[Any], LinkKeys]
    ) -> None:
        link, keys = server
        stranger = self.client(link.port, LinkKeys(keys.server, KeyPair.generate()), "evil")
        context = zmq.Context()
        naked = context.socket(zmq.DEALER)
        naked.linger = 0
        naked.connect(f"tcp://127.0.0.1:{link.port}")
        naked.send(b"\x92\x01\x82")
        try:
            until(lambda: link.receive() or link.counters["refused"] >= 2, "two refusals")
            assert not stranger.send(Ping(1))
            assert link.peers == frozenset()
        finally:
            stranger.close()
            naked.close()
            context.term()

    def test_malformed_frames_are_counted_and_dropped(self, server: tuple[LinkServer[Any], LinkKeys]) -> None:
        link, keys = server
        raw = ClientSocket(keys.client, b"n01")
        raw.connect(f"tcp://127.0.0.1:{link.port}", keys.server.public)
        until(lambda: raw.events() or raw.connected, "connection")
        other_version = msgspec.msgpack.encode((99, Ping(1)))
        for frame in (b"", b"nonsense", other_version, msgspec.msgpack.encode((1, {"type": "other"}))):
            assert raw.send(frame)
        raw.socket.send_multipart([b"two", b"frames"])
        until(lambda: link.receive() or link.counters["malformed"] == 5, "five counted")
        assert link.peers == frozenset()
        raw.close()

    def test_a_taken_port_is_said(self, server: tuple[LinkServer[Any], LinkKeys]) -> None:
        link, keys = server
        with pytest.raises(BindError, match=str(link.port)):
            LinkServer("127.0.0.1", link.port, keys, [Ping])
