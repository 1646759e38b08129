"""What is wrong with a specification that is well formed: every check, its code, its place and its hint."""

from __future__ import annotations

import pytest

from tests.language.corpus import DETECT, HEADER, RECOVER
from whesl import language
from whesl.language.diagnostics import CODES, Diagnostic, Severity
from whesl.model.workflow import Task, Workflow

SOUND = f"{DETECT}EXIT CODE 1\n"
WARNINGS = {"ESL041", "ESL046", "ESL048", "ESL055", "ESL061", "ESL076", "ESL078"}


def findings(text: str, workflow: Workflow | None = None) -> tuple[Diagnostic, ...]:
    result = language.parse(text, "t.esl", workflow)
    assert (result.spec is None) == any(d.severity is Severity.ERROR for d in result.diagnostics)
    return result.diagnostics


def under(text: str, diagnostic: Diagnostic) -> str:
    return text.splitlines()[diagnostic.line - 1][diagnostic.column - 1 : diagnostic.end_column - 1]


# Text after HEADER; code; the words under the caret; a part of the hint.
CASES = [
    ("DECLARE ENTITY SCEDULER", "ESL020", "SCEDULER", "did you mean SCHEDULER?"),
    ("DECLARE EXCEPTION_TYPE JOB_LEVL", "ESL021", "JOB_LEVL", "did you mean JOB_LEVEL?"),
    ("DECLARE RESOURCE NODES[ADD]", "ESL022", "NODES", "did you mean NODE?"),
    (f"{RECOVER}JOB NODE.REPLCE", "ESL023", "REPLCE", "did you mean REPLACE?"),
    (f"{RECOVER}JOBS NODE.ADD", "ESL020", "JOBS", "did you mean JOB?"),
    (f"{RECOVER}JOB FILESYTEM.ADD", "ESL022", "FILESYTEM", "did you mean FILESYSTEM?"),
    ("DECLARE ENTITY WMS", "ESL024", "WMS", "leave one out"),
    ("DECLARE EXCEPTION_TYPE JOB_LEVEL", "ESL025", "JOB_LEVEL", "leave one out"),
    ("DECLARE RESOURCE NODE[ADD]", "ESL026", "NODE", "one statement"),
    ("DECLARE EXCEPTION E JOB_LEVEL JOB [x]", "ESL028", "E", "another name"),
    (
        "DECLARE EXCEPTION X JOB_LEVL JOB [x] ELSE FAIL\nEXCEPTION DETECTION X EXIT CODE 1",
        "ESL021",
        "JOB_LEVL",
        "",
    ),
    ("EXCEPTION DETECTION LOWW EXIT CODE 1", "ESL034", "LOWW", "did you mean LOW?"),
    ("EXCEPTION RECOVERY STEP LOWW JOB NODE.ADD", "ESL034", "LOWW", "did you mean LOW?"),
    (f"{DETECT}EXCEPTION LWO 3 TIMES", "ESL034", "LWO", "did you mean LOW?"),
    (
        "DECLARE EXCEPTION X JOB_LEVEL JOB [x] ELSE ESCALATE LOWW\nEXCEPTION DETECTION X EXIT CODE 1",
        "ESL034",
        "LOWW",
        "did you mean LOW?",
    ),
    ("DECLARE EXCEPTION X JOB_LEVEL JOB [x] ELSE FAIL", "ESL040", "X", "EXCEPTION DETECTION X"),
    ("DECLARE EXCEPTION X JOB_LEVEL JOB [x]\nEXCEPTION DETECTION X EXIT CODE 1", "ESL041", "X", "ELSE FAIL"),
    ("EXCEPTION RECOVERY STEP LOW WMS NODE.ADD", "ESL042", "WMS", "WORKFLOW_LEVEL"),
    ("EXCEPTION RECOVERY STEP LOW SCHEDULER NODE.ADD", "ESL042", "SCHEDULER", "WORKFLOW_LEVEL"),
    ("EXCEPTION RECOVERY STEP LOW DEPENDENT_JOB NODE.ADD", "ESL042", "DEPENDENT_JOB", "WORKFLOW_LEVEL"),
    (f"{DETECT}EXCEPTION E 2 TIMES", "ESL043", "E", "lower"),
    ("DECLARE EXCEPTION X JOB_LEVEL JOB [x] ELSE ESCALATE X", "ESL044", "X", "FAIL or PAUSE"),
    (
        'DECLARE EXCEPTION X JOB_LEVEL JOB [""] ELSE FAIL\nEXCEPTION DETECTION X EXIT CODE 1',
        "ESL047",
        '""',
        "",
    ),
    (f'{DETECT}LOG "x" file " "', "ESL047", '" "', ""),
    (f'{DETECT}DISK "" ABOVE 5%', "ESL047", '""', ""),
    (f"{DETECT}EXIT ANY\n{RECOVER}JOB NODE.REPLACE", "ESL048", "ANY", "EXIT ANY EXCEPT CODE 126, 127;"),
    (f"{DETECT}EXIT ANY EXCEPT CODE 2, 127\n{RECOVER}JOB NODE.ADD", "ESL048", "ANY", "add 126 to"),
    (f"{DETECT}EXIT ANY EXCEPT CODE 2\n{RECOVER}JOB JOB.REPLACE", "ESL048", "ANY", "add 126, 127"),
    (f'{DETECT}LOG "" stdout', "ESL050", '""', "part of the line"),
    (f'{DETECT}MATCH "" stdout', "ESL050", '""', "part of the line"),
    (f'{DETECT}MULTIPLE ["a", ""] stdout', "ESL050", '""', ""),
    (f'{DETECT}MATCH "x*" stdout', "ESL051", '"x*"', ""),
    (f'{DETECT}MATCH "a[^\\x00-\\xff]" stdout', "ESL052", '"a[^\\x00-\\xff]"', ""),
    (f'{DETECT}MATCH "a\\nb" stdout', "ESL052", "\\n", "MULTIPLE"),
    (f'{DETECT}MATCH "(a)\\1" stdout', "ESL053", "\\1", "never goes back"),
    (f'{DETECT}MATCH "(?<=a)b" stdout', "ESL053", "(?<=", "never goes back"),
    (f'{DETECT}PROGRESS "a" stdout TIMEOUT 5', "ESL054", '"a"', "parentheses"),
    (f'{DETECT}PROGRESS "(a)(b)" stdout TIMEOUT 5', "ESL054", '"(a)(b)"', "name it"),
    (f'{DETECT}PROGRESS "(?P<a>a)(?P<b>b)" stdout TIMEOUT 5', "ESL054", '"(?P<a>a)(?P<b>b)"', ""),
    (f'{DETECT}ANY ["aa", LOG "aa"] stdout', "ESL055", '"aa"', "RECURRING"),
    (f'{DETECT}LOG "a" stdout TIMEOUT 0', "ESL060", "0", ""),
    (f'{DETECT}LOG "a" stdout TIMEOUT -5', "ESL060", "-5", ""),
    (f"{DETECT}SILENCE TIMEOUT 5 WARMUP -0.5", "ESL060", "-0.5", ""),
    (f'{DETECT}LOG "a" stdout RECURRING 2 WITHIN 0', "ESL060", "0", ""),
    (f"{DETECT}SILENCE TIMEOUT 0.9", "ESL061", "0.9", "seconds"),
    (f'{DETECT}LOG "a" stdout RECURRING 0', "ESL062", "0", ""),
    (f'{DETECT}LOG "a" stdout RECURRING 1.5', "ESL062", "1.5", ""),
    (f"{DETECT}EXCEPTION LOW -1 TIMES", "ESL062", "-1", ""),
    (f'{DETECT}DISK "/" ABOVE 100%', "ESL063", "100", "100%"),
    (f'{DETECT}DISK "/" ABOVE 0%', "ESL063", "0", ""),
    (f"{DETECT}EXIT CODE 0", "ESL064", "0", "success"),
    (f"{DETECT}EXIT CODE 256", "ESL064", "256", ""),
    (f"{DETECT}EXIT CODE 5-3", "ESL064", "5-3", "3-5"),
    (f"{DETECT}EXIT SIGNAL SIGSEG", "ESL065", "SIGSEG", "did you mean SIGSEGV?"),
    (f"{DETECT}EXIT SIGNAL 99", "ESL065", "99", ""),
    (f"{DETECT}CAUSE gpu-hardwar", "ESL087", "gpu-hardwar", "did you mean gpu-hardware?"),
    (f"{DETECT}CAUSE quota, segfault", "ESL087", "segfault", "did you mean segfault/app-bug?"),
    (f"{DETECT}CAUSE weather", "ESL087", "weather", "there are out-of-memory-host, "),
    (f"{DETECT}CAUSE quota CONFIDENCE 7", "ESL068", "7", "did you mean 0.07?"),
    (f'{DETECT}OUTPUT "" MISSING', "ESL047", '""', ""),
    (f'{DETECT}OUTPUT "a" OLDER THAN " "', "ESL047", '" "', ""),
    (f'{DETECT}OUTPUT "a" NOT MATCH "x*"', "ESL051", '"x*"', ""),
    (f'{DETECT}SUCCESS IF OUTPUT "a" NEWER THAN " "', "ESL047", '" "', ""),
    (f"{DETECT}PREDICTED CONFIDENCE 80", "ESL068", "80", "did you mean 0.8?"),
    (f"{DETECT}PREDICTED CONFIDENCE 0", "ESL068", "0", "1 is certain"),
    (f"{DETECT}PREDICTED CONFIDENCE -0.5", "ESL068", "-0.5", ""),
    (f"{DETECT}PREDICTED WITHIN 0", "ESL060", "0", ""),
    (f'{DETECT}PREDICTED NODE ""', "ESL047", '""', ""),
    (f"{DETECT}PREDICTED\n{RECOVER}JOB NODE.REPLACE", "ESL078", "REPLACE", "NODE.REPLACE BEFORE FAILURE"),
    (f"{DETECT}PREDICTED\n{RECOVER}JOB NODE.ADD", "ESL078", "ADD", "E JOB JOB.CHECKPOINT before it"),
    (f"{RECOVER}JOB NODE.ADD BEFORE FAILURE", "ESL049", "BEFORE", "only NODE.REPLACE can"),
    (f"{RECOVER}WMS JOB.CHECKPOINT", "ESL049", "WMS", "JOB JOB.CHECKPOINT"),
    (f"{RECOVER}JOB NODE.ADD\n{RECOVER}JOB JOB.CHECKPOINT", "ESL049", "CHECKPOINT", "before the other"),
    (f'{RECOVER}JOB JOB.CHECKPOINT {{"timeout": 0}}', "ESL073", "0", ""),
    (f'{DETECT}NODE DRAINED\n{RECOVER}JOB JOB.CHECKPOINT {{"trigger": "now"}}', "ESL076", '"now"', ""),
    (f"{RECOVER}JOB NODE.CHECKPOINT", "ESL023", "CHECKPOINT", ""),
    (f'{DETECT}JOB EXCEPTION "exec" SEVERITY 8', "ESL066", "8", "most severe"),
    (f'{DETECT}JOB EXCEPTION "exec" SEVERITY -1', "ESL066", "-1", ""),
    (f'{DETECT}JOB EXCEPTION "exec" SEVERITY 1.5', "ESL066", "1.5", ""),
    (f'{DETECT}JOB EXCEPTION ""', "ESL067", '""', "one word"),
    (f'{DETECT}JOB EXCEPTION "node failure"', "ESL067", '"node failure"', "one word"),
    (f'{DETECT}JOB EXCEPTION "*"', "ESL067", '"*"', "as it stands"),
    (f"{DETECT}EXIT SIGNAL {'9' * 5000}", "ESL065", "9" * 5000, ""),
    (f"{DETECT}SILENCE TIMEOUT 9{'0' * 400}", "ESL016", "9" + "0" * 400, ""),
    (f"{DETECT}EXCEPTION LOW 99999999999 TIMES", "ESL016", "99999999999", ""),
    (f'{RECOVER}JOB NODE.REPLACE {{"expirse": 3}}', "ESL070", '"expirse"', "did you mean expires?"),
    (f'{RECOVER}JOB NODE.ADD {{"x": 3}}', "ESL070", '"x"', "count, handler_timeout or wait"),
    (f"{RECOVER}JOB FILESYSTEM.REMOVE", "ESL071", "REMOVE", "filesystem: "),
    (f"{RECOVER}JOB JOB.ADD {{}}", "ESL071", "{}", "command: "),
    (f'{RECOVER}JOB NODE.ADD {{"count": "3"}}', "ESL072", '"3"', "count: "),
    (f'{RECOVER}JOB NODE.ADD {{"count": true}}', "ESL072", "true", "count: "),
    (f'{RECOVER}JOB NODE.ADD {{"count": 1.5}}', "ESL072", "1.5", "count: "),
    (f'{RECOVER}JOB JOB.ADD {{"command": ["a", 1]}}', "ESL072", '["a", 1]', "command: "),
    (f'{RECOVER}JOB JOB.REPLACE {{"environment": {{"A": 1}}}}', "ESL072", '{"A": 1}', "environment: "),
    (f'{RECOVER}JOB NODE.REPLACE {{"unknown": "restrt"}}', "ESL073", '"restrt"', "did you mean restart?"),
    (f'{RECOVER}JOB NODE.ADD {{"count": 0}}', "ESL073", "0", ""),
    (f'{RECOVER}JOB NODE.REPLACE {{"node": "${{nod}}"}}', "ESL074", "${nod}", "did you mean node?"),
    (f'{RECOVER}JOB JOB.ADD {{"command": ["${{HOME}}/x"]}}', "ESL074", "${HOME}", "write $${"),
    (f'{RECOVER}JOB NODE.REPLACE {{"node": "a\\n${{nod}}"}}', "ESL074", '"a\\n${nod}"', ""),
    (f'{RECOVER}JOB JOB.ADD {{"command": "a | b"}}', "ESL073", '"a | b"', ""),
    (f'{RECOVER}JOB JOB.ADD {{"command": "a \'b"}}', "ESL073", '"a \'b"', ""),
    (f'{RECOVER}JOB JOB.ADD {{"command": []}}', "ESL073", "[]", ""),
    (f'{RECOVER}JOB JOB.REPLACE {{"workdir": "/a/../b"}}', "ESL073", '"/a/../b"', ""),
    (f'{RECOVER}JOB FILESYSTEM.REMOVE {{"filesystem": "//"}}', "ESL073", '"//"', ""),
    (f'{RECOVER}JOB FILESYSTEM.REMOVE {{"filesystem": "./a"}}', "ESL076", '"./a"', ""),
    (f'{RECOVER}JOB NODE.ADD {{"count": 1, "count": 2}}', "ESL015", '"count"', ""),
    (f'{RECOVER}JOB NODE.ADD {{"count": 1, "cou\\u006et": 2}}', "ESL015", '"cou\\u006et"', ""),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": [{{"b": 1, "b": 2}}]}}', "ESL015", '"b"', ""),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": 1e999}}', "ESL016", "1e999", ""),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": 9223372036854775808}}', "ESL016", "9223372036854775808", ""),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": [1, -Infinity]}}', "ESL016", "-Infinity", ""),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": "\\ud800"}}', "ESL014", '"\\ud800"', ""),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": "\\u0000"}}', "ESL014", '"\\u0000"', ""),
    (f"{RECOVER}JOB FILESYSTEM.ADD {{'a': 1}}", "ESL014", "'", "double quotes"),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a" 1}}', "ESL014", "1", "colon"),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": 1 2}}', "ESL014", "2", "comma"),
    (f'{RECOVER}JOB FILESYSTEM.ADD {{"a": yes}}', "ESL014", "y", "true"),
]


