"""Sets of small integers as words of 64 bits, for free nodes and waiting jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# De Bruijn sequence for the index of the lowest set bit (C. E. Leiserson, H. Prokop, K. H. Randall, "Using de
# Bruijn sequences to index a 1 in a computer word", 1998).
_SEQUENCE = 0x022FDD63CC95386D
_PLACE = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _PLACE[(((_SEQUENCE << _bit) & (2**64 - 1)) >> 58)] = _bit


@jit
def lowest(word: int) -> int:
    """Return the index of the lowest set bit of a word that is not 0."""
    return int(_PLACE[(((word & -word) * _SEQUENCE) >> 58) & 63])


@jit
def ones(begin: int, count: int) -> int:
    """Return a word with ``count`` bits set from index ``begin`` on.

    Args:
        begin: index of the lowest set bit.
        count: number of set bits.
    """
    if count >= 64:
        return -1
    return ((1 << count) - 1) << begin


def full(count: int) -> NDArray[np.int64]:
    """Return the set of all integers from 0 to ``count - 1``."""
    words = np.zeros((count + 63) >> 6, dtype=np.int64)
    for place in range(len(words)):
        words[place] = ones(0, min(64, count - (place << 6)))
    return words


@jit
def insert(words: NDArray[np.int64], begin: int, count: int) -> None:
    """Add the integers from ``begin`` to ``begin + count - 1`` to a set.

    Args:
        words: the set, changed in place.
        begin: the first integer.
        count: number of integers.
    """
    while count > 0:
        low = begin & 63
        many = min(count, 64 - low)
        words[begin >> 6] |= ones(low, many)
        begin += many
        count -= many


@jit
def members(words: NDArray[np.int64], into: NDArray[np.int64]) -> int:
    """Write the members of a set to an array, ascending; return their number.

    Args:
        words: the set.
        into: the array.
    """
    count = 0
    for place in range(len(words)):
        word = words[place]
        while word != 0:
            into[count] = (place << 6) + lowest(word)
            count += 1
            word &= word - 1
    return count


@jit
def pick(
    words: NDArray[np.int64],
    numbers: NDArray[np.int64],
    count: int,
    begins: NDArray[np.int32],
    counts: NDArray[np.int32],
    at: int,
) -> int:
    """Remove integers from a set, and write them as runs of consecutive integers.

    Args:
        words: the set, which contains the integers; changed in place.
        numbers: the integers, ascending.
        count: number of integers to remove, from the front of ``numbers``.
        begins: receives the first integer of each run, from index ``at`` on.
        counts: receives the length of each run, from index ``at`` on.
        at: index of the first run.

    Returns:

        The index after the last run.
    """
    last = -1
    for index in range(count):
        number = numbers[index]
        words[number >> 6] &= ~(1 << (number & 63))
        if number == last + 1 and last >= 0:
            counts[at - 1] += 1
        else:
            begins[at] = number
            counts[at] = 1
            at += 1
        last = number
    return at
