"""Lines of steady work, such as steps, in the last part of a log. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto

from whesl.runtime.diagnose.diagnosis_records import Progress
from whesl.runtime.diagnose.labels import clean
from whesl.runtime.diagnose.prepared_knowledge import words

KEPT = 1 << 20  # kept bytes of the end of a file
_LARGE = 64 << 20  # bytes of a log above which numpy counts its lines
_LONGEST = 400  # greatest number of characters of a line of steady work
NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
# A row of numbers, but not of a memory dump, such as 00000007.
_NUMBERS = re.compile(r"\s*[-+]?(?!0{3}\d)\d+(?:\.\d*)?(?:\s+[-+]?\d+(?:\.\d*)?(?:[eEdD][-+]?\d+)?){1,}\s*$")
_NUMBER = re.compile(r"\d+")
_DIGITS = b"0123456789"
_FINAL = re.compile(r"\b0*([1-9]\d*) ?(?:/|of) ?0*\1\b|\b100(?:\.0+)? ?%")
_WORD = re.compile(r"[A-Za-z]{3}")
_PROSE = re.compile(r"(?:(?:^|[\s(\"'])[A-Za-z]?[a-z']+[),.;:\"']*(?=\s|$)(?:\s*)){8}")
NONE = -1  # in place of the rank of a step that tells none
_OFTEN = 3  # lines of one form before a trouble, after which further ones show that the work goes on
# Words of trouble: a line with one is no step. Substrings are found many times faster than one expression.
_TROUBLE = (
    *("error", "fail", "fatal", "exception", "traceback", "abort", "kill", "signal", "warn", "timeout"),
    *("refused", "lost", "cannot", "can't", "unable", "denied", "invalid", "segv", "segfault", "terminat"),
    *("exit", "rendezvous", "retry", "retries", ".cpp:", ".c:", "timed out", 'file "', "frame #", "taken"),
)
_TROUBLED = re.compile(r"\b(?:nan|inf|hang\w*|hung|fault\w*)\b(?! iterations)|0x[0-9a-f]{4}")


def troubled(content: str) -> bool:
    """Whether a line has words of trouble, but for an error that is measured."""
    lower = words("measured").sub("", content.lower())
    return any(word in lower for word in _TROUBLE) or _TROUBLED.search(lower) is not None


class Tail:
    """The last bytes of a file, with the number of their first line."""

    def __init__(self) -> None:
        self._blocks: deque[tuple[bytes, int]] = deque()
        self._size = 0

    def add(self, text: bytes, behind: int) -> None:
        """Add whole lines.

        Args:
            text: the lines.
            behind: the number of the line after the last one, from 1.
        """
        if len(text) > KEPT:  # only the end of a large part is kept
            text = text[text.find(b"\n", len(text) - KEPT) + 1 :]
        self._blocks.append((text, behind))
        self._size += len(text)
        while (rest := self._size - len(self._blocks[0][0])) >= KEPT:
            self._blocks.popleft()
            self._size = rest

    def blocks(self) -> Iterator[tuple[bytes, int]]:
        """Yield the kept parts, each of whole lines, with the number of its first line."""
        for text, behind in self._blocks:
            yield text, behind - text.count(b"\n")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the kept lines with their numbers."""
        for text, line in self.blocks():
            for number, content in enumerate(_shown(text), line):
                yield number, content.decode("utf-8", "replace")

    def ordinary(self) -> list[int]:
        """Return the numbers of the lines with words that neither tell of trouble nor show a stack.

        Accounts of what a job has used, and the sentences of a help text, stand behind errors, too.
        """
        kinds: dict[str, bool] = {}  # by a line without its digits
        found = []
        for number, text in self.lines():
            key = text.translate(NO_DIGITS)
            if key not in kinds:
                aside = words("frame").search(text) or words("account").search(text) or _PROSE.search(text)
                kinds[key] = bool(_WORD.search(key)) and not (aside or troubled(text))
            if kinds[key]:
                found.append(number)
        return found

    def progress(self) -> Iterator[tuple[int, int | None, bool, int]]:
        """Yield the lines of steady work: number, rank (None if unknown), whether it is the last step, since.

        A numbered line of a form that was printed often is work after each trouble that stands behind the
        line ``since``. This is 0 for a line whose words tell that it is work.
        """
        kinds: dict[bytes, _Kind] = {}  # by a line without its digits, since most lines are of a few kinds
        # The lines at which a form was printed, up to the one from which it counts as work.
        often: dict[bytes, list[int]] = {}
        for text, first in self.blocks():
            lines = _shown(text)
            # A part without a line has a key.
            keys = b"\n".join(lines).translate(None, _DIGITS).split(b"\n")
            for number, (key, line) in enumerate(zip(keys, lines, strict=False), first):
                kind = kinds.get(key)
                if kind is None:
                    kind = kinds[key] = _kind(line.decode("utf-8", "replace"))
                since = 0
                if kind is _Kind.NUMBERED:
                    before = often.setdefault(b" ".join(key.split()), [])
                    if len(before) < _OFTEN:
                        before.append(number)
                        continue
                    since = before[-1]
                elif kind is _Kind.OTHER:
                    continue
                content = line.decode("utf-8", "replace")
                rank = clean(content).rank if kind is not _Kind.STEP else None
                if since and troubled(content) and not words("step").search(clean(content).text):
                    continue
                ends = b"/" in line or b"of" in line or b"%" in line  # what each match of _FINAL contains
                yield number, rank, ends and _FINAL.search(content) is not None, since


