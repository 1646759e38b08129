"""No input gives a traceback, and none costs more than its size: work is counted, not timed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.language.corpus import DETECT, EXAMPLES, HEADER, RECOVER, big, specifications
from whesl import language
from whesl.language.compiler.source import MAX_BYTES
from whesl.language.diagnostics import CODES, MAX_FINDINGS, lines_of, render
from whesl.language.result import Result
from whesl.language.spec import Spec


def check(data: bytes | str) -> Result:
    """Parse anything; every finding has to be in the file, known, and printable."""
    result = language.parse(data, "t.esl")
    lines = lines_of(data)
    assert len(result.diagnostics) <= MAX_FINDINGS + 1
    for d in result.diagnostics:
        assert d.code in CODES
        assert 1 <= d.line <= len(lines)
        assert 1 <= d.column < d.end_column
        assert render(d, lines).count("\n") <= 5
    places = [(d.line, d.column) for d in result.diagnostics if d.code != "ESL007"]
    assert places == sorted(places)
    if result.spec is not None:
        encoded = msgspec.json.encode(result.spec)
        assert msgspec.json.decode(encoded, type=Spec) == result.spec
    else:
        assert result.diagnostics
    return result


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes(data: bytes) -> None:
    check(data)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text(text: str) -> None:
    check(text)
    check(text.encode("utf-8", "surrogatepass"))
    check(text.encode("utf-16", "surrogatepass"))


@given(specifications(), st.data())
@settings(max_examples=examples(60), deadline=None)
@pytest.mark.costly
def test_damaged_specifications(text: str, data: st.DataObject) -> None:
    """Cut anywhere, or with anything put in or taken out."""
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 20))
    put = data.draw(st.one_of(st.text(max_size=5), st.sampled_from(list('"{}[]\\#\n.,%-\0'))))
    check(text[:at])
    check(text[:at] + put + text[at + length :])


SCALARS = st.none() | st.booleans() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.integers(-(2**63), 2**63 - 1),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
@settings(deadline=None)
def test_any_json_of_a_custom_handler(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        result = check(f'{HEADER}{DETECT}EXIT CODE 1\n{RECOVER}JOB FILESYSTEM.ADD {{"x": {text}}}\n')
        if result.spec is not None:
            (step,) = result.spec.exception("E").steps
            assert step.arguments == {"x": json.loads(text)}
        else:
            # What can be told: placeholders, and characters that no process can be given.
            assert {d.code for d in result.diagnostics} <= {"ESL074", "ESL014"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff", "ESL001"),
        (b"DECLARE ENTITY \xc3(", "ESL001"),
        (EXAMPLES["crash.esl"].encode("utf-16"), "ESL001"),
        (EXAMPLES["crash.esl"].encode("utf-16-le"), "ESL001"),
        (EXAMPLES["crash.esl"].encode("utf-32"), "ESL001"),
        (EXAMPLES["crash.esl"].encode() + b"\0", "ESL001"),
        ("\ud800", "ESL001"),
        (b" " * (MAX_BYTES + 1), "ESL002"),
        (f"{RECOVER}JOB NODE.ADD {{{'[' * 200}{']' * 200}}}", "ESL003"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_specification(data: bytes | str, code: str) -> None:
    assert code in [d.code for d in check(data).diagnostics]


STUDY = "# a study\n\ndescription:\n  name: tutorial\nstudy:\n  - name: simulate\n"
SCRIPT = "#!/usr/bin/env python3\nimport sys\ntry:\n    run()\nexcept OSError:\n    sys.exit(1)\n"


@pytest.mark.parametrize(("text", "line"), [(STUDY, 3), (SCRIPT, 2)], ids=["study", "script"])
def test_another_file_than_a_specification_is_one_finding(text: str, line: int) -> None:
    (found,) = check(text).diagnostics
    assert (found.code, found.line, found.column) == ("ESL008", line, 1)


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"DECLAR EXCEPTION E{i} JOB_LEVEL JOB [*]\n" for i in range(9)),
        "declare entity JOB\n" + "x\n" * 9,
        "ENTITY JOB\nDETECTION E EXIT CODE 1\nRECOVERY STEP E JOB NODE.ADD\n",
    ],
    ids=["misspelled", "small letters", "few lines"],
)
def test_slips_of_a_beginner_are_explained_one_by_one(text: str) -> None:
    assert len(found := check(text).diagnostics) > 1
    assert "ESL008" not in {d.code for d in found}


def test_the_place_of_bad_bytes() -> None:
    found = check(b"# \xc3\xa4\r\n\t\xe4\xff DECLARE\n").diagnostics[0]
    assert (found.code, found.line, found.column) == ("ESL001", 2, 2)


def test_the_rest_of_a_file_with_a_bad_byte_is_checked() -> None:
    codes = [d.code for d in check(b"# M\xfcller\nDECLARE ENTITTY JOB\n").diagnostics]
    assert codes == ["ESL001", "ESL010"]


UNIT = "EXCEPTION DETECTION E EXIT CODE 1\n"
# Texts of about any size, of the kinds that parsers choke on.
GROWING: dict[str, Callable[[int], str]] = {
    "valid": lambda n: big(max(1, n // 1000)),
    "open brackets": lambda n: "[" * n,
    "open braces": lambda n: "{" * n,
    "braces on lines": lambda n: "{\n" * (n // 2),
    "quotes": lambda n: '"' * n,
    "quotes on lines": lambda n: '"\n' * (n // 2),
    "backslashes": lambda n: "\\" * n,
    "continuations": lambda n: "\\\n" * (n // 2),
    "unknown characters": lambda n: "\u00e4 " * (n // 2),
    "different characters": lambda n: "".join(chr(0x100 + i % 0x5000) for i in range(n)),
    "keywords": lambda n: "DECLARE " * (n // 8),
    "unfinished statements": lambda n: "EXCEPTION\n" * (n // 10),
    "entities": lambda n: "DECLARE ENTITY " + "JOB, " * (n // 5) + "\x01",
    "jobs": lambda n: "DECLARE EXCEPTION A JOB_LEVEL JOB [" + "a," * (n // 2) + "a]",
    "parts of jobs": lambda n: "DECLARE EXCEPTION A JOB_LEVEL JOB [" + "." * n + "]",
    "clauses": lambda n: "DECLARE EXCEPTION A JOB_LEVEL JOB [a]" + " LIMIT 3" * (n // 8),
    "deep arguments": lambda n: f"{RECOVER}JOB NODE.ADD " + '{"a":' * (n // 5),
    "deep lists": lambda n: f'{RECOVER}JOB NODE.ADD {{"a":' + "[" * n,
    "placeholders": lambda n: f'{RECOVER}JOB NODE.ADD {{"a": "' + "${" * (n // 2) + '"}',
    "names in arguments": lambda n: f"{RECOVER}JOB NODE.ADD {{" + ",".join(['"a": 1'] * (n // 7)) + "}",
    "digits": lambda n: f"{DETECT}SILENCE TIMEOUT " + "9" * n,
    "undeclared": lambda n: (
        HEADER + "".join(f"EXCEPTION DETECTION B{i} EXIT CODE 1\n" for i in range(n // 33))
    ),
    "never detected": lambda n: (
        HEADER + "".join(f"DECLARE EXCEPTION B{i} JOB_LEVEL JOB [a]\n" for i in range(n // 40))
    ),
    "patterns": lambda n: f"{HEADER}{DETECT}ANY [" + '"a",' * (n // 4) + '"b"] stdout',
    "expressions": lambda n: (
        HEADER + "".join(f'{DETECT}MATCH "x{i} (\\\\d+) y" stdout\n' for i in range(n // 45))
    ),
    "long expression": lambda n: f'{HEADER}{DETECT}MATCH "' + "(a|b)*" * (n // 6) + '" stdout',
    "counting": lambda n: (
        HEADER + "".join(f"EXCEPTION DETECTION B{i} EXCEPTION B{i + 1} 2 TIMES\n" for i in range(n // 45))
    ),
}


def calls(text: str) -> int:
    """Return how many functions, Python's and C's, checking a text calls."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        language.parse(text, "t.esl")
    finally:
        sys.setprofile(previous)
    return count


@pytest.mark.parametrize("kind", GROWING)
@pytest.mark.costly
def test_the_work_grows_with_the_size_only(kind: str) -> None:
    make = GROWING[kind]
    calls(make(4000))  # so that what is remembered for good is not counted
    small, large = calls(make(4000)), calls(make(16000))
    # Four times the text; whatever is done a bounded number of times only lowers the ratio.
    assert large < 6 * small + 2000
    # About 80 calls for each byte would be a second for each 100 KB on a slow machine.
    assert large < 80 * len(make(16000)) + 20_000


@pytest.mark.parametrize("kind", GROWING)
@pytest.mark.costly
def test_thirty_kilobytes_of_anything(kind: str) -> None:
    check(GROWING[kind](30_000))


def test_a_large_specification_is_right_in_every_part() -> None:
    result = check(big(100))
    assert result.diagnostics == ()
    assert result.spec is not None
    last = result.spec.exceptions[-1]
    number = int(last.name.removeprefix("FAULT-"))
    assert number > 100
    assert last.jobs == (f"run-{number}", f"post.{number}-*")
    assert last.steps[0].arguments["nodes"] == number + 1
