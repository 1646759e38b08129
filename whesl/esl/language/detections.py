"""Checks of detections: each form becomes its record of the specification."""

from __future__ import annotations

from whesl.esl import spec
from whesl.esl.diagnostics import Severity
from whesl.esl.language import quantities, syntax
from whesl.esl.language.arguments import signal_names, signal_number
from whesl.esl.language.declarations import Declarations
from whesl.esl.language.patterns import PatternCheck, Problem, captures, groups, with_named_group
from whesl.esl.language.source import Source
from whesl.esl.language.syntax import PatternText, Word, unquote
from whesl.model.record import assert_never

MAX_EXIT_CODE = 255
PROGRESS_GROUP = "progress"  # the name that an unnamed group of PROGRESS is given


class DetectionCheck:
    """Turns the detections of one file into records; what is wrong is among the findings."""

    def __init__(self, source: Source, declarations: Declarations) -> None:
        self._source = source
        self._findings = source.findings
        self._declarations = declarations
        self._patterns = PatternCheck()

    def detection(self, statement: syntax.Detected) -> spec.Detection | None:
        """Return a detection's record, or None when it is wrong."""
        span = self._source.span(statement.start, statement.end)
        form = statement.form
        match form:
            case syntax.Log():
                return self._log(form, span)
            case syntax.Hang():
                return self._hang(form, span)
            case syntax.Silence():
                timer = self._timer(form.timer)
                return timer and spec.SilenceDetection(timeout=timer[0], warmup=timer[1], span=span)
            case syntax.Progress():
                return self._progress(form, span)
            case syntax.Exit():
                return self._exit(form, span)
            case syntax.Node():
                return spec.NodeDetection(condition=form.condition, span=span)
            case syntax.JobException():
                return self._job_exception(form, span)
            case syntax.External():
                return spec.ExternalDetection(span=span)
            case syntax.Predicted():
                return self._predicted(form, span)
            case syntax.Disk():
                return self._disk(form, span)
            case syntax.Counted():
                return self._counted(form, span)
        return assert_never(form)

    def _log(self, form: syntax.Log, span: spec.Span) -> spec.LogDetection | None:
        patterns = [self._pattern(pattern) for pattern in form.patterns]
        seen: set[tuple[str, bool]] = set()
        for written, pattern in zip(form.patterns, patterns, strict=True):
            if pattern is not None and (pattern.text, pattern.regex) in seen:
                self._findings.add(
                    "ESL055",
                    "the pattern is listed twice",
                    written.text.start,
                    written.text.end,
                    severity=Severity.WARNING,
                    hint="for the same pattern several times, use RECURRING",
                )
            if pattern is not None:
                seen.add((pattern.text, pattern.regex))
        source = self._stream(form.source)
        times = quantities.count(self._findings, form.times, "RECURRING", 1)
        within = quantities.seconds(self._findings, form.within, "WITHIN")
        good = tuple(pattern for pattern in patterns if pattern is not None)
        if len(good) < len(patterns) or source is None:
            return None
        return spec.LogDetection(
            patterns=good, source=source, require=form.require, times=times, within=within, span=span
        )

    def _hang(self, form: syntax.Hang, span: spec.Span) -> spec.HangDetection | None:
        pattern, source, timer = (
            self._pattern(form.pattern),
            self._stream(form.source),
            self._timer(form.timer),
        )
        if pattern is None or source is None or timer is None:
            return None
        return spec.HangDetection(
            pattern=pattern, source=source, timeout=timer[0], warmup=timer[1], span=span
        )

    def _progress(self, form: syntax.Progress, span: spec.Span) -> spec.ProgressDetection | None:
        pattern, source, timer = (
            self._pattern(form.pattern),
            self._stream(form.source),
            self._timer(form.timer),
        )
        if pattern is None or source is None or timer is None:
            return None
        number = groups(pattern.text)
        if number != 1 and len(pattern.captures) != 1:
            self._findings.add(
                "ESL054",
                f"the pattern has {number or 'no'} group{'s' if number > 1 else ''}, so that the number to"
                " watch is not known",
                form.pattern.text.start,
                form.pattern.text.end,
                hint=r'put parentheses around the number, as in "step (\d+)"; name it if there are several:'
                r' "(?P<step>\d+)"',
            )
            return None
        if not pattern.captures:
            named = with_named_group(pattern.text, PROGRESS_GROUP)
            pattern = spec.Pattern(text=named, regex=True, captures=(PROGRESS_GROUP,))
        return spec.ProgressDetection(
            pattern=pattern,
            capture=pattern.captures[0],
            source=source,
            timeout=timer[0],
            warmup=timer[1],
            span=span,
        )

    def _exit(self, form: syntax.Exit, span: spec.Span) -> spec.ExitDetection | None:
        codes, signals, good = [], [], True
        for first, last in form.codes:
            low = self._exit_code(first)
            high = low if last is first else self._exit_code(last)
            if low is None or high is None:
                good = False
            elif low > high:
                good = False
                self._findings.add(
                    "ESL064",
                    f"the range {low}-{high} is empty",
                    first.start,
                    last.end,
                    hint=f"write {high}-{low}",
                )
            else:
                codes.append(spec.CodeRange(first=low, last=high))
        for word in form.signals:
            number = signal_number(word.text)
            if number is None:
                good = False
                self._findings.add(
                    "ESL065",
                    f"there is no signal {word.text[:40]}",
                    word.start,
                    word.end,
                    hint=self._findings.nearest(word.text, signal_names())
                    or "SIGSEGV, SEGV and 11 are the same",
                )
            else:
                signals.append(number)
        if not good:
            return None
        excluded = form.any is not None and bool(codes)
        return spec.ExitDetection(codes=tuple(codes), signals=tuple(signals), excluded=excluded, span=span)

    def _exit_code(self, word: Word) -> int | None:
        value = float(word.text)
        if value.is_integer() and 1 <= value <= MAX_EXIT_CODE:
            return int(value)
        self._findings.add(
            "ESL064",
            f"an exit code of a failure is a whole number from 1 to {MAX_EXIT_CODE}, not {word.text[:24]}",
            word.start,
            word.end,
            hint="0 is success" if value == 0 else "",
        )
        return None

    def _job_exception(self, form: syntax.JobException, span: spec.Span) -> spec.JobExceptionDetection | None:
        kind = self._declarations.job_exception(form.type)
        severity = quantities.severity(self._findings, form.severity, 0, None)
        if kind is None or (severity is None and form.severity is not None):
            return None
        return spec.JobExceptionDetection(exception_type=kind, severity=severity, span=span)

    def _predicted(self, form: syntax.Predicted, span: spec.Span) -> spec.PredictedDetection | None:
        named = form.node is None or self._declarations.not_empty(form.node, "node")
        within = quantities.seconds(self._findings, form.within, "WITHIN")
        confidence = quantities.probability(self._findings, form.confidence)
        if not named or confidence is None or (within is None and form.within is not None):
            return None
        node = None if form.node is None else unquote(form.node)
        return spec.PredictedDetection(node=node, within=within, confidence=confidence, span=span)

    def _disk(self, form: syntax.Disk, span: spec.Span) -> spec.DiskDetection | None:
        named = self._declarations.not_empty(form.path, "path")
        above = quantities.fraction(self._findings, form.above)
        if above is None or not named:
            return None
        return spec.DiskDetection(path=unquote(form.path), metric=form.metric, above=above, span=span)

    def _counted(self, form: syntax.Counted, span: spec.Span) -> spec.CountDetection:
        self._declarations.exception(form.exception)
        return spec.CountDetection(
            exception=form.exception.text,
            times=quantities.count(self._findings, form.times, "TIMES", 1),
            within=quantities.seconds(self._findings, form.within, "WITHIN"),
            span=span,
        )

    def _timer(self, timer: syntax.Timer) -> tuple[float, float] | None:
        limit = quantities.timeout(self._findings, timer.timeout)
        warmup = quantities.seconds(self._findings, timer.warmup, "WARMUP", zero=True)
        return None if limit is None else (limit, warmup or 0.0)

    def _stream(self, source: syntax.From) -> spec.Source | None:
        if source.path is None:
            return spec.Source(stream=source.stream)
        if not self._declarations.not_empty(source.path, "file"):
            return None
        return spec.Source(stream=source.stream, path=unquote(source.path))

    def _pattern(self, pattern: PatternText) -> spec.Pattern | None:
        text = unquote(pattern.text, regex=pattern.regex)
        problem = self._patterns.regex(text) if pattern.regex else self._patterns.literal(text)
        if problem is not None:
            self._report(problem, pattern)
            if problem.severity is Severity.ERROR:
                return None
        return spec.Pattern(text=text, regex=pattern.regex, captures=captures(text) if pattern.regex else ())

    def _report(self, problem: Problem, pattern: PatternText) -> None:
        word = pattern.text
        start, end = word.start, word.end
        if problem.part is not None:
            start, last = (
                syntax.offset(word, index, regex=pattern.regex)
                for index in (problem.part[0], problem.part[1] - 1)
            )
            # A quote of the pattern is two characters of the text.
            end = last + (2 if self._source.text.startswith('\\"', last) else 1)
        self._findings.add(
            problem.code,
            problem.message,
            start,
            end,
            hint=problem.hint,
            severity=problem.severity,
        )
