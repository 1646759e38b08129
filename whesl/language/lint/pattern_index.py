"""Which patterns stand in each line that has another one, found without comparing each two of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from whesl.language.lint.statements import LEAST, named
from whesl.language.patterns_and_places import Pattern


class PatternIndex:
    """Groups of patterns, found by a pattern that has one of theirs in each of its lines.

    A text is kept under its first ``LEAST`` characters and its length. The texts in another one are found by
    one look for each place in it, and for each length of those that begin like what stands there.
    """

    def __init__(self, groups: Sequence[Sequence[Pattern]]) -> None:
        """Keep the patterns that tell one line from another.

        Args:
            groups: patterns; a group is told by its number.
        """
        self._expressions: defaultdict[str, list[int]] = defaultdict(list)
        self._texts: defaultdict[str, defaultdict[int, defaultdict[str, list[int]]]]
        self._texts = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
        for number, patterns in enumerate(groups):
            for pattern in patterns:
                if named(pattern) < LEAST:
                    continue
                if pattern.regex:
                    self._expressions[pattern.text].append(number)
                else:
                    self._texts[pattern.text[:LEAST]][len(pattern.text)][pattern.text].append(number)

    def included(self, pattern: Pattern) -> Iterator[int]:
        """Give the number of each group with a pattern that each line with this one has, too.

        Args:
            pattern: an expression has itself alone, a text each text in it.
        """
        text = pattern.text
        if pattern.regex:
            yield from self._expressions.get(text, ())
            return
        for start in range(len(text)):
            for length, texts in self._texts.get(text[start : start + LEAST], {}).items():
                yield from texts.get(text[start : start + length], ())
