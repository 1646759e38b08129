"""The language: parse and check, the layout, the sentences; and a specification as JSON."""

from __future__ import annotations

import msgspec

from tests.fuzz.harness import Harness
from whesl import language as esl
from whesl.files.decode_errors import UNDECODABLE
from whesl.language.diagnostics import CODES, lines_of, render
from whesl.language.spec import Spec
from whesl.language.tools import formatting, sentences

_WORDS = (
    "DECLARE ENTITY JOB, WMS, SCHEDULER, DEPENDENT_JOB\n",
    "DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL\n",
    "DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]\n",
    'DECLARE RESOURCE LICENSE[ADD, RENEW HANDLER "r"] HANDLER "./l"\n',
    "DECLARE EXCEPTION E JOB_LEVEL JOB [run]",
    "DECLARE COUPLED JOB [run, post-*]\n",
    "EXCEPTION DETECTION E ",
    "EXCEPTION RECOVERY STEP E JOB NODE.REPLACE",
    'LOG "text" stdout',
    'MATCH "(?P<n>\\d+)" file "f"',
    "RECURRING 3 WITHIN 1.5",
    'MULTIPLE ["a", "b"]',
    "TIMEOUT 5 WARMUP 1",
    "EXIT CODE 1, 3-5",
    "EXIT ANY EXCEPT CODE 2, 126-127",
    "EXIT SIGNAL SIGSEGV",
    "CAUSE network-fabric, segfault/app-bug CONFIDENCE 0.5",
    'OUTPUT "a/*" OLDER THAN "b"',
    'OUTPUT "a" NOT MATCH "b+"',
    'SUCCESS IF OUTPUT "a" NEWER THAN "b"',
    "NODE DOWN",
    "EXTERNAL",
    'JOB EXCEPTION "x" SEVERITY 2',
    'DISK "/a" ABOVE 90%',
    "EXCEPTION E 3 TIMES",
    "LIMIT 3 BACKOFF 2 ELSE ESCALATE",
    "LIMIT 3 WITHOUT PROGRESS WITHIN 60",
    'INCLUDE "mpi"\n',
    '{"a": [1, null, "${b}"]}',
    "# comment\n",
    "\\\n",
)


def language(data: bytes) -> None:
    """Check a text; lay it out, twice; say it in sentences."""
    result = esl.parse(data, "t.esl")
    lines = lines_of(data)
    for finding in result.diagnostics:
        assert finding.code in CODES
        assert finding.line >= 1
        assert finding.column >= 1
        render(finding, lines)
    laid_out = formatting.layout(data, "t.esl")
    spec = result.spec
    if spec is None:
        assert result.diagnostics
        return
    for explained in sentences.explain(spec):
        assert explained
    assert msgspec.json.decode(msgspec.json.encode(spec), type=Spec) == spec
    text = laid_out.text
    assert text is not None
    again = formatting.layout(text, "t.esl")
    assert again.text == text
    after = esl.parse(text, "t.esl").spec
    assert after is not None
    assert _meaning(after) == _meaning(spec)


def _meaning(spec: Spec) -> object:
    """Return a specification without the places of its parts."""

    def without(value: object) -> object:
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items() if key != "span"}
        return [without(item) for item in value] if isinstance(value, list) else value

    return without(msgspec.json.decode(msgspec.json.encode(spec)))


def specification(data: bytes) -> None:
    """Take a specification as JSON, as daemons do: of a cache, of a job's file, of a message."""
    try:
        spec = msgspec.json.decode(data, type=Spec)
    except UNDECODABLE:
        return
    again = msgspec.json.encode(spec)
    assert repr(msgspec.json.decode(again, type=Spec)) == repr(spec)


HARNESSES = (
    Harness("language", language, _WORDS),
    Harness("specification", specification, ('"exceptions":[', '"detections":[', '"type":"log"', '"span":{')),
)
