"""The canonical layout of a specification: words, texts and comments stay, blanks and line ends change. Pure.

One blank separates words; a statement is one line where it fits into ``WIDTH`` columns, otherwise its lists
and arguments have one entry per line; at most one empty line stands in a row. Statements keep their order.
The result is parsed before it is returned, so that a defect of this module cannot lose a word or comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from whesl.language.compiler import parser
from whesl.language.compiler.grammar import TOKEN
from whesl.language.compiler.json_arguments import JSON_TOKEN, plain
from whesl.language.compiler.lexer import STATEMENT, Lexeme, statements
from whesl.language.compiler.source import Source
from whesl.language.result import Result

WIDTH = 100
INDENT = "    "
_COMMENT = 0  # kind of a comment's token; the parser has no such token
_GAP_COMMENT = re.compile(r"#[^\r\n]*")
# Words that may begin a continued line of a long statement.
_CLAUSES = frozenset({TOKEN.LIMIT, TOKEN.BACKOFF, TOKEN.ELSE, TOKEN.RAISE})
_TIGHT_BEFORE = frozenset({TOKEN.COMMA, TOKEN.CLOSE, TOKEN.DOT, TOKEN.PERCENT})
_TIGHT_AFTER = frozenset({TOKEN.OPEN, TOKEN.DOT, TOKEN.DASH})


@dataclass(frozen=True, slots=True)
class Formatted:
    """The layout of a text; None, with findings, for a text with syntax errors."""

    text: str | None
    findings: Result


def layout(content: bytes | str, file: str) -> Formatted:
    """Return the canonical layout of a specification.

    Args:
        content: the file's bytes or text. Included files are not read.
        file: the file's name, for findings.

    Raises RuntimeError if the layout would change the meaning: a defect of this module.
    """
    source = Source(content, file)
    if source.readable:
        parser.parse(source)
    findings = Result(spec=None, diagnostics=source.findings.sorted(), texts=source.texts())
    if source.findings.failed:
        return Formatted(None, findings)
    text = _render(source)
    again = Source(text, file)
    parser.parse(again)
    if again.findings.failed or _said(again) != _said(source):
        raise RuntimeError(f"the layout of {file} would change its meaning: please report this file")
    return Formatted(text, findings)


# From text to words -------------------------------------------------------------------------------


def _words(source: Source) -> Iterator[Lexeme]:
    """Yield all tokens of a text; comments are tokens, too."""
    at = 0
    for lexeme in (x for found in statements(source) for x in found[:-1]):
        yield from _comments(source.text, at, lexeme.start)
        yield lexeme
        at = lexeme.end
    yield from _comments(source.text, at, len(source.text))


def _comments(text: str, start: int, end: int) -> Iterator[Lexeme]:
    for match in _GAP_COMMENT.finditer(text, start, end):
        yield Lexeme(_COMMENT, match.group().rstrip(), match.start(), 0)


def _said(source: Source) -> tuple[list[tuple[int, str]], list[str]]:
    """Return the words of a text in their order, and its comments in their order.

    Words and comments are separate lists, since the layout moves the comma of an entry before the comment
    beside the entry.
    """
    said, comments = [], []
    for word in _words(source):
        if word.type == _COMMENT:
            comments.append(word.text)
        elif word.type == TOKEN.JSON_OBJECT:
            said += [(word.type, part) for part in JSON_TOKEN.findall(plain(word.text))]
        elif word.type != TOKEN.NEWLINE:
            said.append((word.type, word.text))
    return said, comments


@dataclass(slots=True)
class _Entry:
    """An entry of a list: the comments above it, its words, and the comment beside it."""

    above: list[str] = field(default_factory=list)
    words: list[Lexeme] = field(default_factory=list)
    beside: str = ""


@dataclass(slots=True)
class _List:
    """A list in brackets. Comments before the closing bracket are in a last entry without words."""

    entries: list[_Entry]

    @property
    def commented(self) -> bool:
        return any(entry.above or entry.beside for entry in self.entries)


@dataclass(slots=True)
class _Statement:
    words: list[Lexeme | _List] = field(default_factory=list)
    comment: str = ""


def _render(source: Source) -> str:
    lines: list[str] = []
    words = list(_words(source))
    at = 0
    empty = False
    while at < len(words):
        word = words[at]
        if word.type == TOKEN.NEWLINE:
            # A second line end in a row is an empty line, which is dropped at the file's beginning.
            empty = bool(lines) and (at == 0 or words[at - 1].type == TOKEN.NEWLINE or empty)
            at += 1
            continue
        if empty:
            lines.append("")
        empty = False
        if word.type == _COMMENT:
            lines.append(word.text)
            at += 1
        else:
            statement, at = _statement(words, at)
            lines += _laid_out(statement)
        # The end of a comment's own line is no empty line.
        if at < len(words) and words[at].type == TOKEN.NEWLINE:
            at += 1
            empty = at < len(words) and words[at].type == TOKEN.NEWLINE
    return "".join(f"{line}\n" for line in lines)


def _begins_statement(entry: _Entry) -> bool:
    return STATEMENT.match("".join(word.text for word in entry.words)) is not None


def _statement(words: list[Lexeme], at: int) -> tuple[_Statement, int]:
    """Return the statement that begins at a word, and the number of the word that ends its line."""
    statement = _Statement()
    while at < len(words) and words[at].type != TOKEN.NEWLINE:
        word = words[at]
        if word.type == _COMMENT:
            statement.comment = word.text
        elif word.type == TOKEN.OPEN:
            entries, at = _entries(words, at + 1)
            statement.words += word, _List(entries), words[at]
        else:
            statement.words.append(word)
        at += 1
    return statement, at


def _entries(words: list[Lexeme], at: int) -> tuple[list[_Entry], int]:
    """Return the entries of a list, and the number of its closing bracket."""
    entries = [_Entry()]
    fresh = True  # whether only a bracket or a line end precedes
    while words[at].type != TOKEN.CLOSE:
        word, entry = words[at], entries[-1]
        if word.type == TOKEN.NEWLINE:
            fresh = True
        elif word.type == _COMMENT:
            owner = entry if entry.words else entries[-2] if len(entries) > 1 and not fresh else entry
            if not fresh and owner.words and not owner.beside and not entry.above:
                owner.beside = word.text
            elif entry.words:
                entries.append(_Entry(above=[word.text]))
            else:
                entry.above.append(word.text)
        elif word.type == TOKEN.COMMA:
            if entry.words:
                entries.append(_Entry())
            fresh = False
        else:
            entry.words.append(word)
            fresh = False
        at += 1
    return entries, at


# From words to lines ------------------------------------------------------------------------------


def _laid_out(statement: _Statement) -> list[str]:
    lines = _lines(statement)
    if statement.comment:
        lines[-1] += f"  {statement.comment}"
    return lines


def _lines(statement: _Statement) -> list[str]:
    if not any(isinstance(word, _List) and word.commented for word in statement.words):
        line = _Line(statement).on_one()
        if len(line) <= WIDTH:
            return [line]
        continued = _continued(statement)
        if max(map(len, continued)) <= WIDTH:
            return continued
    lines = _Line(statement).on_several()
    return lines if len(lines) > 1 else _continued(statement)


def _continued(statement: _Statement) -> list[str]:
    """Return a statement on several lines with backslashes; each further line begins with a clause."""
    words = statement.words
    kinds = [word.type if isinstance(word, Lexeme) else None for word in words]
    if kinds[:2] == [TOKEN.EXCEPTION, TOKEN.DETECTION]:
        cuts = [3]
    elif TOKEN.CLOSE in kinds:
        after = kinds.index(TOKEN.CLOSE)
        cuts = [index for index, kind in enumerate(kinds) if index > after and kind in _CLAUSES][:1]
    else:
        cuts = []
    pieces = [
        _Line(_Statement(words[start:end])).on_one()
        for start, end in zip([0, *cuts], [*cuts, len(words)], strict=True)
    ]
    lines = [pieces[0], *(f"{INDENT}{piece}" for piece in pieces[1:])]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


class _Line:
    """Joins the words of a statement on one line, or on several with its lists and arguments spread."""

    def __init__(self, statement: _Statement) -> None:
        self._words = statement.words
        kinds = [word.type for word in statement.words[:2] if isinstance(word, Lexeme)]
        self._offers = kinds == [TOKEN.DECLARE, TOKEN.RESOURCE]
        self._jobs = kinds == [TOKEN.DECLARE, TOKEN.EXCEPTION]

    def on_one(self) -> str:
        text, before = "", None
        for word in self._words:
            if isinstance(word, _List):
                text += ", ".join(self._entry(entry) for entry in word.entries)
                continue
            text += self._blank(before, word) + _one_line(word)
            before = word
        return text

    def on_several(self) -> list[str]:
        lines, before = [""], None
        for word in self._words:
            if isinstance(word, _List):
                first, *rest = self._list(word)
                lines[-1] += first
                lines += [*rest, ""]
                continue
            blank = self._blank(before, word)
            if word.type == TOKEN.JSON_OBJECT and len(lines[-1] + blank + _one_line(word)) > WIDTH:
                first, *rest = _expanded(word)
                lines[-1] += blank + first
                lines += rest
            else:
                lines[-1] += blank + _one_line(word)
            before = word
        return lines

    def _list(self, found: _List) -> Iterator[str]:
        """Yield the rest of the bracket's line, and then the lines of the entries.

        An entry such as DECLARE, which would begin a statement, is not put at the beginning of a line.
        """
        entries = [entry for entry in found.entries if entry.words]
        bare = [_begins_statement(entry) for entry in entries]
        start = 1 if bare[:1] == [True] else 0
        comma = len(entries) > 1 and not bare[1]
        yield "".join(self._entry_line(entry, comma, "") for entry in entries[:start])
        number = start
        for entry in found.entries[start:]:
            yield from (f"{INDENT}{comment}" for comment in entry.above)
            if entry.words:
                lead = f"{INDENT}, " if bare[number] else INDENT
                comma = number + 1 < len(entries) and not bare[number + 1]
                yield self._entry_line(entry, comma, lead)
                number += 1

    def _entry_line(self, entry: _Entry, comma: bool, lead: str) -> str:
        beside = f"  {entry.beside}" if entry.beside else ""
        return f"{lead}{self._entry(entry)}{',' if comma else ''}{beside}"

    def _entry(self, entry: _Entry) -> str:
        text, before = "", None
        for word in entry.words:
            if self._jobs:
                text += word.text  # the parts of a job's name are joined without blanks
            else:
                text += self._blank(before, word) + word.text
            before = word
        return text

    def _blank(self, before: Lexeme | None, word: Lexeme) -> str:
        """Return the blank between two words, or an empty string."""
        if before is None or word.type in _TIGHT_BEFORE or before.type in _TIGHT_AFTER:
            return ""
        if word.type == TOKEN.OPEN and self._offers:
            return ""
        if word.type == TOKEN.DASH and before.type == TOKEN.NUMBER:
            return ""
        return " "


# Arguments ----------------------------------------------------------------------------------------


def _one_line(word: Lexeme) -> str:
    """Return a word; arguments are put on one line, unless they are no JSON."""
    tree = _tree(word) if word.type == TOKEN.JSON_OBJECT else None
    return word.text if tree is None else _inline(tree)


def _expanded(word: Lexeme) -> list[str]:
    tree = _tree(word)
    return word.text.splitlines() if tree is None else _spread(tree, "")


@dataclass(slots=True)
class _Node:
    """A JSON object or list: its brackets, and its entries with their names (empty in a list)."""

    brackets: str
    entries: list[tuple[str, str | _Node]]


def _tree(word: Lexeme) -> _Node | None:
    """Return arguments as a tree of their original texts; None when they are not JSON."""
    text = plain(word.text)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    parts = iter(JSON_TOKEN.findall(text))
    next(parts)
    return _object(parts, "{}")


def _object(parts: Iterator[str], brackets: str) -> _Node:
    """Read a JSON object or list, from after its opening bracket to its closing one."""
    node = _Node(brackets, [])
    name = ""
    value: str | _Node | None = None
    for part in parts:
        if part == ":":
            assert isinstance(value, str)
            name, value = value, None
        elif part in ",}]":
            if value is not None:
                node.entries.append((name, value))
            name, value = "", None
            if part != ",":
                return node
        elif part in "{[":
            value = _object(parts, "{}" if part == "{" else "[]")
        else:
            value = part
    return node


def _inline(value: str | _Node) -> str:
    if isinstance(value, str):
        return value
    inner = ", ".join(f"{name}: {_inline(v)}" if name else _inline(v) for name, v in value.entries)
    return f"{value.brackets[0]}{inner}{value.brackets[1]}"


def _spread(node: _Node, indent: str) -> list[str]:
    lines = [node.brackets[0]]
    for number, (name, value) in enumerate(node.entries, 1):
        lead = f"{indent}{INDENT}{name}: " if name else f"{indent}{INDENT}"
        comma = "," if number < len(node.entries) else ""
        line = f"{lead}{_inline(value)}{comma}"
        if len(line) <= WIDTH or isinstance(value, str) or not value.entries:
            lines.append(line)
        else:
            first, *rest = _spread(value, indent + INDENT)
            lines += [f"{lead}{first}", *rest[:-1], f"{rest[-1]}{comma}"]
    return [*lines, f"{indent}{node.brackets[1]}"]
