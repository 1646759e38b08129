"""The fast path through the isolator's event loop, for output without matches.

A program that prints much wakes its isolator at every write, and hardly any write needs an action. One read
and one scan are then enough, without an event or other parts of the isolator. When any other descriptor
becomes readable, or any deadline is due, the event loop continues as usual.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterable

import zmq

from whesl.runtime.isolator.observe.observer import Observer

# Seconds: when a log is written again within ``BUSY``, the next read waits for ``REST``, so that a log
# written line by line is read many lines at a time.
BUSY = 0.004
REST = 0.002


class Skimming:
    """Reads the task's output while no other source has news.

    Args:
        observer: the observer that reads the output.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._others = select.poll()
        self._all = select.poll()
        self._followed: frozenset[int] = frozenset()

    def run(self, sockets: Iterable[zmq.Socket[bytes] | int], until: float) -> None:
        """Read output until any other source has news, at most until ``until``.

        Args:
            sockets: all sources of the event loop, including the output's descriptor. Those of ZeroMQ have
                just been found to be empty, so that each readable descriptor of theirs is news.
            until: the event loop's next deadline, monotonic seconds.
        """
        output = self._observer.fileno()
        assert output is not None
        self._follow(frozenset(item if isinstance(item, int) else item.fileno() for item in sockets), output)
        skim, poll, rest = self._observer.skim, self._all.poll, self._others.poll
        nothing_else = [(output, select.POLLIN)]
        seen = 0.0
        while skim():
            now = time.monotonic()
            if now - seen < BUSY:
                if rest(REST * 1000):
                    return
                now += REST
            seen = now
            if now >= until or poll((until - now) * 1000) != nothing_else:
                return

    def _follow(self, descriptors: frozenset[int], output: int) -> None:
        if descriptors == self._followed:
            return
        self._followed = descriptors
        self._all, self._others = select.poll(), select.poll()
        for descriptor in descriptors:
            self._all.register(descriptor, select.POLLIN)
            if descriptor != output:
                self._others.register(descriptor, select.POLLIN)
