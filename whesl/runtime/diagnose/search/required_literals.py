"""Required literals (needles) of an expression: each line that it matches has at least one of them.

A matching engine takes many seconds to compile a thousand expressions, but tenths of a second for their
needles. Only lines with a needle are tried with the expressions themselves, as in RE2's FilteredRE2
(https://github.com/google/re2/blob/main/re2/filtered_re2.h). Pure.
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

SHORTEST = 3  # least number of characters of a needle
_FEW = 4  # greatest number of alternatives for one character
_ENOUGH = 9  # characters beyond which a longer text counts as no rarer
# Frequent words in logs of healthy jobs; another word of the expression is preferred as needle.
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


_END = r"\n"
_AROUND = 4  # greatest number of bytes before and after a needle that tell it from the same one elsewhere
NUMBER = re.compile(rb"[0-9A-Fa-f]*[0-9][0-9A-Fa-f]*")

Symbols = tuple[str, ...]  # contents of classes of characters
Surroundings = tuple[Symbols, Symbols]  # before and after a needle, from the needle on


class Passed(NamedTuple):
    """The surroundings of a needle in lines that are passed over.

    Attributes:
        around: the surroundings.
        first: whether it is the first needle of such a line, so that what follows tells the line from others.
    """

    around: frozenset[Surroundings]
    first: bool


class Needle(NamedTuple):
    """A text, and whether a word begins with it and ends with it."""

    text: str
    begins: bool = False
    ends: bool = False

    def expression(self, ignore_case: bool, passed: Passed | None = None) -> str:
        """Return an expression that finds the needle.

        Args:
            ignore_case: whether the case is ignored.
            passed: surroundings in which the needle is passed over.
        """
        body = "\\b" * self.begins + re.escape(self.text).replace("\\\n", "") + "\\b" * self.ends
        if passed is not None and passed.first:
            body += _unlike({after for _, after in passed.around}, "$")
        elif passed is not None:
            body = _unlike({before for before, _ in passed.around}, "^") + body
        return f"{'(?i)' if ignore_case else ''}{body}"

    def is_in(self, other: Needle, ignore_case: bool, others: bool) -> bool:
        """Whether each text with another needle contains this one.

        Args:
            other: the other needle.
            ignore_case, others: whether the case of this needle, and of the other one, is ignored.
        """
        if others and not ignore_case:
            return False
        text = other.text.lower() if ignore_case else other.text
        begin = text.find(self.text.lower() if ignore_case else self.text)
        end = begin + len(self.text)
        begins = not self.begins or (other.begins if begin == 0 else not _worded(text[begin - 1]))
        ends = not self.ends or (other.ends if end == len(text) else not _worded(text[end]))
        return begin >= 0 and begins and ends


def surroundings(line: bytes, begin: int, end: int) -> Surroundings:
    """Return the text on both sides of a needle, cut at the nearest numbers; that before it is reversed.

    Args:
        line: the line without its end.
        begin, end: the offsets of the needle.
    """
    before = NUMBER.sub(b"\n", line[max(0, begin - _AROUND) : begin])[::-1]
    after = NUMBER.sub(b"\n", line[end : end + _AROUND])
    return _symbols(before, begin <= _AROUND), _symbols(after, end + _AROUND >= len(line))


def _symbols(text: bytes, whole: bool) -> Symbols:
    """Return the symbols of a text up to its first number. Numbers are replaced by line ends.

    Args:
        text: the text.
        whole: whether the line has no more than that.
    """
    words, number, _ = text.partition(b"\n")
    last = ["0-9A-Fa-f"] if number else [_END] if whole else []
    return tuple([f"\\x{byte:02x}" for byte in words] + last)


def _unlike(some: Iterable[Symbols], bound: str) -> str:
    """Return an expression for all that does not begin with one of some texts; before a needle it ends so.

    Args:
        some: the texts.
        bound: the expression for the line's end in this direction, ``^`` or ``$``.
    """
    rests: dict[str, list[Symbols]] = {}
    for first, *rest in some:
        rests.setdefault(first, []).append(tuple(rest))
    found = [f"[^{''.join(rests)}\\n]", *([bound] if _END not in rests else [])]
    for symbol, deeper in rests.items():
        if all(deeper):
            inner = _unlike(deeper, bound)
            found.append(f"{inner}[{symbol}]" if bound == "^" else f"[{symbol}]{inner}")
    return f"(?:{'|'.join(found)})"


def needles(expression: str) -> tuple[Needle, ...]:
    """Return the needles of an expression; empty where it can match without a sufficiently long text."""
    parsed: Any = parser.parse(expression)
    found = _sequence(parsed)
    return tuple(dict.fromkeys(found)) if found else ()


def ignores_case(expression: str) -> bool:
    """Whether an expression ignores case."""
    return expression.startswith("(?i)") or "(?i:" in expression


def _sequence(items: Iterable[Any]) -> list[Needle]:
    """Return the best of the sets of needles of a sequence's parts."""
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
    """Return the alternatives for the next character; empty where there are too many."""
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