@pytest.mark.parametrize(("text", "code", "word", "hint"), CASES)
def test_one_mistake(text: str, code: str, word: str, hint: str) -> None:
    whole = HEADER + text + ("" if DETECT in text else f"\n{SOUND}")
    (only,) = findings(whole)
    assert (only.code, under(whole, only)) == (code, word)
    assert hint in only.hint
    assert only.severity is (Severity.WARNING if code in WARNINGS else Severity.ERROR)


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("DECLARE RESOURCE NODE[ADD, ADD]", "ESL027", "ADD"),
        ("DECLARE RESOURCE NODE[REMOV]", "ESL023", "REMOV"),
        ('DECLARE RESOURCE NODE[ADD HANDLER ""]', "ESL047", '""'),
    ],
)
def test_resources(text: str, code: str, word: str) -> None:
    found = findings(text)
    assert [d.code for d in found if d.severity is Severity.ERROR] == [code]
    assert under(text, next(d for d in found if d.code == code)) == word


@pytest.mark.parametrize(
    ("declaration", "step", "code", "word", "hint"),
    [
        ("DECLARE ENTITY WMS\nDECLARE RESOURCE NODE[ADD]", "NODE.ADD", "ESL030", "JOB", "DECLARE ENTITY JOB"),
        ("DECLARE ENTITY JOB", "NODE.ADD", "ESL032", "NODE", "DECLARE RESOURCE NODE[ADD]"),
        (
            "DECLARE ENTITY JOB\nDECLARE RESOURCE NODE[REMOVE]",
            "NODE.ADD",
            "ESL033",
            "ADD",
            "DECLARE RESOURCE NODE[REMOVE, ADD]",
        ),
    ],
)
def test_what_is_not_declared(declaration: str, step: str, code: str, word: str, hint: str) -> None:
    text = f"""{declaration}
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE EXCEPTION X JOB_LEVEL JOB [a]
EXCEPTION DETECTION X EXIT CODE 1
EXCEPTION RECOVERY STEP X JOB {step}
"""
    (only,) = findings(text)
    assert (only.code, under(text, only)) == (code, word)
    assert hint in only.hint


