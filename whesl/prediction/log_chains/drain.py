"""Templates of messages: numbers become wildcards, then Drain's tree of fixed depth groups similar messages.

Source: He, Zhu, Zheng, Lyu, Drain: An Online Log Parsing Approach with Fixed Depth Tree, ICWS 2017. (The
package drain3 is not used, since it has had no release for years and depends on jsonpickle.)
"""

from __future__ import annotations

import re

from whesl.prediction.log_chains.template import WILD

_VARIES = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|[0-9]+")
_SIMILAR = 0.5  # least share of equal words of a message and its template: Drain's default
_DEPTH = 2  # number of first words that are equal in a message and its template
_CHILDREN = 100  # largest number of different words at one place of the tree; further words share a wildcard
_WORDS = 100  # number of words of a message that are compared
_MOST = 20_000  # largest number of templates; later messages without a similar template are left out


class Drain:
    """Assigns each message the number of its template; further messages make templates more general.

    Attributes:
        templates: the words of each template.
        counts: number of messages of each template.
        left_out: number of messages without a similar template after the largest number of templates.
    """

    def __init__(self) -> None:
        self.templates: list[list[str]] = []
        self.counts: list[int] = []
        self.left_out = 0
        self._known: dict[str, int] = {}
        self._leaves: dict[tuple[object, ...], list[int]] = {}
        self._words: dict[tuple[object, ...], set[str]] = {}

    def number(self, message: str) -> int:
        """Return the number of a message's template; -1 when the message would need one template too many.

        Args:
            message: the message of a ``lines.Line``, decoded.
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
        """Return a template's text, in the form that ``template.whole`` reads."""
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
