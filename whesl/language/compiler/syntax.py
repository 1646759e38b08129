"""Statements as they are written: what the parse tree becomes, before anything is checked.

Every node keeps the offsets of its words, so that each finding can point at the word it is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whesl.language.patterns_and_places import Stream


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the source, from offset ``start`` to before ``end``."""

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
    """``DECLARE COUPLED JOB [jobs]``. Jobs in quotes still have them."""

    keyword: Word
    jobs: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """An operation of a resource, with the handler in quotes if one is named."""

    operation: Word
    handler: Word | None


@dataclass(frozen=True, slots=True)
class Resource:
    """``DECLARE RESOURCE name[offers] [HANDLER handler]``: the handler of what has none of its own."""

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
    """``RAISE type [SEVERITY severity]``. The type is in quotes."""

    keyword: Word
    type: Word
    severity: Word | None


Clause = Limit | Backoff | Else | Raise


@dataclass(frozen=True, slots=True)
class Declared:
    """``DECLARE EXCEPTION name level JOB [jobs] clauses``. Jobs in quotes still have them."""

    name: Word
    level: Word
    jobs: tuple[Word, ...]
    clauses: tuple[Clause, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PatternText:
    """A text in quotes, to be found as it stands or as a regular expression."""

    text: Word
    regex: bool


@dataclass(frozen=True, slots=True)
class From:
    """Where a pattern is looked for. ``path`` is in quotes."""

    stream: Stream
    path: Word | None


@dataclass(frozen=True, slots=True)
class Include:
    """``INCLUDE name [source]``. The name is in quotes; ``source`` is where its patterns look instead."""

    name: Word
    source: From | None


@dataclass(frozen=True, slots=True)
class Timer:
    """``TIMEOUT timeout [WARMUP warmup]``."""

    timeout: Word
    warmup: Word | None


@dataclass(frozen=True, slots=True)
class Form:
    """A way to see an exception: ``kind`` is the alternative of ``detection`` in the grammar.

    ``keywords`` and ``texts`` (in quotes) stand in it directly, in their order; ``parts`` are the words of
    the rules in it, by the rule: ``count``, ``within``, ``severity``, ``percent``, ``code``, ...
    """

    kind: str
    keywords: tuple[Word, ...]
    texts: tuple[Word, ...]
    parts: Mapping[str, tuple[Word, ...]]
    patterns: tuple[PatternText, ...]
    source: From | None
    timer: Timer | None

    def part(self, rule: str) -> Word | None:
        """Return the first word of a rule, None where there is none."""
        return next(iter(self.parts.get(rule, ())), None)

    def keyword(self, text: str) -> Word | None:
        """Return a word of the language, None where it does not stand here."""
        return next((word for word in self.keywords if word.text == text), None)

    def ranges(self, rule: str) -> Iterator[tuple[Word, Word]]:
        """Return ranges of numbers: the first and the last one, twice the same for a single number."""
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
    r"""Return what a text in quotes says.

    ``\"`` is a quote. ``\\`` is one backslash, except in a regular expression, which reads it itself; any
    other backslash stands for itself.
    """
    inner = word.text[1:-1]
    if "\\" not in inner:
        return inner
    if regex:
        # Pairs are passed over, so that \\" ends with an escaped backslash and not an escaped quote.
        return _pairs(inner, {'\\"': '"'})
    return _pairs(inner, {'\\"': '"', "\\\\": "\\"})


def offset(word: Word, index: int, *, regex: bool = False) -> int:
    """Return the offset of a character of what a text in quotes says, as ``unquote`` returns it."""
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
