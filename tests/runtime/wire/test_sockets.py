"""Real sockets on loopback: who is admitted, what is dropped, and when a loss is told."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import waiting
from tests.journals import report
from whesl.model.errors import TransientError
from whesl.model.states import TaskState
from whesl.runtime.isolator.nodes.heartbeat_responder_supervisor import listen
from whesl.runtime.journal.records.isolator_records import Agent
from whesl.runtime.node_agent.messages import Beat
from whesl.runtime.wire.agent_link import LinkClient, LinkServer, Received
from whesl.runtime.wire.client import CoordinatorClient, request
from whesl.runtime.wire.curve_sockets import ClientSocket, ServerSocket
from whesl.runtime.wire.delivery import FIRST_RETRY, new_incarnation
from whesl.runtime.wire.endpoint import Endpoint, reachable_addresses, read_endpoint, write_endpoint
from whesl.runtime.wire.keys import KeyPair, LinkKeys, UserKeys, user_keys
from whesl.runtime.wire.messages import (
    WIRE_VERSION,
    Ack,
    Envelope,
    Finished,
    Heartbeat,
    Query,
    Reply,
    Report,
    Welcome,
    decode,
    encode,
)
from whesl.runtime.wire.server import CoordinatorServer, Delivery

PATIENCE = 60.0


def until(condition: Callable[[], Any], what: str, meanwhile: Callable[[], object] = lambda: None) -> Any:
    return waiting.until(condition, what, PATIENCE, meanwhile)


class Coordinator:
    """The server's end as the daemon uses it, without the daemon."""

    def __init__(self, home: Path, port: int = 0, keys: UserKeys | None = None) -> None:
        self.server = CoordinatorServer("127.0.0.1", port, keys or user_keys(home), new_incarnation())
        (home / "coordinator").mkdir(exist_ok=True)
        write_endpoint(
            home,
            Endpoint(
                host="h",
                addresses=("127.0.0.1",),
                port=self.server.port,
                public_key=user_keys(home).coordinator.public,
                pid=os.getpid(),
                incarnation=new_incarnation(),
            ),
        )

    def deliveries(self, count: int, settle: bool = True) -> list[Delivery]:
        found: list[Delivery] = []

        def step() -> bool:
            for delivery in self.server.receive():
                found.append(delivery)
                if settle:
                    self.server.settle(delivery)
            self.server.tick()
            return len(found) >= count

        until(step, f"{count} deliveries")
        return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    return place


REPORT = report("w/t", "agent", 1.0)
DONE = Finished(task="w/t", state=TaskState.COMPLETED, exit_code=0, attempts=1)


def connect(client: CoordinatorClient) -> None:
    until(lambda: client._socket.events() or client._socket.connected, "connection", meanwhile=client.tick)