def test_a_type_that_is_not_declared() -> None:
    text = "DECLARE EXCEPTION X JOB_LEVEL JOB [a] ELSE FAIL\nEXCEPTION DETECTION X EXIT CODE 1\n"
    (only,) = findings(text)
    assert (only.code, under(text, only)) == ("ESL031", "JOB_LEVEL")


@pytest.mark.parametrize(
    "clause", ["LIMIT 1 LIMIT 1", "BACKOFF 1 BACKOFF 1", "ELSE FAIL ELSE PAUSE", 'RAISE "a" RAISE "b"']
)
def test_a_clause_given_twice(clause: str) -> None:
    text = f"{HEADER}DECLARE EXCEPTION X JOB_LEVEL JOB [a] {clause} ELSE FAIL\n"
    text += "EXCEPTION DETECTION X EXIT CODE 1\n"
    assert {d.code for d in findings(text + SOUND)} <= {"ESL013"}
    assert findings(text + SOUND)


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("LIMIT 0", "ESL062"),
        ("LIMIT 1 WITHIN 0", "ESL060"),
        ("BACKOFF -1", "ESL060"),
        ("LIMIT 1.5", "ESL062"),
        ('RAISE "lost" SEVERITY 0', "ESL066"),
        ('RAISE "lost" SEVERITY 8', "ESL066"),
        ('RAISE "a=b"', "ESL067"),
    ],
)
def test_numbers_of_clauses(clause: str, code: str) -> None:
    text = f"{HEADER}DECLARE EXCEPTION X JOB_LEVEL JOB [a] {clause} ELSE FAIL\n"
    text += "EXCEPTION DETECTION X EXIT CODE 1\n"
    assert [d.code for d in findings(text + SOUND)] == [code]


