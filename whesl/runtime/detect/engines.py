"""The engines below the matcher: hyperscan, or google-re2 where hyperscan is missing or misses matches.

Both engines have the same three methods on bytes whose only line break is ``\\n``: find which whole lines
match which patterns, which patterns match one line, and which literals occur in the bytes. The matcher above
them does everything else (lines, partial lines, excerpts, reporting once), so the engines cannot differ in
it. A scan of whole blocks gives candidates; then each candidate line is scanned alone, once per line.

Engines take time linear in the text, and so do captures, which are always re2's. Python's ``re`` never runs
on a log.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import re2

from whesl.model.errors import UsageError
from whesl.runtime.detect.regex_canonical_form import Canonical, PatternError

_hyperscan: ModuleType | None
try:
    import hyperscan as _hyperscan_module
except ImportError:
    _hyperscan = None
else:
    _hyperscan = _hyperscan_module

SOUND = "hyperscan==0.7.21"  # the last release whose library finds all matches
Found = tuple[
    int, int, list[int]
]  # a line's start and end in the block, and the indexes of its patterns in order

# The most reports of a block before it is halved: a report costs 0.3 us, and `x.*` gives one for each byte.
_HIT_BUDGET = 512
_BYTES_A_HIT = 64  # bytes of a large block for each report that is allowed before the block is halved
_SMALL = 4096  # a block of this size with a match is judged line by line
# Patterns, and a line that ends in the third of them, where Vectorscan 5.4.12 (hyperscan 0.7.23 to 0.9.1)
# does not find it: so with one in ten thousand lines of random words. 5.4.11 finds all of them.
_LINE_ENDS = (
    (rb"ad", rb"bd\d+", rb"da", rb"d ", b"bccabghbh hcbacdbfegeehfe h gbefda"),
    (
        rb"jjbdje(?:x|achd)",
        rb"(?i)AEJCF",
        rb"\bjicf\b",
        b"aehjg71 jjbdje aehjg gegig93 hjbjah x591 x514 x66 jicf",
    ),
    (rb"a", rb"==", rb"c=", b"a" * 52 + b"c="),
)
_RE2_MEMORY = 64 << 20  # bytes for re2's automata; its default of 8 MiB makes a set of patterns give up


class Engine:
    """The interface of engines; ``lines`` is the search that all engines share."""

    name: str

    def line(self, text: bytes | bytearray | memoryview) -> list[int]:
        """Return the patterns that match in one line (without its break), in order."""
        raise NotImplementedError

    def literals(self, text: bytes) -> list[int]:
        """Return the literals that occur in ``text``, in order."""
        raise NotImplementedError

    def silent(self, text: bytes) -> bool:
        """Whether no pattern matches in these bytes; the bytes' end counts as a line's end."""
        raise NotImplementedError

    def present(self, text: bytes) -> list[int]:
        """Return the patterns that match in these bytes, in order; the bytes' end counts as a line's end."""
        raise NotImplementedError

    def _candidates(self, text: bytes, begin: int, end: int) -> list[int] | None:
        """Return places in candidate lines (ends of matches); None when there are too many to list."""
        raise NotImplementedError

    def lines(self, text: bytes, begin: int, end: int) -> Iterator[Found]:
        """Yield the lines of ``text[begin:end]`` that hold a pattern. The block ends with a line break.

        Args:
            text: the bytes.
            begin: the offset of the block.
            end: the end of the block.
        """
        blocks = [(begin, end)]
        while blocks:
            begin, end = blocks.pop()
            places: Iterable[int] | None = self._candidates(text, begin, end)
            if places is None:
                middle = text.rfind(b"\n", begin, (begin + end) // 2) + 1 or text.find(b"\n", begin, end) + 1
                if end - begin > _SMALL and middle < end:
                    blocks += [(middle, end), (begin, middle)]
                    continue
                places = _line_starts(text, begin, end)
            judged = begin - 1  # position of the break that ends the last line judged
            for place in sorted(places):
                if place <= judged:
                    continue
                start = text.rfind(b"\n", begin, place) + 1 or begin
                judged = text.find(b"\n", place, end)
                if judged < 0:  # a report behind the last line break belongs to a match that ended with it
                    break
                patterns = self.line(memoryview(text)[start:judged])
                if patterns:
                    yield start, judged, patterns


def _line_starts(text: bytes, begin: int, end: int) -> Iterator[int]:
    while begin < end:
        yield begin
        begin = text.index(b"\n", begin, end) + 1


class Hyperscan(Engine):
    """Hyperscan (or Vectorscan) in block mode: three small databases of the same patterns."""

    name = "hyperscan"

    def __init__(self, patterns: Sequence[Canonical], short: bool = False) -> None:
        """Compile. Raises PatternError for a pattern that hyperscan refuses.

        Args:
            patterns: the patterns.
            short: as for ``make_engine``.
        """
        assert _hyperscan is not None
        self._short = short
        every = list(enumerate(patterns))
        literals = [(index, pattern) for index, pattern in every if pattern.literal is not None]
        multiline = int(_hyperscan.HS_FLAG_MULTILINE)
        single = multiline | int(_hyperscan.HS_FLAG_SINGLEMATCH)
        self._stopped = _hyperscan.ScanTerminated
        self._blocks = _database(every, multiline)
        self._for_lines = functools.partial(_database, every, single)
        self._literals = _database(literals, single) if literals else None

    @functools.cached_property
    def _line(self) -> Any:
        return self._for_lines()

    def _candidates(self, text: bytes, begin: int, end: int) -> list[int] | None:
        places: list[int] = []
        budget = max(_HIT_BUDGET, (end - begin) // _BYTES_A_HIT)

        def report(_id: int, _from: int, to: int, _flags: int, _context: object) -> bool:
            places.append(begin + to)
            return len(places) >= budget

        try:
            self._blocks.scan(text[begin:end], match_event_handler=report)
        except self._stopped:
            return None
        return places

    def silent(self, text: bytes) -> bool:
        try:
            self._blocks.scan(text, match_event_handler=_stop)
        except self._stopped:
            return False
        return True

    def present(self, text: bytes) -> list[int]:
        return _scan(self._line, text)

    def line(self, text: bytes | bytearray | memoryview) -> list[int]:
        return _scan(self._blocks if self._short else self._line, text)

    def literals(self, text: bytes) -> list[int]:
        return _scan(self._literals, text) if self._literals is not None else []


def _stop(*_: object) -> bool:
    return True


def _scan(database: Any, text: bytes | bytearray | memoryview) -> list[int]:
    found: set[int] = set()

    def report(index: int, _from: int, _to: int, _flags: int, _context: object) -> None:
        found.add(index)

    database.scan(bytes(text), match_event_handler=report)
    return sorted(found)


def _database(patterns: Sequence[tuple[int, Canonical]], flags: int) -> Any:
    assert _hyperscan is not None
    database = _hyperscan.Database(mode=_hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=[pattern.expression for _, pattern in patterns],
            ids=[index for index, _ in patterns],
            elements=len(patterns),
            flags=flags,
        )
    except _hyperscan.error as error:
        if len(patterns) == 1:
            text = patterns[0][1].expression.decode("ascii")
            raise PatternError(f"pattern {text!r}: {error}", hint="hyperscan cannot run it") from None
        for pattern in patterns:
            _database([pattern], flags)  # raises the error for the invalid pattern
        raise PatternError(f"the patterns cannot be run together: {error}") from None
    return database


class Re2(Engine):
    """google-re2: sets of patterns over bytes (its Latin-1 mode)."""

    name = "re2"

    def __init__(self, patterns: Sequence[Canonical]) -> None:
        """Compile. Raises PatternError for a pattern that re2 refuses."""
        self._blocks = _re2_set([b"(?m)" + pattern.expression for pattern in patterns])
        self._line = _re2_set([pattern.expression for pattern in patterns])
        self._texts = [(i, p.literal) for i, p in enumerate(patterns) if p.literal is not None]

    def _candidates(self, text: bytes, begin: int, end: int) -> list[int] | None:
        return None if self._blocks.Match(text[begin:end]) else []

    def silent(self, text: bytes) -> bool:
        return not self._blocks.Match(text)

    def present(self, text: bytes) -> list[int]:
        return sorted(self._blocks.Match(text) or ())

    def line(self, text: bytes | bytearray | memoryview) -> list[int]:
        return sorted(self._line.Match(bytes(text)) or ())

    def literals(self, text: bytes) -> list[int]:
        return [index for index, literal in self._texts if literal in text]


def _re2_options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _RE2_MEMORY
    options.log_errors = False
    return options


def _re2_set(expressions: Sequence[bytes]) -> Any:
    result = re2.Set.SearchSet(_re2_options())
    for expression in expressions:
        try:
            result.Add(expression)
        except re2.error as error:
            text = expression.decode("ascii")
            raise PatternError(f"pattern {text!r}: {error}", hint="re2 cannot run it") from None
    try:
        result.Compile()
    except re2.error:
        raise PatternError(
            f"{len(expressions)} patterns are too many to be run together",
            hint="split the rules, or install hyperscan, which has room for more",
        ) from None
    return result


def capturer(pattern: Canonical) -> Callable[[bytes], dict[str, bytes]] | None:
    """Return a function that finds a pattern's named groups in a short line.

    None for a pattern without groups.

    The function returns the groups that took part in the leftmost match; an empty dict without a match.
    """
    if not pattern.groups:
        return None
    return _Captures(pattern)


def searcher(pattern: Canonical) -> Callable[[bytes], dict[str, bytes] | None]:
    """Return a function that searches a short line and returns the named groups, None without a match."""
    capture = capturer(pattern)
    expression = re2.compile(pattern.expression, _re2_options())

    def search(line: bytes) -> dict[str, bytes] | None:
        if not expression.search(line):
            return None
        return capture(line) if capture is not None else {}

    return search


class _Captures:
    def __init__(self, pattern: Canonical) -> None:
        self._expression = re2.compile(pattern.expression, _re2_options())
        self._groups = pattern.groups

    def __call__(self, line: bytes) -> dict[str, bytes]:
        match = self._expression.search(line)
        if match is None:
            return {}
        values = {name: match.group(number) for name, number in self._groups.items()}
        return {name: value for name, value in values.items() if value is not None}


@functools.cache
def sound() -> bool:
    """Whether hyperscan finds matches at the very end of a line; False where it is not installed."""
    if _hyperscan is None:
        return False
    multiline = int(_hyperscan.HS_FLAG_MULTILINE)
    for *expressions, line in _LINE_ENDS:
        patterns = [(i, Canonical(text, None, {})) for i, text in enumerate(expressions)]
        for flags in (multiline, multiline | int(_hyperscan.HS_FLAG_SINGLEMATCH)):
            if 2 not in _scan(_database(patterns, flags), line):
                return False
    return True


def make_engine(patterns: Sequence[Canonical], engine: str, short: bool = False) -> Engine:
    """Return an engine: ``hyperscan``, ``re2``, or ``auto`` (the first of these that can be used).

    Raises UsageError when it cannot be used, PatternError for a pattern that it cannot run.

    Args:
        patterns: the patterns.
        engine: ``hyperscan``, ``re2`` or ``auto``.
        short: whether no pattern matches at many places of a line, so that the database for blocks also
            searches lines.
    """
    if engine not in ("auto", "hyperscan", "re2"):
        raise UsageError(f"unknown matching engine {engine!r}", hint="use auto, hyperscan or re2")
    if engine in ("auto", "hyperscan") and sound():
        return Hyperscan(patterns, short)
    if engine in ("auto", "re2"):
        return Re2(patterns)
    why = "is not installed" if _hyperscan is None else "misses matches at the end of a line"
    raise UsageError(f"the matching engine hyperscan {why}", hint=f"pip install {SOUND}")
