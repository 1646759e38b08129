"""The short way through the isolator's event loop, for output in which nothing matches.

A program that prints much wakes its isolator at every write, and hardly ever is there anything to be done
about it. Then one read and one scan are enough: no event, no other part of the isolator is looked at.
When anything else becomes readable, or is due, the event loop goes on as always.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterable

import zmq

from whesl.runtime.isolator.observe.observer import Observer

# When a log is written again within the first time (seconds), the next look waits for the second: a log that
# is written line by line is read many lines at a time.
BUSY = 0.004
REST = 0.002


class Skimming:
    """Reads on while only the task's output has something new.

    Args:
        observer: reads the output.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._others = select.poll()
        self._all = select.poll()
        self._followed: frozenset[int] = frozenset()

    def run(self, sockets: Iterable[zmq.Socket[bytes] | int], until: float) -> None:
        """Skim until anything else happens, at most until ``until`` (monotonic seconds).

        Args:
            sockets: all that the event loop polls, the output's descriptor included. Those of ZeroMQ have
                just been found to have nothing, so that each readable descriptor of theirs is news.
            until: when the event loop has something to do.
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
