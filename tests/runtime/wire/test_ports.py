"""``WHESL_PORTS``: what it may say, and that nothing else is listened on."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from whesl.model.errors import UsageError
from whesl.runtime.isolator.nodes import agent_supervisor as agents
from whesl.runtime.wire.allowed_ports import PORTS_VARIABLE, allowed
from whesl.runtime.wire.curve_sockets import BindError, ServerSocket
from whesl.runtime.wire.keys import KeyPair, LinkKeys


def test_what_it_says() -> None:
    assert allowed({}) is None
    assert allowed({PORTS_VARIABLE: " "}) is None
    assert allowed({PORTS_VARIABLE: "60001-60100"}) == range(60001, 60101)
    assert allowed({PORTS_VARIABLE: "5000-5000"}) == range(5000, 5001)


@pytest.mark.parametrize("text", ["9464", "80-90", "5000-4000", "60000-70000", "a-b", "1024-", "-5"])
def test_what_is_no_range_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as told:
        allowed({PORTS_VARIABLE: text})
    assert PORTS_VARIABLE in told.value.message
    assert "60001-60100" in told.value.hint


def two_ports() -> range:
    """Two neighbours that nobody has, and that no outgoing connection gets meanwhile (ip(7): below 61000)."""
    for low in range(61000, 65000, 7):
        with ExitStack() as both:
            try:
                for port in (low, low + 1):
                    tried = both.enter_context(closing(socket.socket()))
                    tried.bind(("", port))
            except OSError:
                continue
            return range(low, low + 2)
    raise AssertionError("no two free ports")


@pytest.fixture
def ports() -> range:
    return two_ports()


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def listen(servers: ExitStack, ports: range) -> int:
    server = servers.enter_context(
        closing(ServerSocket("127.0.0.1", 0, KeyPair.generate(), frozenset(), ports))
    )
    return server.port


def test_each_takes_one_of_them_until_none_is_left(servers: ExitStack, ports: range) -> None:
    assert {listen(servers, ports), listen(servers, ports)} == set(ports)
    with pytest.raises(BindError) as told:
        listen(servers, ports)
    assert f"{ports[0]} to {ports[-1]}" in told.value.message
    assert "all these ports" in told.value.hint


def test_an_address_that_is_not_ours_is_not_tried_on_every_port(ports: range) -> None:
    with pytest.raises(BindError, match=r"192\.0\.2\.1"):
        ServerSocket("192.0.2.1", 0, KeyPair.generate(), frozenset(), ports)


def test_a_task_is_watched_whatever_the_range_says(
    servers: ExitStack, ports: range, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(PORTS_VARIABLE, f"{ports[0]}-{ports[-1]}")
    caplog.set_level(logging.WARNING)
    taken = [servers.enter_context(closing(agents._listening(LinkKeys.generate()))).port for _ in ports]
    assert set(taken) == set(ports)
    assert not caplog.records
    assert servers.enter_context(closing(agents._listening(LinkKeys.generate()))).port not in ports
    assert "another port" in caplog.text
    caplog.clear()
    monkeypatch.setenv(PORTS_VARIABLE, "all of them")
    assert servers.enter_context(closing(agents._listening(LinkKeys.generate()))).port > 0
    assert "is no range of ports" in caplog.text