class TestCoordinatorClient:
    def test_nothing_is_lost_while_the_coordinator_is_away(self, home: Path) -> None:
        client = CoordinatorClient(home, "w/t")
        client.send(REPORT)
        client.send(DONE)
        assert client.receive() == [] and not client.connected()
        coordinator = Coordinator(home)
        found: list[Delivery] = []

        def step() -> bool:
            client.tick()
            client.receive()
            for delivery in coordinator.server.receive():
                found.append(delivery)
                coordinator.server.settle(delivery)
            return len(found) == 2 and client.waiting == 0

        until(step, "both delivered and acknowledged")
        assert [d.message for d in found] == [REPORT, DONE]
        assert client.connected()
        client.close()
        coordinator.server.close()

    def test_a_restarted_coordinator_on_another_port_gets_what_the_first_did_not_write_down(
        self, home: Path
    ) -> None:
        first = Coordinator(home)
        client = CoordinatorClient(home, "w/t")
        client.send(DONE)
        got: list[Delivery] = []

        def arrive() -> None:
            client.tick()
            got.extend(first.server.receive())

        until(lambda: got, "arrival", meanwhile=arrive)
        first.server.close()
        second = Coordinator(home)
        assert second.server.port != first.server.port
        again: list[Delivery] = []

        def step() -> bool:
            client.tick()
            client.receive()
            for delivery in second.server.receive():
                again.append(delivery)
                second.server.settle(delivery)
            return bool(again) and client.waiting == 0

        until(step, "second arrival")
        assert [d.message for d in again] == [DONE]
        assert again[0].peer == got[0].peer
        client.close()
        second.server.close()

    def test_answers_reach_the_right_start_of_a_client_once(self, home: Path) -> None:
        coordinator = Coordinator(home)
        clients = [CoordinatorClient(home, "w/t") for _ in range(2)]
        for number, client in enumerate(clients):
            connect(client)
            client.send(report("w/t", "agent", 1.0, {"node": str(number)}))
        deliveries = coordinator.deliveries(2)
        for delivery in deliveries:
            assert isinstance(delivery.message, Report)
            assert isinstance(delivery.message.record, Agent)
            reason = delivery.message.record.node
            coordinator.server.send(delivery.peer, Welcome(task="w/t", admitted=False, reason=reason))
        for number, client in enumerate(clients):
            answers = until(client.receive, "welcome")
            assert [a.reason for a in answers] == [str(number)]
        until(lambda: coordinator.server.receive() or coordinator.server.idle(), "acknowledged")
        for client in clients:
            client.close()
        coordinator.server.close()

    def test_each_of_many_is_told_again_until_it_has_answered(self, home: Path) -> None:
        """What is due is kept in order of time: nobody is passed over, nobody told who has acknowledged."""
        now = [0.0]
        server = CoordinatorServer("127.0.0.1", 0, user_keys(home), "one", clock=lambda: now[0])
        keys = user_keys(home)
        peers = [ClientSocket(keys.client) for _ in range(5)]
        heard: list[list[int]] = [[] for _ in peers]

        def greet(peer: ClientSocket, name: str) -> None:
            peer.connect(f"tcp://127.0.0.1:{server.port}", keys.coordinator.public)
            beat = Heartbeat(task=name, state=TaskState.RUNNING, attempt=1)
            until(lambda: peer.events() or peer.connected, "connected")
            until(lambda: peer.send(encode(Envelope(WIRE_VERSION, name, "i", 0, beat))), "sent")

        try:
            for number, peer in enumerate(peers):
                greet(peer, f"t{number}")
            names: list[str] = []
            until(
                lambda: len(names) == 5,
                "all known",
                meanwhile=lambda: names.extend(d.peer for d in server.receive()),
            )
            assert server.next_deadline() is None
            for number in range(5):
                now[0] = number / 10
                server.send(f"t{number}#i", Welcome(task=f"t{number}", admitted=True))

            def hear() -> None:
                for peer, own in zip(peers, heard, strict=True):
                    frames = (decode(frame) for frame in peer.receive())
                    own += [e.number for e in frames if e is not None and not isinstance(e.message, Ack)]

            until(lambda: all(heard), "first time", meanwhile=hear)
            acknowledgement = Envelope(WIRE_VERSION, "t0", "i", 0, Ack(number=1))
            peers[0].send(encode(acknowledgement))
            until(lambda: server.receive() or server.waiting() == 4, "acknowledged")
            assert server.next_deadline() == pytest.approx(0.1 + FIRST_RETRY)
            now[0] = 0.75  # the second and the third are due
            server.tick()
            until(lambda: sum(map(len, heard)) == 7, "second time", meanwhile=hear)
            assert heard == [[1], [1, 1], [1, 1], [1], [1]]
            assert server.next_deadline() == pytest.approx(0.3 + FIRST_RETRY)
            # One goes: it is not told anything, and nobody waits for the time at which it would have been.
            peers[3].close()
            until(lambda: server.receive() or server.connected() == 4, "loss")
            now[0] = 0.85
            server.tick()
            assert server.next_deadline() == pytest.approx(0.4 + FIRST_RETRY)
        finally:
            for peer in peers:
                peer.close()
            server.close()

    def test_heartbeats_are_answered_and_not_repeated(self, home: Path) -> None:
        coordinator = Coordinator(home)
        client = CoordinatorClient(home, "w/t")
        connect(client)
        client.send(Heartbeat(task="w/t", state=TaskState.RUNNING, attempt=1))
        assert client.waiting == 0
        coordinator.deliveries(1)
        until(lambda: client.receive() or client.connected(), "the answer")
        client.close()
        coordinator.server.close()

    def test_a_silent_coordinator_is_not_bothered_ever_faster(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Thousands that wait for their handshake must not begin anew all the time, nor all at once."""
        now, tries = [0.0], []
        (home / "coordinator").mkdir(mode=0o700)
        found = Endpoint(
            host="login", addresses=("10.0.0.1", "10.0.0.2"), port=9, public_key="k", pid=1, incarnation="i"
        )
        write_endpoint(home, found)
        monkeypatch.setattr(ClientSocket, "connect", lambda _self, url, _key: tries.append((now[0], url)))
        client = CoordinatorClient(home, "w/t", clock=lambda: now[0])
        other = CoordinatorClient(home, "w/u", clock=lambda: now[0])
        own = len(tries) // 2
        try:
            assert own == 1
            tries.clear()
            while now[0] < 300.0:
                now[0] += 0.5
                client.tick()
            first = [time for time, _ in tries]
            assert [url for _, url in tries[:3]] == [f"tcp://10.0.0.{n}:9" for n in (2, 1, 2)]
            waits = [after - before for before, after in pairwise(first)]
            assert waits[0] == 3.0 and 4.5 <= waits[1] <= 8.0 and waits[-1] >= 30.0
            assert max(waits) <= 30.5 and len(first) < 25
            tries.clear()
            now[0] = 0.0
            while now[0] < 300.0:
                now[0] += 0.5
                other.tick()
            assert [time for time, _ in tries] != first
        finally:
            client.close()
            other.close()

    def test_a_request_is_answered(self, home: Path) -> None:
        coordinator = Coordinator(home)

        def answer() -> None:
            (delivery,) = coordinator.deliveries(1)
            coordinator.server.send(delivery.peer, Reply(ok=True, body=b"[]"))

        thread = threading.Thread(target=answer)
        thread.start()
        assert request(home, Query(what="status"), PATIENCE) == Reply(ok=True, body=b"[]")
        thread.join()
        coordinator.server.close()

    def test_a_request_to_nobody_ends(self, home: Path) -> None:
        with pytest.raises(TransientError, match="did not answer") as caught:
            request(home, Query(what="status"), 0.05)
        assert "coordinator start" in caught.value.hint

    def test_another_users_keys_get_nowhere(self, home: Path, tmp_path: Path) -> None:
        coordinator = Coordinator(home)
        thief_home = tmp_path / "thief"
        thief_home.mkdir(mode=0o700)
        user_keys(thief_home)
        (thief_home / "coordinator").mkdir()
        endpoint = read_endpoint(home)
        assert endpoint is not None
        write_endpoint(thief_home, endpoint)
        with pytest.raises(TransientError):
            request(thief_home, Query(what="status"), 0.5)
        assert coordinator.server.receive() == []
        assert coordinator.server.counters["refused"] >= 1
        coordinator.server.close()

    def test_an_open_home_is_refused(self, home: Path) -> None:
        from whesl.runtime.wire.private_directory import HomeError

        home.chmod(0o755)
        with pytest.raises(HomeError):
            CoordinatorClient(home, "w/t")


def test_an_endpoint_is_reached_by_loopback_on_its_own_host_first() -> None:
    endpoint = Endpoint(
        host="login1",
        addresses=("login1", "10.0.0.1", "127.0.0.1"),
        port=5,
        public_key="k",
        pid=1,
        incarnation="i",
    )
    assert endpoint.hosts("login1") == ("127.0.0.1", "login1", "10.0.0.1")
    assert endpoint.hosts("n01") == ("login1", "10.0.0.1", "127.0.0.1")


def test_a_question_gets_past_an_address_where_nobody_answers(home: Path) -> None:
    coordinator = Coordinator(home)
    found = read_endpoint(home)
    assert found is not None
    write_endpoint(home, msgspec.structs.replace(found, addresses=("127.0.0.2", "127.0.0.1")))

    def answer() -> None:
        (delivery,) = coordinator.deliveries(1)
        coordinator.server.send(delivery.peer, Reply(ok=True))

    answering = threading.Thread(target=answer)
    answering.start()
    assert request(home, Query(what="health"), 2.9).ok  # less than a lasting connection's patience
    answering.join()
    coordinator.server.close()


def test_reachable_addresses() -> None:
    assert reachable_addresses("10.1.1.1") == ("10.1.1.1",)
    assert set(reachable_addresses("*")[-2:]) <= {"127.0.0.1", "::1"}


def test_an_ipv6_address_stands_in_brackets() -> None:
    endpoint = Endpoint(
        host="login", addresses=("fd00::1", "10.0.0.1"), port=7, public_key="k", pid=1, incarnation="i"
    )
    assert [endpoint.url(host) for host in endpoint.hosts("n01")] == ["tcp://[fd00::1]:7", "tcp://10.0.0.1:7"]


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
@pytest.mark.parametrize("taken_over", [False, True])
def test_both_families_of_addresses_are_listened_on(host: str, taken_over: bool) -> None:
    if host == "[::1]" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    keys = LinkKeys.generate()
    if taken_over:
        listening = listen((0,))
        port = listening.getsockname()[1]
        server: LinkServer[Any] = LinkServer("*", port, keys, [Beat], listening=listening.detach())
    else:
        server = LinkServer("*", 0, keys, [Beat])
    client: LinkClient[Any] = LinkClient(f"tcp://{host}:{server.port}", keys, "n02", [Beat])

    def heard() -> bool:
        client.send(Beat(number=1))
        return any(isinstance(event, Received) for event in server.receive())

    waiting.until(heard, "a message", 30)
    client.close()
    server.close()


def test_a_damaged_endpoint_file_is_no_endpoint(home: Path) -> None:
    assert read_endpoint(home) is None
    (home / "coordinator").mkdir()
    (home / "coordinator" / "endpoint.json").write_text("{")
    assert read_endpoint(home) is None


def test_an_oversized_frame_ends_the_connection_not_the_server() -> None:
    keys, client_keys = KeyPair.generate(), KeyPair.generate()
    server = ServerSocket("127.0.0.1", 0, keys, frozenset({client_keys.public}))
    client = ClientSocket(client_keys, b"big")
    client.connect(f"tcp://127.0.0.1:{server.port}", keys.public)
    until(lambda: client.events() or client.connected, "connection")
    client.send(b"x" * (40 * 1024 * 1024))
    until(lambda: False in client.events(), "the connection ended")
    until(lambda: client.events() or client.connected, "a new connection")
    assert client.send(b"small")
    assert until(server.receive, "the next message") == [(b"big", b"small")]
    client.close()
    server.close()
