"""Repairs of a broken statement: one change of its words that makes it valid.

The changes are tried in this order: words in quotes, another order, one word more, words in brackets, one
word less. Where several words are possible, the hint lists them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from whesl.language.compiler.grammar import TOKEN
from whesl.language.compiler.lexer import Invalid, Lexeme
from whesl.language.compiler.syntax_expectations import KEYWORD, automaton, keyword
from whesl.language.wording import one_of

MAX_WORDS = 80  # words of a statement up to which a repair is searched
_MAX_PARTS = 24  # movable parts of a statement up to which other orders are tried
_MAX_SHOWN = 100
_BEFORE = 3  # number of words before the unexpected one that are also tried
BEGINNINGS = (TOKEN.DECLARE, TOKEN.EXCEPTION, TOKEN.INCLUDE)
_QUOTES = "\"'\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
_TIGHT_BEFORE = frozenset({TOKEN.COMMA, TOKEN.CLOSE, TOKEN.DOT, TOKEN.PERCENT})
_TIGHT_AFTER = frozenset({TOKEN.OPEN, TOKEN.DOT})
# Tokens that may be missing and can be inserted: punctuation, and keywords that only join others.
_JOINING = (
    *(TOKEN.COMMA, TOKEN.OPEN, TOKEN.CLOSE, TOKEN.DOT, TOKEN.PERCENT),
    *(TOKEN.DECLARE, TOKEN.EXCEPTION, TOKEN.ENTITY, TOKEN.EXCEPTION_TYPE),
    *(TOKEN.RESOURCE, TOKEN.DETECTION, TOKEN.RECOVERY, TOKEN.STEP, TOKEN.JOB),
    *(TOKEN.HANDLER, TOKEN.CODE, TOKEN.SIGNAL, TOKEN.ABOVE, TOKEN.TIMES),
    *(TOKEN.LOG, TOKEN.TIMEOUT, TOKEN.WITHIN, TOKEN.EXIT, TOKEN.NODE),
)


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that makes a statement valid.

    Attributes:
        words: all words of the changed statement.
        hint: the hint for the user.
        about: the first and the last word that the change is about.
        complete: whether the change loses no word, so that the changed statement can be used.
        reordered: whether the change is another order.
        quoted: whether the change puts words into quotes.
    """

    words: list[Lexeme]
    hint: str
    about: tuple[Lexeme, Lexeme]
    complete: bool = True
    reordered: bool = False
    quoted: bool = False


def repair(text: str, words: Sequence[Lexeme], at: int) -> Repair | None:
    """Return a change that makes a statement valid, or None.

    Args:
        text: the text that contains the words.
        words: the statement's words, without the end of its line.
        at: the number of the unexpected word; the number of words if the statement ends too early.
    """
    if len(words) > MAX_WORDS:
        return None
    return (
        _quoted(text, words, at)
        or reordered(words)
        or _inserted(words, at)
        or _bracketed(words, at)
        or _left_out(words, at)
    )


def reordered(words: Sequence[Lexeme]) -> Repair | None:
    """Return the change to an order of the words that makes the statement valid, or None."""
    parts = _parts(words)
    if len(parts) > _MAX_PARTS or any(isinstance(word, Invalid) for word in words):
        return None
    whole = (
        order for order in _orders(len(parts)) if accepts(word for number in order for word in parts[number])
    )
    order = None if accepts(words) else next(whole, None)
    if order is None:
        return None
    moved = [number for number, part in enumerate(order) if number != part]
    about = (parts[moved[0]][0], parts[moved[-1]][-1])
    found = [word for number in order for word in parts[number]]
    return Repair(found, f"write: {_shown(found)}", about, reordered=True)


def accepts(words: Iterable[Lexeme], state: int | None = None) -> bool:
    """Whether words form a whole statement, or the rest of a statement.

    Args:
        words: the words.
        state: the automaton's state before the words; None for the start of a statement.
    """
    return automaton().ends(_after(words, state))