@pytest.mark.parametrize(
    "text",
    [
        f"{DETECT}EXIT ANY",
        f"{DETECT}EXIT ANY EXCEPT CODE 2, 100-200\n{RECOVER}JOB NODE.REPLACE",
        f'{DETECT}EXIT ANY\n{RECOVER}JOB JOB.REPLACE {{"command": "./other"}}',
        f"{DETECT}EXIT ANY\n{RECOVER}JOB JOB.REMOVE",
        f"{DETECT}EXIT CODE 1-125\n{RECOVER}JOB NODE.REPLACE",
    ],
)
def test_what_is_right_to_do_about_any_exit(text: str) -> None:
    """Nothing is restarted, or with another command, or the codes are left out or named."""
    assert findings(f"{HEADER}{text}\n") == ()


def test_longer_circles_are_each_told_once() -> None:
    names = ["A", "B", "C", "D"]
    text = HEADER + "".join(
        f"DECLARE EXCEPTION {a} JOB_LEVEL JOB [a] ELSE ESCALATE {b}\n"
        f"EXCEPTION DETECTION {a} EXCEPTION {b} 2 TIMES\n"
        for a, b in zip(names, [*names[1:], "A"], strict=True)
    )
    found = findings(text + SOUND)
    assert sorted(d.code for d in found) == ["ESL043", "ESL044"]
    assert all(d.message.count(" -> ") == 4 for d in found)


