"""Which of a coordinator's addresses are tried, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.runtime.wire.test_sockets import DONE, Coordinator
from tests.waiting import until
from whesl.runtime.wire.client import CoordinatorClient
from whesl.runtime.wire.curve_sockets import ClientSocket
from whesl.runtime.wire.endpoint import Endpoint, read_endpoint, write_endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Nobody listens there; the last one is where the tests' coordinators do.
CLOSED = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
ADDRESSES = (*CLOSED, "127.0.0.1")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The hosts, in the order of the attempts to connect."""
    urls: list[str] = []
    real = ClientSocket.connect

    def connect(self: ClientSocket, endpoint: str, server_key: str) -> None:
        urls.append(endpoint.removeprefix("tcp://").rpartition(":")[0])
        real(self, endpoint, server_key)

    monkeypatch.setattr(ClientSocket, "connect", connect)
    yield urls


def _coordinator(home: Path) -> Coordinator:
    """Start one that is reached by its last address only, as from a node with other networks."""
    coordinator = Coordinator(home)
    found = read_endpoint(home)
    assert found is not None
    there = Endpoint(
        host="elsewhere", addresses=ADDRESSES, port=found.port, public_key=found.public_key, pid=found.pid,
        incarnation=found.incarnation,
    )  # fmt: skip
    write_endpoint(home, there)
    return coordinator


def test_what_refuses_is_left_at_once_and_a_restarted_coordinator_is_sought_where_it_was(
    home: Path, tried: list[str]
) -> None:
    """With some bridges for containers on the login node, tasks were not heard for a quarter of a minute."""
    now = [0.0]
    first = _coordinator(home)
    client = CoordinatorClient(home, "w/t", clock=lambda: now[0], patience=1e6)
    client.send(DONE)

    def heard(coordinator: Coordinator) -> bool:
        now[0] += 0.5
        client.tick()
        client.receive()
        for delivery in coordinator.server.receive():
            coordinator.server.settle(delivery)
        return client.connected() and client.waiting == 0

    try:
        until(lambda: heard(first), "the first coordinator", 30)
        assert tried[: len(ADDRESSES)] == list(ADDRESSES)
        first.server.close()
        tried.clear()
        second = _coordinator(home)
        try:
            client.send(DONE)
            until(lambda: heard(second) and tried, "the second one", 30)
            assert tried[0] == ADDRESSES[-1]
        finally:
            second.server.close()
    finally:
        client.close()
        first.server.close()