def _shown(text: bytes) -> list[bytes]:
    """Return lines as a terminal shows them: without the text that a carriage return overwrites."""
    lines = text.split(b"\n")[:-1]
    return [line.rstrip(b"\r").rpartition(b"\r")[2] for line in lines] if b"\r" in text else lines


class Breaks:
    """Counts the lines of a log."""

    def __init__(self) -> None:
        self._bytes = 0
        self._fast: Callable[[bytes], int] | None = None

    def count(self, text: bytes) -> int:
        """Return the number of line breaks in a text."""
        self._bytes += len(text)
        if self._fast is None:
            if self._bytes < _LARGE:
                return text.count(b"\n")
            self._fast = _fast_count()
        return self._fast(text)


def _fast_count() -> Callable[[bytes], int]:
    """Return a counter of line breaks, a fast one where numpy is installed."""
    try:
        import numpy as np
    except ImportError:
        return lambda text: text.count(b"\n")
    return lambda text: int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


class Work:
    """The steps of a job.

    Args:
        steps: the lines of steady work in all files, in order.
    """

    def __init__(self, steps: Iterable[Progress]) -> None:
        self._steps: dict[tuple[int, int | None], dict[int, list[int]]] = {}  # lines, by ``since``
        ranks: Counter[tuple[int, int]] = Counter()
        for step in steps:
            rank = NONE if step.rank is None else step.rank
            ranks[step.number, rank] += rank != NONE
            for key in (None, rank):
                self._steps.setdefault((step.number, key), {}).setdefault(step.since, []).append(step.line)
        self._busiest = dict(number_and_rank for number_and_rank, _ in reversed(ranks.most_common()))

    def after(self, number: int, line: int, rank: int | None = None) -> int:
        """Return the number of steps after a line.

        Args:
            number: the number of the file.
            line: the number of the line.
            rank: the rank whose steps count; ``NONE`` for steps without a rank, None for all steps.
        """
        return sum(
            len(lines) - bisect_right(lines, line)
            for since, lines in self._steps.get((number, rank), {}).items()
            if since < line or not since
        )

    def last(self, number: int, line: int) -> int:
        """Return the line of the last step after a line of a file; 0 without one.

        Args:
            number: the number of the file.
            line: the number of the line.
        """
        groups = self._steps.get((number, None), {})
        return max((lines[-1] for since, lines in groups.items() if since < line < lines[-1]), default=0)

    def between(self, number: int, first: int, last: int) -> int:
        """Return the number of steps between two lines of a file that count as work after the last one.

        Args:
            number: the number of the file.
            first: the line after which steps count.
            last: the last line whose step counts.
        """
        return sum(
            bisect_right(lines, last) - bisect_right(lines, first)
            for since, lines in self._steps.get((number, None), {}).items()
            if since < last
        )

    def busiest(self, number: int) -> int:
        """Return the rank with the most steps in a file; ``NONE`` where no rank tells any."""
        return self._busiest.get(number, NONE)


class _Kind(Enum):
    """The meaning of a line for the work."""

    OTHER = auto()
    NUMBERED = auto()
    STEP = auto()
    STEP_OF_RANK = auto()


def _kind(content: str) -> _Kind:
    if len(content) >= _LONGEST or not _NUMBER.search(content):
        return _Kind.OTHER
    cleaned = clean(content)
    step = words("step").search(cleaned.text)
    if not _looks(content) or not is_progress(cleaned.text):
        return _Kind.NUMBERED if step or not troubled(_NUMBER.sub("0", content)) else _Kind.OTHER
    return _Kind.STEP if cleaned.rank is None else _Kind.STEP_OF_RANK


def _looks(content: str) -> bool:
    return words("step").search(content) is not None or _NUMBERS.search(content) is not None


def is_progress(text: str) -> bool:
    """Whether a line without labels reports a step of work."""
    return bool(words("step").search(text) or _NUMBERS.match(text)) and not troubled(text)


def measures(text: str) -> bool:
    """Whether a line without labels tells of an error that it measured or counted, and of no trouble."""
    return words("measured").search(text.lower()) is not None and not troubled(text)
