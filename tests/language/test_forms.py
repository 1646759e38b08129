"""Every form of the language, and the record that it becomes."""

from __future__ import annotations

import signal

import msgspec
import pytest

from tests.language.corpus import DETECT, DETECTIONS, HEADER, RECOVER
from whesl import language
from whesl.language.detections.base import Broken, DiskMetric, Promise
from whesl.language.detections.cause import CauseDetection
from whesl.language.detections.disk import DiskDetection
from whesl.language.detections.exit import CodeRange, ExitDetection
from whesl.language.detections.external_and_counted import (
    CountDetection,
    ExternalDetection,
    PredictedDetection,
)
from whesl.language.detections.job_exception import JobExceptionDetection
from whesl.language.detections.log import LogDetection, Require
from whesl.language.detections.node import NodeCondition, NodeDetection
from whesl.language.detections.output_file import PromisedDetection
from whesl.language.detections.timers import HangDetection, ProgressDetection, SilenceDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Span, Stream
from whesl.language.spec import ExceptionSpec, JobExceptionRaise, Otherwise, Spec
from whesl.model.evidence import CauseClass

STDOUT, STDERR = Source(stream=Stream.STDOUT), Source(stream=Stream.STDERR)
FILE = Source(stream=Stream.FILE, path="f")
A, B = Pattern(text="aa"), Pattern(text="bb")
S = Span(line=9, column=1, end_line=9, end_column=1)


def spec_of(text: str) -> Spec:
    result = language.parse(text, "t.esl")
    assert result.spec is not None, result.diagnostics
    assert result.diagnostics == ()
    return result.spec


def exception_of(text: str) -> ExceptionSpec:
    return spec_of(HEADER + text).exception("E")


RECORDS = [
    LogDetection(patterns=(Pattern(text="text"),), source=STDOUT, span=S),
    LogDetection(patterns=(Pattern(text="text"),), source=STDERR, times=3, span=S),
    LogDetection(patterns=(Pattern(text="text"),), source=Source(stream=Stream.OUTPUT), span=S),
    LogDetection(
        patterns=(Pattern(text=r"a(?P<b>\d+)", regex=True, captures=("b",)),),
        source=Source(stream=Stream.FILE, path="x/y.log"),
        times=3,
        within=1.5,
        span=S,
    ),
    LogDetection(
        patterns=(A, Pattern(text="b+", regex=True), Pattern(text="cc")),
        source=STDOUT,
        require=Require.ALL,
        span=S,
    ),
    LogDetection(patterns=(A, B), source=STDERR, require=Require.ALL, within=10, span=S),
    LogDetection(patterns=(A,), source=FILE, span=S),
    LogDetection(patterns=(A, B), source=STDOUT, times=2, within=9, span=S),
    HangDetection(pattern=Pattern(text="cycle = "), source=STDOUT, timeout=120, span=S),
    HangDetection(pattern=Pattern(text=r"cycle = \d", regex=True), source=STDERR, timeout=120, span=S),
    ExternalDetection(span=S),
    PredictedDetection(span=S),
    PredictedDetection(node="n0*", within=60, confidence=0.8, span=S),
    SilenceDetection(timeout=60, span=S),
    SilenceDetection(timeout=60.5, warmup=10, span=S),
    SilenceDetection(timeout=600, stopped=True, span=S),
    ProgressDetection(
        pattern=Pattern(text=r"step (?P<progress>\d+)", regex=True, captures=("progress",)),
        capture="progress",
        source=STDOUT,
        timeout=5,
        span=S,
    ),
    ProgressDetection(
        pattern=Pattern(text=r"(x) (?P<n>\d+)", regex=True, captures=("n",)),
        capture="n",
        source=FILE,
        timeout=5,
        warmup=2,
        span=S,
    ),
    ExitDetection(span=S),
    ExitDetection(codes=(CodeRange(first=2, last=2), CodeRange(first=126, last=127)), excluded=True, span=S),
    ExitDetection(codes=(CodeRange(first=1, last=1), CodeRange(first=3, last=5)), span=S),
    ExitDetection(signals=(signal.SIGSEGV, signal.SIGBUS, 9), span=S),
    CauseDetection(classes=(CauseClass.GPU,), span=S),
    CauseDetection(classes=(CauseClass.BUG, CauseClass.LICENCE, CauseClass.TIME), confidence=0.7, span=S),
    PromisedDetection(promise=Promise(path="out/*.nc", broken=Broken.MISSING), span=S),
    PromisedDetection(promise=Promise(path="out.nc", broken=Broken.EMPTY), span=S),
    PromisedDetection(promise=Promise(path="out/*.nc", broken=Broken.OLDER, than="in/*"), span=S),
    PromisedDetection(
        promise=Promise(
            path="run.log",
            broken=Broken.UNMATCHED,
            pattern=Pattern(text="^Normal +termination", regex=True),
        ),
        span=S,
    ),
    PromisedDetection(
        promise=Promise(path="$RUN/log", broken=Broken.UNMATCHED, pattern=Pattern(text="Total")), span=S
    ),
    PromisedDetection(promise=Promise(path="out/*.nc", broken=Broken.MISSING, needed=True), span=S),
    PromisedDetection(promise=Promise(path="out/*.nc", broken=Broken.EMPTY, needed=True), span=S),
    PromisedDetection(
        promise=Promise(path="out/*.nc", broken=Broken.OLDER, than="in/*", needed=True), span=S
    ),
    PromisedDetection(
        promise=Promise(
            path="run.log",
            broken=Broken.UNMATCHED,
            pattern=Pattern(text="^Done", regex=True),
            needed=True,
        ),
        span=S,
    ),
    NodeDetection(condition=NodeCondition.DOWN, span=S),
    NodeDetection(condition=NodeCondition.DRAINED, span=S),
    JobExceptionDetection(exception_type="exec", span=S),
    JobExceptionDetection(exception_type="node-failure", severity=2, span=S),
    DiskDetection(path="/a", metric=DiskMetric.SPACE, above=0.9, span=S),
    DiskDetection(path="/a", metric=DiskMetric.INODES, above=0.905, span=S),
    DiskDetection(path="/a", metric=DiskMetric.QUOTA, above=0.01, span=S),
    CountDetection(exception="LOW", times=3, span=S),
    CountDetection(exception="LOW", times=3, within=100, span=S),
]


