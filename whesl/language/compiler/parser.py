"""From text to statements: each statement is parsed separately, so that all errors of a file are found."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from antlr4 import Token

from whesl.language.compiler.grammar import TOKEN
from whesl.language.compiler.lexer import UNUSUAL, Invalid, Lexeme, Problem, statements
from whesl.language.compiler.parse_tree import MismatchError, line
from whesl.language.compiler.source import Part, Source
from whesl.language.compiler.statement_builder import StatementBuilder
from whesl.language.compiler.statement_repair import (
    BEGINNINGS,
    Repair,
    accepts,
    after_known,
    reordered,
    repair,
)
from whesl.language.compiler.syntax import Declared, Recovered, Statement
from whesl.language.compiler.syntax_error_hints import elsewhere, form, habit, seconds
from whesl.language.compiler.syntax_expectations import expected
from whesl.language.diagnostics import MAX_SUGGESTIONS, Range
from whesl.language.spec import Entity, Level, Operation, ResourceKind

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
OPERATIONS = frozenset(operation.value for operation in Operation)
LEVELS = frozenset(level.value for level in Level)
ENTITIES = frozenset({*(entity.value for entity in Entity), "DEPENDEND_JOB"})
_DECLARED: dict[int, type[Enum]] = {
    TOKEN.ENTITY: Entity,
    TOKEN.EXCEPTION_TYPE: Level,
    TOKEN.RESOURCE: ResourceKind,
}
_HANDLED = (TOKEN.DETECTION, TOKEN.RECOVERY)
# Keywords that are the first or second word of a statement.
_HEADS = (
    "DECLARE",
    "EXCEPTION",
    "INCLUDE",
    "ENTITY",
    "EXCEPTION_TYPE",
    "RESOURCE",
    "COUPLED",
    "DETECTION",
    "RECOVERY",
)
_LONGEST_KEYWORD = 18
_MAX_SHOWN = 40
_CONTINUE = "a statement ends with its line; if it goes on in the next one, put a backslash at the line's end"


@dataclass
class Parsed:
    """The statements of a file, and names that its broken statements may declare or handle.

    A name in a broken declaration may be declared there, and a name in a broken detection or recovery may be
    handled there, so that no finding reports it as undeclared or unhandled.

    Attributes:
        statements: the statements that could be parsed, in their order.
        broken_declarations: all names in broken statements that may be declarations.
        broken_handling: all names in broken statements that may be detections or recoveries.
        unsure: kinds of names (entities, exception types, ...) with a broken declaration.
        unnamed: number of broken declarations of an exception without its name.
        detections, recoveries: the words at the exception's place in broken detections and recoveries.
        incomplete: whether an included file could not be read, so that any name may be declared in it.
        included: digests of the included files' bytes, by real path.
    """

    statements: list[Statement] = field(default_factory=list)
    broken_declarations: set[str] = field(default_factory=set)
    broken_handling: set[str] = field(default_factory=set)
    unsure: set[type[Enum]] = field(default_factory=set)
    unnamed: int = 0
    detections: list[str] = field(default_factory=list)
    recoveries: list[str] = field(default_factory=list)
    incomplete: bool = False
    included: dict[str, str] = field(default_factory=dict)

    def extend(self, other: Parsed) -> None:
        """Add the statements and the doubtful names of another file."""
        self.statements += other.statements
        self.broken_declarations |= other.broken_declarations
        self.broken_handling |= other.broken_handling
        self.unsure |= other.unsure
        self.unnamed += other.unnamed
        self.detections += other.detections
        self.recoveries += other.recoveries
        self.incomplete = self.incomplete or other.incomplete

    def doubt(self, words: list[Lexeme], text: str) -> None:
        """Note the names that a broken statement may declare or handle.

        Args:
            words: the statement's tokens.
            text: the statement's whole text, also the characters that form no token.
        """
        names = set(_NAME.findall(text))
        head = [word.type for word in words[:3]]
        self.incomplete = self.incomplete or head[0] == TOKEN.INCLUDE
        declaring = head[0] == TOKEN.DECLARE and head[1:2] and head[1] in (TOKEN.EXCEPTION, *_DECLARED)
        handling = head[0] == TOKEN.EXCEPTION and head[1:2] and head[1] in _HANDLED
        if not declaring:
            self.broken_handling |= names
        if TOKEN.DETECTION in head:
            self.detections.append(_name(words, 2))
        elif TOKEN.RECOVERY in head:
            self.recoveries.append(_name(words, 3))
        if handling:
            return
        self.broken_declarations |= names
        kind = next((_DECLARED[each] for each in head if each in _DECLARED), None)
        if kind is not None:
            self.unsure.add(kind)
        elif TOKEN.EXCEPTION in head[1:] and _name(words, 2) in ("", *LEVELS):
            self.unnamed += 1


def _name(words: list[Lexeme], number: int) -> str:
    """Return the text of the word with a number, or an empty string if there is no such word."""
    text = words[number].text if number < len(words) else ""
    return text if _NAME.fullmatch(text) else ""


def parse(source: Source, part: Part | None = None) -> Parsed:
    """Parse all statements of one file, without included files; errors are added to the source's findings.

    Args:
        source: the text of all files.
        part: the file whose statements are parsed; None for the specification's own.
    """
    reader = _Reader(source)
    for lexemes in statements(source, part):
        reader.read(lexemes)
    return reader.parsed


class _Reader:
    """Parses the statements of one file, each separately.

    A broken statement is one finding. Where one change of its words makes it valid, the finding names the
    change, and the changed statement is kept, so that other statements get no false findings.
    """

    def __init__(self, source: Source) -> None:
        self.parsed = Parsed()
        self._source = source
        self._builder = StatementBuilder(source)
        self._repairs = 0

    def read(self, lexemes: list[Lexeme]) -> None:
        """Parse lines up to the next one that certainly begins a statement.

        Args:
            lexemes: the tokens of the lines, with an end token.
        """
        above: list[Lexeme] = []  # tokens of the statement before, empty if that one is broken
        first = _skipped(lexemes, 0)
        while lexemes[first].type != Token.EOF:
            try:
                tree, end = line(lexemes, first)
            except MismatchError as mismatch:
                end = self._broken(lexemes, first, mismatch.index, above)
                above = []
            else:
                above = _trimmed(lexemes[first:end])
                self._take(self._builder.statement(tree), above)
            first = _skipped(lexemes, end)

    def _take(self, statement: Statement, words: list[Lexeme]) -> None:
        """Keep a statement; reorder its words where a word of another kind is expected at their place."""
        if isinstance(statement, Declared | Recovered) and not _plausible(statement):
            better = self._mended(lambda: reordered(words))
            if better is not None:
                _say_order(self._source, better)
                statement = self._statement(better.words) or statement
        self.parsed.statements.append(statement)

    def _statement(self, words: list[Lexeme]) -> Statement | None:
        """Return the statement that changed words form, None if they form none."""
        end = Lexeme(int(Token.EOF), "", words[-1].end, len(words))
        try:
            return self._builder.statement(line([*words, end])[0])
        except MismatchError:
            return None

    def _mended(self, change: Callable[[], Repair | None]) -> Repair | None:
        """Search for a change, at most ``MAX_SUGGESTIONS`` times in a file, since each search takes time."""
        if self._repairs >= MAX_SUGGESTIONS or self._source.findings.full:
            return None
        self._repairs += 1
        return change()

    def _broken(self, lexemes: list[Lexeme], first: int, at: int, above: list[Lexeme]) -> int:
        """Report the error of a statement; return the number of the token that begins the next statement.

        Args:
            lexemes: all tokens.
            first: the number of the statement's first token.
            at: the number of the token that the grammar does not allow there.
            above: the tokens of the statement before, empty if that one is broken.
        """
        offending = lexemes[at]
        end = _statement_end(lexemes, first, at)
        words = lexemes[first:end]
        # The error is the word that is no known entity, type, resource or operation, not the word behind it.
        known = after_known(words[: at - first])
        if known < at - first and not isinstance(offending, Invalid):
            at = first + known
            offending = lexemes[at]
        if at == first and above and accepts([*above, *words]):
            _explain(self._source, lexemes, first, offending, None)
            joined = self._statement([*above, *words])
            if joined is not None:
                self.parsed.statements[-1] = joined
            return end
        if at > first and lexemes[at + 1 : at + 2] and lexemes[at + 1].type == TOKEN.NEWLINE:
            # The line ends one word too late: the last word belongs to the next statement.
            further = _statement_end(lexemes, at + 2, at + 2)
            if accepts(lexemes[first:at]) and accepts([lexemes[at], *lexemes[at + 2 : further]]):
                _explain(self._source, lexemes, first, offending, None)
                self._keep(lexemes[first:at])
                self._keep([lexemes[at], *lexemes[at + 2 : further]])
                return further
        if at > first and _begins_for_certain(lexemes, at) and accepts(lexemes[first:at]):
            _explain(self._source, lexemes, first, offending, None)
            self._keep(lexemes[first:at])
            return at
        if offending.type == TOKEN.NEWLINE and lexemes[first].type in BEGINNINGS:
            following = _skipped(lexemes, end)
            further = _statement_end(lexemes, following, following)
            if accepts([*words, *lexemes[following:further]]):
                _explain(self._source, lexemes, first, offending, None)
                self._keep([*words, *lexemes[following:further]])
                return further
        change = self._mended(lambda: repair(self._source.text, words, at - first)) if words else None
        _explain(self._source, lexemes, first, offending, change)
        begun = lexemes[first].type in BEGINNINGS or isinstance(lexemes[first], Invalid)
        while begun and end < len(lexemes) - 1:
            following = _skipped(lexemes, end)
            if _begins(lexemes[following]):
                break
            end = _statement_end(lexemes, following, following)
        written = lexemes[first:end] or [offending]
        if change is not None and change.complete:
            self._source.findings.leave(written[0].start, written[-1].end)
            self._keep(change.words)
        else:
            self.parsed.doubt(written, self._source.text[written[0].start : written[-1].end])
        return end

    def _keep(self, words: list[Lexeme]) -> None:
        statement = self._statement(words)
        if statement is not None:
            self.parsed.statements.append(statement)


def _plausible(statement: Declared | Recovered) -> bool:
    if isinstance(statement, Declared):
        return statement.level.text in LEVELS
    return statement.entity.text in ENTITIES and statement.resource.text not in OPERATIONS


def _begins(word: Lexeme) -> bool:
    """Whether a word is the first of a statement, also misspelled."""
    return word.type in (*BEGINNINGS, Token.EOF) or (
        4 <= len(word.text) <= _LONGEST_KEYWORD
        and bool(difflib.get_close_matches(word.text.upper(), _HEADS, n=1, cutoff=0.75))
    )


def _begins_for_certain(lexemes: list[Lexeme], at: int) -> bool:
    """Whether the word with number ``at`` and the next one are the first two words of a statement."""
    first, second = lexemes[at].type, lexemes[at + 1].type if at + 1 < len(lexemes) else Token.EOF
    if first == TOKEN.DECLARE:
        return second in (TOKEN.EXCEPTION, *_DECLARED)
    return second in _HANDLED if first == TOKEN.EXCEPTION else first == TOKEN.INCLUDE


def _skipped(lexemes: list[Lexeme], index: int) -> int:
    while lexemes[index].type == TOKEN.NEWLINE:
        index += 1
    return index


def _trimmed(words: list[Lexeme]) -> list[Lexeme]:
    """Return words without the ends of lines after the last word."""
    end = len(words)
    while end and words[end - 1].type in (TOKEN.NEWLINE, Token.EOF):
        end -= 1
    return words[:end]


def _statement_end(lexemes: list[Lexeme], first: int, at: int) -> int:
    """Return the number of the token that ends a broken statement's line, outside of brackets.

    Args:
        lexemes: all tokens.
        first: the number of the statement's first token.
        at: the number of the token before which no line end counts.
    """
    depth = 0
    for index in range(first, len(lexemes) - 1):
        kind = lexemes[index].type
        depth = max(0, depth + (kind == TOKEN.OPEN) - (kind == TOKEN.CLOSE))
        if kind == TOKEN.NEWLINE and index >= at and not depth:
            return index
    return len(lexemes) - 1


def _say_order(source: Source, change: Repair) -> None:
    start, end = change.about
    source.findings.add(
        "ESL009", "the words are in the wrong order", Range(start.start, end.end), hint=change.hint
    )


def _explain(
    source: Source, lexemes: list[Lexeme], first: int, offending: Lexeme, change: Repair | None
) -> None:
    """Record a syntax error as a finding in the user's words."""
    findings = source.findings
    if findings.full:
        findings.add("ESL010", "unexpected word", offending)
        return
    if change is not None and change.reordered:
        _say_order(source, change)
        return
    at = offending.tokenIndex
    written, wanted = lexemes[first:at], expected([lexeme.type for lexeme in lexemes[first:at]])
    before = written[-1] if written else None
    if offending.type in (TOKEN.NEWLINE, Token.EOF):
        _explain_end(source, written, offending, wanted, change)
        return
    code, start, end = "ESL010" if written else "ESL011", offending.start, offending.end
    hint = habit(source.text, start)
    if before is not None and before.type == TOKEN.NUMBER:
        value, stop = seconds(source.text, before)
        if stop > before.end:
            start, end = before.start, stop
            hint = "times are seconds, written without a unit" + (f": {value}" if value else "")
    if change is not None and change.quoted:
        start, end = change.about[0].start, change.about[1].end
    if isinstance(offending, Invalid) and start == offending.start and (change is None or not change.quoted):
        problem = offending.problem
        hint = hint or _invalid_hint(problem, written)
        findings.add(problem.code, problem.message, problem, hint=hint)
        return
    # Only keywords can be suggested: the other entries of the list describe a kind of word.
    fixed = [word for word in wanted if word.isidentifier()] if len(offending.text) > 2 else []
    hint = hint or findings.nearest(offending.text, fixed) or (change.hint if change is not None else "")
    # Arguments in braces may span several lines; the message shows them on one.
    said = " ".join(source.text[start:end].replace("\r", "").replace("\\\n", " ").split())
    shown = said if len(said) <= _MAX_SHOWN else said[:_MAX_SHOWN] + "..."
    if code == "ESL011":
        message = f"no statement begins with {shown}"
        hint = hint or "if the line belongs to the statement above, that one's line ends in a backslash"
    elif change is not None and change.quoted:
        code = offending.problem.code if isinstance(offending, Invalid) else code
        message = f"{shown} is not in double quotes"
    else:
        message = f"unexpected {shown}"
        words = lexemes[first : at + 1]
        hint = (
            hint or _hint(offending, wanted) or (elsewhere(words) if accepts(written) else "") or form(words)
        )
    findings.add(code, message, Range(start, end), hint=hint, expected=wanted)


