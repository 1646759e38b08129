"""Numbers in shared memory of several processes, as attributes of an object.

The object has the memory as ``numbers``, a view of doubles. Each number is aligned and written at once, so
that no process ever reads a partly written one.
"""

from __future__ import annotations

from typing import Any


class SharedNumber:
    """A number in an object's shared memory, as an attribute of the object.

    Args:
        place: the index in the object's ``numbers``.
    """

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, owner: Any, _: type) -> float:
        return float(owner.numbers[self._place])

    def __set__(self, owner: Any, value: float) -> None:
        owner.numbers[self._place] = float(value)


class SharedFlag(SharedNumber):
    """A number that is 0 or 1, as a truth value."""

    def __get__(self, owner: Any, _: type) -> bool:
        return bool(super().__get__(owner, _))