def test_a_diamond_of_escalations_is_no_circle() -> None:
    text = HEADER + "".join(
        f"DECLARE EXCEPTION {a} JOB_LEVEL JOB [a] {b}\nEXCEPTION DETECTION {a} EXIT CODE 1\n"
        for a, b in [("A", "ELSE ESCALATE C"), ("B", "ELSE ESCALATE C"), ("C", "ELSE FAIL")]
    )
    assert findings(text + SOUND) == ()


def test_an_exception_that_is_only_escalated_to_needs_no_detection() -> None:
    text = "DECLARE EXCEPTION A JOB_LEVEL JOB [a] ELSE ESCALATE B\nEXCEPTION DETECTION A EXIT CODE 1\n"
    text += "DECLARE EXCEPTION B WORKFLOW_LEVEL JOB [a]\nEXCEPTION RECOVERY STEP B WMS NODE.ADD\n"
    assert findings(HEADER + SOUND + text) == ()


def test_an_exception_that_is_only_counted_needs_no_recovery() -> None:
    text = "DECLARE EXCEPTION A JOB_LEVEL JOB [run]\nEXCEPTION DETECTION A EXIT CODE 1\n"
    assert findings(f"{HEADER}{text}{DETECT}EXCEPTION A 3 TIMES\n") == ()