def _invalid_hint(problem: Problem, written: Sequence[Lexeme]) -> str:
    """Return the hint for characters that form no token: between words, the statement's form."""
    beside = bool(written) and written[-1].end == problem.start
    return problem.hint if problem.hint != UNUSUAL or beside else form(written) or problem.hint


def _explain_end(
    source: Source,
    written: list[Lexeme],
    offending: Lexeme,
    wanted: tuple[str, ...],
    change: Repair | None,
) -> None:
    """Record the finding that a statement ends too early."""
    opened = [lexeme for lexeme in written if lexeme.type == TOKEN.OPEN]
    closed = [lexeme for lexeme in written if lexeme.type == TOKEN.CLOSE]
    if len(opened) > len(closed):
        bracket = opened[-1]
        source.findings.add(
            "ESL006",
            "the '[' is not closed in its statement",
            bracket,
            hint="put ] at the list's end",
            expected=wanted,
        )
        return
    last = written[-1] if written else offending
    hint = habit(source.text, last.start) or (change.hint if change is not None else "")
    source.findings.add(
        "ESL010",
        "the statement ends too early",
        Range(last.end, last.end + 1),
        hint=hint or _CONTINUE,
        expected=wanted,
    )


def _hint(offending: Lexeme, wanted: tuple[str, ...]) -> str:
    """Return a hint for a common syntax error, an empty string for any other."""
    if offending.type == TOKEN.STRING and "','" in wanted:
        return "put a comma between two entries"
    if offending.type == TOKEN.IDENTIFIER and any("in double quotes" in word for word in wanted):
        return f'put the text in double quotes: "{offending.text[:_MAX_SHOWN]}"'
    if offending.type in (TOKEN.DECLARE, TOKEN.EXCEPTION):
        return "each statement begins on a line of its own"
    if offending.type == TOKEN.COMMA:
        return "no comma stands here"
    return ""
