"""Lines that fill a log: judged until enough of them told the same, then counted.

A line's form is what is left of it without its numbers, decimal or hexadecimal. Lines of a form that was
judged often enough are taken out of a whole block in one pass. Where one text between two numbers holds all
needles of the form, a mark takes the text's place: to replace bytes is many times faster than an expression,
and the search that follows finds nothing there. A storm whose lines differ in words is told by its needles:
where thousands of lines with the same ones told the same, the next one does too. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

ENOUGH = 200  # lines of a form that are judged one by one
_SAME = 5000  # lines with the same needles that have to tell the same, one after another
_MOST = 16  # forms that are taken out at a time
_RARE = 500  # a form with fewer than one line in so many is not worth its pass over a block
_LONGEST = 2000  # bytes of a line that has a form
_REMEMBERED = 20_000  # forms
_SHORTEST = 12  # bytes of a text that a mark takes the place of
_MARK = b"\x00\x1a"  # and a third byte: no log has it, no needle does, and no word goes on over it
_THIRD = range(0x80, 0x100)
_NUMBER = re.compile(rb"[0-9A-Fa-f]*[0-9][0-9A-Fa-f]*")

Names = tuple[str, ...]  # of what a line told


class Storms:
    """Tells which lines need not be judged any more, and counts them.

    Args:
        needles_in: returns the numbers of the needles that a text holds.
    """

    def __init__(self, needles_in: Callable[[bytes], Sequence[int]]) -> None:
        self.counts: Counter[str] = Counter()
        self._needles_in = needles_in
        self._marks: dict[bytes, bytes] = {}
        self._marked: dict[bytes, Names] = {}
        self._forms: Counter[bytes] = Counter()
        self._names: dict[bytes, Names] = {}
        self._removed: dict[bytes, bytes] = {}  # forms, and what finds their lines
        self._alike: dict[Sequence[int], tuple[Names, int]] = {}

    def holds(self, line: bytes, needles: Sequence[int]) -> bool:
        """Whether a line is one of a storm, and counted by this call.

        Args:
            line: without its break.
            needles: numbers of the texts that were found in it.
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
        """Keep what a line told.

        Args:
            line, needles: as for ``holds``.
            names: of what was found in it.
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
        """Return whole lines, those of storms emptied and counted; each line keeps its number.

        Args:
            text: the lines, with a break behind the last.
            lines: how many they are.
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
        """Return a text of which ``take_out`` has taken a part as it was."""
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
        """Return the text between two numbers of a line that holds all its needles; None without one."""
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
    """Return what finds the lines of all expressions, each behind the break of the line before.

    The last group of a match has the expression's number, from 1. It is empty and stands at the end: a form's
    first character is compared before all else.
    """
    return re.compile(rb"\n(?:" + b"|".join(each + b"()" for each in expressions) + rb")(?=\n)")
