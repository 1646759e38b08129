"""Worker threads of a daemon, which run calls that may block (killing, linking, asking)."""

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
    """Runs calls in their order, one in each thread, and returns their results to the event loop.

    Poll ``fileno()`` for reading, then call ``results``.

    Args:
        count: the number of threads.
    """

    def __init__(self, count: int = 1) -> None:
        self._calls: SimpleQueue[Callable[[], Callable[[], None]] | None] = SimpleQueue()
        self._results: deque[Callable[[], None]] = deque()
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for number in range(count):
            # A daemon thread: a call that hangs in a dead file system must not keep the daemon from ending.
            threading.Thread(target=self._run, name=f"worker-{number}", daemon=True).start()

    def fileno(self) -> int:
        """Return the descriptor that is readable when results are ready."""
        return self._read

    def submit(self, call: Callable[[], T], then: Callable[[T], None]) -> None:
        """Run ``call`` in a thread, then ``then(result)`` in the event loop.

        Args:
            call: the blocking call, which returns expected errors as results.
            then: takes the result.
        """
        self._calls.put(lambda: _bound(call, then))

    def tell(self, then: Callable[[], None]) -> None:
        """Schedule ``then()`` in the event loop; called in a thread, by a call that is still running."""
        self._results.append(then)
        self._wake()

    def results(self) -> list[Callable[[], None]]:
        """Return the calls to make in the event loop, in order."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        ready = []
        while self._results:
            ready.append(self._results.popleft())
        return ready

    def close(self) -> None:
        """Make the only thread end after its present call."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            self._results.append(call())
            self._wake()

    def _wake(self) -> None:
        # A full pipe is already readable.
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"x")


def _bound(call: Callable[[], T], then: Callable[[T], None]) -> Callable[[], None]:
    try:
        result = call()
    except BaseException as error:  # any error has to reach the event loop's thread
        return _raiser(error)
    return lambda: then(result)


def _raiser(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail
