"""The three specifications of the dissertation, to the letter, and what they mean."""

from __future__ import annotations

import itertools
import re

import msgspec
import pytest

from tests.language.corpus import EXAMPLES, PRINTED
from whesl import language
from whesl.language.detections.log import LogDetection
from whesl.language.detections.timers import HangDetection
from whesl.language.pattern_and_stream_records import Stream
from whesl.language.spec import Entity, Level, Operation, Otherwise, ResourceKind, Spec


def spec_of(text: str | bytes) -> Spec:
    result = language.parse(text, "rules.esl")
    assert result.diagnostics == ()
    assert result.spec is not None
    return result.spec


def meaning(spec: Spec) -> object:
    """Return a specification without the places of its parts."""

    def strip(value: object) -> object:
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key != "span"}
        return [strip(item) for item in value] if isinstance(value, list | tuple) else value

    return strip(msgspec.to_builtins(spec))


def test_disk_quota() -> None:
    spec = spec_of(EXAMPLES["disk-quota.esl"])
    assert spec.entities == (Entity.WMS, Entity.JOB)
    assert spec.levels == (Level.WORKFLOW_LEVEL,)
    (exception,) = spec.exceptions
    assert (exception.name, exception.level) == ("DISKQUOTAEXPIRED", Level.WORKFLOW_LEVEL)
    assert exception.jobs == ("run-preprocess",)
    (detection,) = exception.detections
    assert isinstance(detection, LogDetection)
    assert [pattern.text for pattern in detection.patterns] == ["Disk Quota Expired"]
    assert detection.source.stream is Stream.STDOUT
    assert [(s.entity, s.resource, s.operation) for s in exception.steps] == [
        (Entity.JOB, ResourceKind.FILESYSTEM, Operation.REPLACE),
        (Entity.WMS, ResourceKind.FILESYSTEM, Operation.REPLACE),
    ]
    assert exception.steps[0].arguments == {
        "filesystem": "<filesystem root>",
        "defaultpath": "default path for workflow execution",
    }
    assert (exception.limit, exception.otherwise) == (3, Otherwise.FAIL)
    assert (exception.steps[1].span.line, exception.steps[1].span.end_line) == (10, 12)


def test_crash() -> None:
    (exception,) = spec_of(EXAMPLES["crash.esl"]).exceptions
    assert exception.level is Level.JOB_LEVEL
    (step,) = exception.steps
    assert (step.entity, step.resource, step.operation) == (Entity.JOB, ResourceKind.NODE, Operation.REPLACE)
    assert step.arguments == {}


def test_hang_is_an_exception_called_like_a_keyword() -> None:
    (exception,) = spec_of(EXAMPLES["hang.esl"]).exceptions
    assert exception.name == "HANG"
    (detection,) = exception.detections
    assert isinstance(detection, HangDetection)
    assert (detection.pattern.text, detection.timeout, detection.warmup) == ("cycle = ", 120, 0)


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(lambda text: text.replace("\n", "\r"), id="CR"),
        pytest.param(lambda text: text.rstrip("\n"), id="no final newline"),
        pytest.param(lambda text: re.sub("(?m)^    |(?<=DECLARE) ", "\t", text), id="tabs"),
        pytest.param(lambda text: "\ufeff" + text, id="byte order mark"),
        pytest.param(lambda text: text.replace(" stdout", " \\  \n stdout"), id="blanks behind a backslash"),
        pytest.param(lambda text: re.sub("EXCEPTION (DET|REC)", "EXCEPTION \t  \\1", text), id="blanks"),
        pytest.param(lambda text: re.sub("DECLARE ", "  DECLARE \\\\\n", text), id="split keywords"),
        pytest.param(
            lambda text: text.replace("\n", "   # why\n").replace("\\   # why", "\\"), id="comments"
        ),
    ],
)
def test_other_forms_of_the_same(name: str, change: object) -> None:
    assert callable(change)
    changed = change(EXAMPLES[name])
    assert changed != EXAMPLES[name]
    assert meaning(spec_of(changed.encode())) == meaning(spec_of(EXAMPLES[name]))


def test_statements_in_any_order() -> None:
    statements = EXAMPLES["hang.esl"].replace("\n\n", "\n").splitlines()
    expected = meaning(spec_of(EXAMPLES["hang.esl"]))
    for order in itertools.permutations(statements):
        assert meaning(spec_of("\n".join(order))) == expected


@pytest.mark.parametrize("word", ["DEPENDEND_JOB", "DEPENDENT_JOB"])
def test_both_spellings_of_a_dependent_job(word: str) -> None:
    text = EXAMPLES["disk-quota.esl"].replace("WMS, JOB", f"JOB, {word}").replace(" WMS ", f" {word} ")
    spec = spec_of(text)
    assert spec.entities == (Entity.JOB, Entity.DEPENDENT_JOB)
    assert spec.exceptions[0].steps[1].entity is Entity.DEPENDENT_JOB


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_correct(name: str) -> None:
    spec_of(EXAMPLES[name])
