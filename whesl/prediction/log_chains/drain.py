"""Templates of messages: numbers are wildcards, then Drain's tree of fixed depth brings like messages
together.

Source: He, Zhu, Zheng, Lyu, Drain: An Online Log Parsing Approach with Fixed Depth Tree, ICWS 2017. (drain3,
    the package, has had no release for years, and brings jsonpickle with it.)
"""

from __future__ import annotations

import re

from whesl.prediction.log_chains.template import WILD

_VARIES = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|[0-9]+")
_SIMILAR = 0.5  # share of words that have to be the same: Drain's own default
_DEPTH = 2  # words at the beginning that have to be the same
_CHILDREN = 100  # different words at one place of the tree; more are one wildcard
_WORDS = 100  # words of a message that count
_MOST = 20_000  # templates; what comes after them and is like none is left out


class Drain:
    """Gives each message the number of its template; templates become more general as messages come.

    Attributes:
        templates: the words of each template.
        counts: how many messages it had.
        left_out: how many messages were like none when there were too many templates.
    """

    def __init__(self) -> None:
        self.templates: list[list[str]] = []
        self.counts: list[int] = []
        self.left_out = 0
        self._known: dict[str, int] = {}
        self._leaves: dict[tuple[object, ...], list[int]] = {}
        self._words: dict[tuple[object, ...], set[str]] = {}

    def number(self, message: str) -> int:
        """Return the template of a message; -1 where there is no room for another one.

        Args:
            message: as ``lines.Line`` has it.
        """
        masked = _VARIES.sub(WILD, message)
        number = self._known.get(masked)
        if number is None:
            number = self._found(masked.split(None, _WORDS)[:_WORDS])
            if len(self._known) < 10 * _MOST:
                self._known[masked] = number
        if number < 0:
            self.left_out += 1
        else:
            self.counts[number] += 1
        return number

    def text(self, number: int) -> str:
        """Return a template as ``template.whole`` takes it."""
        words = self.templates[number]
        more = WILD if len(words) >= _WORDS else ""
        return re.sub(rf"(?:{re.escape(WILD)}\s*)+$", WILD, " ".join(words) + more)

    def _found(self, words: list[str]) -> int:
        leaf: tuple[object, ...] = (len(words),)
        for word in words[:_DEPTH]:
            below = self._words.setdefault(leaf, set())
            if WILD in word or (word not in below and len(below) >= _CHILDREN):
                leaf = (*leaf, WILD)
                continue
            below.add(word)
            leaf = (*leaf, word)
        here = self._leaves.setdefault(leaf, [])
        best, most = -1, -1.0
        for number in here:
            same = sum(map(str.__eq__, self.templates[number], words)) / max(len(words), 1)
            if same > most:
                best, most = number, same
        if most >= _SIMILAR:
            kept = self.templates[best]
            for place, word in enumerate(words):
                if kept[place] != word:
                    kept[place] = WILD
            return best
        if len(self.templates) >= _MOST:
            return -1
        here.append(len(self.templates))
        self.templates.append(words)
        self.counts.append(0)
        return here[-1]
