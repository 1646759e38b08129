"""Random draws that depend only on the seed and the event, not on the order of events."""

from __future__ import annotations

from whesl.prediction.numba_jit import jit


@jit
def mix(state: int, value: int) -> int:
    """Return a 32-bit hash of two numbers, each bit of which depends on all bits ("lowbias32").

    Args:
        state: a seed or the hash so far, a number of 32 bits.
        value: the next number of the event, 0 or more; its lowest 32 bits count.
    """
    h = (state * 48271 + value + 1) & 0xFFFFFFFF
    h ^= h >> 16
    h = (h * 0x21F0AAAD) & 0xFFFFFFFF
    h ^= h >> 15
    h = (h * 0x735A2D97) & 0xFFFFFFFF
    return int(h ^ (h >> 15))


@jit
def draw(seed: int, one: int, two: int, three: int) -> float:
    """Return a random number in [0, 1) for an event that three integers identify.

    Args:
        seed: the run's seed, 0 or more.
        one, two, three: integers of the event, 0 or more; the lowest 32 bits of each count.
    """
    h = mix(mix(seed & 0xFFFFFFFF, one & 0xFFFFFFFF), two & 0xFFFFFFFF)
    return mix(h, three & 0xFFFFFFFF) / 4294967296.0
