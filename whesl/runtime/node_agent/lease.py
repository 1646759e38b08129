"""The lease that an agent holds, and its extension (docs/design/liveness.md).

A heartbeat that the responder on the isolator's node answered extends the lease from the moment at which that
heartbeat was *sent*. So the isolator, which sees the answer's time, never counts the lease as over while the
agent still holds it. (Gray, Cheriton: Leases, SOSP 1989.) The agent's lease is shorter than the limit by
``lead``, since a processor may be late to run the agent.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import socket
import struct
from typing import Any

from whesl.runtime.node_agent.shared_memory_numbers import SharedFlag, SharedNumber

# Format of tcpi_last_ack_recv in struct tcp_info (linux/tcp.h): milliseconds since the last acknowledgement.
_LAST_ACK = struct.Struct("@I")
_LAST_ACK_AT = 56


KEPT = 8 * 8  # bytes of a lease's numbers in shared memory


def lead(limit: float) -> float:
    """Return the seconds by which a late agent can still kill the task's processes within the limit."""
    return min(limit / 4, 2.0)


class Lease:
    """The lease, on a monotonic clock.

    Args:
        limit: seconds from the sending of an answered heartbeat after which no process of the task may run.
        now: the present time.
        kept: ``KEPT`` bytes, 0 at first, that outlive the process that holds the lease, so that the next
            process holds the same lease; None for memory of this process.
    """

    contact = SharedNumber(0)  # time of the last contact with the isolator's node
    _until = SharedNumber(1)  # time to kill, where the holder did not run since the contact; 0 elsewhere
    held = SharedFlag(2)  # whether a heartbeat was ever answered
    # Time of the responder's last answer, as opposed to its kernel's, or of the holder's last waking.
    attended = SharedNumber(3)
    _ran = SharedNumber(4)  # time at which the process that holds the lease has last run
    finished = SharedFlag(5)  # whether the agent has ended by itself
    orphaned = SharedFlag(6)  # whether the process that the resource manager started as this agent has ended
    paused = SharedFlag(7)  # whether the task's processes are stopped until the lease's fate is known

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
        """Return when the lease is neglected, unless it is extended or its holder runs before.

        Args:
            woke: the time at which the caller was woken late, 0 for never.
        """
        return max(self._end, max(self._ran, woke) + lead(self.limit))

    def beat(self, now: float) -> int:
        """Note that a heartbeat is sent, and return its number."""
        self._number += 1
        self._sent[self._number] = now
        return self._number

    def answered(self, number: int) -> None:
        """Extend the lease by an answer; late and repeated answers never shorten it."""
        self.held = True
        sent = self._sent.pop(number, None)
        if sent is None:
            return
        self._sent = {other: when for other, when in self._sent.items() if other > number}
        self.reached(sent)

    def reached(self, when: float) -> None:
        """Extend the lease by a contact with the isolator's node at ``when``."""
        if when > self.contact:
            self.contact, self._until = when, 0.0
            self._acted = False

    def seen(self, when: float, now: float) -> None:
        """Note that the kernel of the isolator's node answered in place of the responder.

        Args:
            when: the time of the kernel's answer.
            now: the present time.
        """
        if self._acted or not self._until or now <= self.contact + self.limit:
            self.reached(when)
        else:  # the next attempt may have begun, so what is stopped stays so
            self._until = max(self._until, when + self.limit)

    def taken_over(self, woke: float) -> None:
        """Note that another process holds the lease from now on.

        Args:
            woke: the time until which the caller, or only the last holder, was stopped, 0 for never.
        """
        if woke >= self.contact and not self._until:
            self.woken(woke)

    def woken(self, now: float) -> None:
        """Note that the holder did not run until now, for longer than ``lead``."""
        self.attended = now
        if not self._acted:
            self._until = max(now, self._end) + self.limit

    def in_doubt(self, now: float) -> bool:
        """Whether the task's processes have to be stopped until an answer comes."""
        return self.held and self._until > 0 and now >= self._end

    def doubtful(self, now: float) -> bool:
        """Whether an answer to a heartbeat is overdue."""
        return now >= self.contact + self.limit / 3

    def ran_out(self, now: float) -> bool:
        """Whether the lease has just run out; True once for each end."""
        if self._acted or now < self.deadline():
            return False
        self._acted = True
        return True

    def deadline(self) -> float:
        """Return when the lease runs out, and what still runs or is stopped has to be killed."""
        return max(self._end, self._until)

    def due(self, now: float) -> float:
        """Return when ``in_doubt`` or ``ran_out`` may return a new result."""
        return self._end if now < self._end else self.deadline()

    @property
    def _end(self) -> float:
        return self.contact + self.limit - lead(self.limit)


class KernelWitness:
    """One plain connection to the responder's port, while answers are overdue.

    Args:
        host: the isolator's node, by address or name.
        port: the responder's port.
        patience: seconds for a running responder to send its greeting.
    """

    def __init__(self, host: str, port: int, patience: float) -> None:
        # The name is looked up once, while files can be read.
        self._family: int = socket.AF_INET
        self._address: Any = (host, port)
        with contextlib.suppress(OSError):
            self._family, _, _, _, self._address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self._socket: socket.socket | None = None
        self._asked = 0.0
        self._sent = 0.0
        self._patience = patience

    def look(self, now: float) -> float | None:
        """Return when the kernel last answered in place of the responder, None when it has not.

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
        # The responder has sent its greeting, so it runs; or the connection was closed, and the next one
        # tells.
        self.close()
        return None

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connecting(self) -> tuple[socket.socket, int]:
        """Begin to connect; return the socket and an immediate error, 0 for none."""
        made = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            code = made.connect_ex(self._address)
        except OSError as error:  # a name that cannot be resolved
            return made, error.errno or errno.EHOSTUNREACH
        return made, 0 if code == errno.EINPROGRESS else code
