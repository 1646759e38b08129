"""An engine that finds needles in the first part of a log one by one, without compiling them.

A failed attempt mostly prints little. Compiling all needles takes longer than searching for each of them in
the first quarter of a mebibyte; a compiled engine searches the rest of the log. Both find the same needles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy

from whesl.runtime.detect.engines import Engine, make_engine
from whesl.runtime.detect.regex_canonical_form import Canonical
from whesl.runtime.diagnose.search.required_literals import Needle, Passed, Surroundings, surroundings

_FIRST = 256 << 10  # bytes that are searched without a compiled engine
_CALL = 500  # bytes that each search counts in addition to its text
_HITS = 512  # least limit of the listed places in a block
_BYTES_A_HIT = 64  # one place per so many bytes is the limit in a large block
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class NeedleSearch(Engine):
    """An engine that finds needles.

    Args:
        needles: needles, each with whether its case is ignored.
        engine: the engine after the first part, as for ``whesl.runtime.detect.engines.make_engine``.
    """

    name = "needles"

    def __init__(self, needles: Sequence[tuple[Needle, bool]], engine: str = "auto") -> None:
        self._needles = [
            (_shown(needle.text.encode())[case], case, needle.begins, needle.ends) for needle, case in needles
        ]
        self._given = needles
        self._engine = engine
        self._compiled: Engine | None = None
        self._blocks: Engine | None = None  # finds the lines with needles, except those passed over
        self._left = _FIRST

    def line(self, text: bytes | bytearray | memoryview) -> list[int]:
        compiled = self._after(len(text))
        return compiled.line(text) if compiled is not None else self._present(bytes(text))

    def literals(self, text: bytes) -> list[int]:
        return []

    def silent(self, text: bytes) -> bool:
        compiled = self._after(len(text))
        return compiled.silent(text) if compiled is not None else not self._present(text)

    def present(self, text: bytes) -> list[int]:
        compiled = self._after(len(text))
        return compiled.present(text) if compiled is not None else self._present(text)

    def _candidates(self, text: bytes, begin: int, end: int) -> list[int] | None:
        compiled = self._after(end - begin)
        if compiled is not None:
            return (self._blocks or compiled)._candidates(text, begin, end)
        places: list[int] = []
        budget = max(_HITS, (end - begin) // _BYTES_A_HIT)
        shown = _shown(text[begin:end])
        for number in self._contained(shown):
            places += (begin + place for place in self._ends(number, shown))
            if len(places) >= budget:
                return None
        return places

    def _after(self, size: int) -> Engine | None:
        """Count some bytes, and return the compiled engine if they exceed the first part, else None."""
        self._left -= size + _CALL
        if self._left < 0 and self._compiled is None:
            self._compiled = self._made(needle.expression(case) for needle, case in self._given)
        return self._compiled

    def surroundings(self, number: int, line: bytes) -> list[tuple[int, Surroundings]]:
        """Return the begin of each occurrence of a needle in a line, and what surrounds it there.

        Args:
            number: the needle's number.
            line: the line.
        """
        length = len(self._given[number][0].text)
        return [
            (end - length, surroundings(line, end - length, end)) for end in self._ends(number, _shown(line))
        ]

    def passing_over(self, passed: Mapping[int, Passed]) -> NeedleSearch:
        """Return a search that does not report a line if all its needles stand in known surroundings.

        Args:
            passed: the surroundings, by the number of the needle.
        """
        found = []
        # Of a needle and one inside it, only the inner one is searched for, unless just one is passed over.
        for some in (set(passed), set(range(len(self._given))) - set(passed)):
            kept = self._parts(some) | {number for number in some & set(passed) if passed[number].first}
            found += [
                needle.expression(case, passed.get(number))
                for number, (needle, case) in enumerate(self._given)
                if number in kept
            ]
        self._after(_FIRST)
        other = copy(self)
        other._blocks = self._made(found)
        return other

    def _parts(self, numbers: Collection[int]) -> set[int]:
        """Return the needles of which each of the others contains one, so that each line has one of them."""
        kept: dict[int, str] = {}
        lower = {number: self._given[number][0].text.lower() for number in numbers}
        for number, text in sorted(lower.items(), key=lambda each: len(each[1])):
            needle, any_case = self._given[number]
            near = (self._given[part] for part, short in kept.items() if short in text)
            if not any(part.is_in(needle, case, any_case) for part, case in near):
                kept[number] = text
        return set(kept)

    def _made(self, expressions: Iterable[str]) -> Engine:
        return make_engine(
            [Canonical(text.encode(), None, {}) for text in expressions], self._engine, short=True
        )

    def _present(self, text: bytes) -> list[int]:
        shown = _shown(text)
        return [number for number in self._contained(shown) if next(self._ends(number, shown), 0)]

    def _contained(self, shown: tuple[str, str]) -> list[int]:
        """Return the numbers of the needles whose text occurs anywhere, also within a word."""
        return [number for number, (needle, case, _, _) in enumerate(self._needles) if needle in shown[case]]

    def _ends(self, number: int, shown: tuple[str, str]) -> Iterator[int]:
        """Yield the offsets after each occurrence of a needle."""
        needle, case, begins, ends = self._needles[number]
        text = shown[case]
        start = text.find(needle)
        while start >= 0:
            stop = start + len(needle)
            within = (begins and start and text[start - 1] in _WORD) or (
                ends and stop < len(text) and text[stop] in _WORD
            )
            if not within:
                yield stop
            start = text.find(needle, start + 1)


def _shown(text: bytes) -> tuple[str, str]:
    """Return bytes as a string, and in lower case: short texts are found faster in a string."""
    return text.decode("latin-1"), text.lower().decode("latin-1")
