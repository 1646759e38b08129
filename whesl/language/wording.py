"""Wording of lists, numbers of times and seconds in sentences."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = (("day", 86400), ("h", 3600), ("min", 60))


def one_of(words: Sequence[str], joined: str = "or") -> str:
    """Return words as a list in a sentence: ``a, b or c``.

    Args:
        words: the words.
        joined: the word before the last one.
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joined} {words[-1]}"


def times(count: int) -> str:
    """Return a number of times in words: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def seconds(seconds: float) -> str:
    """Return a time in the largest unit in which it is a whole number."""
    for unit, size in _UNITS:
        if seconds >= size and seconds % size == 0:
            plural = "s" if unit == "day" and seconds != size else ""
            return f"{seconds / size:g} {unit}{plural}"
    return f"{seconds:g} s"


def within(limit: float | None) -> str:
    """Return the clause for ``WITHIN``, with a leading blank; empty without a limit."""
    return "" if limit is None else f" within {seconds(limit)}"
