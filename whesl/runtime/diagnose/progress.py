"""Lines of steady work, such as steps, in the last part of a log. Pure."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from enum import Enum, auto

from whesl.runtime.diagnose.labels import clean

KEPT = 1 << 20  # kept bytes of the end of a file
_LARGE = 64 << 20  # bytes of a log above which numpy counts its lines
_LONGEST = 400  # greatest number of characters of a line of steady work
NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_STEP = re.compile(
    r"(?i)(?:\b(?:global[ _]?)?(?:step|steps|iter|iteration|iterations|epoch|cycle|time[ _-]?step|generation"
    r"|frame|batch|round|nstep|istep|sweep|scf|loop|trial|chunk|image|block|sample|file|case|record|time|tstep"
    r"|n|t|it|model date|model time|simulating)"
    r"\b['\"]?\s*(?:no\.?|number|#)?\s*[:=#\[(]?\s*\[?\d"
    r"|\b\d+(?:\.\d+)?%\s*(?:\||done|complete)|\b\d+%\|"
    r"|\b\d+ (?:of|/) \d+\b|\b\d+/\d+ \[|\b(?:finished|completed|processed|done|wrote|saved|loaded)\b.*\d"
    r"|^\s*\d+ (?:OT|P_Mix|Broy|Diag|Pulay) "
    r"|^> [\w.(#]"  # a command that an interpreter reads
    r"|^\s*\[ +\d+/\d+\] .*\d"
    r"|^\s*(?:DAV|RMM|CG|OT|SCF|ENERGY|TIMING|WRITE|TIMESTEP|MAIN)\s*:?\s+\d)"
)
# A row of numbers, but not of a memory dump, such as 00000007.
_NUMBERS = re.compile(r"\s*[-+]?(?!0{3}\d)\d+(?:\.\d*)?(?:\s+[-+]?\d+(?:\.\d*)?(?:[eEdD][-+]?\d+)?){1,}\s*$")
_DIGIT = re.compile(r"\d")
_FINAL = re.compile(r"\b0*([1-9]\d*) ?(?:/|of) ?0*\1\b|\b100(?:\.0+)? ?%")
# An error that is measured or counted, as of a model or a loader, is no trouble.
_MEASURED = re.compile(
    r"errors?(?: norms?| rate| in \w+)?[ =:]+(?:l\w+ +)?(?:[-+]?\d*\.\d|0\b)|\bnans?[ =:]+0(?=\s*$|[,;)])"
)
_OFTEN = 3  # lines of one form before a trouble, after which further ones show that the work goes on
# Words of trouble: a line with one is no step. Substrings are found many times faster than one expression.
_TROUBLE = (
    *("error", "fail", "fatal", "exception", "traceback", "abort", "kill", "signal", "warn", "timeout"),
    *("refused", "lost", "cannot", "can't", "unable", "denied", "invalid", "segv", "segfault", "terminat"),
    *("exit", "rendezvous", "retry", "retries", ".cpp:", ".c:", "timed out", 'file "', "frame #", "taken"),
)
_TROUBLED = re.compile(r"\b(?:nan|inf|hang\w*|hung|fault\w*)\b(?! iterations)|0x[0-9a-f]{4}")


def _troubled(content: str) -> bool:
    lower = _MEASURED.sub("", content.lower())
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
            for number, content in enumerate(text.split(b"\n")[: text.count(b"\n")], line):
                yield number, content.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]

    def progress(self, trouble: int = 0) -> Iterator[tuple[int, int | None, bool]]:
        """Yield the lines of steady work: number, rank (None if unknown), whether it is the last step.

        Args:
            trouble: the line of the first trouble. Numbered lines of a form that was printed often before it
                are work, too.
        """
        kinds: dict[str, _Kind] = {}  # by a line without its digits, since most lines are of a few kinds
        times: Counter[str] = Counter()
        for number, content in self.lines():
            key = content.translate(NO_DIGITS)
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = _kind(content)
            if kind is _Kind.NUMBERED:
                alike = " ".join(key.split())
                times[alike] += number < trouble
                works = number > trouble and times[alike] >= _OFTEN and not _troubled(content)
                kind = _Kind.STEP_OF_RANK if works else _Kind.OTHER
            if kind is not _Kind.OTHER:
                rank = clean(content).rank if kind is _Kind.STEP_OF_RANK else None
                yield number, rank, _FINAL.search(content) is not None


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


class _Kind(Enum):
    """The meaning of a line for the work."""

    OTHER = auto()
    NUMBERED = auto()
    STEP = auto()
    STEP_OF_RANK = auto()


def _kind(content: str) -> _Kind:
    if len(content) >= _LONGEST or not _DIGIT.search(content):
        return _Kind.OTHER
    if not _looks(content) or not is_progress((cleaned := clean(content)).text):
        return _Kind.NUMBERED
    return _Kind.STEP if cleaned.rank is None else _Kind.STEP_OF_RANK


def _looks(content: str) -> bool:
    return _STEP.search(content) is not None or _NUMBERS.search(content) is not None


def is_progress(text: str) -> bool:
    """Whether a line without labels reports a step of work."""
    return bool(_STEP.search(text) or _NUMBERS.match(text)) and not _troubled(text)


def measures(text: str) -> bool:
    """Whether a line without labels tells of an error that it measured or counted, and of no trouble."""
    return _MEASURED.search(text.lower()) is not None and not _troubled(text)
