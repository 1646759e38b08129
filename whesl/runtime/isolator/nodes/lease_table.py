"""The agents' leases, as numbers in memory that the responder and its isolator share.

The memory has no name (memfd_create(2)), so none is left behind: it goes with the last process that has it.
An isolator that is started again opens it as the responder's descriptor below /proc. Times are
CLOCK_MONOTONIC, which is one clock for all processes of a node.
"""

from __future__ import annotations

import mmap
import os

from whesl.runtime.node_agent.shared_numbers import SharedNumber

_SIZE = 8
_TICK, _SINCE, _OWNER, _KEEPER, _HEADER = 0, 1, 2, 3, 4
_ANSWERED, _LINK, _REFUSED, _COLUMNS = 0, 1, 2, 3
_CLOSED, _OPEN = 0.0, 1.0


class LeaseTable:
    """The table.

    Args:
        descriptor: of the memory; stays the caller's.
        nodes: whose agents hold leases, in the order in which the table was made.

    Raises OSError when the descriptor is of something else.
    """

    tick = SharedNumber(_TICK)  # until when the responder, which writes both, has run; 0 before it does
    since = SharedNumber(_SINCE)  # since when it has run without being stopped

    def __init__(self, descriptor: int, nodes: tuple[str, ...]) -> None:
        size = _SIZE * (_HEADER + _COLUMNS * len(nodes))
        if os.fstat(descriptor).st_size != size:
            raise OSError("not a table of these leases")
        self._map = mmap.mmap(descriptor, size)
        self.numbers = memoryview(self._map).cast("d")
        self._rows = {node: _HEADER + _COLUMNS * number for number, node in enumerate(nodes)}

    @classmethod
    def make(cls, nodes: tuple[str, ...]) -> tuple[int, LeaseTable]:
        """Make an empty table; return the descriptor of its memory, too."""
        descriptor = os.memfd_create("whesl-leases", os.MFD_CLOEXEC)
        os.truncate(descriptor, _SIZE * (_HEADER + _COLUMNS * len(nodes)))
        return descriptor, cls(descriptor, nodes)

    def __contains__(self, node: str) -> bool:
        return node in self._rows

    def close(self) -> None:
        """Let the memory go."""
        self.numbers.release()
        self._map.close()

    # What the responder writes --------------------------------------------------------------------------

    def answered(self, node: str) -> float:
        """Return when a node's heartbeat was answered last, 0 for never."""
        return self.numbers[self._rows[node] + _ANSWERED]

    def answer(self, node: str, now: float) -> bool:
        """Note an answer before it is sent; False when it must not be, since the lease was given up.

        Isolator and responder both write before they read: one of the two sees what the other has written.
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
        """Note that a connection was made or has closed."""
        self.numbers[self._rows[node] + _LINK] = _OPEN if is_open else _CLOSED

    # What the isolator writes ---------------------------------------------------------------------------

    def refused(self, node: str) -> bool:
        """Return whether a node's lease was given up: it is not extended before all has ended there."""
        return bool(self.numbers[self._rows[node] + _REFUSED])

    def refuse(self, node: str, *, refused: bool) -> None:
        """Give a node's lease up, or (the responder, once its agent has ended everything) allow it again."""
        self.numbers[self._rows[node] + _REFUSED] = float(refused)

    @property
    def served(self) -> tuple[int, int]:
        """The isolator and its keeper, by process number; 0 for none."""
        return int(self.numbers[_OWNER]), int(self.numbers[_KEEPER])

    @served.setter
    def served(self, who: tuple[int, int]) -> None:
        self.numbers[_KEEPER] = float(who[1])
        self.numbers[_OWNER] = float(who[0])
