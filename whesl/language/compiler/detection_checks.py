"""Checks of the parts of detections (patterns, numbers, names, sources), for the kinds of detections."""

from __future__ import annotations

from collections.abc import Callable

from whesl.language.compiler import quantities, syntax
from whesl.language.compiler.pattern_checks import PatternCheck, Problem, captures
from whesl.language.compiler.source import Source as Text
from whesl.language.compiler.syntax import Form, PatternText, Word, unquote
from whesl.language.diagnostics import Range, Severity
from whesl.language.pattern_and_stream_records import Pattern, Source


class DetectionCheck:
    """Reads the parts of the detections of one file; errors are added to the source's findings.

    Args:
        source: the text.
        named: called with each exception's name in a detection.
    """

    def __init__(self, source: Text, named: Callable[[Word], None]) -> None:
        self._source = source
        self._named = named
        self._patterns = PatternCheck()
        self.findings = source.findings

    def twice(self, word: Word) -> None:
        """Add a warning about something that is listed twice.

        Args:
            word: the last word of the list.
        """
        self.findings.warn("ESL093", "this list has something twice", word, "leave one of the two out")

    def count(self, form: Form, what: str) -> int:
        """Return the number of times that a detection asks for, 1 where it has no number.

        Args:
            form: the detection.
            what: the number's name in findings.
        """
        return quantities.count(self.findings, form.part("count"), what, 1)

    def within(self, form: Form) -> float | None:
        """Return the seconds of ``WITHIN``; None when the clause is missing or wrong."""
        return quantities.seconds(self.findings, form.part("within"), "WITHIN")

    def severity(self, form: Form) -> int | None:
        """Return the severity; None when it is missing or wrong."""
        return quantities.severity(self.findings, form.part("severity"), 0, None)

    def probability(self, form: Form) -> float | None:
        """Return the probability of ``CONFIDENCE``: 0 when the clause is missing, None when it is wrong."""
        return quantities.probability(self.findings, form.part("confidence"))

    def fraction(self, form: Form) -> float | None:
        """Return the percentage as a fraction; None when it is wrong."""
        word = form.part("percent")
        return None if word is None else quantities.fraction(self.findings, word)

    def timer(self, form: Form) -> tuple[float, float] | None:
        """Return ``TIMEOUT`` and ``WARMUP`` in seconds; None when the time-out is wrong."""
        assert form.timer is not None
        limit = quantities.timeout(self.findings, form.timer.timeout)
        warmup = quantities.seconds(self.findings, form.timer.warmup, "WARMUP", zero=True)
        return None if limit is None else (limit, warmup or 0.0)

    def text(self, word: Word, what: str) -> str | None:
        """Return the content of a quoted text; report an empty one and return None.

        Args:
            word: the text with its quotes.
            what: the text's name in the finding.
        """
        return unquote(word) if quantities.not_empty(self.findings, word, what) else None

    def job_exception(self, word: Word) -> str | None:
        """Return the type of an exception of the resource manager; None when it is wrong."""
        return quantities.job_exception(self.findings, word)

    def exception(self, form: Form) -> str:
        """Return the name of the exception that a detection counts, and note that it has to be declared."""
        (word,) = form.parts["exceptionName"]
        self._named(word)
        return word.text

    def source(self, form: Form) -> Source | None:
        """Return the stream or file that patterns are searched in; None for a file without a name."""
        source = form.source
        assert source is not None
        if source.path is None:
            return Source(stream=source.stream)
        path = self.text(source.path, "file")
        return None if path is None else Source(stream=source.stream, path=path)

    def patterns(self, form: Form) -> tuple[Pattern, ...] | None:
        """Return all patterns of a detection and report repeated ones; None when a pattern is wrong."""
        patterns = [self.pattern(pattern) for pattern in form.patterns]
        seen: set[tuple[str, bool]] = set()
        for written, pattern in zip(form.patterns, patterns, strict=True):
            if pattern is not None and (pattern.text, pattern.regex) in seen:
                self.findings.warn(
                    "ESL055",
                    "the pattern is listed twice",
                    written.text,
                    hint="for the same pattern several times, use RECURRING",
                )
            if pattern is not None:
                seen.add((pattern.text, pattern.regex))
        good = tuple(pattern for pattern in patterns if pattern is not None)
        return good if len(good) == len(patterns) else None

    def expression(self, word: Word) -> Pattern | None:
        """Return the pattern of a quoted regular expression; None when it is wrong."""
        return self.pattern(PatternText(word, regex=True))

    def pattern(self, pattern: PatternText) -> Pattern | None:
        """Return the pattern of a quoted text or regular expression; None when it is wrong."""
        text = unquote(pattern.text, regex=pattern.regex)
        problem = self._patterns.regex(text) if pattern.regex else self._patterns.literal(text)
        if problem is not None:
            self._report(problem, pattern)
            if problem.severity is Severity.ERROR:
                return None
        return Pattern(text=text, regex=pattern.regex, captures=captures(text) if pattern.regex else ())

    def _report(self, problem: Problem, pattern: PatternText) -> None:
        word = pattern.text
        start, end = word.start, word.end
        if problem.part is not None:
            start, last = (
                syntax.offset(word, index, regex=pattern.regex)
                for index in (problem.part[0], problem.part[1] - 1)
            )
            # The text writes a quote of the pattern as two characters, backslash and quote.
            end = last + (2 if self._source.text.startswith('\\"', last) else 1)
        self.findings.add(
            problem.code, problem.message, Range(start, end), hint=problem.hint, severity=problem.severity
        )
