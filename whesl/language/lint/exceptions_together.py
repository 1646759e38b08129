"""Checks of several exceptions together: lines that two of them look for, counts that are never reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whesl.language.diagnostics import Findings, Severity
from whesl.language.lint.pattern_index import PatternIndex
from whesl.language.lint.statements import Watched, all_jobs, same_jobs, same_lines
from whesl.language.patterns_and_places import Source, Stream
from whesl.language.spec import ExceptionSpec, Operation, Otherwise

_OUTPUT = Source(stream=Stream.OUTPUT)


def check(findings: Findings, watched: Sequence[Watched], exceptions: Mapping[str, ExceptionSpec]) -> None:
    """Find faults used as signs of life, lines that another exception takes first, counts never reached.

    Args:
        findings: the collection that warnings are added to.
        watched: all detections of the watched exceptions, in the order of the file.
        exceptions: the watched exceptions, by name.
    """
    _signs_of_life(findings, watched)
    _one_for_all(findings, watched)
    _taken_first(findings, watched, list(exceptions))
    _counts(findings, watched, exceptions)


def _signs_of_life(findings: Findings, watched: Sequence[Watched]) -> None:
    faults = [
        (order, fault, pattern, written)
        for order, fault in enumerate(watched)
        if fault.own and not fault.detection.timed
        for pattern, written in fault.patterns()
    ]
    within = PatternIndex([[pattern] for _, _, pattern, _ in faults])
    timed = [(each, reads) for each in watched if each.detection.timed and (reads := each.reads) is not None]
    met = {
        (faults[number][0], beside, number)
        for beside, (_, signs) in enumerate(timed)
        for sign in signs.patterns
        for number in within.included(sign)
    }
    for _, beside, number in sorted(met):
        (_, fault, _, written), (life, signs) = faults[number], timed[beside]
        reads = fault.reads
        assert reads is not None
        if same_lines(reads.source, signs.source) and same_jobs(fault.exception, life.exception):
            findings.add(
                "ESL058",
                f"{life.exception.name[:40]} takes this text for a sign of life, and"
                f" {fault.exception.name[:40]} for a fault",
                written.text,
                severity=Severity.WARNING,
                hint="write LOG ... TIMEOUT alone: it is raised when the text does not come",
            )
            return


def _one_for_all(findings: Findings, watched: Sequence[Watched]) -> None:
    """Find texts of MULTIPLE that are contained in another text of the same detection."""
    for each in watched:
        if not each.own or each.statement.form.keyword("MULTIPLE") is None:
            continue
        texts = [*each.patterns()]
        for pattern, written in texts:
            longer = next((p for p, _ in texts if p is not pattern and pattern.text in p.text), None)
            if longer is not None and not (pattern.regex or longer.regex) and longer.text != pattern.text:
                findings.add(
                    "ESL055",
                    f"each line with {longer.text[:60]!r} has this pattern, too: one line is enough for both",
                    written.text,
                    severity=Severity.WARNING,
                    hint="write a part that only the other line has",
                )


def _taken_first(findings: Findings, watched: Sequence[Watched], order: Sequence[str]) -> None:
    """Find detections that are never complete: another exception ends the attempt at each of their lines."""
    quick = [(each, one) for each in watched if (one := each.detection.one_line()) is not None]
    within = PatternIndex([one.patterns for _, one in quick])
    place = {name: number for number, name in enumerate(order)}
    for late in watched:
        reads = late.reads
        if not late.own or reads is None:
            continue
        included = {pattern: set(within.included(pattern)) for pattern in reads.patterns}
        for number in sorted(set().union(*included.values())):
            first, one = quick[number]
            before = place[first.exception.name] < place[late.exception.name]
            if first.exception is late.exception or not (before or late.detection.one_line() is None):
                continue
            if _goes_on(first.exception) or not all_jobs(first.exception, late.exception):
                continue
            if one.source not in (reads.source, _OUTPUT) or not same_lines(one.source, reads.source):
                continue
            taken = frozenset(pattern for pattern, numbers in included.items() if number in numbers)
            if late.detection.starved(taken):
                findings.add(
                    "ESL059",
                    f"{late.exception.name[:40]} is never raised so: {first.exception.name[:40]} is, at the"
                    " first such line, and ends the attempt",
                    late.statement.form.patterns[0].text,
                    severity=Severity.WARNING,
                    hint=f"to count exceptions: EXCEPTION DETECTION {late.exception.name[:40]} EXCEPTION"
                    f" {first.exception.name[:40]} 3 TIMES",
                )
                break


def _goes_on(exception: ExceptionSpec) -> bool:
    """Whether the attempt goes on after an exception: all its steps only take checkpoints."""
    return bool(exception.steps) and all(step.operation == Operation.CHECKPOINT for step in exception.steps)


def _counts(findings: Findings, watched: Sequence[Watched], exceptions: Mapping[str, ExceptionSpec]) -> None:
    """Find counts above the number of times that the counted exception can be raised before its task ends."""
    for each in watched:
        name, word = each.detection.counted(), each.statement.form.part("count")
        counted = exceptions.get(name or "")
        if not each.own or counted is None or word is None:
            continue
        if (
            counted.without_progress
            or counted.limit_within is not None
            or counted.otherwise is Otherwise.ESCALATE
        ):
            continue
        most, times = counted.limit + 1, int(word.text)
        if times > most:
            findings.add(
                "ESL084",
                f"{counted.name[:40]} happens {most} times at most: {counted.limit} recoveries are allowed",
                word,
                severity=Severity.WARNING,
                hint=f"declare {counted.name[:40]} with LIMIT {times - 1} or more",
            )