@pytest.mark.parametrize(("text", "record"), list(zip(DETECTIONS, RECORDS, strict=True)))
def test_detection(text: str, record: msgspec.Struct) -> None:
    (detection,) = exception_of(f"{DETECT}{text}\n").detections
    assert msgspec.structs.replace(detection, span=S) == record
    assert (detection.span.line, detection.span.column) == (9, 1)
    assert detection.span.end_column == len(DETECT + text) + 1


def test_all_detections_of_an_exception_are_kept_in_order() -> None:
    text = "".join(f"{DETECT}{form}\n" for form in DETECTIONS)
    assert [type(d) for d in exception_of(text).detections] == [type(r) for r in RECORDS]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", (3, None, 0, Otherwise.FAIL, None)),
        ("LIMIT 5", (5, None, 0, Otherwise.FAIL, None)),
        ("LIMIT 5 WITHIN 60.5", (5, 60.5, 0, Otherwise.FAIL, None)),
        ("LIMIT 5 WITHOUT PROGRESS", (5, None, 0, Otherwise.FAIL, None)),
        ("LIMIT 5 WITHOUT PROGRESS WITHIN 60 ELSE PAUSE", (5, 60, 0, Otherwise.PAUSE, None)),
        ("BACKOFF 0.5 LIMIT 2", (2, None, 0.5, Otherwise.FAIL, None)),
        ("ELSE PAUSE BACKOFF 0", (3, None, 0, Otherwise.PAUSE, None)),
        ("ELSE ESCALATE", (3, None, 0, Otherwise.ESCALATE, None)),
        ("ELSE ESCALATE LIMIT 4", (4, None, 0, Otherwise.ESCALATE, None)),
        ("ELSE ESCALATE LIMIT LIMIT 4", (4, None, 0, Otherwise.ESCALATE, "LIMIT")),
        ("ELSE ESCALATE LIMIT", (3, None, 0, Otherwise.ESCALATE, "LIMIT")),
        ("LIMIT 1 ELSE ESCALATE BACKOFF BACKOFF 2", (1, None, 2, Otherwise.ESCALATE, "BACKOFF")),
        ("ELSE ESCALATE ELSE", (3, None, 0, Otherwise.ESCALATE, "ELSE")),
    ],
)
def test_clauses(clauses: str, expected: object) -> None:
    others = "".join(
        f"DECLARE EXCEPTION {name} JOB_LEVEL JOB [a] ELSE FAIL\nEXCEPTION DETECTION {name} EXIT CODE 1\n"
        for name in ("LIMIT", "BACKOFF", "ELSE")
    )
    text = (
        f"{HEADER}{others}DECLARE EXCEPTION X JOB_LEVEL JOB [a] {clauses}\n"
        "EXCEPTION DETECTION X EXIT CODE 1\n"
        "EXCEPTION RECOVERY STEP X JOB NODE.ADD\nEXCEPTION DETECTION E EXIT CODE 1\n"
    )
    x = spec_of(text).exception("X")
    assert (x.limit, x.limit_within, x.backoff, x.otherwise, x.escalate_to) == expected
    assert x.without_progress == ("PROGRESS" in clauses)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", None),
        ('RAISE "lost"', JobExceptionRaise(exception_type="lost", severity=7)),
        ('LIMIT 2 RAISE "lost" SEVERITY 1', JobExceptionRaise(exception_type="lost", severity=1)),
        ('ELSE ESCALATE RAISE "lost"', JobExceptionRaise(exception_type="lost")),
        ('RAISE "lost" SEVERITY 3 ELSE FAIL', JobExceptionRaise(exception_type="lost", severity=3)),
    ],
)
def test_what_the_resource_manager_is_told(clauses: str, expected: JobExceptionRaise | None) -> None:
    text = (
        f"{HEADER}DECLARE EXCEPTION X JOB_LEVEL JOB [a] {clauses}\n"
        "EXCEPTION DETECTION X EXIT CODE 1\n"
        "EXCEPTION RECOVERY STEP X JOB NODE.ADD\nEXCEPTION DETECTION E EXIT CODE 1\n"
    )
    assert spec_of(text).exception("X").raises == expected


def test_names_of_jobs() -> None:
    jobs = r'run-1, 2nd.step, *-all, a-?b*, DECLARE, 1.5.x, "two words", "x[1]", "q\"uote", \
      _x'
    text = f"DECLARE EXCEPTION X JOB_LEVEL JOB [\n{jobs},\n # a comment\n last\n]\n"
    text += "EXCEPTION DETECTION X EXIT CODE 1\n"
    text += "EXCEPTION RECOVERY STEP X JOB NODE.ADD\nEXCEPTION DETECTION E EXIT CODE 1\n"
    assert spec_of(HEADER + text).exception("X").jobs == (
        *("run-1", "2nd.step", "*-all", "a-?b*", "DECLARE", "1.5.x", "two words", "x[[]1]", 'q"uote', "_x"),
        "last",
    )


def test_a_custom_handler_takes_any_arguments() -> None:
    text = f'{DETECT}EXIT CODE 1\n{RECOVER}JOB FILESYSTEM.ADD {{"whatever": [1, {{"deep": null}}]}}\n'
    spec = spec_of(HEADER + text)
    assert (
        spec.handler(spec.exception("E").steps[0].resource, spec.exception("E").steps[0].operation)
        == "own.handler"
    )
    assert spec.exception("E").steps[0].arguments == {"whatever": [1, {"deep": None}]}


def test_arguments_over_several_lines() -> None:
    text = f"""{DETECT}EXIT CODE 1
{RECOVER}JOB FILESYSTEM . REPLACE {{
    "filesystem": ["/a }}{{", "/b\\\\\\"]"],

    "defaultpath": \\
       "/c", "min_free": 10000000,
    "handler_timeout": 1.5e1
}}
"""
    assert exception_of(text).steps[0].arguments == {
        "filesystem": ["/a }{", '/b\\"]'],
        "defaultpath": "/c",
        "min_free": 10000000,
        "handler_timeout": 15.0,
    }


def test_deep_arguments() -> None:
    deep = "[" * 98 + "]" * 98
    text = f'{DETECT}EXIT CODE 1\n{RECOVER}JOB FILESYSTEM.ADD {{"x": {deep}}}\n'
    value = exception_of(text).steps[0].arguments["x"]
    for _ in range(97):
        (value,) = value
    assert value == []


@pytest.mark.parametrize(
    ("written", "literal", "regex"),
    [
        (r"a\"b", 'a"b', 'a"b'),
        (r"C:\temp", r"C:\temp", None),
        (r"C:\\temp", r"C:\temp", r"C:\\temp"),
        (r"end\\", "end\\", "end\\\\"),
        (r"C:\users [x]", r"C:\users [x]", None),
        (r"\\\"", '\\"', '\\\\"'),
    ],
)
def test_backslashes_in_texts(written: str, literal: str, regex: str | None) -> None:
    (log,) = exception_of(f'{DETECT}LOG "{written}" stdout\n').detections
    assert isinstance(log, LogDetection)
    assert log.patterns[0].text == literal
    if regex is not None:
        (match,) = exception_of(f'{DETECT}MATCH "{written}" stdout\n').detections
        assert isinstance(match, LogDetection)
        assert match.patterns[0].text == regex
