"""Threads for what blocks: schedulers, workflow managers, handlers. The loop goes on answering meanwhile."""

from __future__ import annotations

import contextlib
import logging
import queue
import socket
import threading
from collections.abc import Callable
from typing import Any

from whesl.coordinator.core.events import Event

LOG = logging.getLogger(__name__)
Work = Callable[[], Event | list[Any]]  # of events: a list of one kind of them is none of all kinds
Failure = Callable[[str], Event | list[Any]]


class Workers:
    """A few daemon threads; results come back through a queue that wakes the loop.

    Threads are daemons, so that a handler that hangs cannot keep the coordinator from ending: what it was
    doing is written down as begun and is taken up by the next start.

    Args:
        count: of threads.
    """

    def __init__(self, count: int = 4) -> None:
        self._work: queue.SimpleQueue[tuple[Work, Failure]] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        for number in range(count):
            threading.Thread(target=self._run, name=f"worker-{number}", daemon=True).start()

    def fileno(self) -> int:
        """Return the descriptor that is readable when results wait."""
        return self._woken.fileno()

    def submit(self, work: Work, failed: Failure) -> None:
        """Do some work in a thread; its events, or those of its failure, are among the results."""
        self._work.put((work, failed))

    def results(self) -> list[Event]:
        """Return the events that have come since the last call."""
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass
        found = []
        while not self._results.empty():
            found.append(self._results.get())
        return found

    def _run(self) -> None:
        while True:
            work, failed = self._work.get()
            try:
                events = work()
            except Exception as error:
                # A plug-in's mistake (a third party's scheduler or manager) fails its step, not the daemon.
                LOG.exception("a step failed in a way that it should not")
                events = failed(f"{type(error).__name__}: {error}")
            for event in events if isinstance(events, list) else [events]:
                self._results.put(event)
            with contextlib.suppress(BlockingIOError):
                # Full means that the loop is about to wake anyway.
                self._wake.send(b".")
