"""Finds the patterns that are in every line with a given pattern, without comparing all pairs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from whesl.language.lint.statements import LEAST, named
from whesl.language.pattern_and_stream_records import Pattern


class PatternIndex:
    """Finds the groups with a pattern that every line with another pattern has, too.

    The key of a text is its first ``LEAST`` characters and its length. To find the texts contained in another
    text, one look-up is made for each place in it and each length of texts with the characters at that place.
    """

    def __init__(self, groups: Sequence[Sequence[Pattern]]) -> None:
        """Index all patterns that are specific enough to tell lines apart (``LEAST``).

        Args:
            groups: groups of patterns; a group's index identifies it.
        """
        self._expressions: defaultdict[str, list[int]] = defaultdict(list)
        self._texts: defaultdict[str, defaultdict[int, defaultdict[str, list[int]]]]
        self._texts = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
        for number, patterns in enumerate(groups):
            for pattern in patterns:
                if named(pattern) < LEAST:
                    continue
                if pattern.regex:
                    self._expressions[_ungrouped(pattern.text)].append(number)
                else:
                    self._texts[pattern.text[:LEAST]][len(pattern.text)][pattern.text].append(number)

    def included(self, pattern: Pattern) -> Iterator[int]:
        """Yield the index of each group with a pattern that every line with this pattern has, too.

        Args:
            pattern: the pattern; a text contains all its parts, an expression only itself, with any groups.
        """
        text = pattern.text
        if pattern.regex:
            yield from self._expressions.get(_ungrouped(text), ())
            return
        for start in range(len(text)):
            for length, texts in self._texts.get(text[start : start + LEAST], {}).items():
                yield from texts.get(text[start : start + length], ())


def _ungrouped(expression: str) -> str:
    return re.sub(r"(?<!\\)(?:\((?:\?P<\w+>|\?:)?|\))", "", expression)
