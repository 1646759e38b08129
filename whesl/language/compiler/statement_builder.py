"""From the parse tree to statements; later stages of the compiler use the statements only."""

from __future__ import annotations

from whesl.language.compiler import syntax
from whesl.language.compiler.grammar import TOKEN
from whesl.language.compiler.lexer import Lexeme
from whesl.language.compiler.parse_tree import Node
from whesl.language.compiler.source import Source
from whesl.language.compiler.syntax import Word
from whesl.language.diagnostics import Range
from whesl.language.pattern_and_stream_records import Stream

_STREAMS = {
    TOKEN.STDOUT: Stream.STDOUT,
    TOKEN.STDERR: Stream.STDERR,
    TOKEN.OUTPUT: Stream.OUTPUT,
    TOKEN.FILE: Stream.FILE,
}


class StatementBuilder:
    """Makes statements from their parse trees.

    Args:
        source: the text, whose findings get the errors.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def statement(self, line: Node) -> syntax.Statement:
        """Return the statement of a node of the rule ``line``."""
        tree = _child(line, "statement")
        about = tree.node("declaration") or tree.node("handling")
        if about is None:
            source = tree.node("source")
            return syntax.Include(
                _of(_token(tree, TOKEN.STRING)), None if source is None else _source(source)
            )
        part = about.only()
        start, end = tree.first.start, part.last.end
        if part.rule == "entities":
            return syntax.Entities(tuple(_word(entity) for entity in part.nodes("entity")))
        if part.rule == "levels":
            return syntax.Levels(tuple(_word(level) for level in part.nodes("level")))
        if part.rule == "offers":
            return _offers(part)
        if part.rule == "coupled":
            return syntax.Coupled(_word(part), self._jobs(part))
        name = _word(_child(part, "exceptionName"))
        if part.rule == "declared":
            clauses = tuple(_clause(clause.only()) for clause in part.nodes("clause"))
            level = _word(_child(part, "level"))
            return syntax.Declared(name, level, self._jobs(part), clauses, start, end)
        if part.rule == "detected":
            return syntax.Detected(name, _form(_child(part, "detection").only()), start, end)
        return syntax.Recovered(
            name,
            _word(_child(part, "entity")),
            _word(_child(part, "resource")),
            _word(_child(part, "operation")),
            _optional(part, TOKEN.BEFORE),
            _optional(part, TOKEN.JSON_OBJECT),
            start,
            end,
        )

    def _jobs(self, part: Node) -> tuple[Word, ...]:
        return tuple(self._job(job) for job in part.nodes("job"))

    def _job(self, job: Node) -> Word:
        start, end = job.first.start, job.last.end
        at = start
        for lexeme in job.children:
            assert isinstance(lexeme, Lexeme)
            if lexeme.start != at:
                self._source.findings.add(
                    "ESL010",
                    "two names of jobs without a comma between them",
                    Range(lexeme.start, lexeme.end),
                    hint="put a comma between two jobs; a name with blanks stands in double quotes",
                    expected=("','", "']'"),
                )
                break
            at = lexeme.end
        return Word(self._source.text[start:end], start, end)


def _offers(part: Node) -> syntax.Resource:
    offers = (
        syntax.Offer(_word(_child(offer, "operation")), _optional(offer, TOKEN.STRING))
        for offer in part.nodes("offer")
    )
    return syntax.Resource(_word(_child(part, "resource")), tuple(offers), _optional(part, TOKEN.STRING))


def _clause(part: Node) -> syntax.Clause:
    keyword = _word(part)
    if part.rule == "limit":
        seconds = _number_in(part, "within", "seconds")
        return syntax.Limit(keyword, _number(_child(part, "count")), _optional(part, TOKEN.WITHOUT), seconds)
    if part.rule == "backoff":
        return syntax.Backoff(keyword, _number(_child(part, "seconds")))
    if part.rule == "otherwise":
        exception = part.node("exceptionName")
        name = None if exception is None else _word(exception)
        return syntax.Else(keyword, _of(part.children[1]), name)
    return syntax.Raise(keyword, _of(_token(part, TOKEN.STRING)), _number_in(part, "severity", "count"))


def _form(detection: Node) -> syntax.Form:
    """Return the form of a node of the rule ``detection``, for any alternative of that rule."""
    keywords: list[Word] = []
    texts: list[Word] = []
    parts: dict[str, tuple[Word, ...]] = {}
    patterns: list[syntax.PatternText] = []
    source, timer = None, None
    left = [*detection.children]
    while left:
        child = left.pop(0)
        if isinstance(child, Lexeme):
            (texts if child.type == TOKEN.STRING else keywords).append(_of(child))
        elif child.rule in ("pattern", "listed"):
            patterns.append(_pattern(child))
        elif child.rule == "source":
            source = _source(child)
        elif child.rule == "timer":
            timer = _timer(child)
        elif child.rule in ("patterns", "codes", "recurring"):
            left = [*child.children, *left]
        else:
            inner = next((one for one in child.children if isinstance(one, Node)), child)
            parts[child.rule] = (*parts.get(child.rule, ()), _number(inner))
    form = detection.rule
    return syntax.Form(form, tuple(keywords), tuple(texts), parts, tuple(patterns), source, timer)


def _child(node: Node, rule: str) -> Node:
    """Return the first child of a rule, which the grammar guarantees."""
    child = node.node(rule)
    assert child is not None
    return child


def _token(node: Node, kind: int) -> Lexeme:
    """Return the first token of a kind, which the grammar guarantees."""
    lexeme = node.token(kind)
    assert lexeme is not None
    return lexeme


def _optional(node: Node, kind: int) -> Word | None:
    lexeme = node.token(kind)
    return None if lexeme is None else _of(lexeme)


def _of(lexeme: Node | Lexeme) -> Word:
    assert isinstance(lexeme, Lexeme)
    return Word(lexeme.text, lexeme.start, lexeme.end)


def _word(node: Node) -> Word:
    """Return the first token of a node of the parse tree; most such nodes have one token."""
    return _of(node.first)


def _number(node: Node) -> Word:
    """Return the number that a node holds, without blanks between its minus sign and its digits."""
    return Word(node.text, node.first.start, node.last.end)


def _number_in(node: Node, clause: str, rule: str) -> Word | None:
    """Return the number of an optional clause, None where the clause is missing."""
    found = node.node(clause)
    return None if found is None else _number(_child(found, rule))


def _timer(node: Node) -> syntax.Timer:
    timeout, *warmup = (_number(seconds) for seconds in node.nodes("seconds"))
    return syntax.Timer(timeout, warmup[0] if warmup else None)


def _pattern(node: Node) -> syntax.PatternText:
    """Return the pattern of a node; a pattern without a keyword is a literal text."""
    return syntax.PatternText(_of(_token(node, TOKEN.STRING)), regex=node.token(TOKEN.MATCH) is not None)


def _source(node: Node) -> syntax.From:
    return syntax.From(_STREAMS[node.first.type], _optional(node, TOKEN.STRING))
