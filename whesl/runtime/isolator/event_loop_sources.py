"""What an isolator's event loop waits for: signals, sockets, and descriptors that come and go."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterable, Iterator

import zmq

from whesl.runtime.isolator.launch.signal_delivery import ALONE, ENDING, SIGNALS, heard

_MEANT = {signum: (int(signum), False) for signum in ENDING} | {
    told: (int(signum), True) for signum, told in ALONE.items()
}


class Signals:
    """Signals as bytes on a socket. Made before any thread: threads inherit what is blocked."""

    def __init__(self) -> None:
        self._heard, self._written = socket.socketpair()
        for end in (self._heard, self._written):
            end.setblocking(False)
        signal.set_wakeup_fd(self._written.fileno(), warn_on_full_buffer=False)
        for signum in heard():  # what is sent to all of a job is not to end this process
            signal.signal(signum, lambda *_: None)
        # Blocked by whoever started this process, so that none was lost meanwhile.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def fileno(self) -> int:
        """Return a descriptor that is readable when there is one."""
        return self._heard.fileno()

    def taken(self) -> list[tuple[int, bool]]:
        """Return those that end the task's recovery, and whether they came to its program alone."""
        with contextlib.suppress(BlockingIOError):
            return [_MEANT[signum] for signum in self._heard.recv(64) if signum in _MEANT]
        return []

    def wake(self) -> None:
        """End the wait of another thread."""
        self._written.send(b"\0")


class Descriptors:
    """A poll of sockets, and of descriptors that follow the present attempt."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._followed: set[int] = set()

    def register(self, sockets: Iterable[zmq.Socket[bytes] | int]) -> None:
        """Wait for sockets or descriptors from now on."""
        for item in sockets:
            self._poller.register(item, zmq.POLLIN)

    def follow(self, descriptors: Iterable[int | None]) -> None:
        """Beside what was registered, wait for exactly these."""
        wanted = {descriptor for descriptor in descriptors if descriptor is not None}
        for descriptor in self._followed - wanted:
            self._poller.unregister(descriptor)
        for descriptor in wanted - self._followed:
            self._poller.register(descriptor, zmq.POLLIN)
        self._followed = wanted

    def unregister(self, descriptor: int) -> None:
        """Wait no more for one that was registered."""
        self._poller.unregister(descriptor)

    def forget(self, descriptor: int | None) -> None:
        """Wait for one no more: it is about to be closed, and its number used again."""
        if descriptor in self._followed:
            self._poller.unregister(descriptor)
            self._followed.discard(descriptor)

    def ready(self, milliseconds: int) -> list[object]:
        """Wait; return what is readable."""
        return [found for found, _ in self._poller.poll(milliseconds)]

    def all(self) -> Iterator[zmq.Socket[bytes] | int]:
        """Yield all sources that the loop waits for."""
        return (item for item, _ in self._poller.sockets)
