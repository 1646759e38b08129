"""From the parse tree to statements. Nothing behind this module knows the tree."""

from __future__ import annotations

from typing import Any

from whesl.esl._generated.ESLParser import ESLParser
from whesl.esl._generated.ESLVisitor import ESLVisitor
from whesl.esl.language import syntax
from whesl.esl.language.lexer import Lexeme
from whesl.esl.language.source import Source
from whesl.esl.language.syntax import Word
from whesl.esl.spec import DiskMetric, NodeCondition, Require, Stream

_METRICS = {
    ESLParser.DISK: DiskMetric.SPACE,
    ESLParser.INODES: DiskMetric.INODES,
    ESLParser.QUOTA: DiskMetric.QUOTA,
}
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
                        first,
                        last,
                        hint="put a comma between two jobs; a name with blanks stands in double quotes",
                        expected=("','", "']'"),
                    )
                    break
                at = last
        return Word(self._source.text[start:end], start, end)

    def visitLimit(self, ctx: Any) -> syntax.Limit:  # noqa: N802
        """Return a LIMIT clause."""
        return syntax.Limit(_first(ctx), _number(ctx.count()), _within(ctx.within()))

    def visitBackoff(self, ctx: Any) -> syntax.Backoff:  # noqa: N802
        """Return a BACKOFF clause."""
        return syntax.Backoff(_first(ctx), _number(ctx.seconds()))

    def visitOtherwise(self, ctx: Any) -> syntax.Else:  # noqa: N802
        """Return an ELSE clause."""
        exception = ctx.exceptionName()
        action = _of(ctx.getChild(1).symbol)
        return syntax.Else(_first(ctx), action, _word(exception) if exception is not None else None)

    def visitRaise(self, ctx: Any) -> syntax.Raise:  # noqa: N802
        """Return a RAISE clause."""
        return syntax.Raise(_first(ctx), _of(ctx.STRING().symbol), _severity(ctx.severity()))

    def visitDetected(self, ctx: Any) -> syntax.Detected:  # noqa: N802
        """Return a detection."""
        return syntax.Detected(
            _word(ctx.exceptionName()), ctx.detection().accept(self), *_statement_bounds(ctx)
        )

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

    def visitHang(self, ctx: Any) -> syntax.Hang:  # noqa: N802
        """Return ``HANG`` before a pattern with a timer."""
        return syntax.Hang(_pattern(ctx.pattern()), _source(ctx.source()), _timer(ctx.timer()))

    def visitLog(self, ctx: Any) -> syntax.Log | syntax.Hang:  # noqa: N802
        """Return one pattern: with a timer it is a hang."""
        pattern, source = _pattern(ctx.pattern()), _source(ctx.source())
        if ctx.timer() is not None:
            return syntax.Hang(pattern, source, _timer(ctx.timer()))
        return syntax.Log((pattern,), source, Require.ANY, *_recurring(ctx.recurring()))

    def visitMultiple(self, ctx: Any) -> syntax.Log:  # noqa: N802
        """Return several patterns that all have to be seen."""
        return syntax.Log(
            _patterns(ctx.patterns()), _source(ctx.source()), Require.ALL, None, _within(ctx.within())
        )

    def visitAnyOf(self, ctx: Any) -> syntax.Log:  # noqa: N802
        """Return several patterns of which one is enough."""
        return syntax.Log(
            _patterns(ctx.patterns()), _source(ctx.source()), Require.ANY, *_recurring(ctx.recurring())
        )

    def visitSilence(self, ctx: Any) -> syntax.Silence:  # noqa: N802
        """Return the silence of all output."""
        return syntax.Silence(_timer(ctx.timer()))

    def visitProgress(self, ctx: Any) -> syntax.Progress:  # noqa: N802
        """Return a watched number."""
        pattern = syntax.PatternText(_of(ctx.STRING().symbol), regex=True)
        return syntax.Progress(pattern, _source(ctx.source()), _timer(ctx.timer()))

    def visitExit(self, ctx: Any) -> syntax.Exit:  # noqa: N802
        """Return ways to end."""
        codes, listed = [], ctx.codes()
        for item in listed.code() if listed is not None else ():
            first, *last = (_of(node.symbol) for node in item.NUMBER())
            codes.append((first, last[0] if last else first))
        signals = tuple(_word(signal) for signal in ctx.signal())
        return syntax.Exit(tuple(codes), signals, _terminal(ctx.ANY()))

    def visitNode(self, ctx: Any) -> syntax.Node:  # noqa: N802
        """Return the condition of a node."""
        return syntax.Node(NodeCondition(ctx.getChild(1).symbol.text))

    def visitJobException(self, ctx: Any) -> syntax.JobException:  # noqa: N802
        """Return an exception of the resource manager's."""
        return syntax.JobException(_of(ctx.STRING().symbol), _severity(ctx.severity()))

    def visitExternal(self, ctx: Any) -> syntax.External:  # noqa: N802 - the generated interface
        """Return that it is raised from outside."""
        return syntax.External()

    def visitPredicted(self, ctx: Any) -> syntax.Predicted:  # noqa: N802
        """Return the predicted failure of a node."""
        confidence = ctx.confidence()
        return syntax.Predicted(
            _terminal(ctx.STRING()),
            _within(ctx.within()),
            None if confidence is None else _number(confidence),
        )

    def visitDisk(self, ctx: Any) -> syntax.Disk:  # noqa: N802
        """Return the use of a file system."""
        metric = _METRICS[ctx.getChild(0).symbol.type]
        return syntax.Disk(metric, _of(ctx.STRING().symbol), _number(ctx.percent()))

    def visitCounted(self, ctx: Any) -> syntax.Counted:  # noqa: N802
        """Return the counting of another exception."""
        return syntax.Counted(_word(ctx.exceptionName()), _number(ctx.count()), _within(ctx.within()))


def _of(lexeme: Any) -> Word:
    return Word(lexeme.text, lexeme.start, lexeme.end)


def _terminal(node: Any) -> Word | None:
    return None if node is None else _of(node.symbol)


def _first(ctx: Any) -> Word:
    return _of(ctx.start)


def _word(ctx: Any) -> Word:
    """Return the one word of a rule."""
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


def _recurring(ctx: Any) -> tuple[Word | None, Word | None]:
    return (None, None) if ctx is None else (_number(ctx.count()), _within(ctx.within()))


def _timer(ctx: Any) -> syntax.Timer:
    timeout, *warmup = (_number(seconds) for seconds in ctx.seconds())
    return syntax.Timer(timeout, warmup[0] if warmup else None)


def _pattern(ctx: Any) -> syntax.PatternText:
    """Return a pattern with or without its keyword; without one it is a literal text."""
    return syntax.PatternText(_of(ctx.STRING().symbol), regex=ctx.MATCH() is not None)


def _patterns(ctx: Any) -> tuple[syntax.PatternText, ...]:
    return tuple(_pattern(listed) for listed in ctx.listed())


def _source(ctx: Any) -> syntax.From:
    return syntax.From(_STREAMS[ctx.start.type], _terminal(ctx.STRING()))
