"""Lines that are unlike the others of a job, or unlike those of its good runs. Pure.

It is all that can be said of an unknown failure. A line's form is the line without its labels, numbers and
paths, as miners of log templates begin too. drain3's templates show no more (docs/results/libraries.md), and
are the state of a model that learns and drifts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from whesl.runtime.diagnose.labels import clean

SHOWN = 10
_MASKED = re.compile(r"0x[0-9a-fA-F]+|/[\w./-]+|[-+]?\d[\d.,:eE+-]*|\b[0-9a-f]{8,}\b")


def form(line: str) -> str:
    """Return the part of a line that stays the same each time it is printed."""
    return _MASKED.sub("#", clean(line).text).strip()


def unusual(lines: Iterable[tuple[int, str]], good: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    """Return the last lines that are printed once, and never in a good run.

    Args:
        lines: the end of a log, with the numbers of its lines.
        good: forms of the lines of good runs; empty where none are known.
    """
    found = [(number, text, form(text)) for number, text in lines]
    times = Counter(each for _, _, each in found)
    rare = [
        (number, text.rstrip())
        for number, text, each in found
        if each and times[each] == 1 and each not in good
    ]
    return rare[-SHOWN:]
