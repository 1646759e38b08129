"""From text to statements: every statement is parsed by itself, so that all errors of a file are found."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from antlr4 import Token
from antlr4.atn.PredictionMode import PredictionMode
from antlr4.error.Errors import ParseCancellationException
from antlr4.error.ErrorStrategy import BailErrorStrategy

from whesl.esl._generated.ESLParser import ESLParser
from whesl.esl.expectation import expected
from whesl.esl.lexing import Lexeme, LexemeStream, statements
from whesl.esl.source import Part, Source
from whesl.esl.syntax import Statement
from whesl.esl.visitor import StatementVisitor

# Words that begin statements of later versions.
RESERVED = ("PREDICT",)

_UNIT = re.compile(
    r"(?:ms|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hour|hours|d)\Z", re.IGNORECASE
)
_RESERVED_UP_TO = 3  # words before one: EXCEPTION DETECTION name PREDICT
_MAX_SHOWN = 40
_CONTINUE = "a statement ends with its line; if it goes on in the next one, put a backslash at the line's end"


@dataclass
class Parsed:
    """The statements of a file, and the words of those that could not be understood.

    A name in a broken declaration may well be declared there, and one in a broken detection or recovery
    handled there, so nothing is said about its absence. ``incomplete``: a file was not included, so that any
    name may be declared in it. ``included``: what else was read, by real path, with the digest of its bytes.
    """

    statements: list[Statement] = field(default_factory=list)
    broken_declarations: set[str] = field(default_factory=set)
    broken_handling: set[str] = field(default_factory=set)
    incomplete: bool = False
    included: dict[str, str] = field(default_factory=dict)

    def extend(self, other: Parsed) -> None:
        """Take in what another file says."""
        self.statements += other.statements
        self.broken_declarations |= other.broken_declarations
        self.broken_handling |= other.broken_handling
        self.incomplete = self.incomplete or other.incomplete


# The runtime has no type information.
class _GiveUp(BailErrorStrategy):  # type: ignore[misc]
    """Leaves the statement at its first error; the words for it are made afterwards."""

    def reportError(self, recognizer: Any, e: Any) -> None:  # noqa: N802 - the runtime's name
        """Say nothing."""


class _Parser(ESLParser):  # type: ignore[misc]
    """The generated parser, with the two methods that every token goes through cut to what is used here."""

    def match(self, ttype: int) -> Any:
        """Take a token of a kind."""
        if self._input.LA(1) == ttype:
            return self.consume()
        return self._errHandler.recoverInline(self)

    def consume(self) -> Any:
        """Take the next token into the tree."""
        lexeme = self._input.LT(1)
        self._input.consume()
        self._ctx.addChild(lexeme)
        return lexeme


def parse(source: Source, part: Part | None = None) -> Parsed:
    """Parse all statements of one file of a text; what is wrong is among the source's findings.

    Args:
        source: the text.
        part: the file of it that is read; left out, the first. What it includes is not followed.
    """
    parsed = Parsed()
    visitor = StatementVisitor(source)
    parser = _Parser(None)
    parser.removeErrorListeners()
    parser._errHandler = _GiveUp()
    # The grammar has no choice that needs more; a test holds it to that.
    parser._interp.predictionMode = PredictionMode.SLL
    for lexemes in statements(source, part):
        stream = LexemeStream(lexemes)
        parser.setTokenStream(stream)
        while _skip_empty_lines(stream):
            first = stream.index
            try:
                tree = parser.line()
            except ParseCancellationException as cancelled:
                # The runtime wraps the error that it gave up at.
                offending = cancelled.args[0].offendingToken
                _explain(source, lexemes, first, offending)
                stream.seek(_next_line(lexemes, max(offending.tokenIndex, first)))
                words = {lexeme.text for lexeme in lexemes[first : stream.index]}
                parsed.incomplete = parsed.incomplete or lexemes[first].type == ESLParser.INCLUDE
                if lexemes[first].type != ESLParser.EXCEPTION:
                    parsed.broken_declarations |= words
                if lexemes[first].type != ESLParser.DECLARE:
                    parsed.broken_handling |= words
            else:
                parsed.statements.append(visitor.visitLine(tree))
    return parsed


def _skip_empty_lines(stream: LexemeStream) -> bool:
    """Go to the next line with a token on it; False at the end."""
    while stream.LA(1) == ESLParser.NEWLINE:
        stream.consume()
    return stream.LA(1) != int(Token.EOF)


def _next_line(lexemes: list[Lexeme], index: int) -> int:
    while index < len(lexemes) - 1 and lexemes[index].type != ESLParser.NEWLINE:
        index += 1
    return index


def _explain(source: Source, lexemes: list[Lexeme], first: int, offending: Lexeme) -> None:
    """Record a syntax error in words."""
    if offending.type == ESLParser.INVALID:
        return  # said already
    findings = source.findings
    if findings.full:
        findings.add("ESL010", "unexpected word", offending.start, offending.end)
        return
    at = offending.tokenIndex
    if offending.text in RESERVED and at - first <= _RESERVED_UP_TO:
        findings.add(
            "ESL012",
            f"{offending.text} is not available in this version of WHESL",
            offending.start,
            offending.end,
            hint="take the statement out; docs/esl-reference.md lists what there is",
        )
        return
    wanted = expected([lexeme.type for lexeme in lexemes[first:at]])
    if offending.type in (ESLParser.NEWLINE, Token.EOF):
        _explain_end(source, lexemes, first, at, wanted)
        return
    # Only words that are written as they stand in the list can be what was meant.
    fixed = [word for word in wanted if word.isidentifier()]
    # Arguments in braces may go over several lines; the message stays on one.
    said = " ".join(offending.text.replace("\r", "").replace("\\\n", " ").split())
    shown = said if len(said) <= _MAX_SHOWN else said[:_MAX_SHOWN] + "..."
    hint = _hint(offending, lexemes[at - 1] if at > first else None, wanted)
    if at == first:
        findings.add(
            "ESL011",
            f"no statement begins with {shown}",
            offending.start,
            offending.end,
            hint=findings.nearest(offending.text, fixed)
            or "if the line belongs to the statement above, that one's line ends in a backslash",
            expected=wanted,
        )
        return
    findings.add(
        "ESL010",
        f"unexpected {shown}",
        offending.start,
        offending.end,
        hint=findings.nearest(offending.text, fixed) or hint,
        expected=wanted,
    )


def _explain_end(source: Source, lexemes: list[Lexeme], first: int, at: int, wanted: tuple[str, ...]) -> None:
    """Record that a statement ends too early."""
    opened = [lexeme for lexeme in lexemes[first:at] if lexeme.type == ESLParser.OPEN]
    closed = [lexeme for lexeme in lexemes[first:at] if lexeme.type == ESLParser.CLOSE]
    if len(opened) > len(closed):
        bracket = opened[-1]
        source.findings.add(
            "ESL006",
            "the '[' is not closed in its statement",
            bracket.start,
            bracket.end,
            hint="put ] at the list's end",
            expected=wanted,
        )
        return
    end = lexemes[at - 1].end if at > first else lexemes[at].start
    source.findings.add(
        "ESL010", "the statement ends too early", end, end + 1, hint=_CONTINUE, expected=wanted
    )


def _hint(offending: Lexeme, before: Lexeme | None, wanted: tuple[str, ...]) -> str:
    """Return what a common slip calls for."""
    number = before is not None and before.type == ESLParser.NUMBER and before.end == offending.start
    if number and _UNIT.match(offending.text):
        return "times are seconds, written without a unit"
    if offending.type == ESLParser.STRING and "','" in wanted:
        return "put a comma between two entries"
    if offending.type == ESLParser.IDENTIFIER and any("in double quotes" in word for word in wanted):
        return f'put the text in double quotes: "{offending.text[:_MAX_SHOWN]}"'
    if offending.type in (ESLParser.DECLARE, ESLParser.EXCEPTION):
        return "each statement begins on a line of its own"
    return ""
