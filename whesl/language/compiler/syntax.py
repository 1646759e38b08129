"""Statements as they are written: the parse tree's contents, before any check.

Every record keeps the offsets of its words, so that a finding can point at a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whesl.language.pattern_and_stream_records import Stream


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the source text, from offset ``start`` to before ``end``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entities:
    """``DECLARE ENTITY a, b``."""

    names: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Levels:
    """``DECLARE EXCEPTION_TYPE a, b``."""

    names: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Coupled:
    """``DECLARE COUPLED JOB [jobs]``. Quoted jobs keep their quotes."""

    keyword: Word
    jobs: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """An operation of a resource, with its quoted handler, None without one."""

    operation: Word
    handler: Word | None


@dataclass(frozen=True, slots=True)
class Resource:
    """``DECLARE RESOURCE name[offers] [HANDLER handler]``: a handler for operations without their own."""

    name: Word
    offers: tuple[Offer, ...]
    handler: Word | None


@dataclass(frozen=True, slots=True)
class Limit:
    """``LIMIT count [WITHOUT PROGRESS] [WITHIN seconds]``."""

    keyword: Word
    count: Word
    without_progress: Word | None
    within: Word | None


@dataclass(frozen=True, slots=True)
class Backoff:
    """``BACKOFF seconds``."""

    keyword: Word
    seconds: Word


@dataclass(frozen=True, slots=True)
class Else:
    """``ELSE FAIL | PAUSE | ESCALATE [exception]``."""

    keyword: Word
    action: Word
    exception: Word | None


@dataclass(frozen=True, slots=True)
class Raise:
    """``RAISE type [SEVERITY severity]``. The type keeps its quotes."""

    keyword: Word
    type: Word
    severity: Word | None


Clause = Limit | Backoff | Else | Raise


@dataclass(frozen=True, slots=True)
class Declared:
    """``DECLARE EXCEPTION name level JOB [jobs] clauses``. Quoted jobs keep their quotes."""

    name: Word
    level: Word
    jobs: tuple[Word, ...]
    clauses: tuple[Clause, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PatternText:
    """A quoted text, which is a literal text or a regular expression."""

    text: Word
    regex: bool


@dataclass(frozen=True, slots=True)
class From:
    """The stream or file that a pattern is searched in. ``path`` keeps its quotes."""

    stream: Stream
    path: Word | None


@dataclass(frozen=True, slots=True)
class Include:
    """``INCLUDE name [source]``. The name keeps its quotes; ``source`` replaces the patterns' sources."""

    name: Word
    source: From | None


@dataclass(frozen=True, slots=True)
class Timer:
    """``TIMEOUT timeout [WARMUP warmup]``."""

    timeout: Word
    warmup: Word | None


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a detection; ``kind`` is the alternative of the grammar's rule ``detection``.

    ``keywords`` and ``texts`` (quoted) are its direct words, in their order; ``parts`` are the words of its
    inner rules, by the rule's name: ``count``, ``within``, ``severity``, ``percent``, ``code``, ...
    """

    kind: str
    keywords: tuple[Word, ...]
    texts: tuple[Word, ...]
    parts: Mapping[str, tuple[Word, ...]]
    patterns: tuple[PatternText, ...]
    source: From | None
    timer: Timer | None

    def part(self, rule: str) -> Word | None:
        """Return the first word of an inner rule, None where the form has no such rule."""
        return next(iter(self.parts.get(rule, ())), None)

    def keyword(self, text: str) -> Word | None:
        """Return a keyword of the form, None where the form does not contain it."""
        return next((word for word in self.keywords if word.text == text), None)

    def ranges(self, rule: str) -> Iterator[tuple[Word, Word]]:
        """Yield the ranges of numbers in an inner rule as first and last number; a single number is both."""
        for word in self.parts.get(rule, ()):
            first, dash, last = word.text.partition("-")
            low = Word(first, word.start, word.start + len(first))
            yield low, Word(last, word.end - len(last), word.end) if dash else low


@dataclass(frozen=True, slots=True)
class Detected:
    """``EXCEPTION DETECTION exception form``."""

    exception: Word
    form: Form
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """``EXCEPTION RECOVERY STEP exception entity resource.operation [BEFORE FAILURE] arguments``."""

    exception: Word
    entity: Word
    resource: Word
    operation: Word
    before: Word | None
    arguments: Word | None
    start: int
    end: int


Statement = Include | Entities | Levels | Coupled | Resource | Declared | Detected | Recovered


def unquote(word: Word, *, regex: bool = False) -> str:
    r"""Return the content of a quoted text.

    ``\"`` is a quote. ``\\`` is one backslash, but stays two in a regular expression; any other backslash
    stands for itself.

    Args:
        word: the text with its quotes.
        regex: whether it is a regular expression.
    """
    inner = word.text[1:-1]
    if "\\" not in inner:
        return inner
    if regex:
        # Escapes are read in pairs, so that \\" is an escaped backslash and the closing quote.
        return _pairs(inner, {'\\"': '"'})
    return _pairs(inner, {'\\"': '"', "\\\\": "\\"})


def offset(word: Word, index: int, *, regex: bool = False) -> int:
    """Return the source offset of a character of a quoted text's content.

    Args:
        word: the text with its quotes.
        index: the index of the character in the content that ``unquote`` returns.
        regex: whether the text is a regular expression.
    """
    inner = word.text[1:-1]
    said = at = 0
    while at < len(inner):
        pair = inner[at : at + 2] if inner[at] == "\\" else inner[at]
        meant = 1 if pair == '\\"' or (pair == "\\\\" and not regex) else len(pair)
        if said + meant > index:
            return word.start + 1 + at + (index - said if meant == len(pair) else 0)
        said += meant
        at += len(pair)
    return word.start + 1 + at


def _pairs(text: str, meaning: dict[str, str]) -> str:
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        pair = text[found : found + 2]
        parts += text[at:found], meaning.get(pair, pair)
        at = found + 2
    return "".join((*parts, text[at:]))