def test_an_empty_file_is_only_warned_of() -> None:
    for text in ("", "\n", "# nothing\n", "DECLARE ENTITY JOB"):
        assert [(d.code, d.severity) for d in findings(text)] == [("ESL046", Severity.WARNING)]


@pytest.mark.parametrize(
    ("detections", "codes"),
    [
        (('MATCH "(?P<h>abc)" stdout',), []),
        (('MATCH "(?P<h>abc)" stdout', 'MATCH "b(?P<h>cde)" stderr RECURRING 2'), []),
        (('MATCH "(?P<h>abc)" stdout', "NODE DOWN"), ["ESL075"]),
        (('ANY ["xyz", MATCH "(?P<h>abc)"] stdout',), ["ESL075"]),
        (('MULTIPLE ["xyz", MATCH "(?P<h>abc)"] stdout',), []),
        (('MATCH "(?P<h>abc)" stdout TIMEOUT 5',), []),
        (("EXCEPTION CAPTURING 2 TIMES",), []),
        (("EXCEPTION CAPTURING 2 TIMES", "EXIT CODE 1"), ["ESL075"]),
        (("EXIT CODE 1",), ["ESL074"]),
    ],
)
def test_what_is_captured_at_times(detections: tuple[str, ...], codes: list[str]) -> None:
    text = f"{HEADER}DECLARE EXCEPTION CAPTURING JOB_LEVEL JOB [run] ELSE FAIL\n"
    text += 'EXCEPTION DETECTION CAPTURING MATCH "on (?P<h>x)" stdout\n'
    text += "".join(f"{DETECT}{form}\n" for form in detections)
    text += f'{RECOVER}JOB NODE.REPLACE {{"node": "${{h}} ${{node}} $${{HOME}}"}}\n'
    assert [d.code for d in findings(text)] == codes


@pytest.mark.parametrize(
    ("name", "detection", "said"),
    [
        ("step", 'LOG "LINCS WARNING" stdout', "the task's own step is meant; give the group another name"),
        ("step", 'MATCH "at step (?P<step>\\d+)" stdout', ""),
        ("node", "NODE DOWN", ""),
    ],
)
def test_a_group_with_a_name_of_ours(name: str, detection: str, said: str) -> None:
    text = HEADER + f'{DETECT}MATCH "^Step (?P<{name}>\\w+) failed" stdout\n{DETECT}{detection}\n'
    text += f'{RECOVER}JOB NODE.REPLACE {{"node": "${{{name}}}"}}\n'
    found = findings(text)
    assert [d.code for d in found] == ["ESL075"] * bool(said)
    assert all(said in d.hint for d in found)


WORKFLOW = Workflow(
    id="w",
    name="study",
    wms="maestro",
    root="/",
    tasks=(
        Task(id="w/run_A.1", step="run", instance="A.1"),
        Task(id="w/run_A.2", step="run", instance="A.2"),
        Task(id="w/make figures", step="make figures"),
    ),
)


@pytest.mark.parametrize(
    ("job", "hint"),
    [
        ("run", None),
        ("run_A.1", None),
        ("run_A.?", None),
        ("r*", None),
        ('"make figures"', None),
        ("ran", "did you mean run?"),
        ("run_B.*", ""),
        ("Run", "did you mean run?"),
        ('"make figure"', "did you mean make figures?"),
    ],
)
def test_jobs_of_a_workflow(job: str, hint: str | None) -> None:
    text = (
        HEADER
        + SOUND
        + f"DECLARE EXCEPTION X JOB_LEVEL JOB [{job}] ELSE FAIL\nEXCEPTION DETECTION X EXIT CODE 1\n"
    )
    found = findings(text, WORKFLOW)
    assert [d.code for d in found] == ([] if hint is None else ["ESL045"])
    if hint is not None:
        assert under(text, found[0]) == job
        assert hint in found[0].hint
    assert findings(text) == ()


def test_every_code_is_tested() -> None:
    """The codes that a specification can be given are all in a table of these tests."""
    from tests.language import test_lint, test_syntax_errors

    tables = (CASES, test_syntax_errors.CASES, test_lint.CASES)
    tested = {case[1] for table in tables for case in table}
    elsewhere = {"ESL001", "ESL002", "ESL003", "ESL007", "ESL013", "ESL027", "ESL030", "ESL031", "ESL032"}
    elsewhere |= {"ESL008", "ESL009", "ESL077"}  # test_robustness.py, test_one_mistake.py, test_command.py
    elsewhere |= {"ESL033", "ESL045", "ESL046", "ESL075"}
    elsewhere |= {"ESL081", "ESL085", "ESL086", "ESL089", "ESL096"}  # test_surroundings.py
    elsewhere |= {"ESL088"}  # tests/runtime/isolator/test_attempts.py
    elsewhere |= {"ESL017", "ESL018", "ESL019", "ESL029"}  # test_including.py
    assert tested | elsewhere == set(CODES)
