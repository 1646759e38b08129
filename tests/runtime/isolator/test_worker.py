"""The worker thread: results in order, and news of a call that goes on."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator

import pytest

from whesl.runtime.wire.blocking_call_worker import Worker

DEADLINE = 30.0  # seconds


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def hear(worker: Worker) -> None:
    """Wait until the worker has something, and call it, as the event loop does."""
    assert select.select([worker.fileno()], [], [], DEADLINE)[0]
    for call in worker.results():
        call()


def test_what_a_call_tells_is_heard_while_it_goes_on(worker: Worker) -> None:
    heard: list[str] = []
    go_on = threading.Event()

    def call() -> str:
        worker.tell(lambda: heard.append("told"))
        assert go_on.wait(DEADLINE)
        return "done"

    worker.submit(call, heard.append)
    hear(worker)
    assert heard == ["told"]
    go_on.set()
    hear(worker)
    assert heard == ["told", "done"]


def test_what_goes_wrong_in_a_call_is_raised_in_the_event_loop(worker: Worker) -> None:
    def call() -> None:
        raise ArithmeticError("in the thread")

    worker.submit(call, lambda _: None)
    with pytest.raises(ArithmeticError, match="in the thread"):
        hear(worker)
