"""The sources of an isolator's event loop: signals, sockets, and temporary descriptors."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
from collections.abc import Iterable, Iterator

import zmq

from whesl.runtime.isolator.launch.signal_delivery import ALONE, ENDING, SIGNALS, heard

_MEANT = {signum: (int(signum), False) for signum in ENDING} | {
    told: (int(signum), True) for signum, told in ALONE.items()
}


class Signals:
    """Signals as bytes on a socket. Made before any thread, since threads inherit the signal mask."""

    def __init__(self) -> None:
        self._heard, self._written = socket.socketpair()
        for end in (self._heard, self._written):
            end.setblocking(False)
        signal.set_wakeup_fd(self._written.fileno(), warn_on_full_buffer=False)
        for signum in heard():  # signals sent to the whole job must not end the isolator
            signal.signal(signum, lambda *_: None)
        # The starter of this process has blocked the signals, so that none was lost meanwhile.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def fileno(self) -> int:
        """Return a descriptor that is readable when a signal has come."""
        return self._heard.fileno()

    def taken(self) -> list[tuple[int, bool]]:
        """Return the signals that end the task's recovery, each with whether it went to the program alone."""
        with contextlib.suppress(BlockingIOError):
            return [_MEANT[signum] for signum in self._heard.recv(64) if signum in _MEANT]
        return []

    def end_within(self, seconds: float) -> bool:
        """Wait for at most ``seconds``; return whether a signal that ends the task's recovery came."""
        return bool(select.select([self._heard], (), (), seconds)[0] and self.taken())

    def wake(self) -> None:
        """Make the event loop's thread stop waiting; called by another thread."""
        self._written.send(b"\0")


class Descriptors:
    """A poll of registered sockets, and of descriptors of the present attempt."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._followed: set[int] = set()

    def register(self, sockets: Iterable[zmq.Socket[bytes] | int]) -> None:
        """Wait for sockets or descriptors from now on."""
        for item in sockets:
            self._poller.register(item, zmq.POLLIN)

    def follow(self, descriptors: Iterable[int | None]) -> None:
        """Wait for exactly these descriptors besides the registered ones."""
        wanted = {descriptor for descriptor in descriptors if descriptor is not None}
        for descriptor in self._followed - wanted:
            self._poller.unregister(descriptor)
        for descriptor in wanted - self._followed:
            self._poller.register(descriptor, zmq.POLLIN)
        self._followed = wanted

    def unregister(self, descriptor: int) -> None:
        """Stop waiting for a registered descriptor."""
        self._poller.unregister(descriptor)

    def forget(self, descriptor: int | None) -> None:
        """Stop waiting for a followed descriptor before it is closed, since its number may be reused."""
        if descriptor in self._followed:
            self._poller.unregister(descriptor)
            self._followed.discard(descriptor)

    def ready(self, milliseconds: int) -> list[object]:
        """Wait for at most ``milliseconds``; return the readable sources."""
        return [found for found, _ in self._poller.poll(milliseconds)]

    def all(self) -> Iterator[zmq.Socket[bytes] | int]:
        """Yield all sources that the loop waits for."""
        return (item for item, _ in self._poller.sockets)
