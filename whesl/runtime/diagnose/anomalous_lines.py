"""Lines that are unlike the others of a job, or unlike those of its good runs. Pure.

For an unknown failure only such lines can be shown. A line's form is the line without its labels, numbers and
paths, which is also the first step of log template miners. drain3's templates show no more
(docs/results/libraries.md), and depend on the state of a learning model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from whesl.model.evidence import CauseClass
from whesl.runtime.diagnose.diagnosis_records import Entry
from whesl.runtime.diagnose.labels import clean, form
from whesl.runtime.diagnose.outliving_words import warns
from whesl.runtime.diagnose.prepared_knowledge import prepared, words
from whesl.runtime.diagnose.progress import NO_DIGITS
from whesl.runtime.diagnose.vocabulary import Role

SHOWN = 10
_NEAR = 5  # lines after a line of trouble in which a program says that it ends, unless it does so last
_CLOSE = 20  # lines that count as the end of a log


def unusual(lines: Iterable[tuple[int, str]], good: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    """Return the lines whose form is printed once, and never in a good run.

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
    return [
        (number, text.rstrip())
        for number, text, each in found
        if each and times[each] == 1 and each not in good
    ]


def trouble(
    rare: Sequence[tuple[int, str]], ending: Sequence[tuple[int, str]], topic: Callable[[str], Entry | None]
) -> tuple[int, str, Entry] | None:
    """Return the first rare line that tells of trouble if the program ends badly, and the topic of its words.

    Args:
        rare: lines that are printed once, after the last step of work, with their numbers.
        ending: all lines of the last part of the log.
        topic: the topic of some words, None without one.
    """
    for number, text in rare:
        cleaned = clean(text)
        found = topic(cleaned.text)
        if found is None or warns(cleaned) or _harmless(text) or _harmless(cleaned.text):
            continue
        says_so = words("trouble").search(cleaned.text)
        if says_so or found.cause_class is not CauseClass.INPUT:
            end = ending[-1][0] - _CLOSE
            after = [later for at, later in ending if number <= at and (at <= number + _NEAR or at > end)]
            badly = any(words("ends-badly").search(each) and not warns(clean(each)) for each in after)
            return (number, text, found) if badly else None
    return None


def _harmless(text: str) -> bool:
    known = (entry for entry in prepared().entries if entry.role is Role.HARMLESS)
    return any(re.search(expression, text) for entry in known for expression in entry.match)