def after_known(words: Sequence[Lexeme]) -> int:
    """Return the number of words before the first that is unexpected, or is an unknown entity or similar."""
    walk = automaton()
    state = walk.start
    for number, word in enumerate(words):
        state = walk.step(state, word.type, word.text)
        if state == walk.DEAD:
            return number
    return len(words)


def _after(words: Iterable[Lexeme], state: int | None = None) -> int:
    walk = automaton()
    state = walk.start if state is None else state
    for word in words:
        state = walk.step(state, word.type, word.text)
    return state


# The changes --------------------------------------------------------------------------------------


def _quoted(text: str, words: Sequence[Lexeme], at: int) -> Repair | None:
    """Return the change that quotes a path, a pattern or a name with unusual characters, or None."""
    if at >= len(words) or words[at].type == TOKEN.STRING:
        return None
    first = at
    while first > 0 and words[first - 1].end == words[first].start and _plain(words[first - 1]):
        first -= 1
    for start in dict.fromkeys((at, first)):
        state = automaton().step(_after(words[:start]), TOKEN.STRING)
        if state == automaton().DEAD:
            continue
        for end in range(max(start, at) + 1, len(words) + 1):
            if not _plain(words[end - 1]):
                break
            if accepts(words[end:], state):
                return _in_quotes(text, words, start, end)
    return None


def _plain(word: Lexeme) -> bool:
    """Whether a word may be part of a text without its quotes."""
    return word.type not in (TOKEN.NEWLINE, TOKEN.STRING, TOKEN.JSON_OBJECT, *_BRACKETS) and not (
        isinstance(word, Invalid) and word.problem.code != "ESL004"
    )


_BRACKETS = (TOKEN.COMMA, TOKEN.OPEN, TOKEN.CLOSE)


def _in_quotes(text: str, words: Sequence[Lexeme], start: int, end: int) -> Repair:
    said = text[words[start].start : words[end - 1].end].strip(_QUOTES).strip()
    quoted = '"' + said.replace("\\", "\\\\").replace('"', '\\"') + '"'
    word = Lexeme(TOKEN.STRING, quoted, words[start].start, 0)
    word.end = words[end - 1].end
    curly = words[start].text[0] in _QUOTES[2:]
    hint = "use straight quotes" if curly else "put the text in double quotes"
    hint += f": {quoted if len(quoted) <= _MAX_SHOWN else quoted[:40] + '...'}"
    return Repair([*words[:start], word, *words[end:]], hint, (words[start], words[end - 1]), quoted=True)


def _inserted(words: Sequence[Lexeme], at: int) -> Repair | None:
    """Return the change that inserts one token of ``_JOINING``, or None."""
    for place in range(min(at, len(words)), max(0, at - _BEFORE) - 1, -1):
        state = _after(words[:place])
        beside = {word.type for word in words[max(0, place - 1) : place + 1]}
        fitting = [
            kind
            for kind in _JOINING
            if kind not in beside and accepts(words[place:], automaton().step(state, kind, KEYWORD))
        ]
        if len(fitting) == 1:
            written = keyword(fitting[0]).strip("'")
            offset = words[place].start if place < len(words) else words[-1].end
            word = Lexeme(fitting[0], written, offset, 0)
            word.end = offset
            found = [*words[:place], word, *words[place:]]
            if written == "%" and float(words[place - 1].text) < 1:
                # A number below 1 before a missing percent sign is most likely a fraction (0.9 for 90 %).
                percent = f"{float(words[place - 1].text) * 100:.10g}"
                found[place - 1] = Lexeme(TOKEN.NUMBER, percent, words[place - 1].start, 0)
                found[place - 1].end = words[place - 1].end
            here = words[min(place, len(words) - 1)]
            comma = "put a comma between two entries: " if written == "," else "write: "
            return Repair(found, f"{comma}{_shown(found, place)}", (here, here))
        if fitting:
            if place >= len(words):
                return None
            some = one_of([keyword(kind).strip("'") for kind in fitting])
            here = words[place]
            return Repair(list(words), f"put {some} before {here.text[:40]}", (here, here), complete=False)
    return None


