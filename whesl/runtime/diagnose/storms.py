"""Storms: similar lines that fill a log are judged until enough had the same result, then only counted.

A line's form is the line without its decimal and hexadecimal numbers. Lines of a form that was judged often
enough are removed from a whole block in one pass. Where one text between two numbers contains all needles of
the form, a mark replaces that text: replacing bytes is many times faster than an expression, and the next
search finds nothing there. A storm whose lines differ in words is recognised by its needles: if thousands of
lines with the same needles had the same result, the next one is taken to have it, too. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

ENOUGH = 200  # lines of a form that are judged before the form is a storm
_SAME = 5000  # consecutive lines with the same needles and the same result before these needles are a storm
_MOST = 16  # greatest number of forms that are removed at a time
_RARE = 500  # a form with fewer than one line in so many is not removed any more
_LONGEST = 2000  # bytes of a line that make its form
_REMEMBERED = 20_000  # greatest number of remembered forms
_SHORTEST = 12  # least number of bytes of a text that a mark replaces
# First two bytes of a mark: no log and no needle contains them, and they end a word. A third byte follows.
_MARK = b"\x00\x1a"
_THIRD = range(0x80, 0x100)
_NUMBER = re.compile(rb"[0-9A-Fa-f]*[0-9][0-9A-Fa-f]*")

Names = tuple[str, ...]  # names of the entries found in a line


class Storms:
    """Recognises lines that need no further judging, and counts them.

    Args:
        needles_in: returns the numbers of the needles in a text.
    """

    def __init__(self, needles_in: Callable[[bytes], Sequence[int]]) -> None:
        self.counts: Counter[str] = Counter()
        self._needles_in = needles_in
        self._marks: dict[bytes, bytes] = {}
        self._marked: dict[bytes, Names] = {}
        self._forms: Counter[bytes] = Counter()
        self._names: dict[bytes, Names] = {}
        self._removed: dict[bytes, bytes] = {}  # expression for the lines of each removed form
        self._alike: dict[Sequence[int], tuple[Names, int]] = {}

    def holds(self, line: bytes, needles: Sequence[int]) -> bool:
        """Whether a line belongs to a storm; if so, count it.

        Args:
            line: the line without its end.
            needles: numbers of the needles in the line.
        """
        form = _form(line)
        if self._forms[form] >= ENOUGH:
            if form not in self._removed and len(line) <= _LONGEST:
                self._begin_to_take_out(line, form, needles)
            self.counts.update(self._names[form])
            return True
        names, times = self._alike.get(tuple(needles), ((), 0))
        if times >= _SAME:
            self.counts.update(names)
            return True
        return False

    def judged(self, line: bytes, needles: Sequence[int], names: Names) -> None:
        """Remember the result of a judged line.

        Args:
            line, needles: as for ``holds``.
            names: names of the entries found in the line.
        """
        if len(self._forms) >= _REMEMBERED:
            self._forms.clear()
            self._removed.clear()
        form = _form(line)
        self._forms[form] += 1
        self._names[form] = names
        before, times = self._alike.get(tuple(needles), (names, 0))
        self._alike[tuple(needles)] = (names, times + 1 if names == before else 1)

    def take_out(self, text: bytes, lines: int) -> bytes:
        """Return whole lines with those of storms counted and emptied; each line keeps its number.

        Args:
            text: the lines, with a line end after the last one.
            lines: the number of lines.
        """
        for part, names in list(self._marked.items()):
            before = len(text)
            text = text.replace(part, self._marks[part])
            count = (before - len(text)) // (len(part) - len(self._marks[part]))
            self._count(names, count)
            if (count + 1) * _RARE < lines:
                del self._marked[part]
        if not self._removed:
            return text
        forms = list(self._removed)
        counts = [0] * len(forms)

        def removed(line: re.Match[bytes]) -> bytes:
            counts[(line.lastindex or 1) - 1] += 1
            return b"\n"

        text = _lines_of(self._removed.values()).sub(removed, b"\n" + text)
        for form, count in zip(forms, counts, strict=True):
            self._count(self._names[form], count)
            if (count + 1) * _RARE < lines:
                del self._removed[form]
        return text[1:]

    def whole(self, text: bytes) -> bytes:
        """Return a text with the marks of ``take_out`` replaced by the original parts."""
        if _MARK in text:
            for part, mark in self._marks.items():
                text = text.replace(mark, part)
        return text

    def _begin_to_take_out(self, line: bytes, form: bytes, needles: Sequence[int]) -> None:
        part = self._telling(line, needles)
        if part is not None and len(self._marked) < _MOST and len(self._marks) < len(_THIRD):
            self._marks.setdefault(part, _MARK + bytes([_THIRD[len(self._marks)]]))
            self._marked[part] = self._names[form]
        elif len(self._removed) < _MOST:
            self._removed[form] = _expression(line)

    def _telling(self, line: bytes, needles: Sequence[int]) -> bytes | None:
        """Return the text between two numbers of a line that contains all its needles; None without one."""
        for part in _NUMBER.split(line):
            if len(part) >= _SHORTEST and self._needles_in(part) == needles:
                rest = line.replace(part, _MARK)
                return None if self._needles_in(rest) else part
        return None

    def _count(self, names: Names, lines: int) -> None:
        for name in names if lines else ():
            self.counts[name] += lines


def _form(line: bytes) -> bytes:
    return _NUMBER.sub(b"#", line[:_LONGEST])


def _expression(line: bytes) -> bytes:
    """Return an expression that matches the lines of the same form as a line."""
    return rb"[0-9A-Fa-f]+".join(map(re.escape, _NUMBER.split(line)))


def _lines_of(expressions: Iterable[bytes]) -> re.Pattern[bytes]:
    """Return an expression for whole lines of any of some expressions, with the preceding line end.

    The number of a match's last group is the expression's number, from 1. The group is empty and comes last,
    so that the regular expression engine compares a form's first character first.
    """
    return re.compile(rb"\n(?:" + b"|".join(each + b"()" for each in expressions) + rb")(?=\n)")
