"""The table of the agents' leases, as numbers in memory that responder and isolator share.

The memory has no name (memfd_create(2)), so none is left behind: it is freed with the last process that maps
it. A restarted isolator opens it by the responder's descriptor below /proc. Times are CLOCK_MONOTONIC, which
is the same clock for all processes of a node.
"""

from __future__ import annotations

import mmap
import os

from whesl.runtime.node_agent.shared_memory_numbers import SharedNumber

_SIZE = 8
_TICK, _SINCE, _OWNER, _KEEPER, _HEADER = 0, 1, 2, 3, 4
_ANSWERED, _LINK, _REFUSED, _COLUMNS = 0, 1, 2, 3
_CLOSED, _OPEN = 0.0, 1.0


class LeaseTable:
    """The table of leases, one row for each node.

    Args:
        descriptor: the memory's descriptor, which the caller closes.
        nodes: the nodes whose agents hold leases, in the order in which the table was made.

    Raises OSError when the descriptor is of another file.
    """

    tick = SharedNumber(_TICK)  # time until which the responder has run, written by it; 0 before it runs
    since = SharedNumber(_SINCE)  # time since which the responder has run without a stop, written by it

    def __init__(self, descriptor: int, nodes: tuple[str, ...]) -> None:
        size = _SIZE * (_HEADER + _COLUMNS * len(nodes))
        if os.fstat(descriptor).st_size != size:
            raise OSError("not a table of these leases")
        self._map = mmap.mmap(descriptor, size)
        self.numbers = memoryview(self._map).cast("d")
        self._rows = {node: _HEADER + _COLUMNS * number for number, node in enumerate(nodes)}

    @classmethod
    def make(cls, nodes: tuple[str, ...]) -> tuple[int, LeaseTable]:
        """Make an empty table; return the descriptor of its memory, and the table."""
        descriptor = os.memfd_create("whesl-leases", os.MFD_CLOEXEC)
        os.truncate(descriptor, _SIZE * (_HEADER + _COLUMNS * len(nodes)))
        return descriptor, cls(descriptor, nodes)

    def __contains__(self, node: str) -> bool:
        return node in self._rows

    def close(self) -> None:
        """Unmap the memory."""
        self.numbers.release()
        self._map.close()

    # Fields that the responder writes -------------------------------------------------------------------

    def answered(self, node: str) -> float:
        """Return the time of the last answered heartbeat of a node, 0 for never."""
        return self.numbers[self._rows[node] + _ANSWERED]

    def answer(self, node: str, now: float) -> bool:
        """Note an answer before it is sent; return False for a lease that was given up, to send no answer.

        Isolator and responder both write before they read, so that one of them sees the other's write.

        Args:
            node: the node whose heartbeat is answered.
            now: the time of the answer.
        """
        row = self._rows[node]
        before = self.numbers[row + _ANSWERED]
        self.numbers[row + _ANSWERED] = now
        if self.numbers[row + _REFUSED]:
            self.numbers[row + _ANSWERED] = before
            return False
        return True

    def connected(self, node: str) -> bool:
        """Return whether a node's agent has a connection to the responder."""
        return self.numbers[self._rows[node] + _LINK] == _OPEN

    def connect(self, node: str, *, is_open: bool) -> None:
        """Note that an agent's connection to the responder was made or has closed.

        Args:
            node: the agent's node.
            is_open: whether the connection is open.
        """
        self.numbers[self._rows[node] + _LINK] = _OPEN if is_open else _CLOSED

    # Fields that the isolator writes --------------------------------------------------------------------

    def refused(self, node: str) -> bool:
        """Return whether a node's lease was given up: it is not extended until the attempt there ended."""
        return bool(self.numbers[self._rows[node] + _REFUSED])

    def refuse(self, node: str, *, refused: bool) -> None:
        """Give up a node's lease, or allow it again once the agent has ended the attempt there.

        Args:
            node: the node.
            refused: whether the lease is given up.
        """
        self.numbers[self._rows[node] + _REFUSED] = float(refused)

    @property
    def served(self) -> tuple[int, int]:
        """The process numbers of the isolator and its keeper; 0 for none."""
        return int(self.numbers[_OWNER]), int(self.numbers[_KEEPER])

    @served.setter
    def served(self, who: tuple[int, int]) -> None:
        self.numbers[_KEEPER] = float(who[1])
        self.numbers[_OWNER] = float(who[0])
