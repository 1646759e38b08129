"""Checks of several exceptions together: lines that two of them look for, counts that are never reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whesl.language.compiler import syntax
from whesl.language.diagnostics import Findings
from whesl.language.lint.pattern_index import PatternIndex
from whesl.language.lint.statements import Watched, all_jobs, apart, same_jobs, same_lines
from whesl.language.pattern_and_stream_records import Source, Stream
from whesl.language.spec import LONGEST_BACKOFF, ExceptionSpec, Operation, Otherwise

_MOST_WAITS = 1000  # recoveries whose waits are summed up
_OUTPUT = Source(stream=Stream.OUTPUT)


def check(
    findings: Findings,
    watched: Sequence[Watched],
    exceptions: Mapping[str, ExceptionSpec],
    declared: Mapping[str, syntax.Declared],
) -> None:
    """Find faults used as signs of life, lines that another exception takes first, counts never reached.

    Args:
        findings: the collection that warnings are added to.
        watched: all detections of the watched exceptions, in the order of the file.
        exceptions: the watched exceptions, by name.
        declared: the declarations of exceptions, by name.
    """
    _signs_of_life(findings, watched)
    _one_for_all(findings, watched)
    _taken_first(findings, watched, list(exceptions))
    _counts(findings, watched, exceptions)
    _clauses(findings, declared, exceptions)


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
            findings.warn(
                "ESL058",
                f"{life.exception.name[:40]} takes this text for a sign of life, and"
                f" {fault.exception.name[:40]} for a fault",
                written.text,
                hint="write LOG ... TIMEOUT alone: it is raised when the text does not come",
            )
            return


def _one_for_all(findings: Findings, watched: Sequence[Watched]) -> None:
    """Find texts of a list that are contained in another text of it, and lists of one text."""
    for each in watched:
        form, texts = each.statement.form, [*each.patterns()]
        several = form.keyword("MULTIPLE")
        if not each.own or (several or form.keyword("ANY")) is None or form.kind not in ("multiple", "anyOf"):
            continue
        if several is not None and len(texts) == 1:
            message, hint = "a list of one pattern is that pattern", "write LOG or MATCH, or another one"
            findings.warn("ESL055", message, texts[0][1].text, hint)
        for pattern, written in texts:
            others = [p.text for p, _ in texts if p is not pattern and p.text != pattern.text and not p.regex]
            longer = next((text for text in others if pattern.text in text and not pattern.regex), None)
            if longer is not None:
                what = "one line is enough for both" if several is not None else "the longer one adds nothing"
                message = f"each line with {longer[:60]!r} has this pattern, too: {what}"
                hint = "write a part that only the other line has"
                findings.warn("ESL055", message, written.text, hint)


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
                findings.warn(
                    "ESL059",
                    f"{late.exception.name[:40]} is never raised so: {first.exception.name[:40]} is, at the"
                    " first such line, and ends the attempt",
                    late.statement.form.patterns[0].text,
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
        if apart(each.exception, counted):
            message = f"{counted.name[:40]} is for other jobs: it never happens to these"
            findings.warn("ESL084", message, word, f"name the same jobs in {counted.name[:40]}")
            continue
        within = each.statement.form.part("within")
        if within is not None and float(within.text) < _waits(counted, int(word.text)):
            message = f"{word.text} times take longer: BACKOFF lies between them"
            findings.warn("ESL084", message, within, "a longer WITHIN")
            continue
        if (
            counted.without_progress
            or counted.limit_within is not None
            or counted.otherwise is Otherwise.ESCALATE
        ):
            continue
        most, times = counted.limit + 1, int(word.text)
        if times > most:
            message = (
                f"{counted.name[:40]} happens {most} times at most: {counted.limit} recoveries are allowed"
            )
            findings.warn(
                "ESL084", message, word, f"declare {counted.name[:40]} with LIMIT {times - 1} or more"
            )


def _clauses(
    findings: Findings, declared: Mapping[str, syntax.Declared], exceptions: Mapping[str, ExceptionSpec]
) -> None:
    """Find limits that are never reached, and escalations to exceptions of other jobs."""
    for name, exception in exceptions.items():
        for clause in declared[name].clauses:
            if isinstance(clause, syntax.Limit) and clause.within is not None:
                if float(clause.within.text) < _waits(exception, exception.limit + 1) + exception.limit:
                    message = f"{exception.limit} recoveries take longer: the limit is never reached"
                    findings.warn("ESL084", message, clause.within, "write a longer WITHIN, or leave it out")
            elif isinstance(clause, syntax.Else) and clause.exception is not None:
                target = exceptions.get(clause.exception.text)
                if target is not None and apart(exception, target):
                    message = f"{target.name[:40]} is for other jobs: it is not raised for these"
                    findings.warn(
                        "ESL084", message, clause.exception, f"name the same jobs in {target.name[:40]}"
                    )


def _waits(exception: ExceptionSpec, times: int) -> float:
    """Return the least number of seconds between the first and the last of so many failures."""
    waits = (exception.backoff * 2.0 ** min(number, 64) for number in range(min(times - 1, _MOST_WAITS)))
    return sum(min(wait, LONGEST_BACKOFF) for wait in waits)