def _bracketed(words: Sequence[Lexeme], at: int) -> Repair | None:
    """Return the change that puts the words of a list into brackets, or None."""
    state = automaton().step(_after(words[:at]), TOKEN.OPEN, KEYWORD)
    for end in range(at + 1, len(words) + 1):
        if state == automaton().DEAD:
            return None
        state = automaton().step(state, words[end - 1].type, words[end - 1].text)
        closed = automaton().step(state, TOKEN.CLOSE, KEYWORD)
        if closed != automaton().DEAD and accepts(words[end:], closed):
            opening, closing = (
                Lexeme(TOKEN.OPEN, "[", words[at].start, 0),
                Lexeme(TOKEN.CLOSE, "]", 0, 0),
            )
            opening.end = opening.start
            closing.start = closing.end = words[end - 1].end
            found = [*words[:at], opening, *words[at:end], closing, *words[end:]]
            return Repair(found, f"write: {_shown(found, at)}", (words[at], words[end - 1]))
    return None


def _left_out(words: Sequence[Lexeme], at: int) -> Repair | None:
    """Return the change that removes one word (only a comma where the statement ends too early), or None."""
    places = [
        place
        for place in range(min(at, len(words) - 1), max(1, at - _BEFORE) - 1, -1)
        if accepts([*words[:place], *words[place + 1 :]])
        and (at < len(words) or words[place].type == TOKEN.COMMA)
    ]
    if not places:
        return None
    said = dict.fromkeys(" ".join(words[place].text.split())[:40] for place in reversed(places))
    word, found = words[places[0]], [*words[: places[0]], *words[places[0] + 1 :]]
    # Characters without meaning are no name.
    complete = isinstance(word, Invalid) and word.problem.code == "ESL004"
    return Repair(found, f"leave out {one_of(list(said))}", (word, word), complete=complete)


# The order ----------------------------------------------------------------------------------------


def _parts(words: Sequence[Lexeme]) -> list[list[Lexeme]]:
    """Return the movable parts of words: a list in brackets, a list with commas, a range, a single word."""
    parts: list[list[Lexeme]] = []
    depth, joined = 0, False
    for word in words:
        joining = word.type in (TOKEN.COMMA, TOKEN.DASH)
        if parts and (depth or joined or joining):
            parts[-1].append(word)
        else:
            parts.append([word])
        depth += (word.type == TOKEN.OPEN) - (word.type == TOKEN.CLOSE and depth > 0)
        joined = joining
    return parts


def _orders(count: int) -> Iterator[list[int]]:
    """Yield the orders of ``count`` parts that exchange two neighbouring groups of parts, or two parts."""
    parts = list(range(count))
    for first, middle, last in itertools.combinations(range(count + 1), 3):
        yield [*parts[:first], *parts[middle:last], *parts[first:middle], *parts[last:]]
    for first, last in itertools.combinations(parts, 2):
        order = parts.copy()
        order[first], order[last] = last, first
        yield order


def _shown(words: Sequence[Lexeme], place: int | None = None) -> str:
    """Return words as a line of text; of a long line only the part around the word at ``place``."""
    line, at = "", 0
    for number, (before, word) in enumerate(zip([None, *words], words, strict=False)):
        if word.type == TOKEN.NEWLINE:
            continue
        tight = before is None or before.type in _TIGHT_AFTER or word.type in _TIGHT_BEFORE
        if before is not None and before.start < before.end == word.start < word.end:
            tight = True  # the user wrote no blank here
        elif before is not None and word.type == TOKEN.OPEN:
            tight = False
        at = len(line) if number == place else at
        line += ("" if tight else " ") + " ".join(word.text.split())
    if len(line) <= _MAX_SHOWN or place is None:
        return line if len(line) <= 2 * _MAX_SHOWN else f"{line[: 2 * _MAX_SHOWN]}..."
    first = max(0, at - _MAX_SHOWN // 2)
    rest = "..." if first + _MAX_SHOWN < len(line) else ""
    return f"{'...' if first else ''}{line[first : first + _MAX_SHOWN]}{rest}"
