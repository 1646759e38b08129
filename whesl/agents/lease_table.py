"""What the responder and its isolator know of the agents' leases: numbers in memory that both have mapped.

The memory has no name (memfd_create(2)), so none is left behind: it goes with the last process that has it.
An isolator that is started again opens it as the responder's descriptor below /proc. Times are
CLOCK_MONOTONIC, which is one clock for all processes of a node. Each number is an aligned word, written at
once.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

_WORD = 8
_TICK, _SINCE, _OWNER, _KEEPER, _HEADER = 0, 1, 2, 3, 4
_ANSWERED, _LINK, _REFUSED, _COLUMNS = 0, 1, 2, 3
_CLOSED, _OPEN = 0.0, 1.0


class Word:
    """A number in an object's shared memory (``words``), as an attribute of it.

    Args:
        place: which of the words.
    """

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, owner: Any, _: type) -> float:
        return float(owner.words[self._place])

    def __set__(self, owner: Any, value: float) -> None:
        owner.words[self._place] = float(value)


class Flag(Word):
    """A word that is 0 or 1, as a truth value."""

    def __get__(self, owner: Any, _: type) -> bool:
        return bool(super().__get__(owner, _))


class LeaseTable:
    """The table.

    Args:
        descriptor: of the memory; stays the caller's.
        nodes: whose agents hold leases, in the order in which the table was made.

    Raises OSError when the descriptor is of something else.
    """

    tick = Word(_TICK)  # until when the responder, which writes both, has run; 0 before it does
    since = Word(_SINCE)  # since when it has run without being stopped

    def __init__(self, descriptor: int, nodes: tuple[str, ...]) -> None:
        size = _WORD * (_HEADER + _COLUMNS * len(nodes))
        if os.fstat(descriptor).st_size != size:
            raise OSError("not a table of these leases")
        self._map = mmap.mmap(descriptor, size)
        self.words = memoryview(self._map).cast("d")
        self._rows = {node: _HEADER + _COLUMNS * number for number, node in enumerate(nodes)}

    @classmethod
    def make(cls, nodes: tuple[str, ...]) -> tuple[int, LeaseTable]:
        """Make an empty table; return the descriptor of its memory, too."""
        descriptor = os.memfd_create("whesl-leases", os.MFD_CLOEXEC)
        os.truncate(descriptor, _WORD * (_HEADER + _COLUMNS * len(nodes)))
        return descriptor, cls(descriptor, nodes)

    def __contains__(self, node: str) -> bool:
        return node in self._rows

    def close(self) -> None:
        """Let the memory go."""
        self.words.release()
        self._map.close()

    # What the responder writes --------------------------------------------------------------------------

    def answered(self, node: str) -> float:
        """Return when a node's heartbeat was answered last, 0 for never."""
        return self.words[self._rows[node] + _ANSWERED]

    def answer(self, node: str, now: float) -> bool:
        """Note an answer before it is sent; False when it must not be, since the lease was given up.

        The isolator writes first and reads then, as this does: one of the two sees the other's.
        """
        row = self._rows[node]
        before = self.words[row + _ANSWERED]
        self.words[row + _ANSWERED] = now
        if self.words[row + _REFUSED]:
            self.words[row + _ANSWERED] = before
            return False
        return True

    def connected(self, node: str) -> bool:
        """Return whether a node's agent has a connection to the responder."""
        return self.words[self._rows[node] + _LINK] == _OPEN

    def connect(self, node: str, *, is_open: bool) -> None:
        """Note that a connection was made or has closed."""
        self.words[self._rows[node] + _LINK] = _OPEN if is_open else _CLOSED

    # What the isolator writes ---------------------------------------------------------------------------

    def refused(self, node: str) -> bool:
        """Return whether a node's lease was given up: it is not extended before all has ended there."""
        return bool(self.words[self._rows[node] + _REFUSED])

    def refuse(self, node: str, *, refused: bool) -> None:
        """Give a node's lease up, or (the responder, once its agent has ended everything) allow it again."""
        self.words[self._rows[node] + _REFUSED] = float(refused)

    @property
    def served(self) -> tuple[int, int]:
        """The isolator and its keeper, by process number; 0 for none."""
        return int(self.words[_OWNER]), int(self.words[_KEEPER])

    @served.setter
    def served(self, who: tuple[int, int]) -> None:
        self.words[_KEEPER] = float(who[1])
        self.words[_OWNER] = float(who[0])
