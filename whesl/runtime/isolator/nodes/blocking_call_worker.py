"""The isolator's worker thread: calls that may take long (killing, linking, asking) run here, in order."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class Worker:
    """Runs calls one after the other and hands their results back to the event loop.

    Poll ``fileno()`` for reading, then call ``results``.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], Callable[[], None]] | None] = SimpleQueue()
        self._results: deque[Callable[[], None]] = deque()
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # A daemon thread: a step that hangs in a dead file system must not keep the isolator from ending.
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Return the descriptor that is readable when results wait."""
        return self._read

    def submit(self, call: Callable[[], T], then: Callable[[T], None]) -> None:
        """Run ``call`` in the thread, then ``then(result)`` in the event loop.

        ``call`` has to turn what it expects to go wrong into its result.
        """
        self._calls.put(lambda: _bound(call, then))

    def tell(self, then: Callable[[], None]) -> None:
        """Have ``then()`` called in the event loop, from within a call that goes on."""
        self._results.append(then)
        self._wake()

    def results(self) -> list[Callable[[], None]]:
        """Return the calls that wait for the event loop, in order."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        ready = []
        while self._results:
            ready.append(self._results.popleft())
        return ready

    def close(self) -> None:
        """Let the thread end after its present call."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            self._results.append(call())
            self._wake()

    def _wake(self) -> None:
        # A full pipe is readable already.
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"x")


def _bound(call: Callable[[], T], then: Callable[[T], None]) -> Callable[[], None]:
    try:
        result = call()
    except BaseException as error:  # whatever it is, it has to reach the event loop's thread
        return _raiser(error)
    return lambda: then(result)


def _raiser(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail
