"""From text to tokens, one statement at a time, fast enough for large files.

The grammar's automaton defines the tokens; this module walks over that automaton. ANTLR's own walk makes
several calls for each character and searches the automaton anew for each token; this walk caches every
transition, also those to dead ends.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from antlr4 import InputStream, Token
from antlr4.atn.LexerATNSimulator import LexerATNSimulator
from antlr4.dfa.DFA import DFA
from antlr4.dfa.DFAState import DFAState
from antlr4.PredictionContext import PredictionContextCache

from whesl.language.compiler.grammar import LEXER_ATN, TOKEN
from whesl.language.compiler.source import Part, Source

MAX_DEPTH = 100

_SKIP = -3
_DEAD = -1
# The grammar treats all characters outside ASCII alike, so this one character stands for all of them.
_OTHER = "\x80"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
STATEMENT = re.compile(r"(?:\A|(?<=[\r\n]))[ \t\f]*(?:DECLARE|EXCEPTION|INCLUDE)(?![A-Za-z0-9_-])")
_LINE_END = re.compile(r"[\r\n]|\Z")
_BRACES = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*"|[{}\[\]"]')
UNUSUAL = "names with unusual characters stand in double quotes"
_HINTS = {
    "\\": "a backslash stands at the end of a line, with nothing but blanks behind it",
    "'": 'a text stands in double quotes: "text"',
    "\N{LEFT DOUBLE QUOTATION MARK}": 'use straight quotes: "text"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": 'use straight quotes: "text"',
    "}": "no '{' is open here",
    "=": "values follow their word after a blank",
    ";": "a statement ends with its line",
}


class Lexeme:
    """A token in the form that ANTLR's simulators read; ``start`` and ``end`` are offsets in the text."""

    __slots__ = ("end", "start", "text", "tokenIndex", "type")

    def __init__(self, kind: int, text: str, start: int, index: int) -> None:
        self.type = kind
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.tokenIndex = index


class Problem(NamedTuple):
    """Why characters form no token: a code of ``diagnostics.CODES``, a message, a hint and the place."""

    code: str
    message: str
    start: int
    end: int
    hint: str


class Invalid(Lexeme):
    """Characters that form no token, and why. No statement allows them, so the parser reports each one."""

    __slots__ = ("problem",)

    def __init__(self, text: str, start: int, index: int, problem: Problem) -> None:
        super().__init__(TOKEN.INVALID, text, start, index)
        self.problem = problem


class LexemeStream:
    """The tokens of one statement, as a look-ahead stream for ANTLR's parser simulator."""

    def __init__(self, lexemes: Sequence[Lexeme], index: int) -> None:
        self.lexemes = lexemes
        self.index = index

    # ANTLR's runtime gives the names of the methods below.
    def LT(self, k: int) -> Lexeme:  # noqa: N802
        """Return the token ``k`` ahead (1: the next one); the end token when ``k`` is too large."""
        return self.lexemes[min(self.index + k - 1, len(self.lexemes) - 1)]

    def LA(self, k: int) -> int:  # noqa: N802
        """Return the type of the token ``k`` ahead."""
        return self.LT(k).type

    def consume(self) -> None:
        """Go to the next token; stay at the end token."""
        self.index = min(self.index + 1, len(self.lexemes) - 1)

    def seek(self, index: int) -> None:
        """Go to the token with the number ``index``."""
        self.index = index

    def mark(self) -> int:
        """Nothing to do: all tokens stay."""
        return 0

    def release(self, marker: int) -> None:
        """Nothing to do: all tokens stay."""

    def get(self, index: int) -> Lexeme:
        """Return a token by its index."""
        return self.lexemes[index]


