"""The lease that an agent holds, and who can extend it.

A heartbeat that the responder on the isolator's node answered extends it from the moment at which that
heartbeat was *sent*, so the isolator, which sees the answer's time, never believes it to be over while it is
not. (Gray, Cheriton: Leases, SOSP 1989.)

A processor may be late to run the agent. So the agent's lease is shorter than the limit by ``lead``, and one
that was late by more ends what runs at the limit as well, unless it is answered. Woken after the limit, its
job was suspended, its machine paused, or it could not do anything; then it has ``moment`` to be answered.

Where the responder has ended or is stopped, its node's kernel can still be asked whether that node can be
reached: it refuses a connection to a port that nobody listens on, and it acknowledges what is sent on one
that nobody serves (tcp(7), ``TCP_INFO``). Both extend the lease: nobody counts a lease as over meanwhile. A
responder that runs says something on each connection; then its answers alone count.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import socket
import struct
from typing import Any

from whesl.runtime.node_agent.shared_numbers import SharedFlag, SharedNumber

# Milliseconds since the last acknowledgement: tcpi_last_ack_recv of struct tcp_info (linux/tcp.h).
_LAST_ACK = struct.Struct("@I")
_LAST_ACK_AT = 56


KEPT = 8 * 8  # bytes that are kept of a lease: its numbers
# Seconds after the limit until which an agent may hold its lease that was woken just before.
LAST_CALL = 0.3


def lead(limit: float) -> float:
    """Return by how many seconds an agent may be late and end what runs within the limit."""
    return min(limit / 4, 2.0)


def moment(limit: float) -> float:
    """Return how many seconds an agent that was woken late waits for an answer, also of the kernel."""
    return limit / 6 + 0.5


class Lease:
    """The lease, on a monotonic clock.

    Args:
        limit: seconds from the sending of an answered heartbeat after which nothing of the task may run.
        now: the clock.
        kept: ``KEPT`` bytes, 0 at first. They outlive the process that holds the lease: the next one has this
            lease, and no new one.
    """

    contact = SharedNumber(0)  # when the isolator's node was reached last
    _until = SharedNumber(1)  # least end of the lease of an agent that was woken late; 0 for others
    held = SharedFlag(2)  # whether a heartbeat was ever answered
    attended = SharedNumber(3)  # when a process on the isolator's node answered last, not its kernel
    _ran = SharedNumber(4)  # when the process that holds it has run last
    finished = SharedFlag(5)  # whether the agent has ended by itself
    orphaned = SharedFlag(6)  # whether the process that the resource manager started as this agent has ended
    paused = SharedFlag(7)  # whether the task is stopped, until it is known whether the lease is over

    def __init__(self, limit: float, now: float, kept: mmap.mmap | bytearray | None = None) -> None:
        self.limit = limit
        self.numbers = memoryview(kept or bytearray(KEPT)).cast("d")
        if not self.contact:
            self.contact = self.attended = now
        self._sent: dict[int, float] = {}
        self._number = 0
        self._acted = False

    def runs(self, now: float) -> None:
        """Note that the process that holds the lease runs."""
        self._ran = now

    def neglected_from(self, woke: float) -> float:
        """Return when it is neglected, unless it is extended or its holder runs before.

        Args:
            woke: when whoever asks has been woken late, 0 for never.
        """
        return max(self.deadline(), max(self._ran, woke) + lead(self.limit))

    def neglected(self, now: float, woke: float) -> bool:
        """Whether the lease is over while its holder, which has to act, does not run."""
        return self.held and now >= self.neglected_from(woke)

    def taken_over(self, woke: float) -> None:
        """Note that the next holder has not been stopped with its node, so that it has no moment to wait."""
        if woke < self.contact and not self._until:
            self._until = self.contact + self.limit + LAST_CALL

    def beat(self, now: float) -> int:
        """Note that a heartbeat is sent, and return its number."""
        self._number += 1
        self._sent[self._number] = now
        return self._number

    def answered(self, number: int) -> None:
        """Extend the lease by an answer; late and repeated ones never shorten it."""
        self.held = True
        sent = self._sent.pop(number, None)
        if sent is None:
            return
        self._sent = {other: when for other, when in self._sent.items() if other > number}
        self.reached(sent)

    def reached(self, when: float) -> None:
        """Extend the lease: the isolator's node was reached then."""
        if when > self.contact:
            self.contact, self._until = when, 0.0
            self._acted = False

    def woken(self, now: float) -> None:
        """Note that this process did not run until now, for longer than ``lead``.

        The first such time after the lease was over counts: the others make it no longer.
        """
        if self._acted or self._until or now < self._end:
            return
        until = now + moment(self.limit)
        if now <= self.contact + self.limit:
            until = min(until, self.contact + self.limit + LAST_CALL)
        self._until = until

    def late(self, now: float) -> bool:
        """Whether others may count it as over by now."""
        return self.held and now > self.contact + self.limit

    def doubtful(self, now: float) -> bool:
        """Whether an answer is overdue."""
        return now >= self.contact + self.limit / 3

    def ran_out(self, now: float) -> bool:
        """Whether the lease has just run out (once for each time)."""
        if self._acted or now < self.deadline():
            return False
        self._acted = True
        return True

    def deadline(self) -> float:
        """Return when it runs out."""
        return max(self._end, self._until)

    @property
    def _end(self) -> float:
        return self.contact + self.limit - lead(self.limit)


class KernelWitness:
    """One plain connection to the responder's port, while answers are overdue.

    Args:
        host: the isolator's node, by address or name.
        port: the responder's.
        patience: seconds for which a responder that runs may take to say something.
    """

    def __init__(self, host: str, port: int, patience: float) -> None:
        # Names are looked up once, while that can be done: it reads files.
        self._family: int = socket.AF_INET
        self._address: Any = (host, port)
        with contextlib.suppress(OSError):
            self._family, _, _, _, self._address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self._socket: socket.socket | None = None
        self._asked = 0.0
        self._sent = 0.0
        self._patience = patience

    def look(self, now: float) -> float | None:
        """Return when the kernel has last answered for a responder that cannot, None when it has not.

        Never blocks: the first call begins to connect.
        """
        if self._socket is None:
            self._asked = now
            self._socket, failed = self._connecting()
        else:
            failed = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        try:
            if failed:
                raise OSError(failed, "")
            self._socket.getpeername()  # ENOTCONN while the connection is made
            self._socket.recv(64)
        except BlockingIOError:
            if now < self._asked + self._patience:
                return None
            if now >= self._sent + self._patience:
                self._sent = now
                with contextlib.suppress(OSError):
                    self._socket.send(b"\0")
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128)
            return now - float(_LAST_ACK.unpack_from(info, _LAST_ACK_AT)[0]) / 1000
        except OSError as error:
            if error.errno == errno.ENOTCONN:
                return None
            self.close()
            return self._asked if error.errno in (errno.ECONNREFUSED, errno.ECONNRESET) else None
        # It greets, so the responder runs; or it has closed the connection, and the next one will tell.
        self.close()
        return None

    def close(self) -> None:
        """Let the connection go."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connecting(self) -> tuple[socket.socket, int]:
        """Begin; return an error, too, that is known at once, 0 for none."""
        made = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            code = made.connect_ex(self._address)
        except OSError as error:  # a name that is none
            return made, error.errno or errno.EHOSTUNREACH
        return made, 0 if code == errno.EINPROGRESS else code
