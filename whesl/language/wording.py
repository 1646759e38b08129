"""How lists, numbers of times and seconds are said in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = (("day", 86400), ("h", 3600), ("min", 60))


def one_of(words: Sequence[str], joined: str = "or") -> str:
    """Return words as a list in a sentence: ``a, b or c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joined} {words[-1]}"


def times(count: int) -> str:
    """Return how often, in words: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def seconds(seconds: float) -> str:
    """Return a time with the largest unit that it is a whole number of."""
    for unit, size in _UNITS:
        if seconds >= size and seconds % size == 0:
            plural = "s" if unit == "day" and seconds != size else ""
            return f"{seconds / size:g} {unit}{plural}"
    return f"{seconds:g} s"


def within(limit: float | None) -> str:
    """Return the clause of a ``WITHIN``, with the blank before it; nothing for none."""
    return "" if limit is None else f" within {seconds(limit)}"
