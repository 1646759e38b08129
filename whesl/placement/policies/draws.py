"""Draws that depend on the seed and the event that they are for alone, in whatever order events come."""

from __future__ import annotations

from whesl.prediction.numba_jit import jit


@jit
def mix(state: int, value: int) -> int:
    """Return a number of 32 bits, each bit of which depends on all of both (the finalizer of "lowbias32")."""
    h = (state * 48271 + value + 1) & 0xFFFFFFFF
    h ^= h >> 16
    h = (h * 0x21F0AAAD) & 0xFFFFFFFF
    h ^= h >> 15
    h = (h * 0x735A2D97) & 0xFFFFFFFF
    return int(h ^ (h >> 15))


@jit
def draw(seed: int, one: int, two: int, three: int) -> float:
    """Return a number in [0, 1) for three integers that name the event.

    Args:
        seed: of the run, from 0.
        one, two, three: from 0; 32 bits of each count.
    """
    h = mix(mix(seed & 0xFFFFFFFF, one & 0xFFFFFFFF), two & 0xFFFFFFFF)
    return mix(h, three & 0xFFFFFFFF) / 4294967296.0
