"""Short texts of which a line has to hold at least one for an expression to match: found at full speed.

A thousand expressions take a matching engine many seconds to compile; the texts that they cannot do without
take tenths of a second. Only lines with such a text are tried with the expressions themselves. The idea is
that of RE2's FilteredRE2 (https://github.com/google/re2/blob/main/re2/filtered_re2.h). Pure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined] # the reader of expressions has no public name
else:
    import sre_parse as parser

SHORTEST = 3  # characters of a text that is worth looking for
_FEW = 4  # characters, each of which makes a common word another text to look for
_ENOUGH = 9  # a longer text is not rarer
# Words that logs of healthy jobs are full of: a line is looked at for another word of the expression.
_COMMON = frozenset(
    [
        "time",
        "loss",
        "grad",
        "energy",
        "residual",
        "total ",
        "temperature",
        "executor",
        "manager",
        "worker",
        "rank",
        "node",
        "host",
        "step",
        "task",
        "rate",
        "manager ",
        "executor ",
        "node ",
        "device",
        "process",
        "total",
        "density",
        "pressure",
        "velocity",
        "lm loss",
    ]
)


class Needle(NamedTuple):
    """A text, and whether it begins and ends a word."""

    text: str
    begins: bool = False
    ends: bool = False

    def expression(self, ignore_case: bool) -> str:
        """Return an expression that finds it."""
        body = re.escape(self.text).replace("\\\n", "")
        return f"{'(?i)' if ignore_case else ''}{'' if not self.begins else chr(92) + 'b'}{body}" + (
            "\\b" if self.ends else ""
        )


def needles(expression: str) -> tuple[Needle, ...]:
    """Return the texts of an expression; nothing where it can match without any that is long enough."""
    parsed: Any = parser.parse(expression)
    found = _sequence(parsed)
    return tuple(dict.fromkeys(found)) if found else ()


def ignores_case(expression: str) -> bool:
    """Whether an expression takes small and capital letters alike."""
    return expression.startswith("(?i)") or "(?i:" in expression


def _sequence(items: Iterable[Any]) -> list[Needle]:
    """Return the best set of texts among those of a sequence's parts."""
    best: list[Needle] = []
    run, begins = "", False
    previous_boundary = False
    for kind, value in [*items, (None, None)]:
        name = str(kind)
        if name == "LITERAL":
            if not run:
                begins = previous_boundary
            run += chr(value)
            previous_boundary = False
            continue
        boundary = name == "AT" and str(value) == "AT_BOUNDARY"
        if run:
            begins = begins and _worded(run[0])
            best = _better(best, [Needle(run, begins, boundary and _worded(run[-1]))])
            if run.lower() in _COMMON:
                best = _better(best, [Needle(run + char, begins) for char in _next(name, value)])
            run = ""
        previous_boundary = boundary
        best = _better(best, _inner(name, value))
    return best


def _inner(name: str, value: Any) -> list[Needle]:
    if name == "SUBPATTERN":
        return _sequence(value[-1])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
        return _sequence(value[2])
    if name == "BRANCH":
        parts = [_sequence(part) for part in value[1]]
        return [needle for part in parts for needle in part] if all(parts) else []
    return []


def _next(name: str, value: Any) -> list[str]:
    """Return the characters of which one has to come; nothing where they are not some few."""
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1 and len(value[2]) == 1:
        name, value = str(value[2][0][0]), value[2][0][1]
    if name != "IN" or len(value) > _FEW or any(str(kind) != "LITERAL" for kind, _ in value):
        return []
    return [chr(code) for _, code in value]


def _better(one: list[Needle], other: list[Needle]) -> list[Needle]:
    return max(one, other, key=_worth)


def _worth(found: list[Needle]) -> tuple[int, int]:
    return min(map(_rarity, found), default=0), -len(found)


def _rarity(needle: Needle) -> int:
    length = len(needle.text)
    if length < SHORTEST:
        return 0
    return 1 if needle.text.lower() in _COMMON else min(length, _ENOUGH)


def _worded(char: str) -> bool:
    return char.isalnum() or char == "_"
