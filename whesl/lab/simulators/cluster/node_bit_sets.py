"""Sets of small numbers as words of 64 bits: the free nodes, and the jobs that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The place of the lowest set bit by multiplication (C. E. Leiserson, H. Prokop, K. H. Randall, "Using de
# Bruijn sequences to index a 1 in a computer word", 1998).
_SEQUENCE = 0x022FDD63CC95386D
_PLACE = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _PLACE[(((_SEQUENCE << _bit) & (2**64 - 1)) >> 58)] = _bit


@jit
def lowest(word: int) -> int:
    """Return the place of the lowest set bit of a word that is not 0."""
    return int(_PLACE[(((word & -word) * _SEQUENCE) >> 58) & 63])


@jit
def ones(begin: int, count: int) -> int:
    """Return a word with ``count`` bits set from place ``begin`` on."""
    if count >= 64:
        return -1
    return ((1 << count) - 1) << begin


def full(count: int) -> NDArray[np.int64]:
    """Return the set of all numbers below ``count``."""
    words = np.zeros((count + 63) >> 6, dtype=np.int64)
    for place in range(len(words)):
        words[place] = ones(0, min(64, count - (place << 6)))
    return words


@jit
def insert(words: NDArray[np.int64], begin: int, count: int) -> None:
    """Add the numbers from ``begin`` to ``begin + count - 1``."""
    while count > 0:
        low = begin & 63
        many = min(count, 64 - low)
        words[begin >> 6] |= ones(low, many)
        begin += many
        count -= many


@jit
def members(words: NDArray[np.int64], into: NDArray[np.int64]) -> int:
    """Write down the numbers of a set, ascending, and return how many there are."""
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
    """Remove given numbers and write them down as runs of consecutive ones.

    Args:
        words: a set that holds them.
        numbers: these, ascending.
        count: how many of them count.
        begins: where each run's first number is written, from ``at`` on.
        counts: where each run's length is written.
        at: the first place for a run.

    Returns:
        The place behind the last run.
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
