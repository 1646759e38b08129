"""From the parse tree to statements. Nothing behind this module knows the tree."""

from __future__ import annotations

from typing import Any

from whesl.language._generated.ESLParser import ESLParser
from whesl.language._generated.ESLVisitor import ESLVisitor
from whesl.language.compiler import syntax
from whesl.language.compiler.lexer import Lexeme
from whesl.language.compiler.source import Source
from whesl.language.compiler.syntax import Word
from whesl.language.detections.base import Stream
from whesl.language.diagnostics import Range

_STREAMS = {
    ESLParser.STDOUT: Stream.STDOUT,
    ESLParser.STDERR: Stream.STDERR,
    ESLParser.OUTPUT: Stream.OUTPUT,
    ESLParser.FILE: Stream.FILE,
}


# The generated base class has no type information, nor do the contexts that the methods are given.
class StatementVisitor(ESLVisitor):  # type: ignore[misc]
    """Visits one ``line`` and returns its statement.

    Args:
        source: the text, which findings are recorded for.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def visitLine(self, ctx: Any) -> syntax.Statement:  # noqa: N802 - the generated name, as below
        """Return the statement of a line."""
        statement = ctx.statement()
        if statement.INCLUDE() is not None:
            source = statement.source()
            return syntax.Include(_of(statement.STRING().symbol), source and _source(source))
        inner: syntax.Statement = (statement.declaration() or statement.handling()).accept(self)
        return inner

    def visitEntities(self, ctx: Any) -> syntax.Entities:  # noqa: N802
        """Return declared entities."""
        return syntax.Entities(tuple(_word(entity) for entity in ctx.entity()))

    def visitLevels(self, ctx: Any) -> syntax.Levels:  # noqa: N802
        """Return declared exception types."""
        return syntax.Levels(tuple(_word(level) for level in ctx.level()))

    def visitOffers(self, ctx: Any) -> syntax.Resource:  # noqa: N802
        """Return a declared resource with its operations."""
        return syntax.Resource(
            _word(ctx.resource()),
            tuple(syntax.Offer(_word(o.operation()), _terminal(o.STRING())) for o in ctx.offer()),
            _terminal(ctx.STRING()),
        )

    def visitCoupled(self, ctx: Any) -> syntax.Coupled:  # noqa: N802
        """Return jobs that run together."""
        return syntax.Coupled(_word(ctx), tuple(self._job(job) for job in ctx.job()))

    def visitDeclared(self, ctx: Any) -> syntax.Declared:  # noqa: N802
        """Return a declared exception."""
        return syntax.Declared(
            _word(ctx.exceptionName()),
            _word(ctx.level()),
            tuple(self._job(job) for job in ctx.job()),
            tuple(clause.accept(self) for clause in ctx.clause()),
            *_statement_bounds(ctx),
        )

    def _job(self, ctx: Any) -> Word:
        start, end = _bounds(ctx)
        if ctx.getChildCount() > 1:
            at = start
            for child in ctx.getChildren():
                first, last = (child.start, child.end) if isinstance(child, Lexeme) else _bounds(child)
                if first != at:
                    self._source.findings.add(
                        "ESL010",
                        "two names of jobs without a comma between them",
                        Range(first, last),
                        hint="put a comma between two jobs; a name with blanks stands in double quotes",
                        expected=("','", "']'"),
                    )
                    break
                at = last
        return Word(self._source.text[start:end], start, end)

    def visitLimit(self, ctx: Any) -> syntax.Limit:  # noqa: N802
        """Return a LIMIT clause."""
        return syntax.Limit(_word(ctx), _number(ctx.count()), _terminal(ctx.WITHOUT()), _within(ctx.within()))

    def visitBackoff(self, ctx: Any) -> syntax.Backoff:  # noqa: N802
        """Return a BACKOFF clause."""
        return syntax.Backoff(_word(ctx), _number(ctx.seconds()))

    def visitOtherwise(self, ctx: Any) -> syntax.Else:  # noqa: N802
        """Return an ELSE clause."""
        exception = ctx.exceptionName()
        action = _of(ctx.getChild(1).symbol)
        return syntax.Else(_word(ctx), action, _word(exception) if exception is not None else None)

    def visitRaise(self, ctx: Any) -> syntax.Raise:  # noqa: N802
        """Return a RAISE clause."""
        return syntax.Raise(_word(ctx), _of(ctx.STRING().symbol), _severity(ctx.severity()))

    def visitDetected(self, ctx: Any) -> syntax.Detected:  # noqa: N802
        """Return a detection."""
        return syntax.Detected(_word(ctx.exceptionName()), _form(ctx.detection()), *_statement_bounds(ctx))

    def visitRecovered(self, ctx: Any) -> syntax.Recovered:  # noqa: N802
        """Return a recovery step."""
        return syntax.Recovered(
            _word(ctx.exceptionName()),
            _word(ctx.entity()),
            _word(ctx.resource()),
            _word(ctx.operation()),
            _terminal(ctx.BEFORE()),
            _terminal(ctx.JSON_OBJECT()),
            *_statement_bounds(ctx),
        )


def _form(detection: Any) -> syntax.Form:
    """Return a way to see an exception, whatever alternative of ``detection`` it is."""
    keywords: list[Word] = []
    texts: list[Word] = []
    parts: dict[str, tuple[Word, ...]] = {}
    patterns: list[syntax.PatternText] = []
    source, timer = None, None
    left = [*detection.getChildren()]
    while left:
        child = left.pop(0)
        rule = _rule(child)
        if rule in ("pattern", "listed"):
            patterns.append(_pattern(child))
        elif rule == "source":
            source = _source(child)
        elif rule == "timer":
            timer = _timer(child)
        elif rule in ("patterns", "codes", "recurring"):
            left = [*child.getChildren(), *left]
        elif rule:
            inner = next(filter(_rule, child.getChildren()), child)
            parts[rule] = (*parts.get(rule, ()), _number(inner))
        elif child.symbol.type == ESLParser.STRING:
            texts.append(_of(child.symbol))
        else:
            keywords.append(_of(child.symbol))
    form = _rule(detection)
    return syntax.Form(form, tuple(keywords), tuple(texts), parts, tuple(patterns), source, timer)


def _rule(node: Any) -> str:
    """Return the rule, or its alternative, that a part of the tree is; nothing for a word."""
    name = type(node).__name__
    return name[0].lower() + name[1:].removesuffix("Context") if name.endswith("Context") else ""


def _of(lexeme: Any) -> Word:
    return Word(lexeme.text, lexeme.start, lexeme.end)


def _terminal(node: Any) -> Word | None:
    return None if node is None else _of(node.symbol)


def _word(ctx: Any) -> Word:
    """Return the first word of a rule, of most rules the only one."""
    return _of(ctx.start)


def _bounds(ctx: Any) -> tuple[int, int]:
    return ctx.start.start, ctx.stop.end


def _statement_bounds(ctx: Any) -> tuple[int, int]:
    """Return the offsets of the whole statement: the word before the rule belongs to it."""
    return ctx.parentCtx.start.start, ctx.stop.end


def _number(ctx: Any) -> Word:
    """Return a number; blanks behind its minus sign are left out."""
    start, end = _bounds(ctx)
    return Word(ctx.getText(), start, end)


def _within(ctx: Any) -> Word | None:
    return None if ctx is None else _number(ctx.seconds())


def _severity(ctx: Any) -> Word | None:
    return None if ctx is None else _number(ctx.count())


def _timer(ctx: Any) -> syntax.Timer:
    timeout, *warmup = (_number(seconds) for seconds in ctx.seconds())
    return syntax.Timer(timeout, warmup[0] if warmup else None)


def _pattern(ctx: Any) -> syntax.PatternText:
    """Return a pattern with or without its keyword; without one it is a literal text."""
    return syntax.PatternText(_of(ctx.STRING().symbol), regex=ctx.MATCH() is not None)


def _source(ctx: Any) -> syntax.From:
    return syntax.From(_STREAMS[ctx.start.type], _terminal(ctx.STRING()))
