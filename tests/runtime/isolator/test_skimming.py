"""The short way through the event loop: what it takes, and what ends it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zmq

from whesl.runtime.isolator.observe.no_match_fast_path import REST, Skimming

LONG = 60.0  # seconds: a test that waits for so long has failed


class Output:
    """A task's output as its observer shows it: each look takes one byte of a pipe."""

    def __init__(self, meaningless: int, then: Callable[[], None]) -> None:
        self.looks = 0
        self._meaningless = meaningless
        self._then = then
        self._read, self.write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        return self._read

    def skim(self) -> bool:
        self.looks += 1
        if self.looks == self._meaningless:
            self._then()
        if self.looks > self._meaningless:
            return False
        os.read(self._read, 1)
        return True

    def close(self) -> None:
        os.close(self._read)
        os.close(self.write)


@pytest.fixture
def output(request: pytest.FixtureRequest) -> Iterator[Callable[..., Output]]:
    made: list[Output] = []

    def build(meaningless: int, then: Callable[[], None] = lambda: None) -> Output:
        made.append(Output(meaningless, then))
        os.write(made[-1].write, b"x" * 100)
        return made[-1]

    yield build
    for one in made:
        one.close()


def run(output: Any, *sockets: Any, seconds: float = LONG) -> None:
    Skimming(output).run((output.fileno(), *sockets), time.monotonic() + seconds)


def test_it_reads_on_until_something_matters(output: Callable[..., Output]) -> None:
    log = output(7)
    run(log)
    assert log.looks == 8


def test_whatever_else_becomes_readable_ends_it(output: Callable[..., Output]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        log = output(5, lambda: theirs.send(b"!"))
        run(log, ours.fileno())
    assert log.looks == 5


def test_a_message_of_zeromq_ends_it(output: Callable[..., Output]) -> None:
    context = zmq.Context()
    ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    try:
        ours.bind("inproc://skimming")
        theirs.connect("inproc://skimming")
        poller = zmq.Poller()
        poller.register(ours, zmq.POLLIN)
        assert poller.poll(0) == []  # as the event loop has done before
        log = output(5, lambda: theirs.send(b"!"))
        run(log, ours)
        assert log.looks == 5
        assert ours.recv(zmq.DONTWAIT) == b"!"
    finally:
        context.destroy(linger=0)


def test_the_time_at_which_something_is_due_ends_it(output: Callable[..., Output]) -> None:
    log = output(10**9)
    until = time.monotonic() + 20 * REST
    Skimming(log).run((log.fileno(),), until)  # type: ignore[arg-type]  # what it needs of an observer
    assert time.monotonic() >= until
    assert log.looks < 100  # it rests between two looks, however much is written


def test_nothing_new_ends_it_when_its_time_has_come(output: Callable[..., Output]) -> None:
    log = output(10**9)
    os.read(log.fileno(), 99)
    run(log, seconds=0.05)
    assert log.looks == 1
