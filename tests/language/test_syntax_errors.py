"""What a syntax error says: where, what was expected in the user's words, and what may have been meant."""

from __future__ import annotations

import pytest

from tests.language.corpus import HEADER
from whesl import language
from whesl.language.diagnostics import MAX_FINDINGS, Diagnostic, Severity, lines_of, render


def findings(text: str | bytes) -> tuple[Diagnostic, ...]:
    result = language.parse(text, "t.esl")
    assert (result.spec is None) == any(d.severity is Severity.ERROR for d in result.diagnostics)
    return result.diagnostics


FORMS = (
    *("HANG", "LOG", "MATCH", "MULTIPLE", "ANY", "SILENCE", "PROGRESS", "EXIT", "CAUSE", "OUTPUT"),
    *("SUCCESS", "NODE", "DISK", "INODES", "QUOTA", "EXCEPTION", "JOB", "EXTERNAL", "PREDICTED"),
)
# One broken statement; code; the words under the caret; what was expected; a part of the hint.
CASES = [
    ("DECLRE ENTITY WMS", "ESL011", "DECLRE", ("DECLARE", "EXCEPTION", "INCLUDE"), "did you mean DECLARE?"),
    ("{}", "ESL011", "{}", ("DECLARE", "EXCEPTION", "INCLUDE"), "backslash"),
    (
        "DECLARE ENTITTY WMS",
        "ESL010",
        "ENTITTY",
        ("ENTITY", "EXCEPTION_TYPE", "RESOURCE", "EXCEPTION", "COUPLED"),
        "did you mean ENTITY?",
    ),
    ("DECLARE ENTITY WMS JOB", "ESL010", "JOB", ("','", "the end of the line"), ""),
    ("DECLARE ENTITY", "ESL010", "", ("SCHEDULER", "WMS", "JOB", "DEPENDENT_JOB"), "backslash"),
    ("DECLARE EXCEPTION_TYPE ,", "ESL010", ",", ("JOB_LEVEL", "WORKFLOW_LEVEL"), ""),
    ("DECLARE RESOURCE []", "ESL010", "[", ("NODE", "JOB", "FILESYSTEM"), ""),
    ("DECLARE RESOURCE NODE[]", "ESL010", "]", ("ADD", "REMOVE", "REPLACE", "CHECKPOINT"), ""),
    ("DECLARE RESOURCE NODE[ADD HANDLR 'x']", "ESL010", "HANDLR", ("HANDLER", "','", "']'"), "HANDLER"),
    (
        "DECLARE RESOURCE NODE[ADD HANDLER x]",
        "ESL010",
        "x",
        ("the name of a handler in double quotes",),
        'put the text in double quotes: "x"',
    ),
    ("DECLARE EXCEPTION", "ESL010", "", ("the name of an exception",), "backslash"),
    ("DECLARE EXCEPTION A JOB_LEVEL [a]", "ESL010", "[", ("JOB",), ""),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB []", "ESL010", "]", ("the name of a job",), ""),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB [a b]", "ESL010", "b", ("','", "']'"), "comma"),
    (
        'DECLARE EXCEPTION A JOB_LEVEL JOB [a "b"]',
        "ESL010",
        '"b"',
        ("the name of a job", "','", "']'"),
        "comma",
    ),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB [a, b", "ESL006", "[", ("the name of a job", "','", "']'"), "]"),
    (
        "DECLARE EXCEPTION A JOB_LEVEL JOB [a] ELSE PAUS",
        "ESL010",
        "PAUS",
        ("FAIL", "PAUSE", "ESCALATE"),
        "did you mean PAUSE?",
    ),
    (
        "DECLARE EXCEPTION A JOB_LEVEL JOB [a] LIMITS 3",
        "ESL010",
        "LIMITS",
        ("LIMIT", "BACKOFF", "ELSE", "RAISE", "the end of the line"),
        "did you mean LIMIT?",
    ),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB [a] LIMIT", "ESL010", "", ("a number",), "backslash"),
    ("EXCEPTION DETECTON A EXIT CODE 1", "ESL010", "DETECTON", ("DETECTION", "RECOVERY"), "DETECTION"),
    ("EXCEPTION DETECTION A", "ESL010", "", FORMS, "backslash"),
    ('EXCEPTION DETECTION A log "x" stdout', "ESL010", "log", FORMS, "did you mean LOG?"),
    ('EXCEPTION DETECTION A LOG "x"', "ESL010", "", ("stdout", "stderr", "output", "file"), "backslash"),
    (
        'EXCEPTION DETECTION A LOG "x" stdot',
        "ESL010",
        "stdot",
        ("stdout", "stderr", "output", "file"),
        "did you mean stdout?",
    ),
    (
        'EXCEPTION DETECTION A LOG "x" file x.log',
        "ESL010",
        "x.log",
        ("the path of a file in double quotes",),
        'double quotes: "x.log"',
    ),
    ("EXCEPTION DETECTION A LOG x stdout", "ESL010", "x", ("a text in double quotes",), "double quotes"),
    (
        'EXCEPTION DETECTION A LOG "x" stdout RECURING 3',
        "ESL010",
        "RECURING",
        ("RECURRING", "TIMEOUT", "the end of the line"),
        "did you mean RECURRING?",
    ),
    (
        'EXCEPTION DETECTION A LOG "x" stdout TIMEOUT 3s',
        "ESL010",
        "3s",
        ("WARMUP", "the end of the line"),
        "without a unit",
    ),
    (
        'EXCEPTION DETECTION A LOG "x" stdout TIMEOUT',
        "ESL010",
        "",
        ("a number of seconds",),
        "backslash",
    ),
    (
        'EXCEPTION DETECTION A MULTIPLE ["a" "b"] stdout',
        "ESL010",
        '"b"',
        ("','", "']'"),
        "comma between two entries",
    ),
    ("EXCEPTION DETECTION A EXIT", "ESL010", "", ("ANY", "CODE", "SIGNAL"), "backslash"),
    ('EXCEPTION DETECTION A DISK "/" ABOVE 90', "ESL010", "", ("'%'",), "ABOVE 90%"),
    ("EXCEPTION DETECTION A NODE DWON", "ESL010", "DWON", ("DOWN", "DRAINED"), "did you mean DOWN?"),
    ("EXCEPTION DETECTION A EXCEPTION B 3", "ESL010", "", ("TIMES",), "B 3 TIMES"),
    (
        'EXCEPTION DETECTION A JOB EXCEPTION "exec" SEVERTY 0',
        "ESL010",
        "SEVERTY",
        ("SEVERITY", "the end of the line"),
        "did you mean SEVERITY?",
    ),
    ("EXCEPTION DETECTION A JOB EXCEPTION", "ESL010", "", ("a text in double quotes",), "backslash"),
    (
        "DECLARE EXCEPTION A JOB_LEVEL JOB [a] RAISE nodelost",
        "ESL010",
        "nodelost",
        ("the type of an exception in double quotes",),
        "double quotes",
    ),
    ("EXCEPTION RECOVERY A JOB NODE.ADD", "ESL010", "A", ("STEP",), ""),
    ("EXCEPTION RECOVERY STEP A JOB NODE ADD", "ESL010", "ADD", ("'.'",), ""),
    (
        "EXCEPTION RECOVERY STEP A JOB NODE.ADD [1]",
        "ESL010",
        "[",
        ("BEFORE", "arguments in { }", "the end of the line"),
        "",
    ),
    ("INCLUDE mpi", "ESL010", "mpi", ("a library or the path of a file in double quotes",), '"mpi"'),
    ('INCLUDE "a", "b"', "ESL010", ",", ("stdout", "stderr", "output", "file", "the end of the line"), ""),
    ('EXCEPTION DETECTION A LOG "x stdout', "ESL005", '"x stdout', (), "at its end"),
    ('EXCEPTION RECOVERY STEP A JOB NODE.ADD {"a": 1', "ESL006", "{", (), "}"),
    ('EXCEPTION RECOVERY STEP A JOB NODE.ADD {"a: 1}', "ESL005", '"a: 1}', (), "at its end"),
    ("EXCEPTION DETECTION A \\ EXIT CODE 1", "ESL004", "\\", (), "end of a line"),
    (
        "DECLARE EXCEPTION A JOB_LEVEL JOB [a/b]",
        "ESL004",
        "a/b",
        ("the name of a job", "','", "']'"),
        'quotes: "a/b"',
    ),
    (
        "EXCEPTION DETECTION A LOG 'x' stdout",
        "ESL004",
        "'x'",
        ("a text in double quotes",),
        'double quotes: "x"',
    ),
    (
        "EXCEPTION DETECTION A LOG \u201cx\u201d stdout",
        "ESL004",
        "\u201cx\u201d",
        ("a text in double quotes",),
        'straight quotes: "x"',
    ),
]


@pytest.mark.parametrize(("text", "code", "under", "expected", "hint"), CASES)
def test_one_broken_statement(text: str, code: str, under: str, expected: tuple[str, ...], hint: str) -> None:
    found = [d for d in findings(text) if d.severity is Severity.ERROR]
    assert code in [d.code for d in found]
    first = next(d for d in found if d.code == code)
    assert (first.line, text[first.column - 1 : first.end_column - 1]) == (1, under)
    assert first.expected == expected
    assert hint in first.hint


@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "{}"], ids=lambda case: case[0])
def test_the_statements_around_a_broken_one_are_checked(case: tuple[str, ...]) -> None:
    """One error neither hides another nor causes one."""
    before = "EXCEPTION DETECTION E NODE DWON"
    after = "EXCEPTION DETECTION E EXIT NEVER"
    text = f"{HEADER}{before}\n{case[0]}\n{after}\n"
    lines = {d.line for d in findings(text) if d.severity is Severity.ERROR}
    first = HEADER.count("\n") + 1
    assert lines == {first, first + 1, first + 2}


def test_names_in_broken_statements_are_not_called_missing() -> None:
    text = """\
DECLARE ENTITY JOB,
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD
DECLARE EXCEPTION A JOB_LEVEL JOB [a] ELSE GIVE-UP
DECLARE EXCEPTION B JOB_LEVEL JOB [a]
EXCEPTION DETECTION A EXIT CODE 1
EXCEPTION DETECTION B MATCH "(?P<x>a)" stdin
EXCEPTION RECOVERY STEP A JOB NODE.ADD
EXCEPTION RECOVERY STEP B JOB NODE.ADD {"count": 1, "handler_timeout": 3}
"""
    assert [(d.line, d.code) for d in findings(text)] == [
        *((1, "ESL010"), (3, "ESL006"), (4, "ESL010"), (7, "ESL010")),
    ]


def test_an_unclosed_bracket_costs_one_statement() -> None:
    text = f'{HEADER}EXCEPTION RECOVERY STEP E JOB NODE.ADD {{\n  "a": [\nEXCEPTION DETECTION E EXIT CODE 1\n'
    assert [(d.line, d.code) for d in findings(text)] == [(HEADER.count("\n") + 1, "ESL006")]


def test_a_missing_backslash_is_guessed() -> None:
    text = f"{HEADER}EXCEPTION DETECTION E EXIT CODE 1\nEXCEPTION RECOVERY STEP E JOB NODE.ADD\n"
    text += '   {"count": 1}\n'
    (only,) = findings(text)
    assert (only.code, only.column) == ("ESL011", 4)
    assert "backslash" in only.hint


def test_columns_count_characters_and_tabs_once() -> None:
    (only, *_) = findings("\tDECLARE\tENTITY\t\u00e4\n".encode())
    assert (only.line, only.column, only.end_column) == (1, 17, 18)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_message_stays_on_one_line(end: str) -> None:
    """Braces may hold the backslash and the end of a line; they are quoted without."""
    text = f'{{"any": \\{end} [1, \\{end} 2]}}{end}'
    (only, *_) = findings(text.encode())
    assert only.message == 'no statement begins with {"any": [1, 2]}'


def test_many_errors_are_counted() -> None:
    found = findings("DECLARE X\n" * (MAX_FINDINGS + 50))
    assert len(found) == MAX_FINDINGS + 1
    assert found[-1].code == "ESL007"
    assert found[-1].message.startswith("50 more")


def test_how_a_finding_is_shown() -> None:
    text = 'DECLARE ENTITY WMS\n\tEXCEPTION DETECTION A LOG "x" stdot # why\n'
    diagnostic = findings(text)[0]
    assert render(diagnostic, lines_of(text)).splitlines() == [
        "t.esl:2:32: error[ESL010]: unexpected stdot",
        '  2 | \tEXCEPTION DETECTION A LOG "x" stdot # why',
        "    | \t" + " " * 30 + "^^^^^",
        "  expected: stdout, stderr, output or file",
        "  hint: did you mean stdout?",
    ]
    assert diagnostic.as_json() == {
        "severity": "error",
        "code": "ESL010",
        "message": "unexpected stdot; expected stdout, stderr, output or file",
        "hint": "did you mean stdout?",
        "file": "t.esl",
        "line": 2,
        "column": 32,
        "end_column": 37,
    }


def test_a_very_long_line_is_cut_around_the_caret() -> None:
    text = f"DECLARE ENTITY {'JOB, ' * 5000}\x1b[31mX"
    shown = [render(d, lines_of(text)) for d in findings(text)]
    assert all(len(line) < 250 for text in shown for line in text.splitlines())
    assert not any("\x1b" in text for text in shown)