class Automaton:
    """The lexer's automaton, with a cache of every transition."""

    def __init__(self) -> None:
        self._empty = InputStream("")
        tables = [DFA(LEXER_ATN.decisionToState[0], 0)]
        self._simulator = LexerATNSimulator(None, LEXER_ATN, tables, PredictionContextCache())
        closure = self._simulator.computeStartState(self._empty, LEXER_ATN.modeToStartState[0])
        self._states: list[DFAState] = []
        self._numbers: dict[int, int] = {}
        self.moves: list[dict[str, int]] = []
        self.kinds: list[int] = []  # kind of the token that ends in each state; 0 for none
        self._number(self._simulator.addDFAState(closure))

    def _number(self, state: DFAState) -> int:
        number = self._numbers.get(state.stateNumber)
        if number is None:
            number = self._numbers[state.stateNumber] = len(self._states)
            self._states.append(state)
            self.moves.append({})
            skipped = state.lexerActionExecutor is not None  # "skip" is the only action of the grammar
            self.kinds.append((_SKIP if skipped else state.prediction) if state.isAcceptState else 0)
        return number

    def step(self, state: int, character: str) -> int:
        """Return the state that follows a state, and cache it.

        Args:
            state: the number of the state.
            character: the character that is read.
        """
        target = self._simulator.computeTargetState(self._empty, self._states[state], ord(character))
        number = _DEAD if target is self._simulator.ERROR else self._number(target)
        self.moves[state][character] = number
        return number

    def longest(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return the kind and the end of the longest token at ``start``, INVALID where no token begins.

        Args:
            text: the text.
            start: the offset of the token's first character.
            end: the offset before which the token has to end.
        """
        moves, kinds = self.moves, self.kinds
        state, at, kind, accepted = 0, start, 0, start
        while at < end:
            character = text[at]
            following = moves[state].get(character)
            if following is None:
                following = self.step(state, character)
            if following == _DEAD:
                break
            state = following
            at += 1
            if kinds[state]:
                kind, accepted = kinds[state], at
        return kind, accepted


@lru_cache(maxsize=1)
def automaton() -> Automaton:
    """Return this process's lexer automaton, made at the first call."""
    return Automaton()


def statements(source: Source, part: Part | None = None) -> Iterator[list[Lexeme]]:
    """Yield the tokens of each statement, with an end token; characters that form no token are ``Invalid``.

    A line that begins with DECLARE, EXCEPTION or INCLUDE begins a statement, unless the line before is
    continued; so an unclosed bracket breaks one statement and not the rest of the file.

    Args:
        source: the text.
        part: the file whose statements are read; None for the specification's own.
    """
    text = source.text
    part = part or source.parts[0]
    first, last = part.start, part.end
    bounds = [
        first,
        *(m.start() for m in STATEMENT.finditer(text, first, last) if not _continued(text, m.start())),
        last,
    ]
    plain = text if text.isascii() else _NOT_ASCII.sub(_OTHER, text)
    for start, end in itertools.pairwise(bounds):
        if start < end:
            lexemes = _tokens(source.text, plain, start, end)
            if len(lexemes) > 1:
                yield lexemes


def _continued(text: str, line_start: int) -> bool:
    """Whether the line before ``line_start`` ends in a backslash that is not part of a comment line."""
    end = line_start
    if text[end - 1 : end] == "\n":
        end -= 1
    if text[end - 1 : end] == "\r":
        end -= 1
    before = text[max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1 : end].strip(" \t\f")
    return before.endswith("\\") and not before.startswith("#")


def _tokens(text: str, plain: str, start: int, end: int) -> list[Lexeme]:
    longest = automaton().longest
    found: list[Lexeme] = []
    at = last = start
    while at < end:
        kind, stop = 0, at
        problem = _unbalanced(text, at, end) if plain[at] == "{" else None
        if problem is None:
            kind, stop = longest(plain, at, end)
        if kind == TOKEN.PAIR and all(lexeme.type != TOKEN.CAUSE for lexeme in found):
            # Only a cause's class has a slash outside quotes; a job's name with one gets a hint to quote it.
            kind, stop = longest(plain, at, plain.index("/", at))
        if kind == _SKIP:
            at = stop
            continue
        if kind in (0, TOKEN.INVALID):
            problem, stop = (problem, end) if problem is not None else _invalid(text, at, end)
            found.append(Invalid(text[at:stop], at, len(found), problem))
        else:
            found.append(Lexeme(kind, text[at:stop], at, len(found)))
        if kind != TOKEN.NEWLINE:
            last = stop
        at = stop
    found.append(Lexeme(int(Token.EOF), "", last, len(found)))
    return found


def _invalid(text: str, start: int, end: int) -> tuple[Problem, int]:
    """Return why no token begins at ``start``, and the offset at which reading continues."""
    character = text[start]
    if character == '"':
        line_end = min(_line_end(text, start), end)
        return _unclosed(start, line_end), line_end
    stop = start + 1
    while stop < end and text[stop] == character:
        stop += 1
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    hint = _HINTS.get(character, UNUSUAL)
    return Problem("ESL004", f"the character {shown} has no meaning here", start, stop, hint), stop


def _unclosed(start: int, line_end: int) -> Problem:
    hint = 'put " at its end; inside a text a quote is written \\" and a backslash \\\\'
    return Problem("ESL005", "the text is not closed on its line", start, line_end, hint)


def _line_end(text: str, start: int) -> int:
    match = _LINE_END.search(text, start)
    assert match is not None  # always true: the expression ends with \Z
    return match.start()


def _unbalanced(text: str, start: int, end: int) -> Problem | None:
    """Return a problem when the JSON object at ``start`` is not closed or nested too deeply, else None.

    This check precedes the automaton, since the number of the automaton's states grows with the depth.
    """
    depth = 0
    for match in _BRACES.finditer(text, start, end):
        bracket = match.group()
        if bracket in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                message = f"the arguments are nested more than {MAX_DEPTH} deep"
                hint = "is a bracket or brace not closed?"
                return Problem("ESL003", message, match.start(), match.end(), hint)
        elif bracket in "}]":
            depth -= 1
            if depth <= 0:
                return None
        elif bracket == '"':
            return _unclosed(match.start(), min(_line_end(text, match.start()), end))
    message = "the '{' is not closed in its statement"
    return Problem("ESL006", message, start, start + 1, "put } at the object's end")
