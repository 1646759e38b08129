"""Storms: similar lines that fill a log are judged until enough had the same result, then passed over.

A line's form is the line without its decimal and hexadecimal numbers. Once enough lines of a form had the
same result, the search is told what surrounds the needles in them, and reports the needles there no more. A
storm whose lines differ in words is recognised by its needles: if thousands of lines with the same needles
had the same result, the next one is taken to have it, too. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from whesl.runtime.diagnose.search.required_literal_search import NeedleSearch
from whesl.runtime.diagnose.search.required_literals import NUMBER, Passed, Surroundings

ENOUGH = 200  # lines of a form that are judged before the form is a storm
_SAME = 5000  # consecutive lines with the same needles and the same result before these needles are a storm
_WORTH = 1000  # lines that take as long as compiling the search anew
_WORDS = 4  # least number of bytes behind a needle that tell its line from others
_MOST = 16  # greatest number of texts around one needle
_LONGEST = 2000  # bytes at the begin of a line by which lines of one form are recognised
_REMEMBERED = 20_000  # greatest number of remembered forms

Names = tuple[str, ...]  # names of the entries found in a line


class Storms:
    """Recognises lines that need no further judging.

    Args:
        search: finds the needles.

    Attributes:
        search: finds the needles except in lines of storms.
        names: entries whose lines are not all judged.
    """

    def __init__(self, search: NeedleSearch) -> None:
        self.names: set[str] = set()
        self.search = search
        self._forms: Counter[bytes] = Counter()
        self._alike: dict[Sequence[int], tuple[Names, int]] = {}
        self._around: dict[int, set[Surroundings]] = {}
        self._told: set[bytes] = set()  # forms of which the surroundings of needles are known
        self._first: set[int] = set()
        self._passed = 0  # lines of storms
        self._known = 0  # surroundings that the search knows

    def holds(self, line: bytes, needles: Sequence[int]) -> bool:
        """Whether a line belongs to a storm.

        Args:
            line: the line without its end.
            needles: numbers of the needles in the line.
        """
        names, times = self._alike.get(tuple(needles), ((), 0))
        form = _form(line)
        if self._forms[form] < ENOUGH and times < _SAME:
            return False
        self.names.update(names)
        self._passed += 1
        if form not in self._told:
            if len(self._told) >= _REMEMBERED:
                self._told.clear()
            self._told.add(form)
            self._surroundings(line, needles)
        if self._passed % _WORTH == 0 and (known := sum(map(len, self._around.values()))) > self._known:
            self._known = known
            self.search = self.search.passing_over(
                {
                    number: Passed(frozenset(around), number in self._first)
                    for number, around in self._around.items()
                }
            )
        return True

    def judged(self, line: bytes, needles: Sequence[int], names: Names) -> None:
        """Remember the result of a judged line.

        Args:
            line, needles: as for ``holds``.
            names: names of the entries found in the line.
        """
        if len(self._forms) >= _REMEMBERED:
            self._forms.clear()
        self._forms[_form(line)] += 1
        before, times = self._alike.get(tuple(needles), (names, 0))
        self._alike[tuple(needles)] = (names, times + 1 if names == before else 1)

    def _surroundings(self, line: bytes, needles: Sequence[int]) -> None:
        """Remember what surrounds the needles in a line, and which one is the first with words behind it."""
        firsts = []
        for number in needles:
            around = self._around.setdefault(number, set())
            for begin, found in self.search.surroundings(number, line):
                if len(around) < _MOST:
                    around.add(found)
                firsts.append((len(found[1]) < _WORDS, begin, number))
        if firsts:
            self._first.add(min(firsts)[2])


def _form(line: bytes) -> bytes:
    return NUMBER.sub(b"#", line[:_LONGEST])
