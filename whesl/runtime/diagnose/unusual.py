"""Lines that are unlike the others of a job, or unlike those of its good runs. Pure.

For an unknown failure only such lines can be shown. A line's form is the line without its labels, numbers and
paths, which is also the first step of log template miners. drain3's templates show no more
(docs/results/libraries.md), and depend on the state of a learning model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from whesl.runtime.diagnose.labels import clean
from whesl.runtime.diagnose.progress import NO_DIGITS

SHOWN = 10
_MASKED = re.compile(r"0x[0-9a-fA-F]+|/[\w./-]+|[-+]?\d[\d.,:eE+-]*|\b[0-9a-f]{8,}\b")


def form(line: str) -> str:
    """Return the form of a line, which is the same each time the line is printed with other values."""
    return _MASKED.sub("#", clean(line).text).strip()


def unusual(lines: Iterable[tuple[int, str]], good: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    """Return the last lines whose form is printed once, and never in a good run.

    Args:
        lines: the lines at the end of a log, with their numbers.
        good: forms of the lines of good runs; empty where no good run is known.
    """
    forms: dict[str, str] = {}  # by a line without its digits, since most lines are of a few kinds
    found = []
    for number, text in lines:
        key = text.translate(NO_DIGITS)
        if key not in forms:
            forms[key] = form(text)
        found.append((number, text, forms[key]))
    times = Counter(each for _, _, each in found)
    rare = [
        (number, text.rstrip())
        for number, text, each in found
        if each and times[each] == 1 and each not in good
    ]
    return rare[-SHOWN:]
